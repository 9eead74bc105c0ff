/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of an association, and llp_info(). */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <string.h>

#include "util/addr.h"

static bool primary_of(int fd, struct sockaddr_storage *ret)
{
	struct sctp_prim p = {0};
	socklen_t len = sizeof(p);

	if (getsockopt(fd, IPPROTO_SCTP, SCTP_PRIMARY_ADDR, &p, &len))
		return false;
	memcpy(ret, &p.ssp_addr, sizeof(*ret));
	return true;
}

static enum llp_path_state state_of_spinfo(int32_t spinfo_state)
{
	switch (spinfo_state) {
	case SCTP_ACTIVE:
		return LLP_PATH_ACTIVE;
	case SCTP_PF:
		return LLP_PATH_FAILING;
	case SCTP_INACTIVE:
		return LLP_PATH_INACTIVE;
	default:
		return LLP_PATH_UNCONFIRMED;
	}
}

/* The kernel measures round-trip times in ticks of its clock. */
static uint32_t ticks_to_us(const struct kernel *t, uint32_t ticks)
{
	return (uint32_t)(ticks * t->tick_ns / 1000);
}

static int path_at(const struct kernel_conn *c, const struct sockaddr_storage *remote,
		   struct llp_path *ret)
{
	struct sctp_paddrinfo info = {0};
	socklen_t len = sizeof(info);

	memcpy(&info.spinfo_address, remote, sizeof(*remote));
	if (getsockopt(c->watch.fd, IPPROTO_SCTP, SCTP_GET_PEER_ADDR_INFO, &info, &len))
		return -errno;
	*ret = (struct llp_path){
		.remote = *remote,
		.state = state_of_spinfo(info.spinfo_state),
		.srtt_us = ticks_to_us(kernel_of(c), info.spinfo_srtt),
		.rto_ms = info.spinfo_rto,
		.cwnd = info.spinfo_cwnd,
		.mtu = info.spinfo_mtu,
	};
	return 0;
}

/* Calls fn for each address of the peer; returns how many there are. */
static unsigned for_each(int fd, void (*fn)(void *arg, const struct sockaddr_storage *a), void *arg)
{
	struct sockaddr *list;
	const uint8_t *p;
	int n = sctp_getpaddrs(fd, 0, &list);

	if (n <= 0)
		return 0;
	p = (const uint8_t *)list;
	for (int i = 0; i < n; i++) {
		struct sockaddr_storage a;

		if (addr_copy(&a, (const struct sockaddr *)p) < 0)
			break;
		p += addr_len(&a);
		if (fn)
			fn(arg, &a);
	}
	sctp_freepaddrs(list);
	return (unsigned)n;
}

unsigned kernel_path_count(int fd)
{
	return for_each(fd, NULL, NULL);
}

struct listing {
	const struct kernel_conn *c;
	struct llp_path *ret;
	unsigned n;
	struct sockaddr_storage primary;
};

static void list_one(void *arg, const struct sockaddr_storage *a)
{
	struct listing *l = arg;
	bool primary = addr_same_host(&l->primary, a);
	struct llp_path p;

	/* A peer may have thousands, and each change lists them. */
	if ((l->n == LLP_MAX_PATHS && !primary) || path_at(l->c, a, &p))
		return;
	p.primary = primary;
	if (primary && l->n > 0) {
		/* The primary path is the first, and is never left out. */
		if (l->n < LLP_MAX_PATHS)
			l->ret[l->n++] = l->ret[0];
		l->ret[0] = p;
	} else {
		l->ret[l->n++] = p;
	}
}

unsigned kernel_paths(const struct llp_conn *lc, struct llp_path ret[LLP_MAX_PATHS])
{
	const struct kernel_conn *c = (const struct kernel_conn *)lc;
	struct listing l = {.c = c, .ret = ret};
	unsigned n;

	if (c->watch.fd < 0 || !primary_of(c->watch.fd, &l.primary))
		return 0;
	n = for_each(c->watch.fd, list_one, &l);
	return l.n < LLP_MAX_PATHS ? l.n : n;
}

int kernel_set_primary(struct llp_conn *lc, const struct sockaddr_storage *remote)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;
	struct sockaddr_storage to = *remote;
	struct sctp_prim prim = {0};
	struct llp_path path;

	if (c->sctp.state != LLP_SCTP_UP)
		return -ENOTCONN;
	addr_set_port(&to, addr_port(&c->remote));
	if (path_at(c, &to, &path))
		return -ENOENT;
	if (path.state != LLP_PATH_ACTIVE)
		return -EHOSTDOWN;
	memcpy(&prim.ssp_addr, &to, sizeof(to));
	return setsockopt(c->watch.fd, IPPROTO_SCTP, SCTP_PRIMARY_ADDR, &prim, sizeof(prim))
		       ? -errno
		       : 0;
}

/* ---- events ---- */

static const char *event_text(int change)
{
	switch (change) {
	case SCTP_ADDR_AVAILABLE:
		return "answers again";
	case SCTP_ADDR_CONFIRMED:
		return "was confirmed";
	case SCTP_ADDR_UNREACHABLE:
		return "does not answer any more";
	case SCTP_ADDR_POTENTIALLY_FAILED:
		return "may have failed";
	case SCTP_ADDR_MADE_PRIM:
		return "is the primary path now";
	case SCTP_ADDR_ADDED:
		return "was added";
	case SCTP_ADDR_REMOVED:
		return "was removed";
	default:
		return NULL;
	}
}

void kernel_path_changed(struct kernel_conn *c, const struct sockaddr_storage *remote, int change)
{
	const char *what = event_text(change);

	if (!what || !kernel_of(c)->sctp.base.ev->path)
		return;
	/* If paths change faster than is reported, the oldest event is lost. */
	if (c->npath_events == KERNEL_PATH_EVENTS)
		memmove(c->path_event, c->path_event + 1,
			--c->npath_events * sizeof(c->path_event[0]));
	c->path_event[c->npath_events++] =
		(struct kernel_path_event){.remote = *remote, .what = what};
}

void kernel_path_report(struct kernel_conn *c)
{
	struct kernel *t = kernel_of(c);
	struct kernel_path_event event[KERNEL_PATH_EVENTS];
	unsigned n = c->npath_events;
	struct sockaddr_storage primary;

	c->npath_events = 0;
	if (c->npaths < 2 || n == 0 || !primary_of(c->watch.fd, &primary))
		return;
	memcpy(event, c->path_event, n * sizeof(event[0]));
	for (unsigned i = 0; i < n; i++) {
		struct llp_path p = {.remote = event[i].remote, .state = LLP_PATH_INACTIVE};

		(void)path_at(c, &event[i].remote, &p);
		p.primary = addr_same_host(&primary, &p.remote);
		t->sctp.base.ev->path(c->sctp.base.user, &p, event[i].what);
		if (!llp_sctp_usable(&t->sctp, &c->sctp))
			return;
	}
}

/* ---- llp_info() ---- */

static uint16_t tunnel_of(int fd, const struct sockaddr_storage *remote)
{
	struct sctp_udpencaps e = {0};
	socklen_t len = sizeof(e);

	memcpy(&e.sue_address, remote, sizeof(*remote));
	if (getsockopt(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &e, &len))
		return 0;
	return ntohs(e.sue_port);
}

void kernel_info(const struct llp_conn *lc, struct llp_info *ret)
{
	const struct kernel_conn *c = (const struct kernel_conn *)lc;
	struct kernel_count count;
	struct sctp_status st;

	*ret = (struct llp_info){
		.backend = "kernel",
		.local = c->local,
		.remote = c->remote,
		.remote_udp_port = kernel_of(c)->sctp.cfg.udp_port,
		.even = !c->sctp.passive,
		.streams = c->sctp.streams,
		.max_message = c->sctp.max_message,
	};
	if (c->watch.fd < 0 || !kernel_sock_status(c->watch.fd, &st))
		return;
	ret->remote_udp_port = tunnel_of(c->watch.fd, &c->remote);
	ret->mtu = st.sstat_primary.spinfo_mtu;
	ret->srtt_us = ticks_to_us(kernel_of(c), st.sstat_primary.spinfo_srtt);
	ret->rto_ms = st.sstat_primary.spinfo_rto;
	ret->cwnd = st.sstat_primary.spinfo_cwnd;
	ret->peer_rwnd = st.sstat_rwnd;
	ret->unacked = st.sstat_unackdata;
	if (kernel_sock_count(c->watch.fd, &count))
		ret->retransmits = count.retransmits;
}
