/* SPDX-License-Identifier: BSD-2-Clause */
/* The network between the two hosts. */
#include "tests/sctp/sim/world.h"
#include "util/be.h"

enum { QUOTED = 64 };

void link_put(struct world *w, struct packet *p)
{
	struct packet *before = w->last;

	while (before && before->at_us > p->at_us)
		before = before->prev;
	p->prev = before;
	p->next = before ? before->next : w->first;
	*(p->next ? &p->next->prev : &w->last) = p;
	*(before ? &before->next : &w->first) = p;
}

struct packet *link_next(struct world *w)
{
	struct packet *p = w->first;

	if (!p || p->at_us > w->now)
		return NULL;
	w->first = p->next;
	*(p->next ? &p->next->prev : &w->last) = NULL;
	return p;
}

void link_clear(struct world *w)
{
	while (w->first) {
		struct packet *p = w->first;

		w->first = p->next;
		free(p);
	}
	w->last = NULL;
}

static struct packet *make(unsigned to, const struct sctp_flow *flow, const uint8_t *p,
			   uint32_t len)
{
	struct packet *k = calloc(1, sizeof(*k) + len);

	if (!k)
		abort();
	k->to = to;
	k->flow = *flow;
	k->len = len;
	memcpy(k->data, p, len);
	return k;
}

/* When a packet leaves the bottleneck; false: its queue is full. */
static bool pass(struct world *w, unsigned from, uint32_t len, uint64_t *ret)
{
	uint64_t begin = w->free_us[from] > w->now ? w->free_us[from] : w->now;

	*ret = w->now;
	if (w->rate == 0)
		return true;
	if (begin - w->now > w->queue_us)
		return false;
	*ret = w->free_us[from] = begin + (uint64_t)len * 1000 / w->rate;
	return true;
}

static void too_big(struct world *w, unsigned from, const struct sctp_flow *to, const uint8_t *p,
		    uint32_t len)
{
	struct packet *k;

	if (!w->icmp || chance(w, 3000))
		return;
	k = make(from, to, p, len < QUOTED ? len : QUOTED);
	k->icmp = true;
	k->mtu = chance(w, 2000) ? 0 : w->mtu;
	k->at_us = w->now + w->delay_us;
	link_put(w, k);
}

/* Damages a copy on its way. */
static void damage(struct world *w, struct packet *k)
{
	if (chance(w, w->corrupt))
		k->data[below(w, k->len)] ^= (uint8_t)(1u << below(w, 8));
	if (chance(w, w->truncate))
		k->len = (uint32_t)below(w, k->len);
}

static void deliver(struct world *w, unsigned to, const struct sctp_flow *from, const uint8_t *p,
		    uint32_t len, uint64_t at)
{
	struct packet *k = make(to, from, p, len);

	k->at_us = at + w->delay_us + below(w, w->jitter_us + 1);
	if (chance(w, w->reorder))
		k->at_us += w->delay_us + below(w, 20000);
	damage(w, k);
	link_put(w, k);
}

/* IPv6 fragments have up to 1280 bytes (struct sctp_batch). */
static bool passes_in_fragments(const struct world *w, const struct sctp_batch *b)
{
	return b->fragment && !w->drops_fragments && (!w->v6 || w->mtu >= 1280);
}

static void transmit(struct world *w, unsigned from, const struct sctp_batch *b, const uint8_t *p,
		     uint32_t len)
{
	unsigned to = b->to.peer.ip[15] - 1u, subnet = b->to.peer.ip[14];
	struct sctp_flow flow = {.udp_port = w->host[from].udp_port, .local = (uint8_t)subnet};
	uint64_t at;

	check(w, to == !from && subnet < w->addrs && b->to.local < w->addrs);
	trace(w, "packet", (uint64_t)from << 32 | len, (uint64_t)p[SCTP_HEAD] << 32 | be_get32(p));
	w->sum.packets++;
	flow.peer = world_addr(w, b->to.local, from);
	if (len + world_ip_head(w) > w->mtu && !passes_in_fragments(w, b)) {
		too_big(w, from, &b->to, p, len);
		w->sum.lost++;
		return;
	}
	if (b->to.udp_port != w->host[to].udp_port || w->cut[subnet][from] || chance(w, w->loss) ||
	    !pass(w, from, len, &at)) {
		trace(w, "lost", b->to.udp_port, w->host[to].udp_port);
		w->sum.lost++;
		return;
	}
	deliver(w, to, &flow, p, len, at);
	if (chance(w, w->dup))
		deliver(w, to, &flow, p, len, at + below(w, 30000));
}

void link_send(struct world *w, unsigned host, const struct sctp_batch *b)
{
	static uint8_t pkt[SCTP_MAX_PACKET * 2];
	uint32_t len = 0, done = 0;

	for (unsigned i = 0; i < b->nspans; i++) {
		check(w, b->span[i].len <= b->segment - len);
		memcpy(pkt + len, b->span[i].p, b->span[i].len);
		len += (uint32_t)b->span[i].len;
		done += (uint32_t)b->span[i].len;
		if (len == b->segment || done == b->len) {
			transmit(w, host, b, pkt, len);
			len = 0;
		}
	}
	check(w, done == b->len && len == 0);
}
