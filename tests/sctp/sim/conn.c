/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends of associations, their messages, and what the model expects of them. */
#include "tests/sctp/sim/world.h"

static uint8_t pattern[VARIANTS + SCTP_MAX_PACKET];

static void fill_pattern(void)
{
	uint32_t x = 1;

	for (size_t i = 0; pattern[0] == 0 && i < sizeof(pattern); i++) {
		x = x * 1664525 + 1013904223;
		pattern[sizeof(pattern) - 1 - i] = (uint8_t)(x >> 24 | 1);
	}
}

static const uint8_t *content(uint32_t number)
{
	return pattern + number % VARIANTS;
}

/* ---- ends ---- */

/* The two ends know each other's tags. */
static void find_peer(struct world *w, struct conn *c)
{
	for (unsigned i = 0; c->peer < 0 && i < w->conns; i++) {
		struct conn *o = w->conn[i];

		if (o->host == c->host || o->peer >= 0 || o->down || o->own_tag != c->peer_tag ||
		    (o->peer_tag && o->peer_tag != c->own_tag))
			continue;
		o->peer = (int)c->number;
		c->peer = (int)i;
	}
}

/* An association made by a COOKIE ECHO that the network delivered again. */
static bool is_replay(const struct world *w, const struct conn *c)
{
	for (unsigned i = 0; i < c->number; i++)
		if (w->conn[i]->host == c->host && w->conn[i]->own_tag == c->own_tag)
			return true;
	return false;
}

/* What the other end says is not for the former association, either. */
static void set_replay(struct world *w, struct conn *c)
{
	c->replay = true;
	for (unsigned i = 0; i < w->conns; i++)
		if (w->conn[i]->host != c->host && w->conn[i]->own_tag == c->peer_tag)
			w->conn[i]->replay = true;
}

/* Handshakes that a host has refused because it had too many associations. */
static uint64_t refused(struct world *w, unsigned host)
{
	struct sctp_stats st;

	sctp_stats(w->host[host].s, &st);
	return st.refused_handshakes;
}

static void learn(struct conn *c)
{
	c->own_tag = c->a->id.own_tag;
	c->peer_tag = c->a->id.peer_tag;
}

struct conn *conn_new(struct world *w, unsigned host, struct sctp_assoc *a)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	check(w, w->conns < CONNS);
	fill_pattern();
	c->number = w->conns;
	c->host = host;
	c->a = a;
	c->peer = -1;
	c->refused_before = refused(w, !host);
	w->conn[w->conns++] = c;
	w->sum.conns++;
	sctp_assoc_set_user(a, c);
	learn(c);
	return c;
}

void conn_up(struct world *w, struct conn *c)
{
	check(w, !c->up && !c->down);
	trace(w, "up", c->host, c->number);
	c->up = true;
	learn(c);
	if (is_replay(w, c))
		set_replay(w, c);
	else
		find_peer(w, c);
	c->wish = (unsigned)below(w, 60);
}

struct conn *conn_of(struct world *w, struct sctp_assoc *a)
{
	for (unsigned i = 0; i < w->conns; i++)
		if (w->conn[i]->a == a)
			return w->conn[i];
	return NULL;
}

void conn_drop(struct world *w, struct conn *c)
{
	(void)w;
	c->a = sctp_assoc_free(c->a);
	c->wish = 0;
}

/* T5 ends a shutdown that takes too long, on either side. */
static bool took_long(const struct world *w, const struct conn *c)
{
	const struct conn *o = w->conn[c->peer];

	for (unsigned i = 0; i < 2; i++, c = o)
		if (c->shut_us &&
		    w->now - c->shut_us >= 5 * (uint64_t)w->host[c->host].cfg.rto_max_us)
			return true;
	return false;
}

/* Too many associations: the peer has refused an INIT since this end began to connect. If the INIT
 * came twice, the peer may have had room for the other one, and for COOKIE ECHO. If COOKIE ECHO
 * came twice, this end may be up by one when the ABORT of the other arrives. */
static bool was_refused(struct world *w, const struct conn *c)
{
	bool fits = c->up ? c->end == SCTP_END_ABORTED : c->end == SCTP_END_REFUSED;

	return fits && refused(w, !c->host) > c->refused_before;
}

/* Whether an association may end otherwise than by a graceful shutdown. */
static bool is_excused(struct world *w, const struct conn *c)
{
	const struct conn *o = c->peer < 0 ? NULL : w->conn[c->peer];

	/* A path became narrow, and drops fragments: all of them, or those of several tries. */
	if (w->resizes && c->end == SCTP_END_STALLED)
		return true;
	if (c->replay || !o || took_long(w, c) || was_refused(w, c) || was_refused(w, o))
		return true;
	if (w->resizes && c->end == SCTP_END_ABORTED && o->end == SCTP_END_STALLED)
		return true;
	/* Memory was missing for COOKIE ECHO, but not for its duplicate. */
	return w->failing && (!c->up || (o->down && !o->up));
}

void conn_down(struct world *w, struct conn *c, enum sctp_end end)
{
	trace(w, "down", c->number, end);
	check(w, !c->down);
	c->down = true;
	c->end = end;
	if (end == SCTP_END_CLOSED) {
		w->sum.closed++;
		/* It was shut down before it was up, or everything arrived. */
		if (c->up && !c->replay)
			conn_acked(w, c);
	} else {
		w->sum.broken++;
		w->sum.stalls += end == SCTP_END_STALLED;
		check(w, !w->strict || is_excused(w, c));
	}
	check(w, sctp_assoc_send(c->a, 0, 0, false, &(struct span){pattern, 1}, 1) == SCTP_E_DOWN);
	conn_drop(w, c);
}

/* ---- messages ---- */

static uint32_t length(struct world *w, uint32_t most)
{
	uint32_t len;

	switch (below(w, 4) + w->size_class) {
	case 0:
	case 1:
		len = 1 + (uint32_t)below(w, 64);
		break;
	case 2:
	case 3:
		len = 1 + (uint32_t)below(w, 1500);
		break;
	case 4:
		len = most - (uint32_t)below(w, 40);
		break;
	default:
		len = 1 + (uint32_t)below(w, most);
	}
	return len < most ? len : most;
}

static int send_one(struct world *w, struct conn *c)
{
	struct sctp_info info;
	uint32_t number = w->msgs, len, cut;
	struct span part[2];
	int r;

	sctp_assoc_info(c->a, &info);
	len = length(w, info.max_message);
	cut = (uint32_t)below(w, len);
	part[0] = (struct span){(uint8_t *)(uintptr_t)content(number), cut};
	part[1] = (struct span){(uint8_t *)(uintptr_t)content(number) + cut, len - cut};
	r = sctp_assoc_send(c->a, (uint16_t)(number % info.streams), number, chance(w, 500), part,
			    2);
	if (r)
		return r;
	w->msg[number] = (struct msg){.conn = c->number, .index = c->sent, .len = len};
	c->numbers[c->sent++] = number;
	w->msgs++;
	w->sum.messages++;
	w->sum.bytes += len;
	return 0;
}

void conn_send(struct world *w, struct conn *c)
{
	while (c->a && c->up && c->wish && !c->blocked) {
		int r;

		if (c->sent == MSGS / 4 || w->msgs == MSGS) {
			c->wish = 0;
			return;
		}
		r = send_one(w, c);
		trace(w, "send", c->number, (uint64_t)r);
		switch (r) {
		case SCTP_E_OK:
			c->wish--;
			break;
		case SCTP_E_AGAIN:
		case SCTP_E_MEMORY:
			c->blocked = true;
			break;
		default:
			check(w, r == SCTP_E_DOWN && c->a->state != SCTP_ESTABLISHED);
			c->wish = 0;
		}
	}
}

/* Messages belong to the other end, arrive once and are what was sent. */
void conn_got(struct world *w, struct conn *c, const struct sctp_msg *m)
{
	struct msg *k;

	check(w, m->ppid < w->msgs);
	k = &w->msg[m->ppid];
	if (c->replay || w->conn[k->conn]->replay)
		return;
	trace(w, "got", c->number, m->ppid);
	check(w, c->up && c->peer == (int)k->conn && w->conn[c->peer]->peer == (int)c->number);
	check(w, !k->delivered);
	check(w, m->len == k->len && !m->ordered && m->n == 1 && m->part[0].len == m->len);
	check(w, !memcmp(m->part[0].p, content(m->ppid), m->len));
	k->delivered = true;
	c->got[k->index] = true;
	while (c->prefix < MSGS / 4 && c->got[c->prefix])
		c->prefix++;
	if (k->index >= c->top)
		c->top = k->index + 1;
}

void conn_acked(struct world *w, struct conn *c)
{
	for (uint32_t i = 0; i < c->sent; i++)
		check(w, w->msg[c->numbers[i]].delivered);
}
