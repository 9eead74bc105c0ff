/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sequence numbers that arrived lately (RFC 6347 4.1.2.6): a record is accepted once, and one
 * that others have overtaken by more than the window is not accepted any more.
 */
#ifndef LLP_DTLS_WINDOW_H
#define LLP_DTLS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
	DTLS_WINDOW_WORDS = 65,
	DTLS_WINDOW = (DTLS_WINDOW_WORDS - 1) * 64, /* a record may be overtaken by so many */
};

/* All zeros: no number has arrived. */
struct dtls_window {
	uint64_t end; /* the highest number, and 1 */
	uint64_t word[DTLS_WINDOW_WORDS];
};

static inline uint64_t *dtls_window_word(struct dtls_window *w, uint64_t seq)
{
	return &w->word[seq / 64 % DTLS_WINDOW_WORDS];
}

/* False: it has arrived, or it is too old to tell. */
static inline bool dtls_window_is_new(struct dtls_window *w, uint64_t seq)
{
	if (seq >= w->end)
		return true;
	if (w->end - seq > DTLS_WINDOW)
		return false;
	return !(*dtls_window_word(w, seq) >> seq % 64 & 1);
}

/* It has arrived: it was new, and the record is authentic. */
static inline void dtls_window_add(struct dtls_window *w, uint64_t seq)
{
	if (seq >= w->end) {
		uint64_t from = w->end ? (w->end - 1) / 64 : 0, to = seq / 64;

		if (to - from > DTLS_WINDOW_WORDS)
			from = to - DTLS_WINDOW_WORDS;
		while (from < to)
			w->word[++from % DTLS_WINDOW_WORDS] = 0;
		w->end = seq + 1;
	}
	*dtls_window_word(w, seq) |= (uint64_t)1 << seq % 64;
}

#endif
