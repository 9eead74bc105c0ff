/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/pmtu.h"

#include "sctp/sctp.h"

static uint32_t align(uint32_t size)
{
	return size & ~UINT32_C(3);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- search ---- */

/* The search is over: nothing, or too little, is left to win. A path below its maximum is searched
 * again after a while. */
static void finish(struct sctp_pmtu *m, uint64_t now_us)
{
	m->state = m->size < least(SCTP_PMTU_BASE, m->max) ? SCTP_PMTU_ERROR : SCTP_PMTU_DONE;
	m->probe = 0;
	m->outstanding = false;
	m->at_us = m->size < m->max ? now_us + SCTP_PMTU_RAISE_US : UINT64_MAX;
}

static void test_size(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	m->state = m->size < least(SCTP_PMTU_BASE, m->max) ? SCTP_PMTU_ERROR : SCTP_PMTU_SEARCH;
	m->probe = size;
	m->tries = 0;
	m->outstanding = false;
	m->at_us = now_us;
}

/* Doubles while that stays below the least size that fails, else takes the middle. */
static void next_size(struct sctp_pmtu *m, uint64_t now_us)
{
	uint32_t next;

	if (!m->high)
		next = m->max;
	else if (m->high - m->size <= SCTP_PMTU_NEAR)
		next = 0;
	else if (2 * m->size < m->high)
		next = 2 * m->size;
	else
		next = align(m->size + (m->high - m->size) / 2);
	if (next > m->size)
		test_size(m, next, now_us);
	else
		finish(m, now_us);
}

static void search(struct sctp_pmtu *m, uint64_t now_us)
{
	m->high = 0;
	next_size(m, now_us);
}

static void probe_failed(struct sctp_pmtu *m, uint64_t now_us)
{
	m->high = m->probe;
	next_size(m, now_us);
}

void sctp_pmtu_init(struct sctp_pmtu *m, uint32_t max, uint64_t now_us)
{
	*m = (struct sctp_pmtu){.max = max > SCTP_MIN_PACKET ? align(max) : SCTP_MIN_PACKET};
	m->size = least(m->max, SCTP_PMTU_BASE);
	search(m, now_us);
}

bool sctp_pmtu_set_max(struct sctp_pmtu *m, uint32_t max, uint64_t now_us)
{
	uint32_t old = m->size;

	max = max > SCTP_MIN_PACKET ? align(max) : SCTP_MIN_PACKET;
	if (max == m->max)
		return false;
	m->max = max;
	m->size = least(m->size, max);
	search(m, now_us);
	return m->size != old;
}

bool sctp_pmtu_limit(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	uint32_t old = m->size;

	size = size > SCTP_MIN_PACKET ? align(size) : SCTP_MIN_PACKET;
	if (m->size <= size && m->probe <= size)
		return false;
	m->size = least(m->size, size);
	m->high = size + 4;
	if (m->size < size)
		test_size(m, size, now_us);
	else
		finish(m, now_us);
	return m->size != old;
}

/* ---- probes ---- */

uint32_t sctp_pmtu_due(const struct sctp_pmtu *m, uint64_t now_us)
{
	return !m->outstanding && now_us >= m->at_us ? m->probe : 0;
}

void sctp_pmtu_sent(struct sctp_pmtu *m, uint32_t rto_us, uint64_t now_us)
{
	m->outstanding = true;
	m->tries++;
	m->at_us = now_us + rto_us;
}

uint64_t sctp_pmtu_expiry(const struct sctp_pmtu *m)
{
	return m->at_us;
}

bool sctp_pmtu_answered(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	if (size <= m->size || size > m->max)
		return false;
	m->size = align(size);
	m->lost_large = 0;
	if (m->high <= m->size)
		m->high = m->max + 4;
	next_size(m, now_us);
	return true;
}

bool sctp_pmtu_refused(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	if (size > m->size) {
		if (size == m->probe)
			probe_failed(m, now_us);
		return false;
	}
	if (size <= SCTP_MIN_PACKET)
		return false;
	m->size = size > SCTP_PMTU_BASE ? SCTP_PMTU_BASE : SCTP_MIN_PACKET;
	m->high = align(size + 3);
	next_size(m, now_us);
	return true;
}

void sctp_pmtu_run(struct sctp_pmtu *m, uint64_t now_us)
{
	if (now_us < m->at_us)
		return;
	if (!m->probe) {
		search(m, now_us);
	} else if (m->outstanding) {
		m->outstanding = false;
		if (m->tries >= SCTP_PMTU_PROBES)
			probe_failed(m, now_us);
	}
}

bool sctp_pmtu_icmp(struct sctp_pmtu *m, uint32_t size, uint64_t now_us)
{
	bool falls = size < m->size;

	size = align(size);
	if (size < SCTP_PMTU_BASE || (!falls && (!m->outstanding || size >= m->probe)))
		return false;
	if (falls)
		m->size = SCTP_PMTU_BASE;
	m->high = size + 4;
	if (size > m->size)
		test_size(m, size, now_us);
	else
		finish(m, now_us);
	return falls;
}

/* ---- black holes ---- */

/* The size to which a black hole makes us fall: what is larger is "large". */
static uint32_t fallback(const struct sctp_pmtu *m)
{
	return m->size > SCTP_PMTU_BASE ? SCTP_PMTU_BASE : SCTP_MIN_PACKET;
}

/* One probe of the former size: it was congestion after all if that passes. */
static void fall(struct sctp_pmtu *m, uint64_t now_us)
{
	uint32_t former = m->size;

	m->size = fallback(m);
	m->lost_large = 0;
	m->high = 0;
	test_size(m, former, now_us);
	m->tries = SCTP_PMTU_PROBES - 1;
}

bool sctp_pmtu_lost(struct sctp_pmtu *m, uint32_t size, uint64_t sent_us, uint64_t now_us)
{
	if (size <= fallback(m) || (m->lost_large && sent_us < m->lost_at_us))
		return false;
	if (!m->lost_large)
		m->small_arrived = false;
	m->lost_at_us = now_us;
	if (++m->lost_large < SCTP_PMTU_BLACK_HOLE || !m->small_arrived)
		return false;
	fall(m, now_us);
	return true;
}

void sctp_pmtu_arrived(struct sctp_pmtu *m, uint32_t size)
{
	if (size > fallback(m))
		m->lost_large = 0;
	else
		m->small_arrived = true;
}
