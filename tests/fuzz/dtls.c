/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams that reach the port of DTLS: no bytes make a link or a packet that nobody has sealed,
 * and answers to unknown peers are short. The first byte chooses: hellos, records, a handshake of
 * two rooms whose datagrams the input changes, or a link with a peer that has the keys and keeps to
 * no rule, beside somebody who has none.
 */
#include "llp/dtls/dtls.h"
#include "llp/dtls/dtls_cookie.h"
#include "llp/dtls/dtls_core.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/dtls_net.h"

enum { SPACE = 4096, STEPS = 40 };

static struct dtls_identity *identity(void)
{
	static struct dtls_identity *id;
	static struct ssl_ctx_st *ctx; /* LeakSanitizer does not look for it in undumped memory */

	if (!id) {
		id = net_identity(-60, 1000000000);
		ctx = id->ctx;
	}
	must(ctx == id->ctx);
	return dtls_identity_use(id);
}

/* ---- hellos ---- */

static void check_hello(const uint8_t *p, size_t n)
{
	const struct dtls_flow flow = {.port = 1};
	struct dtls_cookies c;
	struct dtls_hello h;

	if (!dtls_hello_get(p, n, &h))
		return;
	must(n >= 67);
	must(!h.cookie == (h.cookie_len == 0));
	if (h.cookie)
		must(h.cookie >= p && h.cookie_len <= n && h.cookie <= p + n - h.cookie_len);
	dtls_cookies_init(&c, net_random, NULL, 0);
	must(!dtls_cookies_accept(&c, &flow, &h, 0));
}

static void hellos(const uint8_t *bytes, size_t size)
{
	static uint8_t p[SPACE], out[DTLS_MAX_DATAGRAM];
	struct net *n = net_new(identity(), identity(), false);
	struct dtls *d = n->end[0].dtls;
	size_t len = size < SPACE ? size : SPACE, answer, answers = 0;
	struct span at = {p, len}, packet;
	struct dtls_flow to;
	struct dtls_stats s;

	check_hello(bytes, size);
	if (len > 0)
		memcpy(p, bytes, len);
	must(!dtls_input(d, &n->end[0].peer, &at, n->now_us, &packet));
	while (dtls_output(d, &to, out, sizeof(out), &answer))
		answers += answer;
	must(answers <= len);
	dtls_stats(d, &s);
	must(s.links == 0 && s.begun == 0);
	net_free(n);
}

/* ---- records ---- */

static void records(const uint8_t *bytes, size_t size)
{
	struct dtls_key key = {.key = {1, 2, 3}, .len = 16, .salt = {4}};
	static uint8_t plain[SPACE], wire[SPACE + DTLS_OVERHEAD], *payload;
	struct input in = {bytes, size};
	struct dtls_head h;
	struct dtls_tx tx;
	struct dtls_rx rx;
	uint16_t at = in_16(&in);
	uint8_t change = in_8(&in);
	uint64_t seq = in_64(&in) & 0xffffffffffff;
	size_t len = in_copy(&in, plain, SPACE), n;
	struct span part = {plain, len};

	must(dtls_tx_init(&tx, &key) == 0 && dtls_rx_init(&rx, &key) == 0);
	tx.seq = seq;
	n = dtls_tx_seal(&tx, DTLS_DATA, &part, 1, wire);
	must(n == len + DTLS_OVERHEAD);
	wire[at % n] ^= change;
	if (dtls_head_get(wire, n, &h)) {
		bool opens = dtls_rx_open(&rx, &h, wire, &payload, &n) == DTLS_OPENED;

		must(opens == (change == 0));
		must(!opens || (n == len && !memcmp(payload, plain, len)));
	} else {
		must(change != 0);
	}
	dtls_tx_deinit(&tx);
	dtls_rx_deinit(&rx);
}

/* ---- handshakes ---- */

static struct input changes;

/* A zero lets the datagram pass. */
static void change_datagram(struct net *n, unsigned number, uint8_t *p, size_t len)
{
	uint8_t count = in_8(&changes) % 8;

	(void)n;
	(void)number;
	for (unsigned i = 0; i < count; i++) {
		uint16_t at = in_16(&changes);

		p[at % len] ^= in_8(&changes);
	}
}

static void handshake(const uint8_t *bytes, size_t size)
{
	struct net *n = net_new(identity(), identity(), false);

	changes = (struct input){bytes, size};
	n->meddles = change_datagram;
	n->doubles = in_8(&changes) % 50;
	n->delays = in_8(&changes) % 50;
	net_connect(n, in_8(&changes) % 2);
	for (unsigned i = 0; i < STEPS && changes.left > 0; i++) {
		net_run(n, 300000);
		net_send(n, i % 2, i);
	}
	n->meddles = NULL;
	n->doubles = n->delays = 0;
	net_run(n, 20000000);
	must(n->end[0].wrong == 0 && n->end[1].wrong == 0);
	net_free(n);
}

/* ---- a link ---- */

enum { RAW = 300, LINK_STEPS = 60 };

static const struct dtls_flow unknown_peer = {.port = 9};

/* Hellos that somebody has seen on their way to end 0, or from it. */
static struct {
	size_t len;
	uint8_t p[NET_PACKET];
} seen[2];

static void see(struct net *n, unsigned number, uint8_t *p, size_t len)
{
	unsigned to = n->d[n->n - 1].to;

	(void)number;
	if (len > DTLS_HEAD && p[0] == DTLS_HANDSHAKE && p[DTLS_HEAD] == 1) {
		memcpy(seen[to].p, p, len);
		seen[to].len = len;
	}
}

static void repeat_hello(struct net *n)
{
	uint8_t p[NET_PACKET];
	struct span at = {p, seen[0].len}, packet;

	memcpy(p, seen[0].p, seen[0].len);
	must(!dtls_input(n->end[0].dtls, &n->end[0].peer, &at, n->now_us, &packet));
}

static void quote_hello(struct net *n, struct input *in)
{
	const struct net_end *e = &n->end[0];
	size_t len = seen[1].len;
	uint8_t cut = in_8(in);

	dtls_unreachable(e->dtls, &e->peer, in_8(in) % 2, seen[1].p, cut < len ? cut : len);
	(void)dtls_is_unreachable(e->dtls, &e->peer);
	(void)dtls_is_gone(e->dtls, &e->peer, n->now_us);
}

/* Bytes of somebody without keys. */
static void put_raw(struct net *n, struct input *in)
{
	static uint8_t p[RAW];
	const struct dtls_flow *from = in_8(in) % 4 ? &n->end[0].peer : &unknown_peer;
	size_t len = in_copy(in, p, in_8(in));
	struct span at = {p, len}, packet;

	must(!dtls_input(n->end[0].dtls, from, &at, n->now_us, &packet));
}

/* A record that the peer seals with the keys that it uses, whatever its type and bytes are. */
static void put_sealed(struct net *n, struct input *in)
{
	static uint8_t plain[RAW], wire[2 * RAW];
	const struct dtls_pair *p = dtls_table_find(&n->end[1].dtls->table, &n->end[1].peer);
	struct dtls_link *l = p && in_8(in) % 2 && p->old ? p->old : p ? p->now : NULL;
	uint8_t type = (uint8_t)(20 + in_8(in) % 4);
	struct span part = {plain, in_copy(in, plain, in_8(in))}, at = {wire, 0}, packet;

	if (!l || !l->tx.ctx)
		return;
	at.len = dtls_tx_seal(&l->tx, type, &part, 1, wire);
	at.len += in_copy(in, wire + at.len, in_8(in) % 64);
	while (dtls_input(n->end[0].dtls, &n->end[0].peer, &at, n->now_us, &packet))
		must(type == DTLS_DATA && packet.len == part.len &&
		     !memcmp(packet.p, plain, part.len));
}

/* An ICMP message that quotes a record of ours, with changes, or anything. */
static void put_quote(struct net *n, struct input *in)
{
	static uint8_t wire[RAW], plain[RAW], got[RAW];
	struct net_end *e = &n->end[0];
	struct span part = {plain, 100};
	uint8_t change = in_8(in), key = in_8(in) % DTLS_KEYS_OF_LINK, cut = in_8(in);
	size_t len, revealed;

	memset(plain, change, 100);
	len = dtls_seal(e->dtls, &e->peer, &part, 1, 100, wire);
	if (len == 0)
		len = in_copy(in, wire, RAW);
	wire[in_8(in)] ^= change;
	if (cut < len)
		len = cut;
	revealed = dtls_quoted(e->dtls, &e->peer, key, wire, len, got);
	must(revealed <= len);
	if (revealed && key == 0 && change == 0)
		must(!memcmp(got, plain, revealed));
	dtls_unreachable(e->dtls, &e->peer, in_8(in) % 2, wire, len);
}

static void hint(struct net *n)
{
	uint8_t p[25] = {DTLS_HANDSHAKE, 0xfe, 0xfd, [12] = 12};
	struct span at = {p, sizeof(p)}, packet;

	must(!dtls_input(n->end[0].dtls, &n->end[0].peer, &at, n->now_us, &packet));
}

static void renew(struct net *n, unsigned who)
{
	(void)dtls_renew(n->end[who].dtls, &n->end[who].peer, n->now_us);
}

static void step(struct net *n, struct input *in)
{
	switch (in_8(in) % 10) {
	case 0:
		put_raw(n, in);
		break;
	case 1:
		put_sealed(n, in);
		break;
	case 2:
		put_quote(n, in);
		break;
	case 3:
		hint(n);
		break;
	case 4:
		renew(n, in_8(in) % 2);
		break;
	case 5:
		n->end[in_8(in) % 2].refuses = in_8(in) % 2 ? "no" : NULL;
		break;
	case 6:
		n->loses = in_8(in) % 60;
		break;
	case 7:
		repeat_hello(n);
		break;
	case 8:
		quote_hello(n, in);
		break;
	default:
		net_run(n, in_8(in) * (uint64_t)20000);
	}
}

/* Whatever was, two ends that want a link get one. */
static void with_link(const uint8_t *bytes, size_t size)
{
	struct net *n = net_new(identity(), identity(), false);
	struct input in = {bytes, size};

	seen[0].len = seen[1].len = 0;
	n->meddles = see;
	net_connect(n, in_8(&in) % 2);
	if (in_8(&in) % 4)
		must(net_until_up(n, 5000000));
	for (unsigned i = 0; i < LINK_STEPS && in.left > 0; i++)
		step(n, &in);
	n->loses = 0;
	n->end[0].refuses = n->end[1].refuses = NULL;
	net_run(n, 30000000);
	for (unsigned i = 0; i < 2; i++)
		renew(n, i);
	must(net_until_up(n, 10000000));
	net_free(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const targets[])(const uint8_t *p, size_t n) = {hellos, records, handshake,
								      with_link};

	if (size > 0)
		targets[bytes[0] % 4](bytes + 1, size - 1);
	return 0;
}
