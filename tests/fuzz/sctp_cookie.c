/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * COOKIE ECHO against a stack whose key is known. Each step takes the cookie of an INIT ACK and
 * changes it as the script says: either fields, with a new signature, as if the peer had sent
 * another INIT at another time; or bytes, without one. It comes with other chunks, late, again, to
 * an association in any state. Promises: a cookie with a wrong signature changes nothing; no access
 * out of bounds; memory is bounded, output ends, and everything is given back.
 */
#include "sctp/base/path.h"
#include "sctp/wire/param.h"
#include "tests/fuzz/fuzz.h"
#include "util/be.h"

enum {
	OWN_PORT = 5043,
	PEER_PORT = 40000,
	UDP = 9899,
	PEER_TAG = 0x01020304,
	STEPS = 64,
	ROUNDS = 20000, /* batches that one turn may send */
	SECOND = 1000000,
};

static struct input in;
static struct sctp *s;
static struct sctp_cookie cookie; /* of the last INIT ACK; own_tag 0: none came */
static uint64_t now, held, number;
static struct sctp_batch batch;

static void *take(void *user, size_t len)
{
	(void)user;
	held += len;
	return malloc(len);
}

static void give(void *user, void *p, size_t len)
{
	(void)user;
	must(held >= len);
	held -= len;
	free(p);
}

static void fill(void *user, void *ret, size_t len)
{
	uint8_t *p = ret;

	(void)user;
	while (len--) {
		number = number * UINT64_C(6364136223846793005) + 1;
		*p++ = (uint8_t)(number >> 40);
	}
}

/* ---- the stack ---- */

static void keep_cookie(const uint8_t *p, uint32_t len)
{
	struct sctp_cursor c = sctp_chunks(p, len);
	struct sctp_chunk chunk;
	struct sctp_init i;

	if (sctp_chunk_next(&c, &chunk) == SCTP_NEXT_OK && chunk.type == SCTP_INIT_ACK &&
	    sctp_init_get(&chunk, &i) == SCTP_INIT_OK)
		must(sctp_cookie_open(&s->keys, i.cookie, i.cookie_len, &cookie));
}

static void turn(void)
{
	struct sctp_event e;
	struct sctp_msg m;
	unsigned rounds = 0;

	sctp_run(s, now);
	while (sctp_event(s, &e))
		if (e.type == SCTP_DOWN)
			sctp_assoc_free(e.assoc);
	while (sctp_recv(s, &m))
		must(m.len > 0);
	while (sctp_output(s, &batch, now)) {
		must(++rounds < ROUNDS);
		if (batch.nspans == 1)
			keep_cookie(batch.span[0].p, (uint32_t)batch.span[0].len);
	}
	must(sctp_memory(s) == held && s->nassocs <= s->cfg.max_assocs);
}

static void deliver(struct sctp_writer *w, uint32_t tag, uint8_t from)
{
	struct sctp_flow flow = {.udp_port = UDP, .local = from & 1};
	struct span whole = {w->p, w->len};
	uint8_t *exact;

	if (w->full)
		return;
	flow.peer = sctp_addr_v4((const uint8_t[]){10, 0, from >> 1 & 3, 2});
	be_put16(w->p, PEER_PORT);
	be_put16(w->p + 2, OWN_PORT);
	be_put32(w->p + 4, tag);
	sctp_seal(&whole, 1);
	exact = malloc(w->len);
	must(exact);
	memcpy(exact, w->p, w->len);
	sctp_input(s, &flow, exact, w->len, now);
	turn();
	free(exact);
}

/* ---- steps ---- */

static void init(void)
{
	uint8_t pkt[512], what = in_8(&in);
	struct sctp_writer w = {.p = pkt, .size = sizeof(pkt), .len = SCTP_HEAD};
	struct sctp_init i = {.tag = PEER_TAG + what % 4,
			      .a_rwnd = 100000,
			      .tsn = 1000,
			      .out_streams = 10,
			      .in_streams = 10,
			      .has_adaptation = (what & 4) == 0,
			      .adaptation = 1};

	for (unsigned k = 0; k < (what >> 3 & 3); k++)
		i.addr[i.naddrs++] = sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)k, 2});
	sctp_init_put(&w, SCTP_INIT, &i, NULL, 0);
	deliver(&w, 0, what >> 5);
}

/* One field of the cookie; what the stack itself would never sign stays as it is. */
static void change_field(struct sctp_cookie *k)
{
	switch (in_8(&in) % 12) {
	case 0:
		k->created_us = in_64(&in);
		break;
	case 1:
		k->own_tag = in_32(&in) | 1;
		break;
	case 2:
		k->peer_tag = in_32(&in) | 1;
		break;
	case 3:
		k->own_tsn = in_32(&in);
		break;
	case 4:
		k->peer_tsn = in_32(&in);
		break;
	case 5:
		k->peer_rwnd = 1500 + in_32(&in) / 2;
		break;
	case 6:
		k->tie_own = in_32(&in);
		k->tie_peer = in_32(&in);
		break;
	case 7:
		k->out_streams = in_16(&in) | 1;
		k->in_streams = in_16(&in) | 1;
		break;
	case 8:
		k->has_adaptation = in_8(&in) & 1;
		k->adaptation = in_8(&in) & 3;
		break;
	case 9:
		k->all_local = in_8(&in) & 1;
		k->takes_batches = in_8(&in) & 1;
		break;
	case 10:
		k->from.local = in_8(&in) & 1;
		k->from.udp_port = in_16(&in);
		break;
	default:
		if (k->naddrs < SCTP_MAX_PATHS)
			k->addr[k->naddrs++] =
				sctp_addr_v4((const uint8_t[]){10, in_8(&in), in_8(&in), 2});
	}
}

/* What else is in the packet. */
static void put_more(struct sctp_writer *w, uint8_t what)
{
	uint8_t bytes[64];
	uint32_t at;

	if (what & 1) {
		at = sctp_begin_chunk(w, SCTP_DATA, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E);
		sctp_put32(w, cookie.peer_tsn + (what >> 4));
		sctp_put64(w, 0);
		sctp_put32(w, 1);
		sctp_end_chunk(w, at);
	}
	if (what & 2)
		sctp_put_bytes(w, bytes, (uint32_t)in_copy(&in, bytes, in_8(&in) % sizeof(bytes)));
}

static void echo(void)
{
	static uint8_t pkt[4096];
	struct sctp_writer w = {.p = pkt, .size = 2048, .len = SCTP_HEAD};
	uint8_t wire[SCTP_COOKIE_MAX], what = in_8(&in), more = in_8(&in);
	struct sctp_cookie k = cookie;
	struct sctp_stats before, after;
	bool forged = false;
	uint32_t len, at;

	for (unsigned n = what & 3; n; n--)
		change_field(&k);
	len = sctp_cookie_seal(&s->keys, &s->cfg, &k, now, wire);
	for (unsigned n = what >> 2 & 1; n; n--) {
		uint8_t bit = in_8(&in);

		wire[in_16(&in) % len] ^= bit;
		forged = bit != 0;
	}
	at = sctp_begin_chunk(&w, SCTP_COOKIE_ECHO, 0);
	sctp_put_bytes(&w, wire, what & 8 ? len - in_8(&in) % len : len);
	sctp_end_chunk(&w, at);
	if (!forged)
		put_more(&w, more);
	sctp_stats(s, &before);
	at = s->nassocs;
	deliver(&w, what & 16 ? in_32(&in) : k.own_tag, more >> 2);
	sctp_stats(s, &after);
	if (forged)
		must(s->nassocs <= at && after.bad_packets > before.bad_packets);
}

static void connect_one(void)
{
	const uint8_t local[] = {0, 1};
	struct sctp_addr peer = sctp_addr_v4((const uint8_t[]){10, 0, 0, 2});
	const struct sctp_connect to = {
		.peer = &peer, .npeer = 1, .port = PEER_PORT, .local = local, .nlocal = 2};
	struct sctp_assoc *a;

	s->next_port = OWN_PORT;
	(void)sctp_assoc_connect(s, &to, &a);
	turn();
}

/* The state of the first association changes. */
static void act(uint8_t what)
{
	struct sctp_assoc *a;

	if (list_empty(&s->assocs))
		return;
	a = list_entry(s->assocs.next, struct sctp_assoc, all);
	if (what & 1)
		sctp_assoc_shutdown(a, now);
	else
		(void)sctp_assoc_send(a, 0, 1, false, &(struct span){(uint8_t *)"data", 4}, 1);
	turn();
}

static void step(void)
{
	uint8_t what = in_8(&in);

	switch (what % 8) {
	case 0:
		init();
		break;
	case 1:
		now += UINT64_C(1) << what / 8;
		turn();
		break;
	case 2:
		now = sctp_expiry(s) == UINT64_MAX ? now : sctp_expiry(s);
		turn();
		break;
	case 3:
		connect_one();
		break;
	case 4:
		act(what >> 3);
		break;
	default:
		echo();
	}
}

static void start(void)
{
	const struct sctp_config cfg = {
		.local = {sctp_addr_v4((const uint8_t[]){10, 0, 0, 1}),
			  sctp_addr_v4((const uint8_t[]){10, 0, 1, 1})},
		.nlocal = 2,
		.udp_port = UDP,
		.streams = 10,
		.adaptation = 1,
		.send_buffer = 1 << 18,
		.recv_buffer = 1 << 18,
		.sack_packets = 2,
		.sack_us = 20000,
		.rto_initial_us = SECOND,
		.rto_min_us = SECOND / 20,
		.rto_max_us = 10 * SECOND,
		.heartbeat_us = 5 * SECOND,
		.cookie_us = 60 * SECOND,
		.path_max_retrans = 5,
		.assoc_max_retrans = 10,
		.init_max_retrans = 8,
		.max_assocs = 8,
		.max_memory = 4 << 20,
		.handshakes_per_s = 1000000,
		.mem = {take, give, NULL},
		.random = fill,
	};
	const uint8_t all[] = {0, 1};
	struct sctp_listener *l;

	now = SECOND;
	number = 1;
	memset(&cookie, 0, sizeof(cookie));
	must(sctp_open(&cfg, now, &s) == SCTP_E_OK);
	must(sctp_listen(s, all, 2, true, OWN_PORT, NULL, &l) == SCTP_E_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	in = (struct input){bytes, size};
	start();
	init();
	for (unsigned i = 0; in.left && i < STEPS; i++)
		step();
	s = sctp_close(s);
	must(held == 0);
	return 0;
}
