/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold between the calls. */
#include "tests/sctp/sim/world.h"
#include "util/crc32c.h"

/* ---- batches ---- */

static struct sctp_path *path_of(struct world *w, unsigned host, const struct sctp_batch *b)
{
	const uint8_t *p = b->span[0].p;
	uint16_t own = (uint16_t)(p[0] << 8 | p[1]), peer = (uint16_t)(p[2] << 8 | p[3]);

	list_foreach (it, &w->host[host].s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		if (a->own_port == own && a->peer_port == peer && a->state != SCTP_CLOSED)
			return sctp_assoc_find_path(a, &b->to.peer);
	}
	return NULL;
}

static void check_packets(struct world *w, const struct sctp_batch *b)
{
	static uint8_t pkt[SCTP_MAX_PACKET];
	uint32_t len = 0, total = 0;
	unsigned packets = 0;

	for (unsigned i = 0; i < b->nspans; i++) {
		check(w, b->span[i].len > 0 && b->span[i].len <= b->segment - len);
		memcpy(pkt + len, b->span[i].p, b->span[i].len);
		len += (uint32_t)b->span[i].len;
		total += (uint32_t)b->span[i].len;
		if (len < b->segment && i + 1 < b->nspans)
			continue;
		check(w, len % 4 == 0 && len >= SCTP_HEAD + SCTP_CHUNK_HEAD);
		check(w, crc32c_check(pkt, len));
		packets++;
		len = 0;
	}
	check(w, packets == b->packets && total == b->len);
}

void model_batch(struct world *w, unsigned host, const struct sctp_batch *b)
{
	struct sctp_path *p;

	w->sum.batches++;
	w->sum.probes += b->probe;
	w->sum.fragments += b->fragment;
	check(w, b->packets >= 1 && b->packets <= SCTP_BATCH_PACKETS);
	check(w, b->nspans >= 1 && b->nspans <= SCTP_BATCH_SPANS && b->used <= SCTP_BATCH_SPACE);
	check(w, b->segment <= SCTP_MAX_PACKET && b->len <= SCTP_MAX_PACKET);
	check(w, b->len > (b->packets - 1) * b->segment && b->len <= b->packets * b->segment);
	check(w, (!b->probe && !b->fragment) || b->packets == 1);
	check_packets(w, b);
	p = path_of(w, host, b);
	if (p && !b->probe && !b->fragment)
		check(w, b->segment <= p->pmtu.size);
	if (p && b->fragment)
		check(w, b->segment > p->pmtu.size);
}

/* ---- what is in flight ---- */

unsigned model_before(struct world *w, unsigned host, struct before ret[CONNS])
{
	unsigned n = 0;

	list_foreach (it, &w->host[host].s->assocs) {
		struct before *b = &ret[n++];

		b->a = list_entry(it, struct sctp_assoc, all);
		b->in_flight = b->a->tx.in_flight;
		for (unsigned i = 0; i < b->a->npaths; i++) {
			b->flight[i] = b->a->path[i].flight;
			b->extra[i] = b->a->path[i].extra;
		}
		if (n == CONNS)
			break;
	}
	return n;
}

static void check_path(struct world *w, const struct before *b, const struct sctp_path *p)
{
	uint32_t most = p->cc.cwnd, packet = p->pmtu.size;

	if (p->flight <= b->flight[p->index])
		return;
	check(w, p->state != SCTP_PATH_UNCONFIRMED);
	check(w, p->t3_us != SCTP_NEVER);
	if (w->batch.fragment)
		packet = w->batch.len;
	/* One packet more may go after a loss. */
	if (b->extra[p->index] && b->flight[p->index] > most)
		most = b->flight[p->index];
	check(w, p->flight <= most + packet);
}

static void check_window(struct world *w, const struct before *b)
{
	const struct sctp_queue *q = &b->a->tx;

	if (q->in_flight > b->in_flight)
		check(w, q->in_flight <= q->rwnd || (b->in_flight == 0 && q->out.n == 1));
}

void model_output(struct world *w, unsigned host, const struct before *b, unsigned n)
{
	(void)host;
	for (unsigned k = 0; k < n; k++) {
		if (b[k].a->state == SCTP_CLOSED)
			continue;
		check_window(w, &b[k]);
		for (unsigned i = 0; i < b[k].a->npaths; i++)
			check_path(w, &b[k], &b[k].a->path[i]);
	}
}

/* ---- between turns ---- */

static void check_sums(struct world *w, const struct sctp_assoc *a)
{
	uint32_t flight[SCTP_MAX_PATHS] = {0}, all = 0, bytes = 0, out = 0, lost = 0;
	const struct sctp_queue *q = &a->tx;

	for (uint32_t tsn = q->cum + 1; tsn != q->next_tsn; tsn++) {
		const struct sctp_tx *t = sctp_tx_get(q, tsn);

		bytes += sctp_tx_wire(t);
		check(w, (t->state == SCTP_TX_QUEUED) == !sctp_tsn_before(tsn, q->send_tsn));
		check(w, t->state != SCTP_TX_ACKED);
		lost += t->state == SCTP_TX_LOST;
		if (t->state != SCTP_TX_OUT)
			continue;
		/* A lost chunk that waits for its turn may come before. */
		check(w, sctp_tsn_before(q->cum, a->path[t->path].first));
		check(w, !sctp_tsn_before(tsn, a->path[t->path].first));
		flight[t->path] += sctp_tx_wire(t);
		all += t->size - SCTP_DATA_HEAD;
		out++;
	}
	check(w, bytes == q->bytes && all == q->in_flight && out == q->out.n && lost == q->lost.n);
	for (unsigned i = 0; i < a->npaths; i++)
		check(w, flight[i] == a->path[i].flight);
}

/* What is outstanding is watched by a deadline, and so is what has to be acknowledged. */
static void check_deadlines(struct world *w, const struct sctp_assoc *a)
{
	bool waits = a->state == SCTP_COOKIE_WAIT || a->state == SCTP_COOKIE_ECHOED ||
		     a->state == SCTP_SHUTDOWN_SENT || a->state == SCTP_SHUTDOWN_ACK_SENT;
	uint64_t at = sctp_expiry(a->s);

	if (a->state == SCTP_CLOSED)
		return;
	check(w, !waits || (a->t1_us != SCTP_NEVER && at <= a->t1_us));
	check(w, a->unsacked == 0 || (a->sack_us != SCTP_NEVER && at <= a->sack_us));
	check(w, sctp_tx_empty(&a->tx) || at != SCTP_NEVER);
	for (unsigned i = 0; i < a->npaths; i++)
		check(w, a->path[i].flight == 0 ||
				 (a->path[i].t3_us != SCTP_NEVER && at <= a->path[i].t3_us));
}

void model_host(struct world *w, unsigned host)
{
	struct host *h = &w->host[host];

	check(w, sctp_memory(h->s) == h->allocated);
	check(w, h->s->pool.used <= h->cfg.max_memory);
	list_foreach (it, &h->s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		check_deadlines(w, a);
		if (a->state >= SCTP_ESTABLISHED && (a->tx.bytes < 20000 || chance(w, 300)))
			check_sums(w, a);
	}
}

/* ---- what arrived ---- */

void model_received(struct world *w, struct conn *c)
{
	const struct sctp_tsn_map *m = &c->a->map;
	uint32_t base;

	if (c->replay || c->peer < 0)
		return;
	if (!w->conn[c->peer]->a)
		return;
	base = w->conn[c->peer]->a->own_initial_tsn;
	check(w, m->cum == base - 1 + c->prefix);
	check(w, m->highest == (c->top > c->prefix ? base - 1 + c->top : m->cum));
	if (m->highest == m->cum || !chance(w, 1000))
		return;
	for (uint32_t i = c->prefix; i < c->top; i++) {
		uint32_t tsn = base + i;
		bool bit = m->bits[tsn / 64 % (SCTP_BLOCK / 8)] >> tsn % 64 & 1;

		check(w, bit == c->got[i]);
	}
}

void model_end(struct world *w)
{
	for (unsigned h = 0; h < 2; h++) {
		const struct sctp *s = w->host[h].s;

		check(w, list_empty(&s->assocs) && s->nassocs == 0);
		check(w, s->pool.used == (s->pool.scratch ? SCTP_SCRATCH : 0));
	}
}
