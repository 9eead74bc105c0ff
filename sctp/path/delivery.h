/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Delivery rate of one path (draft-ietf-ccwg-bbr, "Delivery Rate Samples"): a record of each batch
 * that left says how much was delivered before, so that an acknowledgement of the batch gives the
 * rate at which the path delivered since. Knows numbers only: bytes of chunks, and microseconds.
 *
 * A chunk knows when it was sent last, and its record is the newest one that is not younger. So
 * records may be left out: a chunk then uses an older one, and its sample covers a longer time.
 * There is a record for each hundredth of the flight or so, however many batches that is, and the
 * records of three flights are kept. A chunk that arrives later gives no sample.
 */
#ifndef SCTP_DELIVERY_H
#define SCTP_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

/* A batch that left: the draft's per-packet state. */
struct sctp_sending {
	uint64_t sent_us;
	uint64_t delivered, delivered_us; /* of the path at that time */
	uint64_t first_sent_us;
	uint64_t lost;
	uint32_t in_flight; /* after it, with its bytes */
	bool app_limited;
};

struct sctp_delivery {
	uint64_t delivered;     /* bytes, ever */
	uint64_t delivered_us;  /* when they changed, or sending began with an empty flight */
	uint64_t first_sent_us; /* when the chunk left that was acknowledged last; or sending began
				 */
	uint64_t lost;          /* bytes, ever */
	uint64_t app_limited;   /* until more than so many bytes are delivered; 0: it is not */
	struct sctp_sending *record; /* a ring */
	unsigned first, n, room;
	uint32_t unrecorded; /* bytes that were sent since the last record */
};

/* The effect of an acknowledgement: the draft's RS. It is about the chunk that was sent last of
 * those that were newly acknowledged. */
struct sctp_sample {
	uint64_t rate;            /* bytes per second; 0: there is no reliable one */
	uint64_t prior_delivered; /* before the chunk was sent */
	uint32_t acked;           /* bytes that were newly acknowledged */
	uint32_t delivered, lost; /* bytes since the chunk was sent */
	uint32_t in_flight;       /* when it was sent */
	bool app_limited;         /* the user had too little to send */
	bool known;               /* the above, but for acked, is set: there was a record */
};

/* Memory for the records: for the time that data is in flight. Without it there are no samples.
 * At least 4 records; aligned. */
void sctp_delivery_give(struct sctp_delivery *d, void *memory, unsigned bytes);
/* Takes it back; NULL if there is none. The records are lost. */
void *sctp_delivery_take(struct sctp_delivery *d);

/* A batch left. before, after: bytes in flight on the path. */
void sctp_delivery_sent(struct sctp_delivery *d, uint32_t before, uint32_t after, uint64_t now_us);

/* acked: bytes that a SACK newly acknowledged, more than 0. sent_us: the last time at which one of
 * their chunks was sent. least_us: no round trip is shorter; a rate over less time is not reliable.
 */
struct sctp_sample sctp_delivery_acked(struct sctp_delivery *d, uint32_t acked, uint64_t sent_us,
				       uint32_t least_us, uint64_t now_us);

/* A chunk that was sent then is lost. The sample has the bytes lost since, with it. */
struct sctp_sample sctp_delivery_lost(struct sctp_delivery *d, uint32_t bytes, uint64_t sent_us);

/* The window and the pacer admit data, and there is none: samples of data in flight, and of the
 * next batch, may be less than the path can do. */
void sctp_delivery_limit(struct sctp_delivery *d, uint32_t flight);

#endif
