/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/stack/teardown.h"

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/handshake.h"
#include "sctp/assoc/states.h"
#include "sctp/base/reply.h"
#include "sctp/stack/cookie_echo.h"
#include "sctp/transfer/ack.h"
#include "util/be.h"

void sctp_got_shutdown(struct sctp_path *p, const struct sctp_chunk *c)
{
	struct sctp_assoc *a = p->assoc;
	bool repeated;

	if (a->state < SCTP_ESTABLISHED)
		return;
	if (c->len != SCTP_CHUNK_HEAD + 4) {
		a->s->st.bad_packets++;
		return;
	}
	repeated = a->state == SCTP_SHUTDOWN_RECEIVED;
	sctp_got_cum_ack(p, be_get32(c->p + SCTP_CHUNK_HEAD));
	if (a->state != SCTP_CLOSED && !repeated)
		sctp_assoc_step(a, SCTP_EV_SHUTDOWN);
}

/* Another association of this address is in the way. The peer asks whether it still lives
 * (moved.c), so T1-init goes on. */
static bool asks_to_wait(struct sctp_assoc *a, const struct sctp_chunk *c)
{
	struct sctp_error e;

	return a->state == SCTP_COOKIE_WAIT && sctp_error_find(c, SCTP_CAUSE_NEW_UDP_PORT, &e) &&
	       sctp_handshake_may_wait(a);
}

/* The cause that is reported: that of the peer's user wherever it stands, else the first one. */
static struct sctp_error abort_cause(const struct sctp_chunk *c)
{
	struct sctp_cursor at = sctp_errors(c);
	struct sctp_error e;

	if (sctp_error_find(c, SCTP_CAUSE_USER, &e) || sctp_error_next(&at, &e))
		return e;
	return (struct sctp_error){0};
}

void sctp_got_abort(struct sctp_path *p, const struct sctp_chunk *c)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp_error e = abort_cause(c);
	bool early = a->state == SCTP_COOKIE_WAIT || a->state == SCTP_COOKIE_ECHOED;

	sctp_reply_withdraw(a->s); /* 9.1: its packet is not answered */
	if (asks_to_wait(a, c))
		return;
	/* SHUTDOWN COMPLETE was lost, or a packet of ours arrived late: the peer has finished. */
	if (a->state == SCTP_SHUTDOWN_ACK_SENT && c->flags & SCTP_FLAG_T) {
		sctp_assoc_end(a, SCTP_END_CLOSED, 0, NULL, 0);
		return;
	}
	sctp_assoc_end(a, early && e.cause != SCTP_CAUSE_USER ? SCTP_END_REFUSED : SCTP_END_ABORTED,
		       e.cause,
		       e.cause == SCTP_CAUSE_USER || e.cause == SCTP_CAUSE_PROTOCOL
			       ? (const char *)e.p
			       : NULL,
		       e.len);
}

void sctp_got_error(struct sctp_path *p, const struct sctp_chunk *c)
{
	struct sctp_cursor at = sctp_errors(c);
	struct sctp_error e;

	while (p->assoc->state != SCTP_CLOSED && sctp_error_next(&at, &e))
		if (e.cause == SCTP_CAUSE_STALE_COOKIE && e.len >= 4)
			sctp_got_stale_cookie(p);
}
