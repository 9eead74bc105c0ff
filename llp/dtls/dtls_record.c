/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_record.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "util/be.h"

enum { IV = DTLS_SALT + DTLS_NONCE, AAD = 13 };

static const EVP_CIPHER *cipher_of(const struct dtls_key *key)
{
	return key->len == DTLS_MAX_KEY ? EVP_aes_256_gcm() : EVP_aes_128_gcm();
}

static int make_context(const struct dtls_key *key, bool seal, EVP_CIPHER_CTX **ret)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (!ctx)
		return -ENOMEM;
	if (!EVP_CipherInit_ex(ctx, cipher_of(key), NULL, key->key, NULL, seal)) {
		EVP_CIPHER_CTX_free(ctx);
		return -ENOMEM;
	}
	*ret = ctx;
	return 0;
}

int dtls_tx_init(struct dtls_tx *t, const struct dtls_key *key)
{
	*t = (struct dtls_tx){0};
	memcpy(t->salt, key->salt, sizeof(t->salt));
	return make_context(key, true, &t->ctx);
}

int dtls_rx_init(struct dtls_rx *r, const struct dtls_key *key)
{
	memset(r, 0, sizeof(*r));
	memcpy(r->salt, key->salt, sizeof(r->salt));
	return make_context(key, false, &r->ctx);
}

void dtls_tx_deinit(struct dtls_tx *t)
{
	EVP_CIPHER_CTX_free(t->ctx);
	t->ctx = NULL;
}

void dtls_rx_deinit(struct dtls_rx *r)
{
	EVP_CIPHER_CTX_free(r->ctx);
	r->ctx = NULL;
}

/* ---- headers ---- */

void dtls_head_put(uint8_t *p, const struct dtls_head *h)
{
	p[0] = (uint8_t)h->type;
	be_put16(p + 1, DTLS_VERSION);
	be_put64(p + 3, (uint64_t)h->epoch << 48 | h->seq);
	be_put16(p + 11, (uint16_t)h->len);
}

bool dtls_head_get(const uint8_t *p, size_t n, struct dtls_head *ret)
{
	struct dtls_head h;

	if (n < DTLS_HEAD || p[0] < DTLS_CHANGE_CIPHER_SPEC || p[0] > DTLS_DATA)
		return false;
	h.type = p[0];
	h.epoch = be_get16(p + 3);
	h.seq = be_get64(p + 3) & 0xffffffffffff;
	h.len = be_get16(p + 11);
	if (h.len > n - DTLS_HEAD || h.len > DTLS_MAX_RECORD - DTLS_HEAD)
		return false;
	/* A hello may tell 1.0 to be understood by others (RFC 6347 4.2.1). */
	if (p[1] != 0xfe || (p[2] != 0xfd && !(p[2] == 0xff && h.epoch == 0)))
		return false;
	*ret = h;
	return true;
}

/* The additional data: epoch and number, type, version, and the length of the plain text. */
static void make_aad(const struct dtls_head *h, size_t plain, uint8_t ret[AAD])
{
	be_put64(ret, (uint64_t)h->epoch << 48 | h->seq);
	ret[8] = (uint8_t)h->type;
	be_put16(ret + 9, DTLS_VERSION);
	be_put16(ret + 11, (uint16_t)plain);
}

/* Every call of OpenSSL for one record can only fail if it is called wrongly. */
static void must_work(int result)
{
	assert(result == 1);
	(void)result;
}

static void begin_record(EVP_CIPHER_CTX *ctx, const uint8_t *salt, const uint8_t *nonce)
{
	uint8_t iv[IV];

	memcpy(iv, salt, DTLS_SALT);
	memcpy(iv + DTLS_SALT, nonce, DTLS_NONCE);
	must_work(EVP_CipherInit_ex(ctx, NULL, NULL, NULL, iv, -1));
}

static void add_aad(EVP_CIPHER_CTX *ctx, const struct dtls_head *h, size_t plain)
{
	uint8_t aad[AAD];
	int n;

	make_aad(h, plain, aad);
	must_work(EVP_CipherUpdate(ctx, NULL, &n, aad, sizeof(aad)));
}

/* ---- sealing ---- */

static void seal_parts(EVP_CIPHER_CTX *ctx, const struct span *part, unsigned n, uint8_t *to)
{
	int done;

	for (unsigned i = 0; i < n; i++) {
		must_work(EVP_CipherUpdate(ctx, to, &done, part[i].p, (int)part[i].len));
		to += done;
	}
	must_work(EVP_CipherFinal_ex(ctx, to, &done));
	must_work(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, DTLS_TAG, to));
}

size_t dtls_tx_seal(struct dtls_tx *t, enum dtls_type type, const struct span *part, unsigned n,
		    uint8_t *to)
{
	size_t plain = span_total(part, n);
	struct dtls_head h = {type, DTLS_EPOCH, t->seq, DTLS_NONCE + plain + DTLS_TAG};

	assert(plain <= DTLS_MAX_PLAIN);
	if (t->blocks >= DTLS_HARD_BLOCKS)
		return 0;
	t->seq++;
	/* Two blocks more: the tag, and the encrypted counter that hides it. */
	t->blocks += (plain + 15) / 16 + 2;
	dtls_head_put(to, &h);
	be_put64(to + DTLS_HEAD, (uint64_t)h.epoch << 48 | h.seq);
	begin_record(t->ctx, t->salt, to + DTLS_HEAD);
	add_aad(t->ctx, &h, plain);
	seal_parts(t->ctx, part, n, to + DTLS_HEAD + DTLS_NONCE);
	return plain + DTLS_OVERHEAD;
}

/* How many of the n spans make the next packet. */
static unsigned count_parts(const struct span *part, unsigned n, uint32_t segment)
{
	size_t len = 0;
	unsigned i = 0;

	while (i < n && len < segment)
		len += part[i++].len;
	assert(len <= segment);
	return i;
}

size_t dtls_tx_seal_batch(struct dtls_tx *t, const struct span *part, unsigned n, uint32_t segment,
			  uint8_t *to)
{
	size_t total = 0;

	while (n > 0) {
		unsigned k = count_parts(part, n, segment);
		size_t len = dtls_tx_seal(t, DTLS_DATA, part, k, to + total);

		if (len == 0)
			return 0;
		total += len;
		part += k;
		n -= k;
	}
	return total;
}

/* The cipher adds the same bytes again. The result does not leave this host. */
size_t dtls_tx_reveal(struct dtls_tx *t, const uint8_t *record, size_t n, uint8_t *to)
{
	size_t sealed = n > DTLS_HEAD ? be_get16(record + DTLS_HEAD - 2) : 0;
	int done;

	if (n <= DTLS_HEAD + DTLS_NONCE || sealed <= DTLS_NONCE + DTLS_TAG ||
	    record[0] != DTLS_DATA || be_get16(record + 3) != DTLS_EPOCH)
		return 0;
	n -= DTLS_HEAD + DTLS_NONCE;
	if (n > sealed - DTLS_NONCE - DTLS_TAG)
		n = sealed - DTLS_NONCE - DTLS_TAG;
	begin_record(t->ctx, t->salt, record + DTLS_HEAD);
	must_work(EVP_CipherUpdate(t->ctx, to, &done, record + DTLS_HEAD + DTLS_NONCE, (int)n));
	return n;
}

/* ---- opening ---- */

/* Bytes that a wrong key has decrypted become as they were: another key may open them. */
static void restore(struct dtls_rx *r, const uint8_t *nonce, uint8_t *p, int len)
{
	int n;

	begin_record(r->ctx, r->salt, nonce);
	must_work(EVP_CipherUpdate(r->ctx, p, &n, p, len));
}

static bool decrypt(struct dtls_rx *r, const struct dtls_head *h, uint8_t *nonce, size_t plain)
{
	uint8_t *p = nonce + DTLS_NONCE;
	int n;

	begin_record(r->ctx, r->salt, nonce);
	add_aad(r->ctx, h, plain);
	must_work(EVP_CipherUpdate(r->ctx, p, &n, p, (int)plain));
	must_work(EVP_CIPHER_CTX_ctrl(r->ctx, EVP_CTRL_AEAD_SET_TAG, DTLS_TAG, p + plain));
	if (EVP_CipherFinal_ex(r->ctx, p + plain, &n) == 1)
		return true;
	restore(r, nonce, p, (int)plain);
	return false;
}

enum dtls_opened dtls_rx_open(struct dtls_rx *r, const struct dtls_head *h, uint8_t *record,
			      uint8_t **ret, size_t *ret_len)
{
	uint8_t *nonce = record + DTLS_HEAD;

	if (h->epoch != DTLS_EPOCH || h->len < DTLS_NONCE + DTLS_TAG)
		return DTLS_FORGED;
	if (!dtls_window_is_new(&r->window, h->seq)) {
		r->replayed++;
		return DTLS_REPLAYED;
	}
	if (!decrypt(r, h, nonce, h->len - DTLS_NONCE - DTLS_TAG)) {
		r->forged++;
		return DTLS_FORGED;
	}
	dtls_window_add(&r->window, h->seq);
	*ret = nonce + DTLS_NONCE;
	*ret_len = h->len - DTLS_NONCE - DTLS_TAG;
	return DTLS_OPENED;
}
