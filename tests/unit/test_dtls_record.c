/* SPDX-License-Identifier: BSD-2-Clause */
/* Our records and those of OpenSSL are the same on the wire, and no others are accepted. */
#include <criterion/criterion.h>

#include <string.h>

#include "llp/dtls/dtls_keys.h"
#include "llp/dtls/dtls_record.h"
#include "tests/unit/dtls_rig.h"

enum { LEN = 1400 };

/* A client of our records beside the server of OpenSSL. */
struct ours {
	struct rig *rig;
	struct dtls_tx tx;
	struct dtls_rx rx;
};

static const char *const suites[] = {"ECDHE-ECDSA-AES128-GCM-SHA256",
				     "ECDHE-ECDSA-AES256-GCM-SHA384"};

static struct ours begin(const char *suite)
{
	struct ours o = {.rig = rig_new(suite)};
	struct dtls_keys k;

	cr_assert_eq(dtls_keys_derive(o.rig->client.ssl, &k), 0);
	cr_assert_eq(dtls_tx_init(&o.tx, &k.client), 0);
	cr_assert_eq(dtls_rx_init(&o.rx, &k.server), 0);
	dtls_keys_wipe(&k);
	o.tx.seq = 1; /* OpenSSL has sent its Finished with 0 */
	return o;
}

static void end(struct ours *o)
{
	dtls_tx_deinit(&o->tx);
	dtls_rx_deinit(&o->rx);
	rig_free(o->rig);
}

/* Two ends of ours, with some key. */
static struct ours begin_alone(void)
{
	struct ours o = {.rig = NULL};
	struct dtls_key key = {.len = 16};

	for (unsigned i = 0; i < sizeof(key.key); i++)
		key.key[i] = (uint8_t)(3 * i + 1);
	cr_assert_eq(dtls_tx_init(&o.tx, &key), 0);
	cr_assert_eq(dtls_rx_init(&o.rx, &key), 0);
	return o;
}

static void end_alone(struct ours *o)
{
	dtls_tx_deinit(&o->tx);
	dtls_rx_deinit(&o->rx);
}

static void fill(uint8_t *p, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + i * 7);
}

static size_t seal(struct dtls_tx *tx, uint8_t *p, size_t len, uint8_t *to)
{
	struct span part = {p, len};

	return dtls_tx_seal(tx, DTLS_DATA, &part, 1, to);
}

static enum dtls_opened open_record(struct dtls_rx *rx, uint8_t *p, size_t len, uint8_t **ret,
				    size_t *ret_len)
{
	struct dtls_head h;

	if (!dtls_head_get(p, len, &h) || h.len != len - DTLS_HEAD)
		return DTLS_FORGED;
	return dtls_rx_open(rx, &h, p, ret, ret_len);
}

Test(dtls_record, openssl_reads_what_we_seal_with_each_cipher)
{
	static const size_t lens[] = {1, 15, 16, 17, LEN, DTLS_MAX_PLAIN};
	static uint8_t plain[DTLS_MAX_PLAIN], wire[DTLS_MAX_RECORD], got[DTLS_MAX_PLAIN];

	for (unsigned s = 0; s < 2; s++) {
		struct ours o = begin(suites[s]);

		for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			fill(plain, lens[i], i);
			cr_assert_eq(seal(&o.tx, plain, lens[i], wire), lens[i] + DTLS_OVERHEAD);
			rig_put(&o.rig->server, wire, lens[i] + DTLS_OVERHEAD);
			cr_assert_eq(SSL_read(o.rig->server.ssl, got, sizeof(got)), (int)lens[i]);
			cr_assert_arr_eq(got, plain, lens[i]);
		}
		end(&o);
	}
}

Test(dtls_record, we_open_what_openssl_seals_with_each_cipher)
{
	static const size_t lens[] = {1, 16, LEN, 1300};
	static uint8_t plain[LEN], wire[RIG_BYTES];

	for (unsigned s = 0; s < 2; s++) {
		struct ours o = begin(suites[s]);

		for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			uint8_t *p;
			size_t n, len;

			fill(plain, lens[i], i);
			SSL_set_mtu(o.rig->server.ssl, 1500);
			cr_assert_eq(SSL_write(o.rig->server.ssl, plain, (int)lens[i]),
				     (int)lens[i]);
			n = rig_take(&o.rig->client, wire);
			cr_assert_eq(open_record(&o.rx, wire, n, &p, &len), DTLS_OPENED);
			cr_assert_eq(len, lens[i]);
			cr_assert_arr_eq(p, plain, len);
		}
		end(&o);
	}
}

Test(dtls_record, batch_of_equal_packets_becomes_a_batch_of_equal_records)
{
	static uint8_t plain[3 * LEN + 100], wire[4 * (LEN + DTLS_OVERHEAD)], got[LEN];
	struct ours o = begin(suites[0]);
	struct span part[] = {
		{plain, 12},
		{plain + 12, LEN - 12},
		{plain + LEN, LEN},
		{plain + 2 * LEN, LEN - 1},
		{plain + 3 * LEN - 1, 1},
		{plain + 3 * LEN, 100},
	};
	size_t at = 0, n;

	fill(plain, sizeof(plain), 9);
	n = dtls_tx_seal_batch(&o.tx, part, 6, LEN, wire);
	cr_assert_eq(n, sizeof(plain) + 4 * DTLS_OVERHEAD);
	for (size_t done = 0; done < sizeof(plain);) {
		size_t len = sizeof(plain) - done < LEN ? sizeof(plain) - done : LEN;

		rig_put(&o.rig->server, wire + at, len + DTLS_OVERHEAD);
		cr_assert_eq(SSL_read(o.rig->server.ssl, got, sizeof(got)), (int)len);
		cr_assert_arr_eq(got, plain + done, len);
		at += len + DTLS_OVERHEAD;
		done += len;
	}
	cr_assert_eq(at, n);
	end(&o);
}

Test(dtls_record, record_is_opened_once_at_once_and_2000_later)
{
	static uint8_t first[100 + DTLS_OVERHEAD], again[100 + DTLS_OVERHEAD];
	uint8_t plain[100] = {1}, wire[100 + DTLS_OVERHEAD], *p;
	struct ours o = begin_alone();
	size_t n = seal(&o.tx, plain, sizeof(plain), first), len;

	memcpy(again, first, n);
	cr_assert_eq(open_record(&o.rx, again, n, &p, &len), DTLS_OPENED);
	for (unsigned i = 0; i < 10000; i++) {
		if (i == 0 || i == 1999 || i == 9999) {
			memcpy(again, first, n);
			cr_assert_eq(open_record(&o.rx, again, n, &p, &len), DTLS_REPLAYED);
		}
		seal(&o.tx, plain, sizeof(plain), wire);
		cr_assert_eq(open_record(&o.rx, wire, n, &p, &len), DTLS_OPENED);
	}
	cr_assert_eq(o.rx.replayed, 3);
	end_alone(&o);
}

/* Opens records of the given numbers; the last of them is expected to give `last`, all others open.
 */
static void opens_in_order(const uint64_t *seq, unsigned n, enum dtls_opened last)
{
	struct ours o = begin_alone();
	uint8_t plain[1] = {7}, wire[1 + DTLS_OVERHEAD], *p;
	size_t len;

	for (unsigned i = 0; i < n; i++) {
		o.tx.seq = seq[i];
		seal(&o.tx, plain, 1, wire);
		cr_assert_eq(open_record(&o.rx, wire, sizeof(wire), &p, &len),
			     i + 1 < n ? DTLS_OPENED : last, "record %u", i);
	}
	end_alone(&o);
}

Test(dtls_record, record_may_be_overtaken_by_as_many_as_the_window_has)
{
	const uint64_t top = 5 * DTLS_WINDOW + 17;

	opens_in_order((uint64_t[]){top, top + 1 - DTLS_WINDOW}, 2, DTLS_OPENED);
	opens_in_order((uint64_t[]){top, top - DTLS_WINDOW}, 2, DTLS_REPLAYED);
	opens_in_order((uint64_t[]){top, top + 1 - DTLS_WINDOW, top + 1 - DTLS_WINDOW}, 3,
		       DTLS_REPLAYED);
	/* Marks from before a leap are forgotten, not taken for newer numbers. */
	opens_in_order((uint64_t[]){64 * DTLS_WINDOW_WORDS - 1, 128 * DTLS_WINDOW_WORDS,
				    128 * DTLS_WINDOW_WORDS - 1},
		       3, DTLS_OPENED);
	opens_in_order((uint64_t[]){5, 0xffffffffffff, 0xfffffffffffe}, 3, DTLS_OPENED);
}

Test(dtls_record, of_1000_records_with_the_last_first_all_are_opened)
{
	static uint8_t wire[1000][LEN + DTLS_OVERHEAD];
	static uint8_t plain[LEN];
	struct ours o = begin_alone();
	unsigned opened = 0;

	for (unsigned i = 0; i < 1000; i++)
		seal(&o.tx, plain, LEN, wire[i]);
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t *p;
		size_t len;

		opened +=
			open_record(&o.rx, wire[999 - i], sizeof(wire[0]), &p, &len) == DTLS_OPENED;
	}
	cr_assert_eq(opened, 1000);
	end_alone(&o);
}

Test(dtls_record, record_with_any_bit_changed_is_refused_and_left_as_it_was)
{
	uint8_t plain[40], good[40 + DTLS_OVERHEAD], bad[sizeof(good)], changed[sizeof(good)], *p;
	struct ours o = begin_alone();
	size_t len;

	fill(plain, sizeof(plain), 4);
	seal(&o.tx, plain, sizeof(plain), good);
	for (unsigned bit = 0; bit < 8 * sizeof(good); bit++) {
		memcpy(bad, good, sizeof(bad));
		bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
		memcpy(changed, bad, sizeof(bad));
		cr_assert_eq(open_record(&o.rx, bad, sizeof(bad), &p, &len), DTLS_FORGED, "bit %u",
			     bit);
		cr_assert_arr_eq(bad, changed, sizeof(bad));
	}
	cr_assert_eq(open_record(&o.rx, good, sizeof(good), &p, &len), DTLS_OPENED);
	end_alone(&o);
}

Test(dtls_record, record_of_another_epoch_or_cut_anywhere_is_refused)
{
	uint8_t plain[40] = {0}, good[40 + DTLS_OVERHEAD], bad[sizeof(good)], *p;
	struct ours o = begin_alone();
	struct dtls_head h;
	size_t len;

	seal(&o.tx, plain, sizeof(plain), good);
	for (unsigned n = 0; n < sizeof(good); n++) {
		memcpy(bad, good, n);
		cr_assert_eq(open_record(&o.rx, bad, n, &p, &len), DTLS_FORGED);
		if (n < DTLS_HEAD)
			continue;
		/* The same with a header that tells the shorter length. */
		cr_assert(dtls_head_get(good, sizeof(good), &h));
		h.len = n - DTLS_HEAD;
		dtls_head_put(bad, &h);
		cr_assert_eq(open_record(&o.rx, bad, n, &p, &len), DTLS_FORGED);
	}
	for (unsigned epoch = 0; epoch < 4; epoch++) {
		cr_assert(dtls_head_get(good, sizeof(good), &h));
		h.epoch = (uint16_t)epoch;
		memcpy(bad, good, sizeof(bad));
		dtls_head_put(bad, &h);
		cr_assert_eq(open_record(&o.rx, bad, sizeof(bad), &p, &len),
			     epoch == DTLS_EPOCH ? DTLS_OPENED : DTLS_FORGED);
	}
	end_alone(&o);
}

Test(dtls_record, forged_record_does_not_move_the_window)
{
	uint8_t plain[1] = {0}, good[1 + DTLS_OVERHEAD], bad[sizeof(good)], *p;
	struct ours o = begin_alone();
	struct dtls_head h;
	size_t len;

	seal(&o.tx, plain, 1, good);
	memcpy(bad, good, sizeof(bad));
	cr_assert(dtls_head_get(bad, sizeof(bad), &h));
	h.seq = 0xffffffffffff;
	dtls_head_put(bad, &h);
	cr_assert_eq(open_record(&o.rx, bad, sizeof(bad), &p, &len), DTLS_FORGED);
	cr_assert_eq(open_record(&o.rx, good, sizeof(good), &p, &len), DTLS_OPENED);
	cr_assert_eq(o.rx.forged, 1);
	end_alone(&o);
}

Test(dtls_record, no_two_records_have_the_same_nonce)
{
	static uint8_t wire[3 * (100 + DTLS_OVERHEAD)];
	uint8_t plain[300] = {0};
	struct ours o = begin_alone();
	struct span part = {plain, 100};
	uint8_t last[DTLS_NONCE] = {0};

	dtls_tx_seal_batch(&o.tx, (struct span[]){{plain, 100}, {plain, 100}, {plain, 100}}, 3, 100,
			   wire);
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *nonce = wire + i * (100 + DTLS_OVERHEAD) + DTLS_HEAD;

		cr_assert(memcmp(last, nonce, sizeof(last)) < 0);
		memcpy(last, nonce, sizeof(last));
	}
	dtls_tx_seal(&o.tx, DTLS_ALERT, &part, 1, wire);
	cr_assert(memcmp(last, wire + DTLS_HEAD, sizeof(last)) < 0);
	end_alone(&o);
}

Test(dtls_record, key_that_is_used_up_seals_no_more)
{
	uint8_t plain[16] = {0}, wire[16 + DTLS_OVERHEAD];
	struct ours o = begin_alone();

	o.tx.blocks = DTLS_HARD_BLOCKS - 3;
	cr_assert_eq(seal(&o.tx, plain, 16, wire), sizeof(wire));
	cr_assert_eq(o.tx.blocks, DTLS_HARD_BLOCKS);
	cr_assert_eq(seal(&o.tx, plain, 16, wire), 0);
	end_alone(&o);
}
