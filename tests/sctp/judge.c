/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/handshake.h"
#include "tests/sctp/judge.h"
#include "util/be.h"
#include "util/crc32c.h"

#define check(j, cond) ((cond) ? (void)0 : (j)->wrong((j)->user, __FILE__, __LINE__, #cond))

/* ---- batches ---- */

/* Two associations may differ only in their own addresses: one of them outlived a peer that began
 * again and reached another address. */
static struct sctp_path *path_of(const struct judge *j, const struct sctp_batch *b,
				 const uint8_t *head)
{
	struct sctp_path *p;

	list_foreach (it, &j->s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		if (a->id.own_port == be_get16(head) && a->id.peer_port == be_get16(head + 2) &&
		    a->state != SCTP_CLOSED && sctp_assoc_has_local(a, b->to.local) &&
		    (p = sctp_assoc_find_path(a, &b->to.peer)) && p->flow.covered == b->to.covered)
			return p;
	}
	return NULL;
}

/* Each packet fits its own path, whosever the batch is. */
static void check_size(const struct judge *j, const struct sctp_batch *b, const uint8_t *pkt,
		       uint32_t len)
{
	const struct sctp_path *p = path_of(j, b, pkt);

	if (p && !b->probe && !b->fragment)
		check(j, len <= p->pmtu.size);
	if (p && b->fragment)
		check(j, len > p->pmtu.size);
}

static void check_packets(const struct judge *j, const struct sctp_batch *b)
{
	static uint8_t pkt[SCTP_MAX_PACKET];
	uint32_t len = 0, total = 0;
	unsigned packets = 0;

	for (unsigned i = 0; i < b->nspans; i++) {
		check(j, b->span[i].len > 0 && b->span[i].len <= b->segment - len);
		memcpy(pkt + len, b->span[i].p, b->span[i].len);
		len += (uint32_t)b->span[i].len;
		total += (uint32_t)b->span[i].len;
		if (len < b->segment && i + 1 < b->nspans)
			continue;
		check(j, len % 4 == 0 && len >= SCTP_HEAD + SCTP_CHUNK_HEAD);
		check(j, (b->to.covered && be_get32(pkt + SCTP_CHECKSUM) == 0) ||
				 crc32c_check(pkt, len));
		check_size(j, b, pkt, len);
		packets++;
		len = 0;
	}
	check(j, packets == b->packets && total == b->len);
}

void judge_batch(const struct judge *j, const struct sctp_batch *b)
{
	check(j, b->packets >= 1 && b->packets <= SCTP_BATCH_PACKETS);
	check(j, b->nspans >= 1 && b->nspans <= SCTP_BATCH_SPANS && b->used <= SCTP_BATCH_SPACE);
	check(j, b->segment <= SCTP_MAX_PACKET && b->len <= SCTP_MAX_PACKET);
	check(j, b->len > (b->packets - 1) * b->segment && b->len <= b->packets * b->segment);
	check(j, (!b->probe && !b->fragment) || b->packets == 1);
	check_packets(j, b);
}

/* ---- windows ---- */

static void remember(const struct sctp_assoc *a, struct judge_before *ret)
{
	ret->a = a;
	ret->own_tag = a->id.own_tag;
	ret->in_flight = a->flight.payload;
	ret->npaths = a->paths.n;
	for (unsigned i = 0; i < a->paths.n; i++) {
		const struct sctp_path *p = &a->paths.at[i];

		ret->path[i].flight = p->flight.bytes;
		ret->path[i].lost = a->flight.lost.n ? a->tx.bytes : 0;
		ret->path[i].cwnd = p->cc.cwnd;
		ret->path[i].undo = p->cc.undo.cwnd;
		ret->path[i].held = p->cc.gap_acked;
		ret->path[i].sndcnt = p->cc.prr.above ? p->cc.prr.sndcnt : 0;
		ret->path[i].pmdcs = p->cc.pmdcs;
		ret->path[i].extra = p->extra;
	}
}

unsigned judge_before(const struct judge *j, struct judge_before ret[JUDGE_ASSOCS])
{
	unsigned n = 0;

	list_foreach (it, &j->s->assocs) {
		if (n == JUDGE_ASSOCS)
			break;
		remember(list_entry(it, struct sctp_assoc, all), &ret[n++]);
	}
	return n;
}

/* It was not freed since, and did not begin again. */
static bool exists(const struct judge *j, const struct judge_before *b)
{
	list_foreach (it, &j->s->assocs) {
		const struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		if (a == b->a)
			return a->state != SCTP_CLOSED && a->id.own_tag == b->own_tag &&
			       a->paths.n >= b->npaths;
	}
	return false;
}

static void check_flight(const struct judge *j, const struct judge_before *b,
			 const struct sctp_path *p, const struct sctp_batch *sent)
{
	uint32_t most = p->cc.cwnd, packet = sent->fragment ? sent->len : p->pmtu.size;
	unsigned i = p->index;

	if (p->flight.bytes <= b->path[i].flight)
		return;
	check(j, p->state != SCTP_PATH_UNCONFIRMED);
	check(j, p->t3_us != SCTP_NEVER);
	/* In fast recovery it comes down gradually (RFC 9937). */
	if (p->cc.prr.runs && b->path[i].flight + b->path[i].sndcnt > most)
		most = b->path[i].flight + b->path[i].sndcnt;
	/* One packet more may go after a loss. */
	if (b->path[i].extra && b->path[i].flight > most)
		most = b->path[i].flight;
	check(j, p->flight.bytes <= most + packet);
}

static void check_window(const struct judge *j, const struct judge_before *b)
{
	const struct sctp_flight *f = &b->a->flight;

	if (f->payload > b->in_flight)
		check(j, f->payload <= b->a->window.rwnd || (b->in_flight == 0 && f->out.n == 1));
}

void judge_output(const struct judge *j, const struct judge_before *b, unsigned n,
		  const struct sctp_batch *sent)
{
	for (unsigned k = 0; k < n; k++) {
		if (!exists(j, &b[k]))
			continue;
		check_window(j, &b[k]);
		for (unsigned i = 0; i < b[k].npaths; i++)
			check_flight(j, &b[k], &b[k].a->paths.at[i], sent);
	}
}

/* With RFC 9260 by a packet; with CUBIC at most by what was acknowledged on the path, now or since
 * the cumulative TSN stands, and a packet; or back to what it was before a needless reduction; or
 * the initial window of a larger path MTU.
 */
static void check_growth(const struct judge *j, const struct judge_before *b,
			 const struct sctp_path *p)
{
	const struct sctp_cc *c = &p->cc;
	unsigned i = p->index;
	uint32_t step = c->pmdcs, most, initial = 4;

	/* BBR returns to the window before a recovery. */
	if (c->cwnd <= b->path[i].cwnd || j->s->cfg.cc == SCTP_CC_BBR)
		return;
	if (j->s->cfg.cc == SCTP_CC_CUBIC)
		step += b->path[i].flight + b->path[i].lost + b->path[i].held;
	most = b->path[i].cwnd + step;
	if (b->path[i].undo > most - step)
		most = b->path[i].undo + step;
	if (c->pmdcs != b->path[i].pmdcs && most < initial * c->pmdcs)
		most = initial * c->pmdcs;
	check(j, c->cwnd <= most);
}

void judge_input(const struct judge *j, const struct judge_before *b, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		for (unsigned i = 0; exists(j, &b[k]) && i < b[k].npaths; i++)
			check_growth(j, &b[k], &b[k].a->paths.at[i]);
}

/* ---- between turns ---- */

void judge_sums(const struct judge *j, const struct sctp_assoc *a)
{
	uint32_t flight[SCTP_MAX_PATHS] = {0}, all = 0, bytes = 0, out = 0, lost = 0;
	const struct sctp_queue *q = &a->tx;

	for (uint32_t tsn = q->cum + 1; tsn != q->next_tsn; tsn++) {
		const struct sctp_tx *t = sctp_queue_at(q, tsn);

		bytes += sctp_tx_wire(t);
		check(j, (t->state == SCTP_TX_QUEUED) == !sctp_tsn_before(tsn, q->send_tsn));
		check(j, t->state != SCTP_TX_ACKED);
		lost += t->state == SCTP_TX_LOST;
		if (t->state != SCTP_TX_OUT)
			continue;
		/* A lost chunk that waits for its turn may come before. */
		check(j, sctp_tsn_before(q->cum, a->paths.at[t->path].flight.first));
		check(j, !sctp_tsn_before(tsn, a->paths.at[t->path].flight.first));
		flight[t->path] += sctp_tx_wire(t);
		all += t->size - SCTP_DATA_HEAD;
		out++;
	}
	check(j, bytes == q->bytes && all == a->flight.payload);
	check(j, out == a->flight.out.n && lost == a->flight.lost.n);
	for (unsigned i = 0; i < a->paths.n; i++)
		check(j, flight[i] == a->paths.at[i].flight.bytes);
}

void judge_deadlines(const struct judge *j, const struct sctp_assoc *a)
{
	bool waits = a->state == SCTP_COOKIE_WAIT || a->state == SCTP_COOKIE_ECHOED ||
		     a->state == SCTP_SHUTDOWN_SENT || a->state == SCTP_SHUTDOWN_ACK_SENT;
	uint64_t at = sctp_expiry(a->s), first = sctp_handshake_expiry(a);

	if (a->shutdown.t2_us < first)
		first = a->shutdown.t2_us;
	if (a->state == SCTP_CLOSED)
		return;
	check(j, !a->handshake == (a->state != SCTP_COOKIE_WAIT && a->state != SCTP_COOKIE_ECHOED));
	check(j, !waits || (first != SCTP_NEVER && at <= first));
	check(j, at <= a->acks.rwnd.rest_us);
	check(j, a->acks.packets == 0 || (a->acks.due_us != SCTP_NEVER && at <= a->acks.due_us));
	check(j, sctp_queue_empty(&a->tx) || at != SCTP_NEVER);
	for (unsigned i = 0; i < a->paths.n; i++)
		check(j, a->paths.at[i].flight.bytes == 0 || (a->paths.at[i].t3_us != SCTP_NEVER &&
							      at <= a->paths.at[i].t3_us));
}

uint32_t judge_received(const struct sctp_assoc *a, uint32_t first)
{
	const struct sctp_tsn_map *m = &a->map;
	uint32_t n = m->cum + 1 - first;

	for (uint32_t tsn = m->cum + 1; !sctp_tsn_before(m->highest, tsn); tsn++)
		n += m->bits[tsn / 64 % (SCTP_BLOCK / 8)] >> tsn % 64 & 1;
	return n;
}
