/* SPDX-License-Identifier: BSD-2-Clause */
/* One end of a flow: a stack, the packets that come to it, and a user who sends or receives. */
#include <stdlib.h>
#include <string.h>

#include "tests/sctp/lab/lab.h"

enum {
	PORT = 5043,
	UDP_PORT = 9899,
	SMALL = 64,
	SMALL_EVERY_US = 10000,
	RUN_MAX = 65536, /* bytes of packets that arrive as one run */
	RUN_PACKETS = 64,
};

static uint64_t now_us(const struct lab_host *h)
{
	return h->flow->lab->now / 1000;
}

/* 10.FLOW.PATH.SIDE */
static struct sctp_addr addr_of(const struct lab_host *h, unsigned path, unsigned side)
{
	uint8_t flow = (uint8_t)(h->flow - h->flow->lab->flow);

	return sctp_addr_v4((const uint8_t[]){10, flow, (uint8_t)path, (uint8_t)(side + 1)});
}

/* ---- services of the stack ---- */

static void *take(void *user, size_t len)
{
	(void)user;
	return malloc(len);
}

static void give(void *user, void *p, size_t len)
{
	(void)user;
	(void)len;
	free(p);
}

static void fill(void *user, void *ret, size_t len)
{
	struct lab *l = user;
	uint8_t *p = ret;

	while (len--) {
		l->rng = l->rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		*p++ = (uint8_t)(l->rng >> 56);
	}
}

static struct sctp_config stack_config(const struct lab_host *h)
{
	const struct lab_config *lc = &h->flow->lab->c;
	struct sctp_config c = {
		.nlocal = lc->paths,
		.udp_port = UDP_PORT,
		.streams = 16,
		.adaptation = 1,
		.send_buffer = lc->buffer,
		.recv_buffer = lc->buffer,
		.cc = h->flow->c.algo,
		.sack_packets = lc->sack_packets,
		.sack_us = lc->sack_us,
		.rto_initial_us = 1000000,
		.rto_min_us = 100000,
		.rto_max_us = 5000000,
		.heartbeat_us = 5000000,
		.cookie_us = 60000000,
		.path_max_retrans = 5,
		.init_max_retrans = 100,
		.max_assocs = 100,
		.max_memory = UINT64_C(1) << 30,
		.handshakes_per_s = 4000,
		.mem = {take, give, NULL},
		.random = fill,
		.random_user = h->flow->lab,
	};

	for (unsigned i = 0; i < lc->paths; i++)
		c.local[i] = addr_of(h, i, h->side);
	return c;
}

bool lab_host_open(struct lab_flow *f, unsigned side)
{
	struct lab_host *h = &f->host[side];
	const uint8_t local[LAB_PATHS] = {0, 1};
	struct sctp_config c;

	h->flow = f;
	h->side = side;
	h->expiry = UINT64_MAX;
	c = stack_config(h);
	if (sctp_open(&c, now_us(h), &h->s) != SCTP_E_OK)
		return false;
	return side == 0 ||
	       sctp_listen(h->s, local, c.nlocal, true, PORT, NULL, &h->listener) == SCTP_E_OK;
}

void lab_host_close(struct lab_host *h)
{
	struct lab *l = h->flow->lab;

	for (unsigned i = 0; i < LAB_PATHS * 2; i++) {
		struct lab_lane *lane = &h->lane[i / 2][i % 2];

		while (lane->first) {
			struct lab_packet *p = lane->first;

			lane->first = p->next;
			lab_link_free(&l->link[i / 2], p);
		}
	}
	h->s = sctp_close(h->s);
}

/* ---- the sender's user ---- */

static void connect_host(struct lab_host *h)
{
	const struct lab_config *lc = &h->flow->lab->c;
	struct sctp_addr peer[LAB_PATHS];
	uint32_t packet[LAB_PATHS];
	const uint8_t local[LAB_PATHS] = {0, 1};
	const struct sctp_connect to = {.peer = peer,
					.packet = packet,
					.npeer = lc->paths,
					.port = PORT,
					.local = local,
					.nlocal = lc->paths};

	for (unsigned i = 0; i < lc->paths; i++) {
		peer[i] = addr_of(h, i, !h->side);
		packet[i] = lc->link[i].mtu - LAB_IP_HEAD;
	}
	if (sctp_assoc_connect(h->s, &to, &h->assoc) != SCTP_E_OK)
		abort();
}

static int send_message(struct lab_host *h, uint16_t sid, uint64_t number, uint32_t len)
{
	static uint8_t data[SCTP_MAX_PACKET];
	const struct span s = {data, len};

	memcpy(data, &number, sizeof(number));
	return sctp_assoc_send(h->assoc, sid, 7, sid == 1, &s, 1);
}

/* Small messages that are due, as far as there is room. */
static bool send_small(struct lab_host *h)
{
	struct lab_flow *f = h->flow;

	while (f->small_due <= f->lab->now) {
		if (send_message(h, 1, f->small_due / 1000, SMALL) != SCTP_E_OK) {
			f->full = true;
			return false;
		}
		f->small_due += SMALL_EVERY_US * 1000;
	}
	return true;
}

static void send_bulk(struct lab_host *h)
{
	struct sctp_info i;
	int r;

	do {
		sctp_assoc_info(h->assoc, &i);
		do
			r = send_message(h, 0, 0, i.max_message);
		while (r == SCTP_E_OK);
	} while (r == SCTP_E_TOO_LONG);
	h->flow->full = true;
}

/* Whatever there is to send and has room. */
static void feed(struct lab_host *h)
{
	struct lab_flow *f = h->flow;

	if (h->side == 1 || !f->up || f->down)
		return;
	if (f->c.kind != LAB_BULK && !send_small(h))
		return;
	if (f->c.kind != LAB_SMALL && !f->full)
		send_bulk(h);
}

/* There is more to send, and room for it. */
static bool has_room(const struct lab_host *h)
{
	const struct lab_flow *f = h->flow;

	return h->side == 0 && f->up && !f->down && !f->full && f->c.kind != LAB_SMALL;
}

/* ---- events and messages ---- */

static void set_routes(struct lab_host *h, struct sctp_assoc *a)
{
	const struct lab_config *lc = &h->flow->lab->c;

	for (unsigned i = 0; i < lc->paths; i++) {
		const struct sctp_addr peer = addr_of(h, i, !h->side);

		sctp_assoc_set_route_mtu(a, &peer, lc->link[i].mtu, now_us(h));
	}
}

static void take_event(struct lab_host *h, const struct sctp_event *e)
{
	struct lab_flow *f = h->flow;

	switch (e->type) {
	case SCTP_INCOMING:
	case SCTP_UP:
		h->assoc = e->assoc;
		set_routes(h, e->assoc);
		if (e->type == SCTP_UP)
			f->up = f->small_due = f->lab->now;
		break;
	case SCTP_DOWN:
		if (!f->down)
			f->end = *e;
		f->down = true;
		h->assoc = sctp_assoc_free(e->assoc);
		break;
	case SCTP_WRITABLE:
		f->full = false;
		break;
	default:
		break;
	}
}

static void note_message(struct lab_flow *f, const struct sctp_msg *m)
{
	uint64_t number;

	if (m->sid == 1) {
		memcpy(&number, m->part[0].p, sizeof(number));
		lab_delays_add(&f->small, f->lab->now / 1000 - number);
		return;
	}
	f->bytes += m->len;
	if (!f->at_16m && f->bytes >= 16000000)
		f->at_16m = f->lab->now - f->up;
}

static void take_results(struct lab_host *h)
{
	struct sctp_event e;
	struct sctp_msg m;

	while (sctp_event(h->s, &e))
		take_event(h, &e);
	while (sctp_recv(h->s, &m))
		note_message(h->flow, &m);
}

/* ---- packets ---- */

static void send_packets(struct lab_host *h, const struct sctp_batch *b)
{
	struct lab *l = h->flow->lab;
	unsigned path = b->to.peer.ip[14];
	struct lab_link *link = &l->link[path];
	struct lab_host *to = &h->flow->host[!h->side];
	struct lab_packet *p = NULL;
	uint32_t done = 0;

	for (unsigned i = 0; i < b->nspans; i++) {
		const struct span *s = &b->span[i];

		if (!p) {
			p = lab_link_packet(link);
			p->len = 0;
		}
		/* Longer than the MTU: only the first bytes count, for it vanishes. */
		if (p->len + s->len <= link->c.mtu)
			memcpy(p->data + p->len, s->p, s->len);
		p->len += (uint32_t)s->len;
		done += (uint32_t)s->len;
		if (p->len < b->segment && done < b->len)
			continue;
		if (p->len + LAB_IP_HEAD > link->c.mtu)
			lab_link_free(link, p);
		else
			lab_link_send(link, h->side, p, to->lane[path], h->flow->c.extra_us,
				      l->now);
		p = NULL;
	}
}

static void output(struct lab_host *h)
{
	struct lab *l = h->flow->lab;

	while (sctp_output(h->s, &l->batch, l->now / 1000))
		send_packets(h, &l->batch);
}

/* The lane of the path whose first packet arrives first; NULL: none does by then. */
static struct lab_lane *first_lane(const struct lab_host *h, unsigned path, uint64_t by)
{
	const struct lab_lane *lane = h->lane[path], *ret = NULL;

	for (unsigned i = 0; i < 2; i++)
		if (lane[i].first && lane[i].first->due <= by) {
			by = lane[i].first->due;
			ret = &lane[i];
		}
	return (struct lab_lane *)ret;
}

static void input(struct lab_host *h, unsigned path, uint8_t *p, size_t len, size_t segment)
{
	const struct sctp_flow from = {
		.peer = addr_of(h, path, !h->side), .udp_port = UDP_PORT, .local = (uint8_t)path};

	for (size_t n; len; p += n, len -= n) {
		n = sctp_input_run(h->s, &from, p, len, segment, now_us(h));
		take_results(h);
		if (sctp_wants_output(h->s))
			output(h);
	}
}

/* Packets of one size, the last of which may be shorter, arrive as one run, as the kernel's GRO
 * makes them. */
static bool receive_run(struct lab_host *h, unsigned path)
{
	static _Alignas(8) uint8_t run[RUN_MAX];
	struct lab *l = h->flow->lab;
	struct lab_lane *lane;
	uint32_t len = 0, segment = 0, last = 0;

	for (unsigned n = 0; n < RUN_PACKETS; n++) {
		struct lab_packet *p;

		lane = first_lane(h, path, l->now);
		if (!lane)
			break;
		p = lane->first;
		if (n && (last < segment || p->len > segment || len + p->len > sizeof(run)))
			break;
		lane->first = p->next;
		segment = n ? segment : p->len;
		last = p->len;
		memcpy(run + len, p->data, p->len);
		len += p->len;
		lab_link_free(&l->link[path], p);
	}
	if (len)
		input(h, path, run, len, segment);
	return len > 0;
}

/* ---- time ---- */

static uint64_t next_arrival(const struct lab_host *h)
{
	uint64_t ret = UINT64_MAX;

	for (unsigned i = 0; i < h->flow->lab->c.paths; i++) {
		const struct lab_lane *lane = first_lane(h, i, ret);

		if (lane)
			ret = lane->first->due;
	}
	return ret;
}

uint64_t lab_host_next(const struct lab_host *h)
{
	const struct lab_flow *f = h->flow;
	uint64_t start = (uint64_t)(f->c.start_s * (double)LAB_SECOND), next = h->expiry;
	uint64_t arrival = next_arrival(h);

	if (arrival != UINT64_MAX && arrival + f->lab->c.gather_us * 1000 < next)
		next = arrival + f->lab->c.gather_us * 1000;
	if (h->side == 0 && !h->assoc && !f->up && start < next)
		next = start;
	if (h->side == 0 && f->c.kind != LAB_BULK && f->up && !f->down && !f->full &&
	    f->small_due < next)
		next = f->small_due;
	return next;
}

/* The nanosecond when the host runs the stack's deadlines. */
static uint64_t expiry_of(const struct lab_host *h)
{
	uint64_t at = sctp_expiry(h->s);

	if (at == SCTP_NEVER)
		return UINT64_MAX;
	return at <= now_us(h) ? h->flow->lab->now : (at + h->flow->lab->c.late_us) * 1000;
}

void lab_host_turn(struct lab_host *h)
{
	struct lab_flow *f = h->flow;

	if (h->side == 0 && !h->assoc && !f->up)
		connect_host(h);
	for (unsigned i = 0; i < f->lab->c.paths; i++)
		while (receive_run(h, i))
			;
	if (sctp_expiry(h->s) <= now_us(h))
		sctp_run(h->s, now_us(h));
	take_results(h);
	do {
		feed(h);
		output(h);
		take_results(h);
	} while (has_room(h));
	h->expiry = expiry_of(h);
}
