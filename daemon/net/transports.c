/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/transports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/descriptors.h"
#include "daemon/base/log.h"
#include "daemon/base/state.h"
#include "daemon/net/association.h"
#include "daemon/net/fd_store.h"
#include "daemon/net/peer_access.h"
#include "daemon/net/peers.h"

static struct llp_config transport_config(const struct config *cfg)
{
	return (struct llp_config){
		.streams = (uint16_t)cfg->sctp.streams,
		.adaptation = cfg->sctp.adaptation,
		.mtu = cfg->user.mtu,
		.gso = (enum llp_gso)cfg->user.gso,
		.sack_packets = cfg->sctp.sack_packets,
		.sack_ms = cfg->sctp.sack_ms,
		.rto_min_ms = cfg->sctp.rto_min_ms,
		.rto_max_ms = cfg->sctp.rto_max_ms,
		.heartbeat_ms = cfg->sctp.heartbeat_ms,
		.path_max_retrans = cfg->sctp.path_max_retrans,
		.assoc_max_retrans = cfg->sctp.assoc_max_retrans,
		.init_ms = cfg->sctp.init_ms,
	};
}

static int open_user(struct worker *w, char *ret_reason, size_t len)
{
	struct daemon *d = w->daemon;
	struct llp_config cfg = transport_config(&d->cfg);
	struct llp_cover_files files;
	struct llp_cover cover;

	cfg.udp_port = (uint16_t)d->cfg.user.udp_port;
	cfg.buffer = (uint32_t)d->cfg.user.buffer;
	cfg.cc = (enum llp_cc)d->cfg.user.congestion_control;
	cfg.cc_rules = d->cfg.user.congestion_control_for;
	cfg.ncc_rules = d->cfg.user.ncc_rules;
	cfg.networks = w->peers ? &w->peers->table : NULL;
	d->udp_port = cfg.udp_port;
	d->gso = cfg.gso != LLP_GSO_OFF;
	if (cfg.udp_port == 0)
		cfg.ret_free_port = &d->udp_port; /* peers do not expect it at the next start */
	else if (!d->cfg.private)
		cfg.fd_store = fd_store_hooks(w->fd_store);
	peer_access_files(&d->cfg, &files);
	cover = peer_access_cover(w, &files);
	if (d->cfg.security.udp_port)
		cfg.cover = &cover;
	return llp_user_open(&cfg, &association_llp_events, &w->net, ret_reason, len);
}

static int open_kernel(struct worker *w, char *ret_reason, size_t len)
{
#ifdef HAVE_LIBSCTP
	struct daemon *d = w->daemon;
	struct llp_config cfg = transport_config(&d->cfg);

	cfg.udp_port = (uint16_t)d->cfg.kernel.udp_port;
	cfg.buffer = (uint32_t)d->cfg.kernel.buffer;
	cfg.max_conns = w->max_conns = descriptors_of_peers();
	d->udp_port = cfg.udp_port;
	d->gso = false;
	return llp_kernel_open(&cfg, &association_llp_events, &w->net, ret_reason, len);
#else
	(void)w;
	snprintf(ret_reason, len, "this build lacks the transport for the kernel's SCTP");
	return -EOPNOTSUPP;
#endif
}

/* The values of the key `transport`. auto is user, whatever this kernel can do: every daemon has
 * it, so that two hosts with the same file speak the same protocol on the wire. */
static const struct backend {
	const char *name;
	int (*open)(struct worker *w, char *ret_reason, size_t len);
} backends[] = {
	[CONFIG_TRANSPORT_AUTO] = {"user", open_user},
	[CONFIG_TRANSPORT_USER] = {"user", open_user},
	[CONFIG_TRANSPORT_KERNEL] = {"kernel", open_kernel},
};

static int open_net(struct worker *w, const struct backend *b, char *ret_reason, size_t len)
{
	struct daemon *d = w->daemon;
	int r;

	snprintf(d->transport, sizeof(d->transport), "%s", b->name);
	*ret_reason = 0;
	r = b->open(w, ret_reason, len);
	if (r && !*ret_reason)
		snprintf(ret_reason, len, "%s", strerror(-r));
	if (r == 0 && *ret_reason)
		log_warn("transport %s: %s", b->name, ret_reason);
	return r;
}

/* Opens the transport that the configuration names. */
static int choose_net(struct worker *w)
{
	struct daemon *d = w->daemon;
	uint32_t wanted = d->cfg.transport;
	char reason[256];
	int r = open_net(w, &backends[wanted], reason, sizeof(reason));

	snprintf(d->transport_reason, sizeof(d->transport_reason), "%s",
		 wanted == CONFIG_TRANSPORT_AUTO ? "auto: every ddpsctpd has it"
						 : "the configuration says so");
	if (r)
		log_err("transport %s: %s", d->transport, reason);
	return r;
}

static int open_loop(struct worker *w)
{
	struct llp_config cfg = transport_config(&w->daemon->cfg);
	int r = llp_loop_open(&cfg, &association_llp_events, &w->self);

	if (r)
		log_err("transport loop: %s", strerror(-r));
	return r;
}

int transports_watch(struct worker *w)
{
	int fds[LLP_MAX_FDS];
	unsigned n = llp_fds(w->net, fds);

	for (unsigned i = 0; i < n; i++) {
		if (event_loop_watch(w->loop, fds[i], EVENT_LOOP_READ | EVENT_LOOP_PATIENT, NULL,
				     NULL, &w->net_watch[i])) {
			log_err("transport %s: its socket cannot be watched", w->daemon->transport);
			return -1;
		}
	}
	return 0;
}

void transports_unwatch(struct worker *w)
{
	for (unsigned i = 0; i < LLP_MAX_FDS; i++) {
		event_loop_unwatch(w->net_watch[i]);
		w->net_watch[i] = NULL;
	}
}

int transports_open(struct worker *w)
{
	if (fd_store_new(&w->daemon->passed, &w->fd_store)) {
		log_err("out of memory at start");
		return -1;
	}
	if (choose_net(w) || open_loop(w))
		return -1;
	log_info("transport %s: %s", w->daemon->transport, w->daemon->transport_reason);
	return 0;
}

void transports_close(struct worker *w)
{
	transports_unwatch(w);
	llp_close(w->self);
	llp_close(w->net);
	fd_store_free(w->fd_store);
}
