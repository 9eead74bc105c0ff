/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/transfer/write.h"

#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/notify.h"
#include "sctp/base/path_select.h"
#include "sctp/transfer/sampling.h"
#include "util/minmax.h"

enum {
	RETRY_US = 20000,       /* after which a user without memory may try again */
	LEAD_MS = 2,            /* bytes of this time may wait unsent: two batches */
	LEAST_PACKETS = 4,      /* as many may wait always */
	SHORT_BUFFER = 2 << 20, /* bytes queued that suit a short path */
	USEFUL_BYTES = 65536,   /* room that is worth an event */
	USEFUL_CHUNKS = 64,
};

static void notify_writable(struct sctp_assoc *a)
{
	a->write.wanted = false;
	sctp_assoc_note(a, SCTP_WRITABLE);
}

/* What waits unsent delays all messages after it: small ones shall not wait for bulk data longer
 * than in the network. Before the first SACK a path has no rate. */
static uint32_t most_unsent(const struct sctp_path *p)
{
	uint64_t lead = p->pacer.rate ? p->pacer.rate * LEAD_MS / 1000 : p->cc.cwnd;

	if (!sctp_path_is_long(p) || lead > SCTP_MAX_UNSENT)
		return SCTP_MAX_UNSENT;
	return max_u32((uint32_t)lead, LEAST_PACKETS * sctp_path_pmdcs(p));
}

/* On a short path the caches of the processor count. */
static uint32_t most_queued(const struct sctp_path *p)
{
	uint32_t all = p->assoc->s->cfg.send_buffer;

	return sctp_path_is_long(p) ? all : min_u32(all, SHORT_BUFFER);
}

static void measure_room(struct sctp_assoc *a)
{
	const struct sctp_path *p = sctp_path_choose(a);

	a->write.queued = most_queued(p);
	a->write.unsent = most_unsent(p);
}

static bool has_buffer(const struct sctp_assoc *a, uint32_t bytes)
{
	const struct sctp_queue *q = &a->tx;

	return q->bytes + bytes <= a->write.queued && q->next_tsn - q->cum <= SCTP_TX_WINDOW;
}

static bool has_room(const struct sctp_assoc *a, uint32_t bytes)
{
	return has_buffer(a, bytes) && a->tx.unsent < a->write.unsent;
}

/* Room for a part, so that events are not more frequent than batches. */
static bool has_useful_room(const struct sctp_assoc *a)
{
	const struct sctp_queue *q = &a->tx;
	uint32_t part = min_u32(USEFUL_BYTES, a->write.queued / 8);

	return q->bytes + part <= a->write.queued && q->unsent <= a->write.unsent / 2 &&
	       q->next_tsn - q->cum <= SCTP_TX_WINDOW - USEFUL_CHUNKS;
}

void sctp_write_made_room(struct sctp_assoc *a)
{
	measure_room(a);
	if (a->write.wanted && has_useful_room(a))
		notify_writable(a);
}

/* Others may have freed memory. */
void sctp_write_retry(struct sctp_assoc *a)
{
	a->write.retry_us = SCTP_NEVER;
	if (a->write.wanted)
		notify_writable(a);
}

/* A guess: a SACK, or a window that ends within the packet, leaves less. */
uint32_t sctp_assoc_room(const struct sctp_assoc *a)
{
	uint32_t fill = a->tx.unsent ? a->tx.fill : 0;

	return fill < a->paths.max_message ? a->paths.max_message - fill : 0;
}

/* The user may try again when there is room, or after RETRY_US if memory was missing. */
static int write_later(struct sctp_assoc *a, bool memory)
{
	a->write.wanted = true;
	if (!memory)
		return SCTP_E_AGAIN;
	a->write.retry_us = a->s->now + RETRY_US;
	sctp_assoc_arm(a);
	return SCTP_E_MEMORY;
}

int sctp_assoc_send(struct sctp_assoc *a, uint16_t sid, uint32_t ppid, bool urgent,
		    const struct span *part, unsigned n)
{
	struct sctp_queue *q = &a->tx;
	size_t len = span_total(part, n);

	if (a->state != SCTP_ESTABLISHED || sid >= a->agreed.out_streams)
		return SCTP_E_DOWN;
	if (len == 0 || len > a->paths.max_message)
		return SCTP_E_TOO_LONG;
	if (!a->write.queued)
		measure_room(a);
	if (!has_room(a, (uint32_t)len + SCTP_DATA_HEAD)) {
		a->write.more = has_buffer(a, (uint32_t)len + SCTP_DATA_HEAD);
		return write_later(a, false);
	}
	if (!sctp_queue_reserve(q, &a->origin.account, len))
		return write_later(a, true);
	sctp_sampling_check(a);
	a->write.more = false;
	sctp_queue_put(q, a->paths.max_message + SCTP_DATA_HEAD, urgent ? SCTP_DATA_I : 0, sid,
		       ppid, part, n, (uint32_t)len);
	sctp_assoc_touch(a);
	return SCTP_E_OK;
}
