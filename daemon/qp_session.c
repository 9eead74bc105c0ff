/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: their session, from connect or accept to its end, and the events that tell of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/client.h"
#include "daemon/mw.h"
#include "daemon/offer.h"
#include "daemon/pd.h"
#include "daemon/peer.h"
#include "daemon/qp.h"
#include "daemon/wr.h"

/* ---- association and stream ---- */

/* True if the endpoint is bound to a stream, or may be. */
static bool bound(const struct qp *qp)
{
	return qp->peer && qp->peer->assoc && !list_linked(&qp->waiting);
}

static void unbind(struct qp *qp)
{
	if (bound(qp))
		assoc_unbind(qp->peer->assoc, qp->ep);
	if (qp->peer)
		peer_activate(qp->peer);
}

static void detach(struct qp *qp)
{
	list_del(&qp->waiting);
	list_del(&qp->connecting);
	qp->peer = NULL;
}

void qp_abandon(struct qp *qp)
{
	unbind(qp);
	detach(qp);
}

/* ---- events ---- */

/* The headers that an error is about, and how long the segment with them was. */
static void put_headers(const struct wire_term *t, struct msg_event *ret)
{
	_Static_assert(WIRE_UNTAGGED_LEN + WIRE_READ_REQ_LEN == MSG_TERM_MAX, "both always fit");

	if (t->has_len)
		ret->seg_len = t->seg_len;
	if (t->has_ddp) {
		memcpy(ret->header, t->ddp, t->ddp_len);
		ret->header_len = t->ddp_len;
	}
	if (t->has_ddp && t->has_read) {
		memcpy(ret->header + ret->header_len, t->read, sizeof(t->read));
		ret->header_len += sizeof(t->read);
	}
}

static void send_event(struct qp *qp, enum msg_event_type type, const struct qp_news *news)
{
	struct msg_event ev = {
		.type = type,
		.cookie = qp->cookie,
		.qp = qp->handle,
		.err = news->err,
		.term = news->term,
		.private_len = (uint16_t)news->private_len,
	};

	if (qp->peer) {
		ev.assoc = qp->peer->id;
		ev.stream = qp->sid;
		ev.peer = qp->peer->remote;
	}
	if (news->reason)
		snprintf(ev.reason, sizeof(ev.reason), "%s", news->reason);
	if (news->private_len > 0)
		memcpy(ev.private_data, news->private_data, news->private_len);
	if (news->blamed)
		put_headers(news->blamed, &ev);
	if (news->path)
		ev.path = *news->path;
	offer_tell(news->enh, &ev);
	client_event(qp->client, &ev);
}

/* The session is over or never was: whatever is and will be posted is flushed. */
static void enter_error(struct qp *qp)
{
	detach(qp);
	qp->state = QP_ERROR;
	mw_release(qp->client, qp->pd->number, qp->scope);
	if (!qp->srq)
		ring_sleep(&qp->rq, RING_SLEEPS); /* receives ring too from now on */
	wr_flush(qp);
}

/* ---- beginning ---- */

static struct offer offer_of(const struct msg_connect *req)
{
	return (struct offer){
		.what = "connect",
		.known = OFFER_CONNECT,
		.private_len = req->private_len,
		.flags = req->flags,
		.ird = req->ird,
		.ord = req->ord,
	};
}

static int check_connect(const struct qp *qp, const struct offer *offer, struct reply *rep)
{
	int r;

	if (qp->state != QP_IDLE)
		return reply_refuse(rep, EISCONN, "queue pair %u: connect while it is %s", qp->num,
				    qp_state_str(qp->state));
	r = offer_check(qp->client->daemon, qp, offer, rep);
	if (r)
		return r;
	if (offer->flags & MSG_CONN_NEGOTIATE &&
	    offer->private_len > WIRE_PRIVATE_MAX - WIRE_ENH_LEN)
		return offer_too_long(offer, rep);
	return 0;
}

static int read_ends(const struct qp *qp, const struct msg_connect *req, struct ends *ret,
		     struct reply *rep)
{
	char what[48];

	snprintf(what, sizeof(what), "queue pair %u: connect", qp->num);
	return ends_read(qp->client->daemon, what, req, ret, rep);
}

int qp_connect(struct qp *qp, const struct msg_connect *req, struct reply *rep)
{
	struct daemon *d = qp->client->daemon;
	struct offer offer = offer_of(req);
	struct ends ends;
	struct peer *p;
	int r = check_connect(qp, &offer, rep);

	if (!r)
		r = read_ends(qp, req, &ends, rep);
	if (r)
		return r;
	r = peer_get(d, &ends, &p);
	if (r)
		return reply_refuse(rep, -r, "queue pair %u: no association can be made: %s",
				    qp->num, strerror(-r));
	qp->cookie = req->cookie;
	qp->enhanced = offer_words(&offer, &qp->enh);
	qp->retry_plain = req->flags & MSG_CONN_RETRY_PLAIN;
	qp->private_len = req->private_len;
	memcpy(qp->private_data, req->private_data, req->private_len);
	qp->deadline_ms =
		d->now_ms + (req->timeout_ms ? req->timeout_ms : d->cfg.session.connect_ms);
	qp->state = QP_CONNECTING;
	list_add_tail(&d->connecting, &qp->connecting);
	peer_initiate(p, qp);
	return 0;
}

/* More waited for the association than it has streams: on with the next one. */
static void initiate_elsewhere(struct qp *qp)
{
	const struct peer *full = qp->peer;
	struct peer *p;
	int r = peer_get(qp->client->daemon, &full->ends, &p);

	if (r)
		qp_failed(qp, MSG_EV_FAILED,
			  &(struct qp_news){.err = -r,
					    .reason = "no further association can be made"});
	else
		peer_initiate(p, qp);
}

void qp_initiate(struct qp *qp)
{
	struct peer *p = qp->peer;
	struct assoc_offer offer = {
		.priv = qp->private_data,
		.len = qp->private_len,
		.enh = qp->enhanced ? &qp->enh : NULL,
	};

	if (assoc_connect(p->assoc, qp->ep, &offer, &qp->sid))
		initiate_elsewhere(qp);
	else
		peer_activate(p);
}

void qp_established(struct qp *qp, const struct qp_news *news)
{
	list_del(&qp->connecting);
	qp->state = QP_RTS;
	if (news->enh) {
		qp->peer_ird = offer_depth(news->enh->ird);
		qp->peer_ord = offer_depth(news->enh->ord);
	}
	send_event(qp, MSG_EV_ESTABLISHED, news);
	qp_wake(qp);
}

void qp_failed(struct qp *qp, enum msg_event_type type, const struct qp_news *news)
{
	send_event(qp, type, news);
	enter_error(qp);
}

void qp_refused(struct qp *qp)
{
	struct qp_news news = {
		.err = ECONNREFUSED,
		.reason = qp->enhanced ? "the peer's daemon refused: nobody listens, too many "
					 "requests wait there, or it does not negotiate (RFC 6581)"
				       : "the peer's daemon refused: nobody listens, or too many "
					 "requests wait there",
	};

	/* One more try, within the same time limit. */
	if (qp->enhanced && qp->retry_plain) {
		qp->enhanced = false;
		qp_initiate(qp);
	} else {
		qp_failed(qp, MSG_EV_FAILED, &news);
	}
}

static void time_out(struct qp *qp)
{
	const char *why =
		bound(qp)
			? "no answer in time: the peer's program did not accept or reject"
			: "no answer in time: the association with the peer's daemon did not come "
			  "up";

	unbind(qp);
	qp_failed(qp, MSG_EV_FAILED, &(struct qp_news){.err = ETIMEDOUT, .reason = why});
}

void qp_expire_connects(struct daemon *d)
{
	list_foreach_safe (l, &d->connecting) {
		struct qp *qp = list_entry(l, struct qp, connecting);

		if (d->now_ms >= qp->deadline_ms)
			time_out(qp);
	}
}

uint64_t qp_connect_expiry(const struct daemon *d)
{
	uint64_t next = UINT64_MAX;

	list_foreach (l, &d->connecting) {
		const struct qp *qp = list_entry(l, struct qp, connecting);

		if (qp->deadline_ms < next)
			next = qp->deadline_ms;
	}
	return next;
}

/* ---- ending ---- */

void qp_disconnect(struct qp *qp)
{
	if (qp->state == QP_CONNECTING) {
		unbind(qp);
		qp_failed(
			qp, MSG_EV_FAILED,
			&(struct qp_news){.err = ECANCELED, .reason = "given up by this program"});
	} else if (qp->state == QP_RTS) {
		qp->state = QP_CLOSING;
		assoc_close(qp->peer->assoc, qp->ep);
		peer_activate(qp->peer);
	}
}

void qp_closed(struct qp *qp, const struct qp_news *news)
{
	send_event(qp, MSG_EV_DISCONNECTED, news);
	enter_error(qp);
}

void qp_error(struct qp *qp, const struct qp_news *news)
{
	wr_doom(qp);
	send_event(qp, MSG_EV_ERROR, news);
}

void qp_half_closed(struct qp *qp)
{
	send_event(qp, MSG_EV_HALF_CLOSED,
		   &(struct qp_news){.reason = "the peer has ended its half of the stream"});
}

void qp_path(struct qp *qp, const struct msg_path *path, const char *why)
{
	bool session = qp->state == QP_RTS || qp->state == QP_CLOSING;

	if (session && client_has_ears(qp->client))
		send_event(qp, MSG_EV_PATH, &(struct qp_news){.reason = why, .path = path});
}
