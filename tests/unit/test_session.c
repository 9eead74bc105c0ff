/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state machine of RFC 5043 section 6, every state with every event: the table below has all
 * valid transitions; any other event is refused and changes nothing.
 */
#include <criterion/criterion.h>

#include "proto/session/session.h"

enum {
	BAD = SESSION_DO_BAD,
	INITIATE = SESSION_DO_INITIATE,
	ACCEPT = SESSION_DO_ACCEPT,
	REJECT = SESSION_DO_REJECT,
	TERMINATE = SESSION_DO_TERMINATE,
	REQUEST = SESSION_DO_REQUEST,
	WITHDRAW = SESSION_DO_WITHDRAW,
	OPEN = SESSION_DO_OPEN,
	REJECTED = SESSION_DO_REJECTED,
	REFUSED = SESSION_DO_REFUSED,
	DELIVER = SESSION_DO_DELIVER,
	STOP = SESSION_DO_STOP,
	FAIL = SESSION_DO_FAIL,
	END = SESSION_DO_END,
	TELL_HALF = SESSION_DO_HALF_CLOSED,
};

struct row {
	enum session_state from;
	enum session_event ev;
	enum session_state to;
	unsigned todo;
	const char *reason; /* section of RFC 5043, or the reason */
};

#define STAY(state, ev, todo, reason)                                                              \
	{                                                                                          \
		SESSION_##state, SESSION_##ev, SESSION_##state, todo, reason                       \
	}
#define GO(from, ev, to, todo, reason)                                                             \
	{                                                                                          \
		SESSION_##from, SESSION_##ev, SESSION_##to, todo, reason                           \
	}

static const struct row table[] = {
	GO(IDLE, CONNECT, REQUESTING, INITIATE, "6.2"),
	GO(IDLE, RX_INITIATE, PENDING, REQUEST, "6.4"),
	GO(IDLE, RX_UNWANTED, LAST_CHUNK, TERMINATE, "6.4"),
	STAY(IDLE, ACKED, 0, "nothing is outstanding"),
	STAY(IDLE, TIMEOUT, 0, "no timer runs"),
	STAY(IDLE, LOST, 0, "no session"),

	GO(REQUESTING, CLOSE, CANCELED, END, "6.2: no message before the answer"),
	GO(REQUESTING, RX_ACCEPT, OPEN, OPEN, "6.2"),
	GO(REQUESTING, RX_REJECT, IDLE, REJECTED, "6.3"),
	GO(REQUESTING, RX_TERMINATE, IDLE, REFUSED, "6.4"),
	GO(REQUESTING, RX_INITIATE, ENDING, BAD | FAIL | TERMINATE, "6.1: glare"),
	GO(REQUESTING, RX_UNWANTED, ENDING, BAD | FAIL | TERMINATE, "6.1: glare"),
	GO(REQUESTING, RX_SEGMENT, ENDING, BAD | FAIL | TERMINATE, "6.1: no answer"),
	GO(REQUESTING, RX_VIOLATION, ENDING, BAD | FAIL | TERMINATE, "6.1"),
	STAY(REQUESTING, ACKED, 0, "only the answer counts"),
	STAY(REQUESTING, TIMEOUT, 0, "no timer runs"),
	GO(REQUESTING, LOST, IDLE, END, "11.3"),

	STAY(CANCELED, CLOSE, 0, "closed already"),
	GO(CANCELED, RX_ACCEPT, ENDING, TERMINATE, "6.2: one side must"),
	GO(CANCELED, RX_REJECT, IDLE, 0, "6.3"),
	GO(CANCELED, RX_TERMINATE, IDLE, 0, "6.4"),
	GO(CANCELED, RX_INITIATE, ENDING, BAD | TERMINATE, "6.1: glare"),
	GO(CANCELED, RX_UNWANTED, ENDING, BAD | TERMINATE, "6.1: glare"),
	GO(CANCELED, RX_SEGMENT, ENDING, BAD | TERMINATE, "6.1: no answer"),
	GO(CANCELED, RX_VIOLATION, ENDING, BAD | TERMINATE, "6.1"),
	STAY(CANCELED, ACKED, 0, "only the answer counts"),
	STAY(CANCELED, TIMEOUT, 0, "no timer runs"),
	GO(CANCELED, LOST, IDLE, 0, "11.3"),

	GO(PENDING, ACCEPT, OPEN, ACCEPT, "6.2"),
	GO(PENDING, REJECT, LAST_CHUNK, REJECT, "6.3"),
	GO(PENDING, REFUSE, LAST_CHUNK, TERMINATE, "6.4"),
	GO(PENDING, TIMEOUT, LAST_CHUNK, WITHDRAW | TERMINATE, "6.3: no Reject but the ULP's"),
	GO(PENDING, RX_INITIATE, LAST_CHUNK, BAD | WITHDRAW | TERMINATE, "6.1"),
	GO(PENDING, RX_UNWANTED, LAST_CHUNK, BAD | WITHDRAW | TERMINATE, "6.1"),
	GO(PENDING, RX_ACCEPT, LAST_CHUNK, BAD | WITHDRAW | TERMINATE, "6.1"),
	GO(PENDING, RX_REJECT, LAST_CHUNK, BAD | WITHDRAW | TERMINATE, "6.1"),
	GO(PENDING, RX_TERMINATE, LAST_CHUNK, BAD | WITHDRAW | TERMINATE, "6.1: no cancel"),
	GO(PENDING, RX_SEGMENT, LAST_CHUNK, BAD | WITHDRAW | TERMINATE, "6.1"),
	GO(PENDING, RX_VIOLATION, LAST_CHUNK, BAD | WITHDRAW | TERMINATE, "6.1"),
	STAY(PENDING, ACKED, 0, "we have sent nothing"),
	GO(PENDING, LOST, IDLE, WITHDRAW, "11.3"),

	STAY(OPEN, RX_SEGMENT, DELIVER, "6.2"),
	GO(OPEN, RX_TERMINATE, PEER_ENDED, STOP | TERMINATE, "6.2"),
	GO(OPEN, CLOSE, ENDING, STOP | TERMINATE, "6.2"),
	GO(OPEN, RX_INITIATE, ENDING, BAD | FAIL | TERMINATE, "6.1"),
	GO(OPEN, RX_UNWANTED, ENDING, BAD | FAIL | TERMINATE, "6.1"),
	GO(OPEN, RX_ACCEPT, ENDING, BAD | FAIL | TERMINATE, "6.1"),
	GO(OPEN, RX_REJECT, ENDING, BAD | FAIL | TERMINATE, "6.1"),
	GO(OPEN, RX_VIOLATION, ENDING, BAD | FAIL | TERMINATE, "6.1"),
	STAY(OPEN, ACKED, 0, "no effect"),
	GO(OPEN, RX_HALF_CLOSE, HALF_CLOSED, TELL_HALF, "RFC 5041 6.2.1"),
	GO(OPEN, TIMEOUT, ENDING, STOP | TERMINATE,
	   "RFC 5041 6.2.2: an error was reported long ago"),
	GO(OPEN, LOST, IDLE, END, "11.3"),

	STAY(ENDING, RX_SEGMENT, DELIVER, "6.2: the peer has not ended"),
	GO(ENDING, RX_TERMINATE, PEER_ENDED, 0, "6.2"),
	GO(ENDING, LAST_SENT, LOCAL_ENDED, 0, "6.2"),
	STAY(ENDING, CLOSE, 0, "closed already"),
	STAY(ENDING, RX_INITIATE, BAD | FAIL, "6.1: a Terminate is on its way"),
	STAY(ENDING, RX_UNWANTED, BAD | FAIL, "6.1"),
	STAY(ENDING, RX_ACCEPT, BAD | FAIL, "6.1"),
	STAY(ENDING, RX_REJECT, BAD | FAIL, "6.1"),
	STAY(ENDING, RX_VIOLATION, BAD | FAIL, "6.1"),
	STAY(ENDING, ACKED, 0, "no effect"),
	GO(ENDING, TIMEOUT, DEAD, END, "6.6: chunks of the peer may be outstanding"),
	GO(ENDING, LOST, IDLE, END, "11.3"),

	STAY(LOCAL_ENDED, RX_SEGMENT, DELIVER, "6.2: the peer has not ended"),
	GO(LOCAL_ENDED, RX_TERMINATE, QUARANTINE, END, "6.2, 6.6"),
	STAY(LOCAL_ENDED, CLOSE, 0, "closed already"),
	STAY(LOCAL_ENDED, RX_INITIATE, BAD | FAIL, "6.1: the Terminate was sent"),
	STAY(LOCAL_ENDED, RX_UNWANTED, BAD | FAIL, "6.1"),
	STAY(LOCAL_ENDED, RX_ACCEPT, BAD | FAIL, "6.1"),
	STAY(LOCAL_ENDED, RX_REJECT, BAD | FAIL, "6.1"),
	STAY(LOCAL_ENDED, RX_VIOLATION, BAD | FAIL, "6.1"),
	STAY(LOCAL_ENDED, ACKED, 0, "the peer's end decides"),
	GO(LOCAL_ENDED, TIMEOUT, DEAD, END, "6.6: chunks of the peer may be outstanding"),
	GO(LOCAL_ENDED, LOST, IDLE, END, "11.3"),

	GO(HALF_CLOSED, CLOSE, PEER_ENDED, STOP | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, TIMEOUT, PEER_ENDED, STOP | TERMINATE, "the wait is limited"),
	GO(HALF_CLOSED, RX_INITIATE, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, RX_UNWANTED, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, RX_ACCEPT, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, RX_REJECT, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, RX_TERMINATE, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, RX_HALF_CLOSE, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, RX_SEGMENT, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	GO(HALF_CLOSED, RX_VIOLATION, PEER_ENDED, BAD | FAIL | TERMINATE, "RFC 5041 6.2.1"),
	STAY(HALF_CLOSED, ACKED, 0, "the ULP decides"),
	GO(HALF_CLOSED, LOST, IDLE, END, "11.3"),

	GO(PEER_ENDED, LAST_SENT, QUARANTINE, END, "6.2, 6.6"),
	STAY(PEER_ENDED, CLOSE, 0, "closed already"),
	STAY(PEER_ENDED, ACKED, 0, "our end decides"),
	GO(PEER_ENDED, TIMEOUT, LAST_CHUNK, END, "the Terminate goes out when it can"),
	GO(PEER_ENDED, LOST, IDLE, END, "11.3"),

	GO(LAST_CHUNK, LAST_SENT, QUARANTINE, 0, "6.6"),
	STAY(LAST_CHUNK, CLOSE, 0, "over"),
	STAY(LAST_CHUNK, ACKED, 0, "not sent yet"),
	STAY(LAST_CHUNK, TIMEOUT, 0, "no timer runs"),
	GO(LAST_CHUNK, LOST, IDLE, 0, "11.3"),

	STAY(QUARANTINE, LAST_SENT, 0, "sent already"),
	GO(QUARANTINE, ACKED, IDLE, 0, "6.6"),
	GO(QUARANTINE, RX_INITIATE, PENDING, REQUEST, "6.6: the peer has received all our chunks"),
	GO(QUARANTINE, RX_UNWANTED, LAST_CHUNK, TERMINATE, "6.6, 6.4"),
	STAY(QUARANTINE, CLOSE, 0, "over"),
	STAY(QUARANTINE, TIMEOUT, 0, "no timer runs"),
	GO(QUARANTINE, LOST, IDLE, 0, "11.3"),

	STAY(DEAD, LAST_SENT, 0, "a late Terminate"),
	STAY(DEAD, CLOSE, 0, "over"),
	STAY(DEAD, ACKED, 0, "chunks of the peer may still arrive"),
	STAY(DEAD, TIMEOUT, 0, "no timer runs"),
	GO(DEAD, LOST, IDLE, 0, "11.3"),
};

static const struct row *find(enum session_state from, enum session_event ev)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].from == from && table[i].ev == ev)
			return &table[i];
	return NULL;
}

static void expect_names(void *user, uint16_t sid, const char *from, const char *to,
			 const char *event)
{
	(void)user;
	(void)sid;
	cr_expect(from && to && event);
}

static const struct session_trace named = {.fn = expect_names};

/* rows: 5043-6.1-04 5043-6.5-02 */
Test(session, every_state_with_every_event)
{
	for (int st = 0; st < SESSION_STATE_COUNT; st++) {
		for (int ev = 0; ev < SESSION_EVENT_COUNT; ev++) {
			struct session s = {.state = st, .trace = &named};
			const struct row *r = find(st, ev);
			unsigned todo = session_event(&s, ev);

			cr_expect_eq(s.state, r ? r->to : (enum session_state)st,
				     "%s, event %d (%s): now %s", session_state_str(st), ev,
				     r ? r->reason : "no pattern", session_state_str(s.state));
			cr_expect_eq(todo, r ? r->todo : BAD,
				     "%s, event %d (%s): %#x is to be done", session_state_str(st),
				     ev, r ? r->reason : "no pattern", todo);
		}
	}
}

Test(session, the_table_has_each_pair_once)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect_eq(find(table[i].from, table[i].ev), &table[i]);
}

Test(session, every_state_has_a_name)
{
	for (int st = 0; st < SESSION_STATE_COUNT; st++)
		cr_expect_not_null(session_state_str(st));
	cr_expect_str_eq(session_state_str(SESSION_STATE_COUNT), "?");
}

struct line {
	unsigned n;
	uint16_t sid;
	const char *from, *to, *event;
};

static void note(void *user, uint16_t sid, const char *from, const char *to, const char *event)
{
	struct line *l = user;

	*l = (struct line){l->n + 1, sid, from, to, event};
}

Test(session, a_change_is_traced_and_nothing_else_is)
{
	struct line l = {0};
	struct session_trace trace = {note, &l};
	struct session s = {.sid = 5, .trace = &trace};

	session_event(&s, SESSION_RX_SEGMENT);
	cr_expect_eq(l.n, 0);
	session_event(&s, SESSION_CONNECT);
	cr_assert_eq(l.n, 1);
	cr_expect_eq(l.sid, 5);
	cr_expect_str_eq(l.from, "idle");
	cr_expect_str_eq(l.to, "requesting");
	cr_expect_str_eq(l.event, "connect");
}
