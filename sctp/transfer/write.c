/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/transfer/write.h"

#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/notify.h"
#include "sctp/transfer/sampling.h"

enum { RETRY_US = 20000 }; /* after which a user without memory may try again */

static void notify_writable(struct sctp_assoc *a)
{
	a->write.wanted = false;
	sctp_assoc_note(a, SCTP_WRITABLE);
}

void sctp_write_made_room(struct sctp_assoc *a)
{
	const struct sctp_queue *q = &a->tx;

	if (!a->write.wanted || q->bytes > a->s->cfg.send_buffer / 2 ||
	    q->unsent > SCTP_MAX_UNSENT / 2 || q->next_tsn - q->cum > SCTP_TX_WINDOW / 2)
		return;
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
	if (q->bytes + len + SCTP_DATA_HEAD > a->s->cfg.send_buffer ||
	    q->unsent >= SCTP_MAX_UNSENT || q->next_tsn - q->cum > SCTP_TX_WINDOW)
		return write_later(a, false);
	if (!sctp_queue_reserve(q, &a->s->pool, len))
		return write_later(a, true);
	sctp_sampling_check(a);
	sctp_queue_put(q, a->paths.max_message + SCTP_DATA_HEAD, urgent ? SCTP_DATA_I : 0, sid,
		       ppid, part, n, (uint32_t)len);
	sctp_assoc_touch(a);
	return SCTP_E_OK;
}
