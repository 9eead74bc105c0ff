/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of libssl and of identities: a handshake with the flights of DTLS 1.2 and without
 * signatures, whose numbers depend on nothing but fake_seed. It keeps what arrives out of order,
 * ignores what it has had, and fails at a ServerHello that the server has not made, as a client of
 * OpenSSL does when it finds that in the signature.
 */
#include "tests/dtls/fake_ssl.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/ssl.h>

#include "llp/dtls/dtls_cookie.h"
#include "llp/dtls/dtls_keys.h"
#include "llp/dtls/dtls_peer.h"
#include "tests/fuzz/fuzz.h"
#include "util/be.h"
#include "util/siphash.h"

uint64_t fake_seed;

enum { MESSAGE = 12, RANDOM = DTLS_RANDOM, MASTER = 48, SPACE = 2048, SIGNATURE = 8 };

enum { CLIENT_HELLO = 1, SERVER_HELLO = 2, VERIFY_REQUEST = 3, DONE = 14, KEY = 16, FINISHED = 20 };

enum state { BEGINS, ASKS, WAITS, FINISHES, IS_DONE };

struct ssl_st {
	BIO *bio;
	bool server, failed;
	enum state state;
	uint8_t client[RANDOM], random[RANDOM]; /* of the client and of the server */
	uint8_t cookie[DTLS_COOKIE];
	bool has_hello, has_done, has_key; /* messages of the peer */
	uint16_t number;                   /* of our next message */
	uint64_t seq;
	struct dtls_keys keys;
	struct dtls_tx tx;
	struct dtls_rx rx;
};

/* ---- what the room asks ---- */

static const uint64_t secret[2] = {1, 2};

void SSL_free(SSL *s)
{
	if (!s)
		return;
	BIO_free(s->bio);
	dtls_tx_deinit(&s->tx);
	dtls_rx_deinit(&s->rx);
	free(s);
}

void SSL_set_bio(SSL *s, BIO *r, BIO *w)
{
	must(r == w);
	s->bio = r;
}

long SSL_ctrl(SSL *s, int cmd, long arg, void *p)
{
	(void)s, (void)cmd, (void)arg, (void)p;
	return 1;
}

void SSL_set_accept_state(SSL *s)
{
	s->server = true;
}

void SSL_set_connect_state(SSL *s)
{
	s->server = false;
}

void DTLS_set_timer_cb(SSL *s, DTLS_timer_cb cb)
{
	(void)s, (void)cb;
}

int SSL_get_error(const SSL *s, int r)
{
	(void)r;
	return s->failed ? SSL_ERROR_SSL : SSL_ERROR_WANT_READ;
}

size_t SSL_get_client_random(const SSL *s, unsigned char *to, size_t len)
{
	memcpy(to, s->client, len);
	return len;
}

size_t SSL_get_server_random(const SSL *s, unsigned char *to, size_t len)
{
	memcpy(to, s->random, len);
	return len;
}

SSL_SESSION *SSL_get_session(const SSL *s)
{
	return (SSL_SESSION *)(uintptr_t)s;
}

const SSL_CIPHER *SSL_SESSION_get0_cipher(const SSL_SESSION *s)
{
	return (const SSL_CIPHER *)s;
}

int SSL_CIPHER_get_cipher_nid(const SSL_CIPHER *c)
{
	(void)c;
	return NID_aes_128_gcm;
}

const EVP_MD *SSL_CIPHER_get_handshake_digest(const SSL_CIPHER *c)
{
	(void)c;
	return EVP_sha256();
}

/* Known as soon as both randoms are. */
size_t SSL_SESSION_get_master_key(const SSL_SESSION *session, unsigned char *to, size_t len)
{
	const SSL *s = (const SSL *)session;
	uint8_t both[2 * RANDOM];

	must(len == MASTER);
	memcpy(both, s->client, RANDOM);
	memcpy(both + RANDOM, s->random, RANDOM);
	for (unsigned i = 0; i < MASTER / 16; i++) {
		both[0] ^= (uint8_t)i;
		siphash128(secret, both, sizeof(both), to + 16 * (size_t)i);
	}
	return MASTER;
}

/* ---- identities ---- */

struct dtls_identity *dtls_identity_use(struct dtls_identity *id)
{
	return id;
}

void dtls_identity_drop(struct dtls_identity *id)
{
	(void)id;
}

const struct dtls_psk *dtls_identity_psk(const struct dtls_identity *id, const char *path)
{
	(void)id, (void)path;
	return NULL;
}

SSL *dtls_identity_open(const struct dtls_identity *id, const struct dtls_auth *auth)
{
	must(id->ctx && !auth->psk);
	return calloc(1, sizeof(SSL));
}

void dtls_peer_read(const struct dtls_identity *id, const struct dtls_auth *auth, SSL *s,
		    struct dtls_peer *ret)
{
	(void)auth, (void)s;
	*ret = (struct dtls_peer){.has_cert = true, .by = id};
}

/* ---- out ---- */

static void draw(uint8_t *to)
{
	for (unsigned i = 0; i < RANDOM; i++) {
		fake_seed = fake_seed * 6364136223846793005u + 1442695040888963407u;
		to[i] = (uint8_t)(fake_seed >> 56);
	}
}

/* A message with this body as one record; returns its length. */
static size_t put_message(SSL *s, uint8_t *p, uint8_t type, const uint8_t *body, size_t len)
{
	const struct dtls_head h = {DTLS_HANDSHAKE, 0, s->seq++, MESSAGE + len};
	uint8_t *m = p + DTLS_HEAD;

	dtls_head_put(p, &h);
	memset(m, 0, MESSAGE);
	m[0] = type;
	be_put16(m + 2, (uint16_t)len);
	be_put16(m + 4, s->number++);
	be_put16(m + 10, (uint16_t)len);
	memcpy(m + MESSAGE, body, len);
	return DTLS_HEAD + MESSAGE + len;
}

static void send_message(SSL *s, uint8_t type, const uint8_t *body, size_t len)
{
	uint8_t p[SPACE];

	len = put_message(s, p, type, body, len);
	must(BIO_write(s->bio, p, (int)len) == (int)len);
}

/* Version, random, no session, cookie, one suite, no compression. */
static void send_hello(SSL *s, bool has_cookie)
{
	static const uint8_t rest[] = {0, 2, 0xc0, 0x2b, 1, 0};
	uint8_t body[100] = {0xfe, 0xfd}, *p = body + 2 + RANDOM;

	memcpy(body + 2, s->client, RANDOM);
	*p++ = 0;
	*p++ = has_cookie ? DTLS_COOKIE : 0;
	if (has_cookie) {
		memcpy(p, s->cookie, DTLS_COOKIE);
		p += DTLS_COOKIE;
	}
	memcpy(p, rest, sizeof(rest));
	send_message(s, CLIENT_HELLO, body, (size_t)(p - body) + sizeof(rest));
}

static void sign(const SSL *s, uint8_t ret[SIGNATURE])
{
	uint8_t both[2 * RANDOM];

	memcpy(both, s->client, RANDOM);
	memcpy(both + RANDOM, s->random, RANDOM);
	be_put64(ret, siphash64(secret, both, sizeof(both)));
}

static void send_server_flight(SSL *s)
{
	uint8_t body[600] = {0xfe, 0xfd};

	draw(s->random);
	memcpy(body + 2, s->random, RANDOM);
	sign(s, body + 2 + RANDOM);
	send_message(s, SERVER_HELLO, body, sizeof(body));
	send_message(s, DONE, body, 10);
}

static void make_keys(SSL *s)
{
	if (s->tx.ctx)
		return;
	must(dtls_keys_derive(s, &s->keys) == 0);
	must(dtls_tx_init(&s->tx, s->server ? &s->keys.server : &s->keys.client) == 0);
	must(dtls_rx_init(&s->rx, s->server ? &s->keys.client : &s->keys.server) == 0);
}

/* The end of a flight: ChangeCipherSpec, and Finished, which is sealed. */
static size_t put_finished(SSL *s, uint8_t *p)
{
	const struct dtls_head h = {DTLS_CHANGE_CIPHER_SPEC, 0, s->seq++, 1};
	uint8_t message[MESSAGE + 12] = {FINISHED, [3] = 12, [11] = 12};
	struct span part = {message, sizeof(message)};

	make_keys(s);
	dtls_head_put(p, &h);
	p[DTLS_HEAD] = 1;
	return DTLS_HEAD + 1 + dtls_tx_seal(&s->tx, DTLS_HANDSHAKE, &part, 1, p + DTLS_HEAD + 1);
}

static void send_last(SSL *s)
{
	uint8_t p[SPACE], body[300] = {0};
	size_t len = s->server ? 0 : put_message(s, p, KEY, body, sizeof(body));

	len += put_finished(s, p + len);
	must(BIO_write(s->bio, p, (int)len) == (int)len);
}

/* ---- in ---- */

static void got_server_hello(SSL *s, const uint8_t *body, size_t len)
{
	uint8_t want[SIGNATURE];

	if (s->state != WAITS || s->has_hello || len < 2 + RANDOM + SIGNATURE)
		return;
	memcpy(s->random, body + 2, RANDOM);
	sign(s, want);
	s->has_hello = true;
	s->failed = memcmp(want, body + 2 + RANDOM, SIGNATURE) != 0;
}

static void got_message(SSL *s, const uint8_t *m, size_t len)
{
	const uint8_t *body = m + MESSAGE;

	if (len < MESSAGE)
		return;
	len -= MESSAGE;
	if (s->server) {
		s->has_key |= m[0] == KEY && s->state == WAITS;
	} else if (m[0] == VERIFY_REQUEST && s->state == ASKS && len == 3 + DTLS_COOKIE) {
		memcpy(s->cookie, body + 3, DTLS_COOKIE);
		send_hello(s, true);
		s->state = WAITS;
	} else if (m[0] == SERVER_HELLO) {
		got_server_hello(s, body, len);
	} else if (m[0] == DONE && s->state == WAITS) {
		s->has_done = true;
	}
}

/* Finished of the peer, if it opens. A server has its keys when the client's key has arrived. */
static void got_sealed(SSL *s, const struct dtls_head *h, uint8_t *record)
{
	uint8_t *plain;
	size_t len;

	if (s->server ? s->state != WAITS || !s->has_key : s->state != FINISHES)
		return;
	make_keys(s);
	if (dtls_rx_open(&s->rx, h, record, &plain, &len) != DTLS_OPENED ||
	    h->type != DTLS_HANDSHAKE || plain[0] != FINISHED)
		return;
	if (s->server)
		send_last(s);
	s->state = IS_DONE;
}

static void got_datagram(SSL *s, uint8_t *p, size_t n)
{
	struct dtls_head h;

	for (; !s->failed && s->state != IS_DONE && dtls_head_get(p, n, &h);
	     p += DTLS_HEAD + h.len, n -= DTLS_HEAD + h.len) {
		if (h.epoch > 0)
			got_sealed(s, &h, p);
		else if (h.type == DTLS_HANDSHAKE)
			got_message(s, p + DTLS_HEAD, h.len);
	}
	if (!s->server && s->state == WAITS && s->has_hello && s->has_done && !s->failed) {
		send_last(s);
		s->state = FINISHES;
	}
}

/* ---- steps ---- */

int DTLSv1_listen(SSL *s, BIO_ADDR *from)
{
	uint8_t p[SPACE];
	int n = BIO_read(s->bio, p, sizeof(p));
	struct dtls_hello h;

	(void)from;
	must(n > 0 && dtls_hello_get(p, (size_t)n, &h));
	memcpy(s->client, h.random, RANDOM);
	s->number = 1;
	return 1;
}

static void begin(SSL *s)
{
	if (s->server) {
		send_server_flight(s);
		s->state = WAITS;
		return;
	}
	draw(s->client);
	send_hello(s, false);
	s->state = ASKS;
}

int SSL_do_handshake(SSL *s)
{
	uint8_t p[SPACE];
	int n;

	if (s->state == BEGINS)
		begin(s);
	while (s->state != IS_DONE && !s->failed && (n = BIO_read(s->bio, p, sizeof(p))) > 0)
		got_datagram(s, p, (size_t)n);
	return s->state == IS_DONE ? 1 : -1;
}
