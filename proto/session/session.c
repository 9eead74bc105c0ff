/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/session/session.h"

static const char *const state_name[SESSION_STATE_COUNT] = {
	[SESSION_IDLE] = "idle",
	[SESSION_REQUESTING] = "requesting",
	[SESSION_CANCELED] = "canceled",
	[SESSION_PENDING] = "pending",
	[SESSION_OPEN] = "open",
	[SESSION_ENDING] = "ending",
	[SESSION_LOCAL_ENDED] = "local-ended",
	[SESSION_HALF_CLOSED] = "half-closed",
	[SESSION_PEER_ENDED] = "peer-ended",
	[SESSION_LAST_CHUNK] = "last-chunk",
	[SESSION_QUARANTINE] = "quarantine",
	[SESSION_DEAD] = "dead",
};

static const char *const event_name[SESSION_EVENT_COUNT] = {
	[SESSION_CONNECT] = "connect",
	[SESSION_ACCEPT] = "accept",
	[SESSION_REJECT] = "reject",
	[SESSION_REFUSE] = "refuse",
	[SESSION_CLOSE] = "close",
	[SESSION_RX_INITIATE] = "rx Initiate",
	[SESSION_RX_UNWANTED] = "rx unwanted Initiate",
	[SESSION_RX_ACCEPT] = "rx Accept",
	[SESSION_RX_REJECT] = "rx Reject",
	[SESSION_RX_TERMINATE] = "rx Terminate",
	[SESSION_RX_HALF_CLOSE] = "rx Terminate of one half",
	[SESSION_RX_SEGMENT] = "rx segment",
	[SESSION_RX_VIOLATION] = "rx violation",
	[SESSION_LAST_SENT] = "last chunk sent",
	[SESSION_ACKED] = "all acknowledged",
	[SESSION_TIMEOUT] = "time-out",
	[SESSION_LOST] = "association lost",
};

const char *session_state_str(enum session_state state)
{
	return state < SESSION_STATE_COUNT ? state_name[state] : "?";
}

/* The only place that changes the state. Returns todo, so that a change reads as one line. */
static unsigned transition(struct session *s, enum session_event ev, enum session_state to,
			   unsigned todo)
{
	enum session_state from = s->state;

	s->state = to;
	if (s->trace->fn)
		s->trace->fn(s->trace->user, s->sid, state_name[from], state_name[to],
			     event_name[ev]);
	return todo;
}

/* No session, and no unacknowledged chunk of an old one. */
static unsigned idle(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_CONNECT: /* 6.2: the active side sends an Initiate */
		return transition(s, ev, SESSION_REQUESTING, SESSION_DO_INITIATE);
	case SESSION_RX_INITIATE: /* 6.4: the decision is the ULP's */
		return transition(s, ev, SESSION_PENDING, SESSION_DO_REQUEST);
	case SESSION_RX_UNWANTED: /* 6.4: a refusal that is not the ULP's is a Terminate */
		return transition(s, ev, SESSION_LAST_CHUNK, SESSION_DO_TERMINATE);
	case SESSION_ACKED:
	case SESSION_TIMEOUT:
	case SESSION_LOST:
		return 0;
	default: /* no session could be terminated */
		return SESSION_DO_BAD;
	}
}

static unsigned requesting(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_RX_ACCEPT: /* 6.2 */
		return transition(s, ev, SESSION_OPEN, SESSION_DO_OPEN);
	case SESSION_RX_REJECT: /* 6.3: both sides have sent their last chunk */
		return transition(s, ev, SESSION_IDLE, SESSION_DO_REJECTED);
	case SESSION_RX_TERMINATE: /* 6.4 */
		return transition(s, ev, SESSION_IDLE, SESSION_DO_REFUSED);
	case SESSION_CLOSE: /* 6.2 to 6.4: no sequence permits a message before the answer */
		return transition(s, ev, SESSION_CANCELED, SESSION_DO_END);
	case SESSION_RX_INITIATE: /* 6.1: no sequence has two active sides */
	case SESSION_RX_UNWANTED:
	case SESSION_RX_SEGMENT:
	case SESSION_RX_VIOLATION:
		return transition(s, ev, SESSION_ENDING,
				  SESSION_DO_BAD | SESSION_DO_FAIL | SESSION_DO_TERMINATE);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, SESSION_DO_END);
	case SESSION_ACKED:
	case SESSION_TIMEOUT:
		return 0;
	default:
		return SESSION_DO_BAD;
	}
}

static unsigned canceled(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_RX_ACCEPT: /* 6.2: at least one side sends a Terminate */
		return transition(s, ev, SESSION_ENDING, SESSION_DO_TERMINATE);
	case SESSION_RX_REJECT:
	case SESSION_RX_TERMINATE:
		return transition(s, ev, SESSION_IDLE, 0);
	case SESSION_RX_INITIATE: /* 6.1 */
	case SESSION_RX_UNWANTED:
	case SESSION_RX_SEGMENT:
	case SESSION_RX_VIOLATION:
		return transition(s, ev, SESSION_ENDING, SESSION_DO_BAD | SESSION_DO_TERMINATE);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, 0);
	case SESSION_CLOSE:
	case SESSION_ACKED:
	case SESSION_TIMEOUT:
		return 0;
	default:
		return SESSION_DO_BAD;
	}
}

static unsigned pending(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_ACCEPT: /* 6.2 */
		return transition(s, ev, SESSION_OPEN, SESSION_DO_ACCEPT);
	case SESSION_REJECT: /* 6.3 */
		return transition(s, ev, SESSION_LAST_CHUNK, SESSION_DO_REJECT);
	case SESSION_REFUSE: /* 6.4 */
		return transition(s, ev, SESSION_LAST_CHUNK, SESSION_DO_TERMINATE);
	case SESSION_TIMEOUT: /* 6.3: only the ULP may reject */
		return transition(s, ev, SESSION_LAST_CHUNK,
				  SESSION_DO_WITHDRAW | SESSION_DO_TERMINATE);
	case SESSION_RX_INITIATE: /* 6.1: the active side sends no control message before the answer
				   */
	case SESSION_RX_UNWANTED:
	case SESSION_RX_ACCEPT:
	case SESSION_RX_REJECT:
	case SESSION_RX_TERMINATE:
	case SESSION_RX_SEGMENT:
	case SESSION_RX_VIOLATION:
		return transition(s, ev, SESSION_LAST_CHUNK,
				  SESSION_DO_BAD | SESSION_DO_WITHDRAW | SESSION_DO_TERMINATE);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, SESSION_DO_WITHDRAW);
	case SESSION_ACKED:
		return 0;
	default:
		return SESSION_DO_BAD;
	}
}

static unsigned open_session(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_RX_SEGMENT: /* 6.2 */
		return SESSION_DO_DELIVER;
	case SESSION_RX_TERMINATE: /* 6.2: always answered, so that both sides know the end */
		return transition(s, ev, SESSION_PEER_ENDED,
				  SESSION_DO_STOP | SESSION_DO_TERMINATE);
	case SESSION_RX_HALF_CLOSE: /* RFC 5041 6.2.1 */
		return transition(s, ev, SESSION_HALF_CLOSED, SESSION_DO_HALF_CLOSED);
	case SESSION_CLOSE:
	case SESSION_TIMEOUT: /* the ULP did not close after an error was reported */
		return transition(s, ev, SESSION_ENDING, SESSION_DO_STOP | SESSION_DO_TERMINATE);
	case SESSION_RX_INITIATE: /* 6.1 */
	case SESSION_RX_UNWANTED:
	case SESSION_RX_ACCEPT:
	case SESSION_RX_REJECT:
	case SESSION_RX_VIOLATION:
		return transition(s, ev, SESSION_ENDING,
				  SESSION_DO_BAD | SESSION_DO_FAIL | SESSION_DO_TERMINATE);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, SESSION_DO_END);
	case SESSION_ACKED:
		return 0;
	default:
		return SESSION_DO_BAD;
	}
}

/* The peer has sent its last message; the ULP may send more. */
static unsigned half_closed(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_CLOSE: /* RFC 5041 6.2.1: then our half ends gracefully */
	case SESSION_TIMEOUT:
		return transition(s, ev, SESSION_PEER_ENDED,
				  SESSION_DO_STOP | SESSION_DO_TERMINATE);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, SESSION_DO_END);
	case SESSION_RX_INITIATE: /* RFC 5041 6.2.1: no message may follow the Terminate */
	case SESSION_RX_UNWANTED:
	case SESSION_RX_ACCEPT:
	case SESSION_RX_REJECT:
	case SESSION_RX_TERMINATE:
	case SESSION_RX_HALF_CLOSE:
	case SESSION_RX_SEGMENT:
	case SESSION_RX_VIOLATION:
		return transition(s, ev, SESSION_PEER_ENDED,
				  SESSION_DO_BAD | SESSION_DO_FAIL | SESSION_DO_TERMINATE);
	case SESSION_ACKED:
		return 0;
	default:
		return SESSION_DO_BAD;
	}
}

/* We are closing; segments that the peer sent before its Terminate are still received. */
static unsigned half_ended(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_RX_SEGMENT:
		return SESSION_DO_DELIVER;
	case SESSION_RX_TERMINATE:
		if (s->state == SESSION_ENDING)
			return transition(s, ev, SESSION_PEER_ENDED, 0);
		return transition(s, ev, SESSION_QUARANTINE, SESSION_DO_END);
	case SESSION_LAST_SENT:
		if (s->state == SESSION_ENDING)
			return transition(s, ev, SESSION_LOCAL_ENDED, 0);
		return SESSION_DO_BAD;
	case SESSION_RX_INITIATE: /* 6.1: our Terminate is on its way already */
	case SESSION_RX_UNWANTED:
	case SESSION_RX_ACCEPT:
	case SESSION_RX_REJECT:
	case SESSION_RX_VIOLATION:
		return SESSION_DO_BAD | SESSION_DO_FAIL;
	case SESSION_TIMEOUT: /* 6.6: chunks of the peer may never arrive */
		return transition(s, ev, SESSION_DEAD, SESSION_DO_END);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, SESSION_DO_END);
	case SESSION_CLOSE:
	case SESSION_ACKED:
		return 0;
	default:
		return SESSION_DO_BAD;
	}
}

static unsigned peer_ended(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_LAST_SENT:
		return transition(s, ev, SESSION_QUARANTINE, SESSION_DO_END);
	case SESSION_TIMEOUT: /* the transport accepts no messages; the owner need not wait */
		return transition(s, ev, SESSION_LAST_CHUNK, SESSION_DO_END);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, SESSION_DO_END);
	case SESSION_CLOSE:
	case SESSION_ACKED:
		return 0;
	default: /* 6.2: the Terminate was the peer's final chunk */
		return SESSION_DO_BAD;
	}
}

static unsigned over(struct session *s, enum session_event ev)
{
	switch (ev) {
	case SESSION_LAST_SENT:
		if (s->state == SESSION_LAST_CHUNK)
			return transition(s, ev, SESSION_QUARANTINE, 0);
		return 0;
	case SESSION_ACKED:
		if (s->state == SESSION_QUARANTINE)
			return transition(s, ev, SESSION_IDLE, 0);
		return 0;
	case SESSION_RX_INITIATE: /* 6.6: a peer that begins a new session has received our last
				     chunk */
	case SESSION_RX_UNWANTED:
		if (s->state != SESSION_QUARANTINE)
			return SESSION_DO_BAD;
		transition(s, ev, SESSION_IDLE, 0);
		return idle(s, ev);
	case SESSION_LOST:
		return transition(s, ev, SESSION_IDLE, 0);
	case SESSION_CLOSE:
	case SESSION_TIMEOUT:
		return 0;
	default:
		return SESSION_DO_BAD;
	}
}

unsigned session_event(struct session *s, enum session_event ev)
{
	switch (s->state) {
	case SESSION_IDLE:
		return idle(s, ev);
	case SESSION_REQUESTING:
		return requesting(s, ev);
	case SESSION_CANCELED:
		return canceled(s, ev);
	case SESSION_PENDING:
		return pending(s, ev);
	case SESSION_OPEN:
		return open_session(s, ev);
	case SESSION_ENDING:
	case SESSION_LOCAL_ENDED:
		return half_ended(s, ev);
	case SESSION_HALF_CLOSED:
		return half_closed(s, ev);
	case SESSION_PEER_ENDED:
		return peer_ended(s, ev);
	case SESSION_LAST_CHUNK:
	case SESSION_QUARANTINE:
	case SESSION_DEAD:
		return over(s, ev);
	case SESSION_STATE_COUNT:
		break;
	}
	return SESSION_DO_BAD;
}
