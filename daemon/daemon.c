/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/objects/client.h"
#include "daemon/objects/cq.h"
#include "daemon/base/log.h"
#include "daemon/net/association.h"
#include "daemon/objects/qp.h"
#include "daemon/base/sdnotify.h"
#include "daemon/service/server.h"
#include "daemon/objects/srq.h"
#include "daemon/base/version.h"
#include "proto/stag.h"
#include "util/addr.h"

enum {
	MAX_CLIENTS = 4096,
	MAX_ASSOCS = 65535,
	MAX_REGIONS = 1 << 20,
	RX_BUDGET = 512, /* packets a turn */
};

/* Not below 256: whoever owns it may change its key, and no value may become 0. */
static uint32_t draw_stag(struct daemon *d)
{
	uint32_t v = 0;

	do {
		if (d->random_left == 0) {
			if (getrandom(d->random, sizeof(d->random), 0) != sizeof(d->random))
				continue;
			d->random_left = sizeof(d->random) / sizeof(d->random[0]);
		}
		v = d->random[--d->random_left];
	} while (v <= STAG_KEY);
	return v;
}

int daemon_add_stag(struct daemon *d, struct stag_region *r)
{
	struct stag_region added = *r;
	int e;

	do {
		added.stag = draw_stag(d);
		e = stag_add(d->stags, &added);
	} while (e == STAG_ADD_E_TAKEN);
	if (e)
		return -ENOSPC;
	r->stag = added.stag;
	return 0;
}

/* ---- the turn ---- */

static bool take_bells(struct daemon *d)
{
	uint32_t pos = 0;
	struct client *c;
	bool any = false;

	while ((c = idtab_next(&d->clients, &pos)))
		any |= client_take_bells(c);
	return any;
}

static void timers(struct daemon *d)
{
	llp_tick(d->net, d->now_ms);
	llp_tick(d->self, d->now_ms);
	qp_expire_connects(d);
	association_tick_all(d);
	if (d->accept_again_ms && d->now_ms >= d->accept_again_ms) {
		d->accept_again_ms = 0;
		if (!d->stopping)
			server_resume(d->server);
	}
	if (d->watchdog_ms && d->now_ms >= d->watchdog_at_ms) {
		sdnotify_alive();
		d->watchdog_at_ms = d->now_ms + d->watchdog_ms;
	}
}

static void check_stop(struct daemon *d)
{
	if (d->stopping && (d->assocs.used == 0 || d->now_ms >= d->stop_by_ms))
		event_loop_stop(d->loop);
}

static bool turn(void *user, uint64_t now_ms)
{
	struct daemon *d = user;
	bool any;

	/* 1. What is due. First of all, so that nothing below works with the time before a sleep.
	 */
	if (now_ms != d->now_ms) {
		d->now_ms = now_ms;
		timers(d);
	}
	check_stop(d);

	/* 2. What clients have posted. */
	any = take_bells(d);

	/* 3. What the network brought: placed and delivered within the transports' upcalls. */
	any |= llp_input(d->net, RX_BUDGET);
	any |= llp_input(d->self, RX_BUDGET);

	/* 4. What can be sent. */
	any |= association_send_all(d);
	llp_flush(d->net);

	/* 5. Tell the clients; part with those that are at fault. */
	any |= cq_ring_bells(d);
	any |= srq_queue_low_events(d);
	any |= client_end_faulty(d);
	return any;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t expiry(void *user)
{
	struct daemon *d = user;
	uint64_t next = earlier(llp_expiry(d->net), llp_expiry(d->self));

	next = earlier(next, qp_connect_expiry(d));
	next = earlier(next, association_expiry(d));
	if (d->accept_again_ms)
		next = earlier(next, d->accept_again_ms);
	if (d->watchdog_ms)
		next = earlier(next, d->watchdog_at_ms);
	if (d->stopping)
		next = earlier(next, d->stop_by_ms);
	return next;
}

static bool about_to_sleep(void *user)
{
	struct daemon *d = user;
	uint32_t pos = 0;
	struct client *c;
	bool quiet = list_empty(&d->active);

	while ((c = idtab_next(&d->clients, &pos)))
		quiet &= client_sleep(c);
	return quiet;
}

static void awake(void *user)
{
	struct daemon *d = user;
	uint32_t pos = 0;
	struct client *c;

	while ((c = idtab_next(&d->clients, &pos)))
		client_awake(c);
}

static const struct event_loop_hooks hooks = {
	.turn = turn,
	.expiry = expiry,
	.sleep = about_to_sleep,
	.awake = awake,
};

/* ---- start ---- */

static struct llp_config transport_config(const struct config *cfg)
{
	return (struct llp_config){
		.addrs = cfg->listen,
		.naddrs = cfg->naddrs,
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

/* The default addresses are for a trial: where there is no IPv6, the IPv4 one will do. */
static bool drop_ipv6(struct daemon *d, int err)
{
	struct config def;

	config_default(&def);
	if ((err != -EADDRNOTAVAIL && err != -EAFNOSUPPORT) || d->cfg.naddrs != def.naddrs ||
	    memcmp(d->cfg.listen, def.listen, sizeof(def.listen)) != 0)
		return false;
	log_info("listen: this host has no ::1: peers at 127.0.0.1 only");
	d->cfg.naddrs = 1;
	return true;
}

static int open_user(struct daemon *d, char *ret_reason, size_t len)
{
	struct llp_config cfg = transport_config(&d->cfg);

	cfg.udp_port = (uint16_t)d->cfg.user.udp_port;
	cfg.buffer = (uint32_t)d->cfg.user.buffer;
	d->udp_port = cfg.udp_port;
	d->gso = cfg.gso != LLP_GSO_OFF;
	return llp_user_open(&cfg, &association_llp_events, &d->net, ret_reason, len);
}

static int open_kernel(struct daemon *d, char *ret_reason, size_t len)
{
#ifdef HAVE_LIBSCTP
	struct llp_config cfg = transport_config(&d->cfg);

	cfg.udp_port = (uint16_t)d->cfg.kernel.udp_port;
	cfg.buffer = (uint32_t)d->cfg.kernel.buffer;
	d->udp_port = cfg.udp_port;
	d->gso = false;
	return llp_kernel_open(&cfg, &association_llp_events, &d->net, ret_reason, len);
#else
	(void)d;
	snprintf(ret_reason, len, "this build has no transport for the kernel's SCTP");
	return -EOPNOTSUPP;
#endif
}

static int open_net(struct daemon *d, const char *name,
		    int (*open)(struct daemon *d, char *ret_reason, size_t len), char *ret_reason,
		    size_t len)
{
	int r;

	snprintf(d->transport, sizeof(d->transport), "%s", name);
	do {
		*ret_reason = 0;
		r = open(d, ret_reason, len);
	} while (r && drop_ipv6(d, r));
	if (r && !*ret_reason)
		snprintf(ret_reason, len, "%s", strerror(-r));
	if (r == 0 && *ret_reason)
		log_warn("transport %s: %s", name, ret_reason);
	return r;
}

/* The kernel's own SCTP goes before ours, where there is one. */
static int choose_net(struct daemon *d)
{
	uint32_t asked = d->cfg.transport;
	char reason[256];
	int r = -1;

	if (asked == CONFIG_TRANSPORT_AUTO)
		snprintf(d->transport_reason, sizeof(d->transport_reason),
			 "auto: this kernel has SCTP");
	else
		snprintf(d->transport_reason, sizeof(d->transport_reason),
			 "the configuration says so");
	if (asked != CONFIG_TRANSPORT_USER)
		r = open_net(d, "kernel", open_kernel, reason, sizeof(reason));
	if (r && asked == CONFIG_TRANSPORT_AUTO)
		snprintf(d->transport_reason, sizeof(d->transport_reason), "auto: %.120s", reason);
	if (r && asked != CONFIG_TRANSPORT_KERNEL)
		r = open_net(d, "user", open_user, reason, sizeof(reason));
	if (r)
		log_err("transport %s: %s", d->transport, reason);
	return r;
}

static int open_transports(struct daemon *d)
{
	struct llp_config cfg;
	int r;

	if (choose_net(d))
		return -1;
	cfg = transport_config(&d->cfg);
	r = llp_loop_open(&cfg, &association_llp_events, &d->self);
	if (r) {
		log_err("transport loop: %s", strerror(-r));
		return -1;
	}
	log_info("transport %s: %s", d->transport, d->transport_reason);
	return 0;
}

static int watch_transports(struct daemon *d)
{
	int fds[LLP_MAX_FDS];
	unsigned n = llp_fds(d->net, fds);

	for (unsigned i = 0; i < n; i++) {
		if (event_loop_watch(d->loop, fds[i], EVENT_LOOP_READ, NULL, NULL,
				     &d->net_watch[i])) {
			log_err("transport %s: its socket cannot be watched", d->transport);
			return -1;
		}
	}
	return 0;
}

static int make_tables(struct daemon *d)
{
	void *mem = calloc(1, stag_table_size(MAX_REGIONS));

	idtab_init(&d->clients, MAX_CLIENTS);
	idtab_init(&d->assocs, MAX_ASSOCS);
	list_init(&d->active);
	list_init(&d->connecting);
	list_init(&d->dirty);
	list_init(&d->low);
	list_init(&d->faulty);
	if (mem)
		d->stags = stag_table_init(mem, MAX_REGIONS);
	if (!mem || acct_new(&d->cfg.limits, &d->acct) ||
	    event_loop_new(&hooks, d, d->cfg.polling.budget_us, &d->loop)) {
		log_err("out of memory at start");
		return -1;
	}
	return 0;
}

static void log_started(const struct daemon *d)
{
	const struct config *cfg = &d->cfg;
	char text[ADDR_TEXT_MAX], port[32] = "";

	if (d->udp_port)
		snprintf(port, sizeof(port), ", UDP port %u", d->udp_port);
	log_info("ddpsctpd %s: clients at %s, peers at %s%s%s", DAEMON_VERSION, cfg->socket.path,
		 addr_text(&cfg->listen[0], text), cfg->naddrs > 1 ? " and more" : "", port);
}

int daemon_start(struct daemon *d, const struct config *cfg)
{
	*d = (struct daemon){.cfg = *cfg, .said = *cfg};
	if (make_tables(d) || open_transports(d) || watch_transports(d) ||
	    server_open(d, &d->server))
		return -1;
	d->now_ms = d->started_ms = event_loop_now_ms(d->loop);
	d->watchdog_ms = sdnotify_watchdog_ms();
	log_started(d);
	return 0;
}

void daemon_report_status(const struct daemon *d, const char *more)
{
	sdnotify_status("clients at %s, transport %s%s", d->cfg.socket.path, d->transport, more);
}

int daemon_run(struct daemon *d)
{
	daemon_report_status(d, "");
	sdnotify_ready();
	return event_loop_run(d->loop);
}

/* ---- stop ---- */

static void disconnect_all(struct daemon *d)
{
	uint32_t cpos = 0;
	struct client *c;

	while ((c = idtab_next(&d->clients, &cpos))) {
		uint32_t pos = 0;
		struct qp *qp;

		while ((qp = idtab_next(&c->qps, &pos)))
			qp_disconnect(qp);
	}
}

void daemon_stop(struct daemon *d)
{
	if (d->stopping) {
		event_loop_stop(d->loop);
		return;
	}
	log_info("ending: %u associations have %u ms to end in order", d->assocs.used,
		 d->cfg.session.close_ms);
	sdnotify_stopping();
	d->stopping = true;
	d->stop_by_ms = event_loop_now_ms(d->loop) + d->cfg.session.close_ms;
	server_stop(d->server);
	disconnect_all(d);
}

void daemon_free(struct daemon *d)
{
	uint32_t pos = 0;
	struct client *c;
	struct association *assoc;

	while ((c = idtab_next(&d->clients, &pos)))
		client_free(c);
	pos = 0;
	while ((assoc = idtab_next(&d->assocs, &pos)))
		association_free(assoc);
	server_close(d->server);
	for (unsigned i = 0; i < LLP_MAX_FDS; i++)
		event_loop_unwatch(d->net_watch[i]);
	llp_close(d->self);
	llp_close(d->net);
	event_loop_free(d->loop);
	acct_free(d->acct);
	free(d->stags);
	idtab_deinit(&d->clients);
	idtab_deinit(&d->assocs);
}
