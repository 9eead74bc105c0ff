/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sctp/peer.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sctp/assoc/path_state.h"
#include "sctp/base/path_select.h"
#include "tests/sctp/invariant.h"
#include "util/be.h"
#include "util/crc32c.h"

/* ---- services of the stack ---- */

static void *take(void *user, size_t len)
{
	struct peer *p = user;

	if (p->no_memory)
		return NULL;
	p->allocated += len;
	return malloc(len);
}

static void give(void *user, void *mem, size_t len)
{
	struct peer *p = user;

	p->allocated -= len;
	free(mem);
}

static void fill(void *user, void *ret, size_t len)
{
	struct peer *p = user;
	uint8_t *b = ret;

	if (len == 4 && p->zeros) {
		p->zeros--;
		memset(ret, 0, len);
		return;
	}
	while (len--) {
		p->seed = p->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		*b++ = (uint8_t)(p->seed >> 40);
	}
}

struct sctp_addr peer_addr(unsigned i)
{
	return sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)i, 2});
}

struct sctp_config peer_config(struct peer *p, unsigned addrs)
{
	struct sctp_config c = {
		.nlocal = addrs,
		.udp_port = PEER_UDP,
		.streams = 100,
		.adaptation = 1,
		.send_buffer = 1 << 20,
		.recv_buffer = 1 << 20,
		.cc = SCTP_CC_RFC9260,
		.sack_packets = 2,
		.sack_us = 200000,
		.rto_initial_us = PEER_SECOND,
		.rto_min_us = PEER_SECOND,
		.rto_max_us = 60 * PEER_SECOND,
		.heartbeat_us = 30 * PEER_SECOND,
		.cookie_us = 60 * PEER_SECOND,
		.path_max_retrans = 5,
		.assoc_max_retrans = 10,
		.init_max_retrans = 8,
		.max_assocs = 1000,
		.max_memory = 64 << 20,
		.handshakes_per_s = 1000000,
		.cover_bytes = PEER_COVER,
		.cover_packet = 16384,
		.mem = {take, give, p},
		.random = fill,
		.random_user = p,
	};

	for (unsigned i = 0; i < addrs; i++)
		c.local[i] = sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)i, 1});
	return c;
}

static void peer_wrong(void *user, const char *file, int line, const char *what)
{
	(void)user;
	cr_assert_fail("%s:%d: %s: not so", file, line, what);
}

void peer_open(struct peer *p)
{
	uint8_t all[SCTP_MAX_LOCAL] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct judge j = {.wrong = peer_wrong};

	cr_assert_eq(sctp_open(&p->cfg, p->now, &p->s), SCTP_E_OK);
	j.s = p->s;
	p->watch = invariant_new(&j);
	cr_assert_eq(sctp_listen(p->s, all, p->cfg.nlocal, p->cfg.nlocal > 1, PEER_STACK, NULL,
				 &p->listener),
		     SCTP_E_OK);
}

void peer_close(struct peer *p)
{
	p->watch = invariant_free(p->watch);
	p->s = sctp_close(p->s);
}

void peer_init_cfg(struct peer *p, const struct sctp_config *cfg)
{
	memset(p, 0, sizeof(*p));
	p->seed = 1;
	p->now = PEER_SECOND;
	p->cfg = *cfg;
	p->from = (struct sctp_flow){peer_addr(0), PEER_UDP, 0, false};
	p->port = PEER_PORT;
	p->stack_port = PEER_STACK;
	p->tag = PEER_TAG;
	p->tsn = PEER_TSN;
	p->rwnd = PEER_RWND;
	p->out_streams = p->in_streams = PEER_STREAMS;
	peer_open(p);
}

void peer_init(struct peer *p, unsigned addrs)
{
	struct sctp_config c = peer_config(p, addrs);

	peer_init_cfg(p, &c);
}

void peer_deinit(struct peer *p)
{
	while (peer_next(p))
		;
	free(p->pkt);
	p->pkt = NULL;
	peer_close(p);
	cr_assert_eq(p->allocated, 0, "%zu bytes were not given back", p->allocated);
}

/* ---- events, messages ---- */

static void take_event(struct peer *p, const struct sctp_event *e)
{
	switch (e->type) {
	case SCTP_INCOMING:
		p->incoming++;
		p->assoc = e->assoc;
		break;
	case SCTP_UP:
		p->up++;
		p->assoc = e->assoc;
		break;
	case SCTP_DOWN:
		p->down++;
		p->last_down = *e;
		if (p->keep_down)
			break;
		if (p->assoc == e->assoc)
			p->assoc = NULL;
		sctp_assoc_free(e->assoc);
		break;
	case SCTP_WRITABLE:
		p->writable++;
		break;
	case SCTP_ACKED:
		p->acked++;
		break;
	case SCTP_RESIZED:
		break;
	case SCTP_PATH:
		p->path_events++;
		p->last_path = *e;
		break;
	}
}

static void take_message(struct peer *p, const struct sctp_msg *m)
{
	uint32_t done = 0;

	p->messages++;
	p->bytes += m->len;
	p->msg = *m;
	for (unsigned i = 0; i < m->n && done < sizeof(p->msg_data); i++) {
		size_t n = m->part[i].len;

		if (n > sizeof(p->msg_data) - done)
			n = sizeof(p->msg_data) - done;
		memcpy(p->msg_data + done, m->part[i].p, n);
		done += (uint32_t)n;
	}
}

/* ---- output: a batch is cut into packets ---- */

static struct peer_packet *new_packet(struct peer *p, uint32_t len)
{
	struct peer_packet *k = calloc(1, sizeof(*k) + len);

	cr_assert(k);
	k->at_us = p->now;
	k->to = p->batch.to;
	k->probe = p->batch.probe;
	k->len = len;
	if (p->last)
		p->last->next = k;
	else
		p->first = k;
	p->last = k;
	return k;
}

static void cut(struct peer *p)
{
	const struct sctp_batch *b = &p->batch;
	uint32_t left = b->len, at = 0;
	struct peer_packet *k = NULL;

	for (unsigned i = 0; i < b->nspans; i++) {
		if (at == 0)
			k = new_packet(p, left < b->segment ? left : b->segment);
		cr_assert(b->span[i].len <= k->len - at, "a span crosses a border");
		memcpy(k->data + at, b->span[i].p, b->span[i].len);
		at += (uint32_t)b->span[i].len;
		left -= (uint32_t)b->span[i].len;
		if (at == k->len)
			at = 0;
	}
	cr_assert_eq(left, 0);
}

/* The path takes packets of PEER_BASE: as if that probe was answered, but without measuring a round
 * trip, so that scripts begin with a path that has none. */
static void pass_probe(struct peer *p)
{
	struct sctp_path *path;

	list_foreach (it, &p->s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		path = sctp_assoc_find_path(a, &p->batch.to.peer);
		if (path && sctp_pmtu_answered(&path->pmtu, PEER_BASE, p->now))
			sctp_path_resized(path);
	}
}

static void take_output(struct peer *p)
{
	for (;;) {
		invariant_before(p->watch);
		if (!sctp_output(p->s, &p->batch, p->now))
			break;
		invariant_sent(p->watch, &p->batch);
		if (!p->batch.probe || p->keep_probes)
			cut(p);
		else if (p->batch.len == PEER_BASE)
			pass_probe(p);
	}
	invariant_idle(p->watch);
}

static void take_events(struct peer *p)
{
	struct sctp_event e;

	while (sctp_event(p->s, &e))
		take_event(p, &e);
}

/* The user sends another message. False: none is left, or there is no room. */
static bool send_wish(struct peer *p)
{
	static uint8_t bytes[SCTP_MAX_MESSAGE];
	struct span s = {bytes, p->wish_len};

	if (!p->wish || !p->assoc || sctp_assoc_send(p->assoc, 0, 16, false, &s, 1) != SCTP_E_OK)
		return false;
	p->wish--;
	return true;
}

void peer_poll(struct peer *p)
{
	struct sctp_msg m;

	take_events(p);
	while (sctp_recv(p->s, &m))
		take_message(p, &m);
	invariant_before(p->watch);
	sctp_run(p->s, p->now);
	invariant_ran(p->watch);
	take_events(p);
	do
		take_output(p);
	while (send_wish(p));
	take_events(p);
}

void peer_advance(struct peer *p, uint64_t us)
{
	uint64_t end = p->now + us;

	peer_poll(p);
	while (sctp_expiry(p->s) <= end) {
		if (sctp_expiry(p->s) > p->now)
			p->now = sctp_expiry(p->s);
		peer_poll(p);
	}
	p->now = end;
	peer_poll(p);
}

/* ---- sending ---- */

void peer_begin_tag(struct peer *p, uint32_t tag)
{
	const struct sctp_head head = {p->port, p->stack_port, tag};

	p->w = (struct sctp_writer){.p = p->out, .size = sizeof(p->out)};
	sctp_put_head(&p->w, &head);
}

void peer_begin(struct peer *p)
{
	peer_begin_tag(p, p->stack_tag);
}

void peer_end_chunk(struct peer *p, uint32_t begin)
{
	sctp_end_chunk(&p->w, begin);
	p->w.pad = 0;
}

void peer_put(struct peer *p, uint8_t type, uint8_t flags, const void *value, uint32_t len)
{
	uint32_t at = sctp_begin_chunk(&p->w, type, flags);

	sctp_put_bytes(&p->w, value, len);
	peer_end_chunk(p, at);
}

void peer_put_plain(struct peer *p, uint8_t type)
{
	peer_put(p, type, 0, NULL, 0);
}

void peer_put_param(struct peer *p, uint16_t type, const void *value, uint32_t len)
{
	uint32_t at = sctp_begin_tlv(&p->w, type);

	sctp_put_bytes(&p->w, value, len);
	sctp_end_chunk(&p->w, at);
}

void peer_put_addr(struct peer *p, const struct sctp_addr *addr)
{
	if (sctp_addr_is_v4(addr))
		peer_put_param(p, SCTP_PARAM_IPV4, addr->ip + 12, 4);
	else
		peer_put_param(p, SCTP_PARAM_IPV6, addr->ip, 16);
}

uint32_t peer_begin_init(struct peer *p, uint8_t type)
{
	uint32_t at = sctp_begin_chunk(&p->w, type, 0);

	sctp_put32(&p->w, p->tag);
	sctp_put32(&p->w, p->rwnd);
	sctp_put16(&p->w, p->out_streams);
	sctp_put16(&p->w, p->in_streams);
	sctp_put32(&p->w, p->tsn);
	if (!p->no_adaptation)
		peer_put_param(p, SCTP_PARAM_ADAPTATION, (const uint8_t[]){0, 0, 0, 1}, 4);
	if (p->detected_by)
		peer_put_param(p, SCTP_PARAM_ZERO_CHECKSUM,
			       (const uint8_t[]){0, 0, 0, (uint8_t)p->detected_by}, 4);
	return at;
}

void peer_put_data(struct peer *p, uint32_t tsn, uint16_t sid, uint16_t ssn, uint8_t flags,
		   uint32_t len)
{
	uint32_t at = sctp_begin_chunk(&p->w, SCTP_DATA, flags);

	sctp_put32(&p->w, tsn);
	sctp_put16(&p->w, sid);
	sctp_put16(&p->w, ssn);
	sctp_put32(&p->w, 16);
	for (uint32_t i = 0; i < len; i++)
		sctp_put8(&p->w, (uint8_t)(tsn + i));
	peer_end_chunk(p, at);
}

void peer_put_sack(struct peer *p, uint32_t cum, uint32_t rwnd, const uint16_t *gaps,
		   unsigned ngaps)
{
	uint32_t at = sctp_begin_chunk(&p->w, SCTP_SACK, 0);

	sctp_put32(&p->w, cum);
	sctp_put32(&p->w, rwnd);
	sctp_put16(&p->w, (uint16_t)ngaps);
	sctp_put16(&p->w, 0);
	for (unsigned i = 0; i < 2 * ngaps; i++)
		sctp_put16(&p->w, gaps[i]);
	peer_end_chunk(p, at);
}

void peer_put_cookie_echo(struct peer *p)
{
	peer_put(p, SCTP_COOKIE_ECHO, 0, p->cookie, p->cookie_len);
}

void peer_send_raw(struct peer *p)
{
	/* Exactly as long as the packet: reads beyond it are seen. */
	uint8_t *copy = malloc(p->w.len ? p->w.len : 1);
	struct sctp_msg m;

	cr_assert(!p->w.full);
	memcpy(copy, p->out, p->w.len);
	invariant_arrives(p->watch, &p->from, copy, p->w.len);
	sctp_input(p->s, &p->from, copy, p->w.len, p->now);
	invariant_arrived(p->watch);
	peer_poll(p);
	while (sctp_recv(p->s, &m))
		take_message(p, &m);
	free(copy);
}

void peer_send(struct peer *p)
{
	struct span whole = {p->out, p->w.len};

	sctp_seal(&whole, 1);
	peer_send_raw(p);
}

void peer_send_chunk(struct peer *p, uint8_t type, uint8_t flags, const void *value, uint32_t len)
{
	peer_begin(p);
	peer_put(p, type, flags, value, len);
	peer_send(p);
}

void peer_send_plain(struct peer *p, uint8_t type)
{
	peer_send_chunk(p, type, 0, NULL, 0);
}

void peer_send_data(struct peer *p, uint32_t len)
{
	peer_begin(p);
	peer_put_data(p, p->tsn++, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, len);
	peer_send(p);
}

void peer_send_sack(struct peer *p, uint32_t cum)
{
	peer_begin(p);
	peer_put_sack(p, cum, p->rwnd, NULL, 0);
	peer_send(p);
}

void peer_send_init(struct peer *p)
{
	peer_begin_tag(p, 0);
	peer_end_chunk(p, peer_begin_init(p, SCTP_INIT));
	peer_send(p);
}

void peer_send_init_ack(struct peer *p)
{
	uint32_t at;

	peer_begin(p);
	at = peer_begin_init(p, SCTP_INIT_ACK);
	peer_put_param(p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_end_chunk(p, at);
	peer_send(p);
}

void peer_send_cookie_echo(struct peer *p)
{
	peer_begin(p);
	peer_put_cookie_echo(p);
	peer_send(p);
}
