/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets and ICMP messages between the sockets and the core. */
#include "llp/user/user.h"

#include <errno.h>

#include "util/addr.h"

enum {
	/* A socket that is full for longer must not delay the others: its packets are dropped. */
	MAX_FULL_US = 100000,
	/* To read a socket costs a system call. One that had no packet for so many turns is left
	 * alone for a while, but not by the first turn after a sleep, which its packet may have
	 * ended. */
	QUIET = 128,
	QUIET_US = 20,
};

/* The argument of a socket's callbacks. */
struct from {
	struct user *user;
	uint8_t local;
	bool covered;
};

static struct sctp_flow flow(const struct from *from, const struct sockaddr_storage *peer)
{
	return (struct sctp_flow){.peer = llp_user_addr(peer),
				  .udp_port = addr_port(peer),
				  .local = from->local,
				  .covered = from->covered};
}

/* ---- in ---- */

static void deliver(struct user *t, const struct sctp_flow *f, uint8_t *p, size_t len,
		    size_t segment)
{
	size_t n;

	if (t->tap.on && len)
		llp_user_tap(t, f, false, &(struct span){p, len}, 1, segment);
	do {
		n = sctp_input_run(t->core, f, p, len, segment, t->now_us);
		p += n;
		len -= n;
		llp_user_events(t);
		/* Many peers begin at once, or a flood: the answers leave before there are too
		 * many. */
		if (!t->full_us && sctp_wants_output(t->core))
			llp_user_write(t);
	} while (len);
}

static void on_packets(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len,
		       size_t segment)
{
	const struct from *at = arg;
	struct sctp_flow f = flow(at, from);

	if (f.covered)
		llp_user_cover_input(at->user, &f, p, len, segment, deliver);
	else
		deliver(at->user, &f, p, len, segment);
}

static void on_error(void *arg, const struct udp_error *e)
{
	static const enum sctp_icmp what[] = {
		[UDP_UNREACHABLE] = SCTP_ICMP_UNREACHABLE,
		[UDP_PORT_UNREACHABLE] = SCTP_ICMP_PORT_UNREACHABLE,
		[UDP_TOO_BIG] = SCTP_ICMP_TOO_BIG,
	};
	const struct from *at = arg;
	struct user *t = at->user;
	struct sctp_flow f = flow(at, &e->to);

	if (e->kind == UDP_TOO_BIG_LOCAL) {
		t->local_mtu = e->mtu;
		return;
	}
	if (f.covered)
		llp_user_cover_icmp(t, &f, what[e->kind], e);
	else
		sctp_icmp(t->core, &f, what[e->kind], e->mtu, e->quoted, e->len, t->now_us);
	llp_user_events(t);
}

/* False if the socket is to be left alone in this turn. */
static bool is_due(const struct user_sock *s, uint64_t now_us)
{
	return s->quiet < QUIET || now_us - s->looked_us >= QUIET_US;
}

static bool read_sock(struct user *t, unsigned cover, unsigned i, unsigned budget)
{
	struct user_sock *s = &t->sock[cover][i];
	struct from at = {t, (uint8_t)i, cover == USER_COVERED};
	bool any;

	if (!is_due(s, t->now_us))
		return false;
	s->looked_us = t->now_us;
	s->quiet += s->quiet < QUIET;
	any = udp_recv(s->udp, budget, on_packets, &at) > 0;
	if (any)
		s->quiet = 0;
	udp_errors(s->udp, on_error, &at);
	return any;
}

bool llp_user_read(struct user *t, unsigned budget)
{
	bool any = false;

	for (unsigned k = 0; k < t->ncovers; k++)
		for (unsigned i = 0; i < t->naddrs; i++)
			any |= read_sock(t, k, i, budget);
	return any;
}

/* ---- out ---- */

/* The route does not take packets of this size. Its MTU is in the error queue. */
static void too_big(struct user *t, const struct sctp_flow *to)
{
	struct from at = {t, to->local, to->covered};
	struct sctp_flow f = *to;

	t->local_mtu = 0;
	udp_errors(llp_user_sock(t, &f), on_error, &at);
	sctp_too_big(t->core, &f, t->local_mtu, t->now_us);
}

static void send_batch(struct user *t, const struct sctp_batch *out)
{
	struct udp_batch b = {.span = out->span,
			      .nspans = out->nspans,
			      .segment = out->segment,
			      .len = out->len,
			      .fragment = out->fragment};
	bool gso = out->packets > 1 && llp_user_gso(t, &out->to, out->takes_batches);
	int r;

	if (out->to.covered && !llp_user_cover_seal(t, out, &b))
		return;
	llp_user_sockaddr(&out->to.peer, out->to.udp_port, &b.to);
	b.gso = gso;
	r = udp_send(llp_user_sock(t, &out->to), &b);
	if (gso && !b.gso)
		llp_user_refuse_gso(t, &out->to);
	if (t->tap.on && r != -EMSGSIZE)
		llp_user_tap(t, &out->to, true, out->span, out->nspans, out->segment);
	if (r == -EMSGSIZE)
		too_big(t, &out->to);
}

/* False: a socket is full, but only since recently. */
static bool may_send(struct user *t)
{
	bool full = false;

	for (unsigned k = 0; k < t->ncovers; k++)
		for (unsigned i = 0; i < t->naddrs; i++)
			full |= udp_blocked(t->sock[k][i].udp);
	if (!full)
		t->full_us = 0;
	else if (!t->full_us)
		t->full_us = t->now_us;
	return !full || t->now_us - t->full_us > MAX_FULL_US;
}

void llp_user_write(struct user *t)
{
	for (unsigned k = 0; k < t->ncovers; k++)
		for (unsigned i = 0; i < t->naddrs; i++)
			udp_flush(t->sock[k][i].udp);
	llp_user_cover_write(t);
	while (may_send(t) && sctp_output(t->core, &t->out, t->now_us))
		send_batch(t, &t->out);
}
