/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, usrsctp's notifications, and the upcalls that follow from them. */
#include "llp/user.h"
#include "util/addr.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/*
	 * The end of a message is marked with the system's flag, for that is what the library
	 * was built with, whatever its header says on other systems.
	 */
	END_OF_RECORD = MSG_EOR,
	CAUSE_USER_ABORT = 12,
};

/* ---- sending ---- */

static const uint8_t *gather(struct user *t, const struct llp_msg *m)
{
	uint8_t *p = t->tx_stage;

	if (m->n == 1)
		return m->part[0].p;
	for (unsigned i = 0; i < m->n; i++) {
		memcpy(p, m->part[i].p, m->part[i].len);
		p += m->part[i].len;
	}
	return t->tx_stage;
}

int llp_user_send(struct llp_conn *lc, const struct llp_msg *m)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct sctp_sndinfo info = {
		.snd_sid = m->sid, .snd_flags = SCTP_UNORDERED, .snd_ppid = htonl(m->ppid)};

	if (c->state != USER_UP || c->ended)
		return LLP_E_DOWN;
	/* usrsctp compares with the path MTU, and fragments what is a little shorter. */
	if (m->len > c->max_message)
		return LLP_E_TOO_LONG;
	if (m->sid >= c->streams || m->len == 0 || m->len != span_total(m->part, m->n))
		return -EINVAL;
	if (m->urgent)
		info.snd_flags |= SCTP_SACK_IMMEDIATELY;
	if (usrsctp_sendv(c->so, gather(llp_user_of(c), m), m->len, NULL, 0, &info, sizeof(info),
			  SCTP_SENDV_SNDINFO, 0) >= 0)
		return LLP_E_OK;
	switch (errno) {
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
		c->write_wanted = true;
		return LLP_E_AGAIN;
	case EMSGSIZE:
		return LLP_E_TOO_LONG;
	case ENOENT:
	case ENOTCONN:
	case EPIPE:
	case ECONNRESET:
	case ECONNABORTED:
		/* The event that says why is already in the queue. */
		llp_user_conn_touch(c);
		return LLP_E_DOWN;
	default:
		return -errno;
	}
}

/* ---- notifications: they only leave marks, for they are met inside llp_recv() too ---- */

/* The sentence that came with the peer's ABORT, made printable; "" if there was none. */
static const char *abort_text(const struct sctp_assoc_change *a, size_t len, char *ret, size_t size)
{
	/* The ABORT chunk: its header, then a cause with a header of its own. */
	size_t head = sizeof(*a) + 8;
	size_t n = 0;

	if (a->sac_error == CAUSE_USER_ABORT && len > head) {
		const uint8_t *p = (const uint8_t *)a + head;

		for (; n < len - head && n < size - 1; n++)
			ret[n] = isprint(p[n]) ? (char)p[n] : '?';
	}
	ret[n] = 0;
	return ret;
}

static void on_lost(struct user_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	char text[128], addr[ADDR_TEXT_MAX];
	bool by_peer = len > sizeof(*a); /* the event has the peer's ABORT in it */

	addr_host_text(&c->peer->flow.to, addr);
	abort_text(a, len, text, sizeof(text));
	if (by_peer && text[0])
		llp_user_conn_end(c, ECONNRESET, "%s aborted the association: %s", addr, text);
	else if (by_peer)
		llp_user_conn_end(c, ECONNRESET, "%s aborted the association (cause %u)", addr,
				  a->sac_error);
	else if (c->path_failed)
		llp_user_conn_end(c, ETIMEDOUT, "%s does not answer any more", addr);
	else
		llp_user_conn_end(c, ECONNABORTED, "the association with %s broke down", addr);
}

static void on_refused(struct user_conn *c, size_t len)
{
	char addr[ADDR_TEXT_MAX];

	addr_host_text(&c->peer->flow.to, addr);
	if (len > sizeof(struct sctp_assoc_change))
		llp_user_conn_end(c, ECONNREFUSED, "%s refuses associations to SCTP port %u", addr,
				  c->remote_port);
	else
		llp_user_conn_end(c, ETIMEDOUT, "%s does not answer on UDP port %u", addr,
				  addr_port(&c->peer->flow.to));
}

static void on_assoc_change(struct user_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	switch (a->sac_state) {
	case SCTP_COMM_UP:
		if (c->state == USER_CONNECTING)
			c->state = USER_VERIFYING;
		break;
	case SCTP_COMM_LOST:
		on_lost(c, a, len);
		break;
	case SCTP_CANT_STR_ASSOC:
		on_refused(c, len);
		break;
	case SCTP_RESTART:
		/* All that the other side knew of us is gone, and no indication will come. */
		llp_user_conn_end(c, ECONNRESET, "the peer restarted");
		break;
	case SCTP_SHUTDOWN_COMP:
		llp_user_conn_end(c, 0, "closed");
		break;
	}
}

static void on_indication(struct user_conn *c, uint32_t got)
{
	uint32_t want = llp_user_of(c)->cfg.adaptation;

	if (c->state != USER_VERIFYING)
		return;
	if (got == want)
		c->state = USER_UP;
	else
		llp_user_conn_end(
			c, EPROTONOSUPPORT,
			"the peer speaks no DDP: its adaptation indication is 0x%x, not 0x%x", got,
			want);
}

static void on_partial(struct user_conn *c)
{
	free(c->part);
	c->part = NULL;
	c->part_len = 0;
}

static void on_event(struct user_conn *c, const void *data, size_t len)
{
	const union sctp_notification *n = data;

	if (len < sizeof(n->sn_header))
		return;
	/* Only the indication may follow the news that an association is up. */
	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		if (len >= sizeof(n->sn_assoc_change))
			on_assoc_change(c, &n->sn_assoc_change, len);
		break;
	case SCTP_ADAPTATION_INDICATION:
		if (len >= sizeof(n->sn_adaptation_event))
			on_indication(c, n->sn_adaptation_event.sai_adaptation_ind);
		break;
	case SCTP_SENDER_DRY_EVENT:
		c->dry = true;
		break;
	case SCTP_PEER_ADDR_CHANGE:
		if (len >= sizeof(n->sn_paddr_change))
			c->path_failed = n->sn_paddr_change.spc_state == SCTP_ADDR_UNREACHABLE;
		break;
	case SCTP_PARTIAL_DELIVERY_EVENT:
		on_partial(c);
		break;
	}
}

/* ---- receiving ---- */

enum { PULLED_DATA, PULLED_EVENT, PULLED_NOTHING };

/* The first pieces of a message are kept aside; the last one completes it in the staging buffer. */
static int add_piece(struct user_conn *c, uint32_t n, bool last, uint32_t *ret_len)
{
	struct user *t = llp_user_of(c);
	uint8_t *p;

	if (n > sizeof(t->rx_stage) - c->part_len) {
		llp_user_conn_end(c, EMSGSIZE, "the peer sent a message of more than %d bytes",
				  USER_MAX_MESSAGE);
		return PULLED_NOTHING;
	}
	if (last) {
		memmove(t->rx_stage + c->part_len, t->rx_stage, n);
		memcpy(t->rx_stage, c->part, c->part_len);
		*ret_len = c->part_len + n;
		on_partial(c);
		return PULLED_DATA;
	}
	p = realloc(c->part, c->part_len + n);
	if (!p) {
		llp_user_conn_end(c, ENOMEM, "no memory for a fragmented message");
		return PULLED_NOTHING;
	}
	memcpy(p + c->part_len, t->rx_stage, n);
	c->part = p;
	c->part_len += n;
	return PULLED_EVENT;
}

/* Takes one message or notification from usrsctp's queue. */
static int pull(struct user_conn *c, struct sctp_rcvinfo *info, uint32_t *ret_len)
{
	struct user *t = llp_user_of(c);
	socklen_t info_len = sizeof(*info);
	unsigned type = 0;
	int flags = 0;
	ssize_t n;

	if (!c->so || c->ended)
		return PULLED_NOTHING;
	n = usrsctp_recvv(c->so, t->rx_stage, sizeof(t->rx_stage), NULL, NULL, info, &info_len,
			  &type, &flags);
	if (n < 0 && errno == EAGAIN)
		return PULLED_NOTHING;
	if (n <= 0) {
		/* The event that says more should have come before. */
		llp_user_conn_end(c, n < 0 ? errno : 0, "the association is gone");
		return PULLED_NOTHING;
	}
	if (flags & MSG_NOTIFICATION) {
		if (flags & END_OF_RECORD)
			on_event(c, t->rx_stage, (size_t)n);
		return PULLED_EVENT;
	}
	if (type != SCTP_RECVV_RCVINFO)
		return PULLED_EVENT;
	*ret_len = (uint32_t)n;
	if (c->part || !(flags & END_OF_RECORD))
		return add_piece(c, (uint32_t)n, flags & END_OF_RECORD, ret_len);
	return PULLED_DATA;
}

int llp_user_recv(struct llp_conn *lc, struct llp_msg *ret)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct sctp_rcvinfo info;
	uint32_t len;
	int r;

	if (c->state != USER_UP && c->state != USER_CLOSING)
		return LLP_E_DOWN;
	do
		r = pull(c, &info, &len);
	while (r == PULLED_EVENT);
	if (r == PULLED_NOTHING) {
		/* Outside of the upcall what was met has to be told in the next turn. */
		if ((c->ended || c->dry) && llp_user_of(c)->current != c)
			llp_user_conn_touch(c);
		return LLP_E_AGAIN;
	}
	ret->sid = info.rcv_sid;
	ret->ppid = ntohl(info.rcv_ppid);
	ret->len = len;
	ret->urgent = false;
	ret->ordered = !(info.rcv_flags & SCTP_UNORDERED);
	ret->n = 1;
	ret->part[0] = (struct span){llp_user_of(c)->rx_stage, len};
	return LLP_E_OK;
}

/* ---- upcalls ---- */

/* The indication is the event right behind COMM_UP: anything else, or nothing, means there is none.
 */
static void verify(struct user_conn *c)
{
	struct sctp_rcvinfo info;
	uint32_t len;
	int r = PULLED_EVENT;

	while (c->state == USER_CONNECTING && !c->ended && r == PULLED_EVENT)
		r = pull(c, &info, &len);
	if (c->passive && c->state == USER_VERIFYING)
		(void)pull(c, &info, &len); /* COMM_UP itself */
	if (c->state != USER_VERIFYING || c->ended)
		return;
	(void)pull(c, &info, &len);
	if (c->state == USER_VERIFYING)
		llp_user_conn_end(c, EPROTONOSUPPORT,
				  "the peer speaks no DDP: no adaptation indication");
}

/* False if the association did not come to be; it may be freed then. */
static bool announce(struct user *t, struct user_conn *c)
{
	struct user_listener *l;
	void *owner;

	llp_user_conn_measure(c);
	if (!c->passive) {
		t->base.ev->up(c->base.user);
		return t->current == c;
	}
	l = llp_user_listener_find(t, c->peer->sock, c->local_port);
	owner = l ? t->base.ev->incoming(l->base.user, &c->base) : NULL;
	if (t->current != c)
		return false;
	c->base.user = owner;
	if (owner)
		return true;
	llp_user_abort(&c->base, "not wanted");
	llp_user_conn_free(&c->base);
	return false;
}

static void tell_end(struct user *t, struct user_conn *c)
{
	bool silent = c->passive && !c->base.user;

	if (c->err)
		llp_user_abort(&c->base, c->reason);
	llp_user_conn_release(c);
	list_del(&c->ready);
	if (silent)
		llp_user_conn_free(&c->base);
	else
		t->base.ev->down(c->base.user, c->err, c->reason);
}

/* An event may be older than what was sent since; then there will be another one. */
static bool all_acked(struct user_conn *c)
{
	struct sctp_status st;

	if (!c->dry)
		return false;
	c->dry = false;
	return llp_user_sock_status(c->so, &st) && st.sstat_unackdata == 0;
}

/* Returns false when the owner was told of the end, or freed it. */
static bool serve(struct user *t, struct user_conn *c)
{
	const struct llp_events *ev = t->base.ev;
	int can = usrsctp_get_events(c->so);

	if (can & (SCTP_EVENT_READ | SCTP_EVENT_ERROR)) {
		if (ev->readable(c->base.user) && t->current == c)
			llp_user_conn_touch(c);
		if (t->current != c || c->state == USER_DOWN)
			return false;
	}
	if (all_acked(c)) {
		ev->acked(c->base.user);
		if (t->current != c || c->state == USER_DOWN)
			return false;
	}
	if (c->write_wanted && (can & SCTP_EVENT_WRITE)) {
		c->write_wanted = false;
		ev->writable(c->base.user);
	}
	return t->current == c;
}

static void dispatch(struct user *t, struct user_conn *c)
{
	bool fresh = c->state == USER_CONNECTING || c->state == USER_VERIFYING;

	t->current = c;
	if (fresh && !c->ended)
		verify(c);
	if (fresh && c->state == USER_UP && !announce(t, c))
		return;
	if ((c->state == USER_UP || c->state == USER_CLOSING) && !c->ended && !serve(t, c))
		return;
	if (c->ended && c->state != USER_DOWN)
		tell_end(t, c);
}

void llp_user_dispatch(struct user *t)
{
	struct list now;

	/* Those that become ready meanwhile have their turn in the next round. */
	list_init(&now);
	list_splice_tail(&now, &t->ready);
	while (!list_empty(&now)) {
		struct list *link = list_pop(&now);

		dispatch(t, list_entry(link, struct user_conn, ready));
	}
	t->current = NULL;
}
