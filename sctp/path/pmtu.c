/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/pmtu.h"

#include "sctp/sctp.h"
#include "util/minmax.h"

enum { LOSSES = 2 }; /* round trips in a row */

static uint32_t align(uint32_t size)
{
	return size & ~UINT32_C(3);
}

/* ---- search ---- */

static enum sctp_pmtu_state state_unless_error(const struct sctp_pmtu *m,
					       enum sctp_pmtu_state state)
{
	return m->size < min_u32(SCTP_PMTU_BASE, m->max) ? SCTP_PMTU_ERROR : state;
}

/* The search is over: no larger size, or only a slightly larger one, is left to try. A path below
 * its maximum is searched again after SCTP_PMTU_RAISE_US. */
static void finish_search(struct sctp_pmtu *m, uint64_t now_us)
{
	m->state = state_unless_error(m, SCTP_PMTU_DONE);
	m->probe = 0;
	m->sent = 0;
	m->doubt = false;
	m->at_us = m->size < m->max ? now_us + SCTP_PMTU_RAISE_US : UINT64_MAX;
}

static void test_size(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	m->state = state_unless_error(m, SCTP_PMTU_SEARCH);
	m->probe = size;
	m->tries = 0;
	m->sent = 0;
	m->doubt = false;
	m->at_us = now_us;
}

/* BASE first; then doubles while that stays below the least size that fails, else takes the middle.
 */
static void next_size(struct sctp_pmtu *m, uint64_t now_us)
{
	uint32_t next;

	if (!m->high)
		next = m->max;
	else if (m->high - m->size <= SCTP_PMTU_NEAR)
		next = 0;
	else if (m->size < SCTP_PMTU_BASE && SCTP_PMTU_BASE < m->high)
		next = SCTP_PMTU_BASE;
	else if (2 * m->size < m->high)
		next = 2 * m->size;
	else
		next = align(m->size + (m->high - m->size) / 2);
	if (next > m->size)
		test_size(m, next, now_us);
	else
		finish_search(m, now_us);
}

/* A hint is good for one search. */
static void search(struct sctp_pmtu *m, uint64_t now_us)
{
	m->high = 0;
	if (m->hint > m->size && m->hint < m->max) {
		m->high = m->hint + 4;
		test_size(m, m->hint, now_us);
	} else {
		next_size(m, now_us);
	}
}

void sctp_pmtu_init(struct sctp_pmtu *m, uint32_t max, uint64_t now_us)
{
	*m = (struct sctp_pmtu){.max = max > SCTP_MIN_PACKET ? align(max) : SCTP_MIN_PACKET};
	m->size = SCTP_MIN_PACKET;
	search(m, now_us);
}

void sctp_pmtu_hint(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	m->hint = align(size);
	search(m, now_us);
}

bool sctp_pmtu_set_max(struct sctp_pmtu *m, uint32_t max, uint64_t now_us)
{
	uint32_t old = m->size;

	max = max > SCTP_MIN_PACKET ? align(max) : SCTP_MIN_PACKET;
	if (max == m->max)
		return false;
	m->max = max;
	m->size = min_u32(m->size, max);
	search(m, now_us);
	return m->size != old;
}

bool sctp_pmtu_limit(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	uint32_t old = m->size;

	size = size > SCTP_MIN_PACKET ? align(size) : SCTP_MIN_PACKET;
	if (m->size <= size && m->probe <= size)
		return false;
	m->size = min_u32(m->size, size);
	m->high = size + 4;
	if (m->size < size)
		test_size(m, size, now_us);
	else
		finish_search(m, now_us);
	return m->size != old;
}

/* ---- probes ---- */

/* The probes of a try: the size under test, and smaller ones to find a size that passes if it
 * fails. */
static unsigned ladder(const struct sctp_pmtu *m, uint32_t ret[SCTP_PMTU_LADDER])
{
	unsigned n = 0;

	ret[n++] = m->probe;
	if (m->probe > SCTP_PMTU_BASE && (m->doubt || m->size < SCTP_PMTU_BASE))
		ret[n++] = SCTP_PMTU_BASE;
	if (m->doubt)
		ret[n++] = SCTP_MIN_PACKET;
	return n;
}

uint32_t sctp_pmtu_due(const struct sctp_pmtu *m, uint64_t now_us)
{
	uint32_t size[SCTP_PMTU_LADDER];

	if (!m->probe || (!m->sent && now_us < m->at_us))
		return 0;
	return m->sent < ladder(m, size) ? size[m->sent] : 0;
}

void sctp_pmtu_sent(struct sctp_pmtu *m, uint32_t rto_us, uint64_t now_us)
{
	if (m->sent++)
		return;
	m->tries++;
	m->at_us = now_us + rto_us;
}

uint64_t sctp_pmtu_expiry(const struct sctp_pmtu *m)
{
	return m->at_us;
}

/* The size in use passes after all; a search that the doubt has interrupted goes on. */
static void trust(struct sctp_pmtu *m, uint64_t now_us)
{
	m->lost_large = 0;
	if (m->high && m->high <= m->size)
		m->high = 0;
	next_size(m, now_us);
}

static bool answered_in_doubt(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	if (size < m->size) {
		if (size > m->passed)
			m->passed = align(size);
		return false;
	}
	trust(m, now_us);
	return false;
}

bool sctp_pmtu_answered(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	if (size > m->max)
		return false;
	if (m->doubt && size <= m->size)
		return answered_in_doubt(m, size, now_us);
	if (size <= m->size)
		return false;
	m->size = align(size);
	m->lost_large = 0;
	if (m->high <= m->size)
		m->high = m->high ? m->max + 4 : 0;
	/* The larger one of the same try may be answered as well. */
	if (m->doubt || m->probe <= m->size)
		next_size(m, now_us);
	else
		m->state = state_unless_error(m, SCTP_PMTU_SEARCH);
	return true;
}

/* All sizes of the ladder above the size in use have failed. */
static void probe_failed(struct sctp_pmtu *m, uint64_t now_us)
{
	m->high = m->probe;
	if (m->size < SCTP_PMTU_BASE && m->probe > SCTP_PMTU_BASE)
		m->high = SCTP_PMTU_BASE;
	next_size(m, now_us);
}

/* Falls to the probe size that passed, and searches between it and the former size, which was
 * probed often enough. */
static void fall(struct sctp_pmtu *m, uint64_t now_us)
{
	m->high = m->size;
	if (m->passed < SCTP_PMTU_BASE && m->size > SCTP_PMTU_BASE)
		m->high = SCTP_PMTU_BASE;
	m->size = m->passed;
	m->lost_large = 0;
	next_size(m, now_us);
}

/* A try in doubt is over without an answer of the size in use. */
static bool doubt_on(struct sctp_pmtu *m, uint64_t now_us)
{
	m->sent = 0;
	if (m->passed && m->tries >= SCTP_PMTU_DOUBTS) {
		fall(m, now_us);
		return true;
	}
	if (m->tries >= SCTP_PMTU_PROBES)
		trust(m, now_us); /* an outage */
	return false;
}

bool sctp_pmtu_refused(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	if (size > m->size) {
		if (size == m->probe) {
			m->high = size;
			next_size(m, now_us);
		}
		return false;
	}
	if (size <= SCTP_MIN_PACKET)
		return false;
	m->size = size > SCTP_PMTU_BASE ? SCTP_PMTU_BASE : SCTP_MIN_PACKET;
	m->high = align(size + 3);
	next_size(m, now_us);
	return true;
}

bool sctp_pmtu_run(struct sctp_pmtu *m, uint64_t now_us)
{
	if (now_us < m->at_us)
		return false;
	if (!m->probe) {
		m->hint = 0;
		search(m, now_us);
	} else if (m->sent && m->doubt) {
		return doubt_on(m, now_us);
	} else if (m->sent) {
		m->sent = 0;
		if (m->tries >= SCTP_PMTU_PROBES)
			probe_failed(m, now_us);
	}
	return false;
}

static void begin_doubt(struct sctp_pmtu *m, uint64_t now_us)
{
	if (m->doubt || m->size <= SCTP_MIN_PACKET)
		return;
	test_size(m, m->size, now_us);
	m->doubt = true;
	m->passed = 0;
}

bool sctp_pmtu_icmp(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	bool falls = size < m->size;

	size = align(size);
	if (size < SCTP_PMTU_BASE) {
		if (size >= SCTP_MIN_PACKET && falls)
			begin_doubt(m, now_us);
		return false;
	}
	if (!falls && (!m->sent || size >= m->probe))
		return false;
	if (falls)
		m->size = SCTP_PMTU_BASE;
	m->high = size + 4;
	if (size > m->size)
		test_size(m, size, now_us);
	else
		finish_search(m, now_us);
	return falls;
}

/* ---- losses ---- */

void sctp_pmtu_lost(struct sctp_pmtu *m, uint32_t size, bool timeout, uint64_t sent_us,
		    uint64_t now_us)
{
	if (size <= SCTP_MIN_PACKET || size > m->size ||
	    (m->lost_large && sent_us < m->lost_at_us && !timeout))
		return;
	m->lost_at_us = now_us;
	m->lost_size = size;
	if (++m->lost_large >= LOSSES || timeout)
		begin_doubt(m, now_us);
}

void sctp_pmtu_arrived(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	if (!m->lost_large || size < m->lost_size)
		return;
	m->lost_large = 0;
	if (m->doubt && size >= m->size)
		trust(m, now_us);
}
