/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, usrsctp's notifications, and the upcalls that follow from them. */
#include "llp/user.h"

#include <errno.h>
#include <string.h>

#include "util/addr.h"

enum {
	/* The system's flag, with which the library was built; its own header may differ. */
	END_OF_RECORD = MSG_EOR,
	ABORT_HEADERS = 8, /* of the ABORT chunk and of its error cause, before the text */
};

/* ---- sending ---- */

/* usrsctp takes one contiguous buffer. */
static const uint8_t *contiguous(struct user *t, const struct llp_msg *m)
{
	if (m->n == 1)
		return m->part[0].p;
	llp_sctp_gather(t->tx_stage, m);
	return t->tx_stage;
}

int llp_user_send(struct llp_conn *lc, const struct llp_msg *m)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct sctp_sndinfo info = {
		.snd_sid = m->sid, .snd_flags = SCTP_UNORDERED, .snd_ppid = htonl(m->ppid)};
	int r = llp_sctp_check_send(&c->sctp, m);

	/* max_message is checked here: usrsctp compares with the path MTU, and would fragment a
	 * message that is a little shorter. */
	if (r)
		return r;
	if (m->urgent)
		info.snd_flags |= SCTP_SACK_IMMEDIATELY;
	if (usrsctp_sendv(c->so, contiguous(llp_user_of(c), m), m->len, NULL, 0, &info,
			  sizeof(info), SCTP_SENDV_SNDINFO, 0) >= 0)
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
		/* The event with the reason is already in the queue. */
		llp_sctp_touch(&c->sctp);
		return LLP_E_DOWN;
	default:
		return -errno;
	}
}

/* ---- notifications: they only change the record, for llp_recv() may read them too ---- */

static void on_lost(struct user_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	const struct sockaddr_storage *peer = &c->peer->flow.to;
	char addr[ADDR_TEXT_MAX];

	addr_host_text(peer, addr);
	if (len > sizeof(*a)) /* the event has the peer's ABORT in it */
		llp_sctp_end_aborted(&c->sctp, peer, a->sac_error, a, sizeof(*a) + ABORT_HEADERS,
				     len);
	else if (c->path_failed)
		llp_sctp_end(&c->sctp, ETIMEDOUT, "%s does not answer any more", addr);
	else
		llp_sctp_end(&c->sctp, ECONNABORTED, "the association with %s failed", addr);
}

static void on_refused(struct user_conn *c, size_t len)
{
	char addr[ADDR_TEXT_MAX];

	addr_host_text(&c->peer->flow.to, addr);
	if (len > sizeof(struct sctp_assoc_change))
		llp_sctp_end(&c->sctp, ECONNREFUSED, "%s refuses associations to SCTP port %u",
			     addr, c->remote_port);
	else
		llp_sctp_end(&c->sctp, ETIMEDOUT, "%s does not answer on UDP port %u", addr,
			     addr_port(&c->peer->flow.to));
}

static void on_assoc_change(struct user_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	switch (a->sac_state) {
	case SCTP_COMM_UP:
		if (c->sctp.state == LLP_SCTP_CONNECTING)
			c->sctp.state = LLP_SCTP_VERIFYING;
		break;
	case SCTP_COMM_LOST:
		on_lost(c, a, len);
		break;
	case SCTP_CANT_STR_ASSOC:
		on_refused(c, len);
		break;
	case SCTP_RESTART:
		/* The peer has lost its state, and sends no indication. */
		llp_sctp_end(&c->sctp, ECONNRESET, "the peer restarted");
		break;
	case SCTP_SHUTDOWN_COMP:
		llp_sctp_end(&c->sctp, 0, "closed");
		break;
	}
}

static void on_event(struct user_conn *c, const void *data, size_t len)
{
	const union sctp_notification *n = data;

	if (len < sizeof(n->sn_header))
		return;
	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		if (len >= sizeof(n->sn_assoc_change))
			on_assoc_change(c, &n->sn_assoc_change, len);
		break;
	case SCTP_ADAPTATION_INDICATION:
		if (len >= sizeof(n->sn_adaptation_event))
			llp_sctp_indication(&c->sctp, n->sn_adaptation_event.sai_adaptation_ind);
		break;
	case SCTP_SENDER_DRY_EVENT:
		c->sctp.acked = true;
		break;
	case SCTP_PEER_ADDR_CHANGE:
		if (len >= sizeof(n->sn_paddr_change))
			c->path_failed = n->sn_paddr_change.spc_state == SCTP_ADDR_UNREACHABLE;
		break;
	case SCTP_PARTIAL_DELIVERY_EVENT:
		llp_sctp_drop_part(&c->sctp);
		break;
	}
}

/* ---- receiving ---- */

/* Takes one message or notification from usrsctp's queue. */
static enum llp_sctp_pulled pull(struct user_conn *c, struct sctp_rcvinfo *info, struct span *ret)
{
	struct user *t = llp_user_of(c);
	socklen_t info_len = sizeof(*info);
	unsigned type = 0;
	int flags = 0;
	ssize_t n;

	if (c->sctp.part_whole)
		llp_sctp_drop_part(&c->sctp);
	if (!c->so || c->sctp.ended)
		return LLP_SCTP_NOTHING;
	n = usrsctp_recvv(c->so, t->rx_stage, sizeof(t->rx_stage), NULL, NULL, info, &info_len,
			  &type, &flags);
	if (n < 0 && errno == EAGAIN)
		return LLP_SCTP_NOTHING;
	if (n <= 0) {
		/* An event with the reason should have come before. */
		llp_sctp_end(&c->sctp, n < 0 ? errno : 0, "the association is gone");
		return LLP_SCTP_NOTHING;
	}
	if (flags & MSG_NOTIFICATION) {
		if (flags & END_OF_RECORD)
			on_event(c, t->rx_stage, (size_t)n);
		return LLP_SCTP_EVENT;
	}
	if (type != SCTP_RECVV_RCVINFO)
		return LLP_SCTP_EVENT;
	if (c->sctp.part || !(flags & END_OF_RECORD))
		return llp_sctp_add_part(&c->sctp, t->rx_stage, (uint32_t)n, flags & END_OF_RECORD,
					 ret);
	*ret = (struct span){t->rx_stage, (size_t)n};
	return LLP_SCTP_DATA;
}

int llp_user_recv(struct llp_conn *lc, struct llp_msg *ret)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct sctp_rcvinfo info;
	struct span msg;
	enum llp_sctp_pulled r;

	if (c->sctp.state != LLP_SCTP_UP && c->sctp.state != LLP_SCTP_CLOSING)
		return LLP_E_DOWN;
	do
		r = pull(c, &info, &msg);
	while (r == LLP_SCTP_EVENT);
	if (r == LLP_SCTP_NOTHING) {
		/* Events that were read outside of an upcall are reported in the next turn. */
		if ((c->sctp.ended || c->sctp.acked) && llp_sctp_of(&c->sctp)->current != &c->sctp)
			llp_sctp_touch(&c->sctp);
		return LLP_E_AGAIN;
	}
	ret->sid = info.rcv_sid;
	ret->ppid = ntohl(info.rcv_ppid);
	ret->len = (uint32_t)msg.len;
	ret->urgent = false;
	ret->ordered = !(info.rcv_flags & SCTP_UNORDERED);
	ret->n = 1;
	ret->part[0] = msg;
	return LLP_E_OK;
}

/* ---- upcalls ---- */

/* The indication directly follows COMM_UP. If anything else follows, or nothing, the peer sent no
 * indication. */
static void verify(struct llp_sctp_conn *sc)
{
	struct user_conn *c = (struct user_conn *)sc;
	struct sctp_rcvinfo info;
	struct span msg;
	enum llp_sctp_pulled r = LLP_SCTP_EVENT;

	while (sc->state == LLP_SCTP_CONNECTING && !sc->ended && r == LLP_SCTP_EVENT)
		r = pull(c, &info, &msg);
	if (sc->passive && sc->state == LLP_SCTP_VERIFYING)
		(void)pull(c, &info, &msg); /* COMM_UP itself */
	if (sc->state != LLP_SCTP_VERIFYING || sc->ended)
		return;
	(void)pull(c, &info, &msg);
	if (sc->state == LLP_SCTP_VERIFYING)
		llp_sctp_end(sc, EPROTONOSUPPORT,
			     "the peer does not speak DDP: no adaptation indication");
}

static void prepare(struct llp_sctp_conn *sc)
{
	llp_user_conn_measure((struct user_conn *)sc);
}

static struct llp_listener *listener(const struct llp_sctp_conn *sc)
{
	const struct user_conn *c = (const struct user_conn *)sc;
	struct user_listener *l =
		llp_user_listener_find(llp_user_of(c), c->peer->sock, c->local_port);

	return l ? &l->base : NULL;
}

/* The event may be older than the last message; another event follows then. */
static bool all_acked(struct user_conn *c)
{
	struct sctp_status st;

	if (!c->sctp.acked)
		return false;
	c->sctp.acked = false;
	return llp_user_sock_status(c->so, &st) && st.sstat_unackdata == 0;
}

static void serve(struct llp_sctp_conn *sc)
{
	struct user_conn *c = (struct user_conn *)sc;
	struct llp_sctp *t = llp_sctp_of(sc);
	const struct llp_events *ev = t->base.ev;
	int can = usrsctp_get_events(c->so);

	if (can & (SCTP_EVENT_READ | SCTP_EVENT_ERROR)) {
		if (ev->readable(sc->base.user) && t->current == sc)
			llp_sctp_touch(sc);
		if (!llp_sctp_usable(t, sc))
			return;
	}
	if (all_acked(c)) {
		ev->acked(sc->base.user);
		if (!llp_sctp_usable(t, sc))
			return;
	}
	if (c->write_wanted && (can & SCTP_EVENT_WRITE)) {
		c->write_wanted = false;
		ev->writable(sc->base.user);
	}
}

const struct llp_sctp_ops llp_user_io_ops = {
	.verify = verify,
	.prepare = prepare,
	.listener = listener,
	.serve = serve,
	.release = llp_user_conn_release,
};
