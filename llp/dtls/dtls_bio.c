/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_bio.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "util/be.h"

/* ---- in ---- */

void dtls_queue_put(struct dtls_queue *q, const uint8_t *p, size_t len)
{
	if (q->n == DTLS_QUEUE_DATAGRAMS || len > sizeof(q->bytes) - q->used)
		return;
	memcpy(q->bytes + q->used, p, len);
	q->used += (uint32_t)len;
	q->len[q->n++] = (uint16_t)len;
}

void dtls_queue_move(struct dtls_queue *to, struct dtls_queue *from)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < from->n; i++) {
		dtls_queue_put(to, from->bytes + at, from->len[i]);
		at += from->len[i];
	}
	from->n = from->used = 0;
}

/* Copies the next datagram. 0: there is none. */
static size_t take_datagram(struct dtls_queue *q, uint8_t *to, size_t size)
{
	uint32_t at = 0;
	size_t len;

	if (q->next == q->n) {
		q->n = q->next = q->used = 0;
		return 0;
	}
	for (unsigned i = 0; i < q->next; i++)
		at += q->len[i];
	len = q->len[q->next++];
	if (len > size)
		len = size;
	memcpy(to, q->bytes + at, len);
	return len;
}

static int read_datagram(BIO *bio, char *to, int size)
{
	struct dtls_bio *b = BIO_get_data(bio);
	size_t len = take_datagram(&b->in, (uint8_t *)to, (size_t)size);

	BIO_clear_retry_flags(bio);
	b->fresh = true;
	if (len == 0) {
		BIO_set_retry_read(bio);
		return -1;
	}
	return (int)len;
}

/* ---- out ---- */

static void keep_plain(struct dtls_flight *f, const struct dtls_head *h, uint16_t version,
		       const uint8_t *p, size_t len)
{
	if (f->n == DTLS_FLIGHT_RECORDS || len > sizeof(f->bytes) - f->used) {
		f->full = true;
		return;
	}
	f->record[f->n++] = (struct dtls_flight_record){
		.type = (uint8_t)h->type,
		.epoch = (uint8_t)h->epoch,
		.version = version,
		.len = (uint16_t)len,
		.at = f->used,
	};
	memcpy(f->bytes + f->used, p, len);
	f->used += (uint32_t)len;
}

static bool have_keys(struct dtls_bio *b)
{
	if (b->has_keys)
		return true;
	b->has_keys = dtls_keys_derive(b->ssl, &b->keys) == 0 &&
		      dtls_rx_init(&b->own, b->server ? &b->keys.server : &b->keys.client) == 0;
	return b->has_keys;
}

/* A record of epoch 1 is opened, so that its own nonce is never seen: we seal it ourselves. */
static void keep_sealed(struct dtls_bio *b, const struct dtls_head *h, const uint8_t *p)
{
	uint8_t record[DTLS_FLIGHT_MTU + DTLS_OVERHEAD], *plain;
	size_t len = DTLS_HEAD + h->len;

	if (len > sizeof(record) || !have_keys(b)) {
		b->out.full = true;
		return;
	}
	memcpy(record, p, len);
	if (dtls_rx_open(&b->own, h, record, &plain, &len) == DTLS_OPENED)
		keep_plain(&b->out, h, DTLS_VERSION, plain, len);
	else
		b->out.full = true;
}

static int write_datagram(BIO *bio, const char *from, int size)
{
	struct dtls_bio *b = BIO_get_data(bio);
	const uint8_t *p = (const uint8_t *)from, *end = p + size;
	struct dtls_head h;

	BIO_clear_retry_flags(bio);
	if (b->fresh) {
		b->out.n = b->out.used = 0;
		b->fresh = false;
		b->flights++;
	}
	for (; dtls_head_get(p, (size_t)(end - p), &h); p += DTLS_HEAD + h.len) {
		if (h.epoch == 0)
			keep_plain(&b->out, &h, be_get16(p + 1), p + DTLS_HEAD, h.len);
		else
			keep_sealed(b, &h, p);
	}
	if (p != end)
		b->out.full = true;
	if (b->out.n > 0)
		b->out.record[b->out.n - 1].last = true;
	return size;
}

/* ---- the BIO ---- */

static long control(BIO *bio, int cmd, long num, void *ptr)
{
	(void)bio;
	(void)num;
	(void)ptr;
	switch (cmd) {
	case BIO_CTRL_FLUSH:
	case BIO_CTRL_DUP:
		return 1;
	case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD:
		return 48;
	default:
		return 0;
	}
}

static BIO_METHOD *method;

/* It lives as long as the process. */
static void make_method(void)
{
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ddp datagrams");
	if (!method)
		return;
	BIO_meth_set_write(method, write_datagram);
	BIO_meth_set_read(method, read_datagram);
	BIO_meth_set_ctrl(method, control);
}

int dtls_bio_attach(struct dtls_bio *b, SSL *ssl)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	BIO *bio;

	pthread_once(&once, make_method);
	bio = method ? BIO_new(method) : NULL;
	if (!bio)
		return -ENOMEM;
	b->ssl = ssl;
	b->fresh = true;
	BIO_set_data(bio, b);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio);
	return 0;
}

void dtls_bio_deinit(struct dtls_bio *b)
{
	dtls_rx_deinit(&b->own);
	dtls_keys_wipe(&b->keys);
}
