/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack of SCTP with a live association, and a script of packets against it. Packets get the
 * right ports, tag and checksum unless the script wants others. Some scripts also say from where
 * each packet comes, and what the stack lacks. Promises: nothing but the stack's memory is touched,
 * memory is bounded, output ends, and everything is given back.
 */
#include "sctp/base/path.h"
#include "sctp/wire/param.h"
#include "tests/fuzz/fuzz.h"
#include "util/be.h"
#include "util/crc32c.h"

enum {
	OWN_PORT = 5043,
	PEER_PORT = 40000,
	UDP = 9899,
	PEER_TAG = 0x01020304,
	PEER_TSN = 1000,
	MEMORY = 4 << 20, /* of queued data */
	LINK = 2,         /* our address that is valid on one link only */
	STEPS = 200,
	ROUNDS = 20000, /* packets that one turn may send */
};

static struct input in;
static struct sctp *s;
static struct sctp_assoc *assoc; /* NULL: none, or it ended */
static uint16_t own_port, peer_port;
static uint32_t own_tag, peer_tag;
static uint64_t now, held, number;
static bool places;      /* the script says from where packets come */
static unsigned fail_at; /* the allocation that fails; 0: none */
static struct sctp_batch batch;
static struct {
	uint8_t bytes[SCTP_COOKIE_MAX];
	uint32_t len;
} cookie;

/* ---- services ---- */

static void *take(void *user, size_t len)
{
	(void)user;
	if (fail_at && --fail_at == 0)
		return NULL;
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

/* ---- what the stack says ---- */

/* The cookie of an INIT ACK: the script may send it back. */
static void keep_cookie(const uint8_t *p, uint32_t len)
{
	struct sctp_cursor c = sctp_chunks(p, len);
	struct sctp_chunk chunk;
	struct sctp_init i;

	if (sctp_chunk_next(&c, &chunk) != SCTP_NEXT_OK)
		return;
	if (chunk.type == SCTP_INIT && sctp_init_get(&chunk, &i) != SCTP_INIT_MALFORMED)
		own_tag = i.tag;
	if (chunk.type != SCTP_INIT_ACK || sctp_init_get(&chunk, &i) != SCTP_INIT_OK)
		return;
	must(i.cookie_len <= sizeof(cookie.bytes));
	memcpy(cookie.bytes, i.cookie, i.cookie_len);
	cookie.len = i.cookie_len;
	own_tag = i.tag;
}

static void look(void)
{
	static uint8_t pkt[SCTP_MAX_PACKET];
	uint32_t len = 0, total = 0;

	must(batch.packets >= 1 && batch.packets <= SCTP_BATCH_PACKETS);
	must(batch.nspans >= 1 && batch.nspans <= SCTP_BATCH_SPANS);
	for (unsigned i = 0; i < batch.nspans; i++) {
		must(batch.span[i].len <= batch.segment - len);
		memcpy(pkt + len, batch.span[i].p, batch.span[i].len);
		len += (uint32_t)batch.span[i].len;
		total += (uint32_t)batch.span[i].len;
		if (len == batch.segment || i + 1 == batch.nspans) {
			must(crc32c_check(pkt, len) ||
			     (batch.to.covered && be_get32(pkt + SCTP_CHECKSUM) == 0));
			keep_cookie(pkt, len);
			len = 0;
		}
	}
	must(total == batch.len);
}

static void events(void)
{
	struct sctp_event e;
	struct sctp_msg m;

	while (sctp_event(s, &e)) {
		if (e.type == SCTP_INCOMING || e.type == SCTP_UP) {
			assoc = e.assoc;
		} else if (e.type == SCTP_DOWN) {
			must(memchr(e.text, 0, sizeof(e.text)));
			if (assoc == e.assoc)
				assoc = NULL;
			sctp_assoc_free(e.assoc);
		}
	}
	while (sctp_recv(s, &m)) {
		uint32_t len = 0;

		must(m.n >= 1 && m.n <= SCTP_MAX_PARTS && m.len <= SCTP_MAX_MESSAGE);
		for (unsigned i = 0; i < m.n; i++)
			len += (uint32_t)m.part[i].len;
		must(len == m.len && len > 0);
	}
}

static void turn(void)
{
	unsigned rounds = 0;

	events();
	sctp_run(s, now);
	events();
	while (sctp_output(s, &batch, now)) {
		must(++rounds < ROUNDS);
		look();
	}
	must(sctp_memory(s) == held && s->pool.used <= MEMORY);
	must(s->nassocs <= s->cfg.max_assocs);
}

/* ---- packets ---- */

static struct sctp_addr on_link(uint8_t last)
{
	return (struct sctp_addr){.ip = {0xfe, 0x80, [15] = last}, .scope = 3};
}

/* Another UDP port, a cover, another host, another family. */
static struct sctp_flow place(uint8_t local)
{
	uint8_t how = places ? in_8(&in) : 0;
	struct sctp_flow from = {
		.udp_port = (uint16_t)(UDP + (how & 1)), .local = local & 1, .covered = how & 2};

	from.peer = sctp_addr_v4((const uint8_t[]){10, 0, local & 1, how & 4 ? 3 : 2});
	if (how & 8) {
		from.local = LINK;
		from.peer = on_link(2);
	}
	return from;
}

static void deliver(uint8_t *p, size_t len, uint8_t local)
{
	struct sctp_flow from = place(local);
	/* The sanitizer sees what is read beyond the end. */
	uint8_t *exact = malloc(len ? len : 1);

	must(exact);
	memcpy(exact, p, len);
	sctp_input(s, &from, exact, len, now);
	events();
	free(exact);
	turn();
}

static void head(uint8_t *p, uint32_t tag)
{
	be_put16(p, peer_port);
	be_put16(p + 2, own_port);
	be_put32(p + 4, tag);
}

static void seal(uint8_t *p, size_t len)
{
	struct span whole = {p, len};

	sctp_seal(&whole, 1);
}

static uint32_t offset(uint32_t base)
{
	return base + (uint32_t)(int8_t)in_8(&in);
}

/* A chunk whose numbers are near what the association expects. */
static void put_near(struct sctp_writer *w)
{
	uint8_t kind = in_8(&in), flags = in_8(&in);
	uint32_t at, n;

	switch (kind % 8) {
	case 0:
	case 1:
		at = sctp_begin_chunk(w, SCTP_DATA, flags);
		sctp_put32(w, offset(assoc ? assoc->map.cum + 1 : PEER_TSN));
		sctp_put16(w, in_8(&in) & 15);
		sctp_put16(w, in_8(&in) & 7);
		sctp_put32(w, 0);
		for (n = in_8(&in) * (kind & 16 ? 200u : 1u); n; n--)
			sctp_put8(w, 0x5a);
		sctp_end_chunk(w, at);
		return;
	case 2:
	case 3:
		at = sctp_begin_chunk(w, SCTP_SACK, 0);
		sctp_put32(w, offset(assoc ? assoc->tx.cum + 1 : 0));
		sctp_put32(w, flags & 1 ? 100000 : in_16(&in));
		n = flags >> 1 & 7;
		sctp_put16(w, (uint16_t)n);
		sctp_put16(w, 0);
		while (n--) {
			sctp_put16(w, in_8(&in) & 63);
			sctp_put16(w, in_8(&in) & 63);
		}
		sctp_end_chunk(w, at);
		return;
	case 4:
		at = sctp_begin_chunk(w, SCTP_SHUTDOWN, 0);
		sctp_put32(w, offset(assoc ? assoc->tx.cum : 0));
		sctp_end_chunk(w, at);
		return;
	case 5:
		at = sctp_begin_chunk(w, SCTP_COOKIE_ECHO, 0);
		sctp_put_bytes(w, cookie.bytes, cookie.len);
		sctp_end_chunk(w, at);
		return;
	case 6:
		sctp_put_plain(w, flags % 16, kind >> 4);
		return;
	default:
		at = sctp_begin_chunk(w, SCTP_HEARTBEAT_ACK, 0);
		n = sctp_begin_tlv(w, SCTP_PARAM_HEARTBEAT);
		sctp_put64(w, assoc ? assoc->paths.at[flags % assoc->paths.n].nonce : 0);
		sctp_put64(w, now - in_16(&in));
		sctp_put32(w, in_16(&in));
		sctp_put32(w, flags % 3);
		sctp_end_chunk(w, n);
		sctp_end_chunk(w, at);
	}
}

static void near(void)
{
	static uint8_t pkt[65536];
	struct sctp_writer w = {.p = pkt, .size = 60000, .len = SCTP_HEAD};
	uint8_t what = in_8(&in);

	for (unsigned n = 1 + what % 8; n; n--)
		put_near(&w);
	if (w.full)
		return;
	head(pkt, own_tag);
	seal(pkt, w.len);
	deliver(pkt, w.len, what >> 7);
}

/* Chunks as the script has them. */
static void raw(void)
{
	static uint8_t pkt[SCTP_HEAD + 1024];
	uint8_t what = in_8(&in);
	size_t len = SCTP_HEAD + in_copy(&in, pkt + SCTP_HEAD, in_16(&in) % 1024);

	if (what & 1 && len >= SCTP_HEAD + 4)
		be_put16(pkt + SCTP_HEAD + 2, (uint16_t)(len - SCTP_HEAD));
	head(pkt, what & 2 ? 0 : what & 4 ? peer_tag : own_tag);
	if (what & 8)
		be_put16(pkt, (uint16_t)(PEER_PORT + what / 16));
	if (!(what & 64))
		seal(pkt, len);
	deliver(pkt, what & 32 ? len / 2 : len, what >> 7);
}

/* ---- the association ---- */

static void put_init(struct sctp_writer *w, uint8_t type)
{
	struct sctp_init i = {.tag = PEER_TAG + in_8(&in) % 4,
			      .a_rwnd = 100000,
			      .tsn = PEER_TSN,
			      .out_streams = 10,
			      .in_streams = 10,
			      .has_adaptation = true,
			      .adaptation = 1,
			      .takes_batches = true,
			      .cookie = (const uint8_t *)"cookie",
			      .cookie_len = 6};
	unsigned naddrs = in_8(&in) % 3;

	for (unsigned k = 0; k < naddrs; k++)
		i.addr[i.naddrs++] = sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)k, 2});
	sctp_init_put(w, type, &i, NULL, 0);
	peer_tag = i.tag;
}

static void init(uint8_t type)
{
	uint8_t pkt[512];
	struct sctp_writer w = {.p = pkt, .size = sizeof(pkt), .len = SCTP_HEAD};

	put_init(&w, type);
	head(pkt, type == SCTP_INIT ? 0 : own_tag);
	seal(pkt, w.len);
	deliver(pkt, w.len, 0);
}

static void echo(void)
{
	uint8_t pkt[SCTP_COOKIE_MAX + 64];
	struct sctp_writer w = {.p = pkt, .size = sizeof(pkt), .len = SCTP_HEAD};
	uint32_t at = sctp_begin_chunk(&w, SCTP_COOKIE_ECHO, 0);

	sctp_put_bytes(&w, cookie.bytes, cookie.len);
	sctp_end_chunk(&w, at);
	head(pkt, own_tag);
	seal(pkt, w.len);
	deliver(pkt, w.len, 0);
}

static void accept_one(void)
{
	own_port = OWN_PORT;
	peer_port = PEER_PORT;
	init(SCTP_INIT);
	echo();
}

static void open_one(void)
{
	const uint8_t local[] = {0, 1, LINK};
	struct sctp_addr peer[] = {sctp_addr_v4((const uint8_t[]){10, 0, 0, 2}),
				   sctp_addr_v4((const uint8_t[]){10, 0, 1, 2}), on_link(2)};
	uint8_t how = in_8(&in), first = places && how & 4 ? LINK : 0;
	struct sctp_connect to = {.peer = peer + first,
				  .npeer = first ? 1 : 1 + how % 2,
				  .port = PEER_PORT,
				  .local = local + first,
				  .nlocal = first ? 1 : 2};
	struct sctp_assoc *a;

	if (places && how & 2) {
		to.npeer = to.nlocal = 1;
		to.covered_port = UDP;
	}
	if (places && how & 8)
		to.own_port = OWN_PORT;
	if (sctp_assoc_connect(s, &to, &a))
		return;
	own_port = a->id.own_port;
	peer_port = PEER_PORT;
	turn();
}

static void opened(void)
{
	uint8_t pkt[SCTP_HEAD + 4];
	struct sctp_writer w = {.p = pkt, .size = sizeof(pkt), .len = SCTP_HEAD};

	open_one();
	init(SCTP_INIT_ACK);
	sctp_put_plain(&w, SCTP_COOKIE_ACK, 0);
	head(pkt, own_tag);
	seal(pkt, w.len);
	deliver(pkt, w.len, 0);
}

static void send_some(void)
{
	static uint8_t data[SCTP_MAX_PACKET];
	unsigned n = in_8(&in) % 32;
	uint32_t len = 1 + in_16(&in);

	while (assoc && n--) {
		struct sctp_info info;

		sctp_assoc_info(assoc, &info);
		(void)sctp_assoc_send(
			assoc, 0, 1, n & 1,
			&(struct span){data, len < info.max_message ? len : info.max_message}, 1);
	}
	turn();
}

static void icmp(void)
{
	const struct sctp_flow to = {sctp_addr_v4((const uint8_t[]){10, 0, 0, 2}), UDP, 0, false};
	uint8_t quoted[32] = {0}, what = in_8(&in);

	be_put16(quoted, own_port);
	be_put16(quoted + 2, peer_port);
	be_put32(quoted + 4, what & 128 ? 0 : peer_tag);
	in_fill(&in, quoted + 8, what % 25);
	sctp_icmp(s, &to, (enum sctp_icmp)(what / 32 % 3), in_16(&in), quoted, what % 33, now);
	sctp_too_big(s, &to, in_16(&in), now);
	turn();
}

static void step(void)
{
	uint8_t what = in_8(&in);

	switch (what % 12) {
	case 0:
	case 1:
	case 2:
		near();
		break;
	case 3:
	case 4:
		raw();
		break;
	case 5:
		send_some();
		break;
	case 6:
		now += UINT64_C(1) << what / 12;
		turn();
		break;
	case 7:
		now = sctp_expiry(s) == UINT64_MAX ? now : sctp_expiry(s);
		turn();
		break;
	case 8:
		if (assoc && what & 64)
			sctp_assoc_shutdown(assoc, now);
		else if (assoc && what & 128)
			assoc = sctp_assoc_free(assoc);
		else if (assoc && places)
			sctp_assoc_ask(assoc, now);
		turn();
		break;
	case 9:
		icmp();
		break;
	case 10:
		what & 128 ? opened() : open_one();
		break;
	default:
		what & 128 ? accept_one() : init(what & 64 ? SCTP_INIT : SCTP_INIT_ACK);
	}
}

/* What the stack lacks. */
static void lack(struct sctp_config *cfg)
{
	uint8_t what = in_8(&in);

	if (what & 1)
		cfg->heartbeat_us = 0;
	if (what & 2)
		cfg->path_max_retrans = 1;
	if (what & 4)
		cfg->max_memory = 1 << 18;
	if (what & 8)
		cfg->max_assocs = 1;
}

static void start(void)
{
	struct sctp_config cfg = {
		.local = {sctp_addr_v4((const uint8_t[]){10, 0, 0, 1}),
			  sctp_addr_v4((const uint8_t[]){10, 0, 1, 1}), on_link(1)},
		.nlocal = 3,
		.udp_port = UDP,
		.streams = 10,
		.adaptation = 1,
		.send_buffer = 1 << 18,
		.sack_packets = 2,
		.sack_us = 20000,
		.rto_initial_us = 1000000,
		.rto_min_us = 50000,
		.rto_max_us = 10000000,
		.heartbeat_us = 5000000,
		.cookie_us = 60000000,
		.path_max_retrans = 5,
		.assoc_max_retrans = 10,
		.init_max_retrans = 8,
		.max_assocs = 8,
		.max_memory = MEMORY,
		.handshakes_per_s = 1000000,
		.mem = {take, give, NULL},
		.random = fill,
	};
	const uint8_t all[] = {0, 1, LINK};
	struct sctp_listener *l;

	if (places)
		lack(&cfg);
	fail_at = 0;
	now = 1000000;
	number = 1;
	assoc = NULL;
	own_port = OWN_PORT;
	peer_port = PEER_PORT;
	own_tag = peer_tag = cookie.len = 0;
	must(sctp_open(&cfg, now, &s) == SCTP_E_OK);
	must(sctp_listen(s, all, places ? 3 : 2, true, OWN_PORT, NULL, &l) == SCTP_E_OK);
	fail_at = places ? in_8(&in) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t how;

	in = (struct input){bytes, size};
	how = in_8(&in);
	places = how & 16;
	start();
	if (how % 4 == 0)
		accept_one();
	else if (how % 4 == 1)
		opened();
	if (how & 4)
		send_some();
	if (how & 8 && assoc)
		sctp_assoc_shutdown(assoc, now);
	for (unsigned i = 0; in.left && i < STEPS; i++)
		step();
	s = sctp_close(s);
	must(held == 0);
	return 0;
}
