/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "util/be.h"
#include "util/undumped_heap.h"

/* Flights are sent again after at most so long: RFC 6347 4.2.4.1. */
#define MAX_INTERVAL_US ((uint64_t)60 * 1000000)

enum {
	REPEATS = 3,      /* of a flight without an answer, then a client begins again */
	LAST_REPEATS = 5, /* of the last flight of a takeover */
	MAX_BACKOFF = 6,  /* it waits 2^n parts of the first interval */
	BACKOFF_PARTS = 8,
};

/* ---- a step: in the worker ---- */

static void fail_step(struct dtls_handshake *hs, const char *failure)
{
	unsigned long e = ERR_peek_last_error();
	const char *detail = e ? ERR_reason_error_string(e) : NULL;

	snprintf(hs->reason, sizeof(hs->reason), "%s%s%s", failure, detail ? ": " : "",
		 detail ? detail : "");
	hs->outcome = DTLS_STEP_FAILED;
}

/* Reads the hello whose cookie was checked before. OpenSSL goes on from its numbers. */
static bool read_hello(struct dtls_link *l)
{
	BIO_ADDR *from = BIO_ADDR_new();
	bool ok = from && DTLSv1_listen(l->ssl, from) > 0;

	BIO_ADDR_free(from);
	l->hs->listens = false;
	if (!ok)
		fail_step(l->hs, "the hello of the peer is malformed");
	return ok;
}

static void end_handshake(struct dtls_link *l)
{
	struct dtls_handshake *hs = l->hs;

	if (!hs->bio.has_keys) {
		fail_step(hs, "the handshake has no keys");
		return;
	}
	dtls_peer_read(l->identity, &hs->auth, l->ssl, &hs->peer);
	hs->outcome = DTLS_STEP_DONE;
}

static void run_step(struct dtls_job *j)
{
	struct dtls_link *l = list_entry(j, struct dtls_link, job);
	int r;

	ERR_clear_error();
	l->hs->outcome = DTLS_STEP_MORE;
	if (l->hs->listens && !read_hello(l))
		return;
	r = SSL_do_handshake(l->ssl);
	if (l->hs->bio.out.full)
		fail_step(l->hs, "a flight of the handshake is longer than 12288 bytes");
	else if (r == 1)
		end_handshake(l);
	else if (SSL_get_error(l->ssl, r) != SSL_ERROR_WANT_READ)
		fail_step(l->hs, "the handshake failed");
	ERR_clear_error();
}

/* ---- the owner's side ---- */

static void stop_resending(struct dtls_link *l)
{
	l->resend_us = UINT64_MAX;
}

static void free_handshake(struct dtls_link *l)
{
	if (!l->hs)
		return;
	dtls_bio_deinit(&l->hs->bio);
	SSL_free(l->ssl);
	l->ssl = NULL;
	undumped_heap_free(l->hs);
	l->hs = NULL;
	stop_resending(l);
}

/* A step has made a flight: it is sent from its beginning. */
static void begin_flight(struct dtls_link *l, uint64_t now_us)
{
	struct dtls_bio *b = &l->hs->bio;

	if (b->flights == l->flight)
		return;
	l->flight = b->flights;
	l->next_out = 0;
	dtls_link_repeat(l, now_us);
}

void dtls_link_repeat(struct dtls_link *l, uint64_t now_us)
{
	l->repeats = 0;
	l->interval_us = l->first_us;
	l->resend_us = now_us + l->interval_us;
}

static void note_random(struct dtls_link *l)
{
	if (!l->has_random && l->ssl)
		l->has_random =
			SSL_get_client_random(l->ssl, l->random, DTLS_RANDOM) == DTLS_RANDOM;
}

static bool take_keys(struct dtls_link *l)
{
	const struct dtls_bio *b = &l->hs->bio;

	if (!b->has_keys || l->tx.ctx)
		return true;
	return dtls_tx_init(&l->tx, l->server ? &b->keys.server : &b->keys.client) == 0 &&
	       dtls_rx_init(&l->rx, l->server ? &b->keys.client : &b->keys.server) == 0;
}

static void bring_down(struct dtls_link *l, const char *reason)
{
	snprintf(l->reason, sizeof(l->reason), "%s", reason);
	l->state = DTLS_LINK_DOWN;
	stop_resending(l);
}

static void bring_up(struct dtls_link *l, uint64_t now_us)
{
	l->peer = l->hs->peer;
	l->state = DTLS_LINK_UP;
	l->up_us = now_us;
	dtls_keys_wipe(&l->hs->bio.keys);
	if (!l->server)
		free_handshake(l);
	else
		stop_resending(l); /* the peer asks for it by sending its own again */
}

/* begin_again() follows when resend_us has passed. */
static void forget_handshake(struct dtls_link *l, uint64_t now_us)
{
	unsigned n = l->tries < MAX_BACKOFF ? l->tries : MAX_BACKOFF;

	free_handshake(l);
	dtls_tx_deinit(&l->tx);
	dtls_rx_deinit(&l->rx);
	l->has_random = false;
	l->flight = 0;
	l->tries++;
	l->resend_us = now_us + (l->first_us << n) / BACKOFF_PARTS;
}

static void fail_handshake(struct dtls_link *l, uint64_t now_us)
{
	if (l->server) {
		bring_down(l, l->hs->reason);
		return;
	}
	memcpy(l->reason, l->hs->reason, sizeof(l->reason));
	forget_handshake(l, now_us);
}

static void take_outcome(struct dtls_link *l, uint64_t now_us)
{
	enum dtls_outcome o = l->hs->outcome;

	note_random(l);
	begin_flight(l, now_us);
	if (o == DTLS_STEP_FAILED)
		fail_handshake(l, now_us);
	else if (!take_keys(l))
		bring_down(l, "no memory for the keys of a connection");
	else if (o == DTLS_STEP_DONE)
		bring_up(l, now_us);
}

static void begin_step(struct dtls_link *l, uint64_t now_us)
{
	dtls_queue_move(&l->hs->bio.in, &l->hs->pending);
	l->job.run = run_step;
	if (!l->worker) {
		run_step(&l->job);
		take_outcome(l, now_us);
		return;
	}
	l->busy = dtls_worker_add(l->worker, &l->job);
	l->waits = !l->busy;
}

/* The clock of OpenSSL must not send a flight again: ours does. */
static unsigned choose_timeout(SSL *ssl, unsigned us)
{
	(void)ssl;
	(void)us;
	return UINT32_MAX;
}

static bool make_handshake(struct dtls_link *l)
{
	l->hs = undumped_heap_alloc(sizeof(*l->hs)); /* it has keys */
	if (!l->hs)
		return false;
	memset(l->hs, 0, sizeof(*l->hs));
	l->hs->auth.psk = l->psk;
	l->ssl = dtls_identity_open(l->identity, &l->hs->auth);
	if (!l->ssl || dtls_bio_attach(&l->hs->bio, l->ssl) < 0)
		return false;
	l->hs->bio.server = l->server;
	SSL_set_mtu(l->ssl, DTLS_FLIGHT_MTU);
	if (l->server)
		SSL_set_accept_state(l->ssl);
	else
		SSL_set_connect_state(l->ssl);
	DTLS_set_timer_cb(l->ssl, choose_timeout);
	return true;
}

static void set_hello(struct dtls_link *l, const struct dtls_hello *h, const uint8_t *p, size_t n)
{
	l->hs->listens = true;
	l->has_random = true;
	l->seq = h->seq;
	memcpy(l->random, h->random, DTLS_RANDOM);
	memcpy(l->hs->auth.cookie, h->cookie, DTLS_COOKIE);
	dtls_queue_put(&l->hs->pending, p, n);
}

struct dtls_link *dtls_link_new(struct dtls_identity *id, const struct dtls_psk *psk,
				struct dtls_worker *w, void *owner, const struct dtls_hello *hello,
				const uint8_t *p, size_t n, uint64_t first_us, uint64_t now_us)
{
	struct dtls_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->identity = dtls_identity_use(id);
	l->psk = psk;
	l->worker = w;
	l->owner = owner;
	l->server = hello;
	l->begun_us = now_us;
	l->first_us = first_us;
	stop_resending(l);
	if (!make_handshake(l)) {
		dtls_link_free(l);
		return NULL;
	}
	if (hello)
		set_hello(l, hello, p, n);
	begin_step(l, now_us);
	return l;
}

void dtls_link_free(struct dtls_link *l)
{
	if (!l)
		return;
	l->owner = NULL;
	if (l->busy)
		return;
	free_handshake(l);
	dtls_tx_deinit(&l->tx);
	dtls_rx_deinit(&l->rx);
	dtls_identity_drop(l->identity);
	free(l);
}

void dtls_link_input(struct dtls_link *l, const uint8_t *p, size_t len, uint64_t now_us)
{
	if (l->state != DTLS_LINK_HANDSHAKE || !l->hs)
		return;
	dtls_queue_put(&l->hs->pending, p, len);
	/* A step writes a flight over the one that is being sent. */
	if (!l->busy && !dtls_link_has_output(l))
		begin_step(l, now_us);
}

struct dtls_link *dtls_link_finish(struct dtls_job *j, uint64_t now_us)
{
	struct dtls_link *l = list_entry(j, struct dtls_link, job);

	l->busy = false;
	if (!l->owner) {
		dtls_link_free(l);
		return NULL;
	}
	take_outcome(l, now_us);
	return l;
}

/* ---- out ---- */

bool dtls_link_has_output(const struct dtls_link *l)
{
	return l->hs && !l->busy && l->next_out < l->hs->bio.out.n;
}

static size_t put_record(struct dtls_link *l, const struct dtls_flight_record *r, uint8_t *to)
{
	struct span part = {l->hs->bio.out.bytes + r->at, r->len};
	struct dtls_head h = {r->type, 0, l->seq, r->len};

	if (r->epoch > 0)
		return dtls_tx_seal(&l->tx, r->type, &part, 1, to);
	l->seq++;
	dtls_head_put(to, &h);
	be_put16(to + 1, r->version);
	memcpy(to + DTLS_HEAD, part.p, part.len);
	return DTLS_HEAD + part.len;
}

size_t dtls_link_output(struct dtls_link *l, uint8_t *to, size_t size)
{
	const struct dtls_flight_record *r;
	size_t len = 0;

	while (dtls_link_has_output(l)) {
		r = &l->hs->bio.out.record[l->next_out];
		if (r->len + (size_t)DTLS_OVERHEAD > size - len)
			break;
		if (r->epoch > 0 && !l->tx.ctx)
			break;
		len += put_record(l, r, to + len);
		l->next_out++;
		if (r->last)
			break;
	}
	return len;
}

/* ---- time ---- */

uint64_t dtls_link_expiry(const struct dtls_link *l)
{
	return l->busy || l->waits ? UINT64_MAX : l->resend_us;
}

static void begin_again(struct dtls_link *l, uint64_t now_us)
{
	if (make_handshake(l))
		begin_step(l, now_us);
	else
		bring_down(l, "no memory for another handshake");
}

static void repeat_flight(struct dtls_link *l, uint64_t now_us)
{
	l->repeats++;
	l->next_out = 0;
	if (l->state == DTLS_LINK_UP && l->repeats == LAST_REPEATS) {
		stop_resending(l);
		return;
	}
	l->interval_us =
		l->interval_us < MAX_INTERVAL_US / 2 ? 2 * l->interval_us : MAX_INTERVAL_US;
	l->resend_us = now_us + l->interval_us;
}

void dtls_link_run(struct dtls_link *l, uint64_t now_us)
{
	bool shakes = l->state == DTLS_LINK_HANDSHAKE;

	if (l->busy)
		return;
	if (shakes && l->hs && (l->waits || l->hs->pending.n > 0) && !dtls_link_has_output(l))
		begin_step(l, now_us);
	else if (now_us < l->resend_us)
		return;
	else if (!l->hs)
		begin_again(l, now_us);
	else if (shakes && !l->server && l->flight > 1 && l->repeats == REPEATS)
		forget_handshake(l, now_us);
	else
		repeat_flight(l, now_us);
}

void dtls_link_proven(struct dtls_link *l, bool handshake)
{
	if (l->proven)
		return;
	if (handshake) {
		l->next_out = 0;
		return;
	}
	l->proven = true;
	free_handshake(l);
}
