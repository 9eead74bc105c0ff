/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow control of the messages that take a receive, between two ends that have agreed on it. A
 * segment takes hold_room() of the window, whatever it carries, because all segments that follow a
 * message without a receive wait with it. Both ends count the same segments in the same order, so
 * they agree on positions: the sum of all segments of one direction of the session.
 *
 * The receiver reports the position up to which it has delivered, and the message numbers of queue
 * 0 for which it has receives. The sender may go on as far as these receives reach, and then by one
 * window. It counts that window from the first segment without an announced receive, or from the
 * position that was delivered since. The receiver reports when half a window was delivered, so a
 * sender that waits is informed as soon as its segments are delivered.
 *
 * If both ends have RDMAP_RNR, the receiver also reports that the next message finds no receive,
 * and when it was delivered after all. The sender decides how long that may take.
 */
#ifndef PROTO_CREDIT_H
#define PROTO_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

enum { CREDIT_WINDOW_MAX = 1 << 20 };

/* The window that a hold of hold_bytes can honor, whatever the order of arrival: at most
 * CREDIT_WINDOW_MAX. 0: the hold is too small for two of the longest segments. */
uint32_t credit_window(uint32_t hold_bytes);

/* The smallest hold that has a window. */
uint32_t credit_hold_min(void);

/* The receiving end. */
struct credit_rx {
	uint32_t window;   /* 0: the peer need not wait */
	bool takes;        /* something since `reported` takes a receive: the peer may wait */
	bool due;          /* a report has to be sent */
	bool stalled;      /* the next message found no receive ... */
	bool not_ready;    /* ... and that has to be reported */
	uint64_t got;      /* position that was delivered ... */
	uint64_t reported; /* ... and that was reported to the peer */
};

/* A session begins. */
void credit_rx_begin(struct credit_rx *c, uint32_t window);

/* A segment was delivered in order. room: its part of the window; takes: it takes a receive. True
 * if a report has become necessary. */
bool credit_rx_add(struct credit_rx *c, uint32_t room, bool takes);

/* The next message finds no receive. True if that has to be reported. */
bool credit_rx_stall(struct credit_rx *c);

/* The transport took the message with this position. */
void credit_rx_reported(struct credit_rx *c, uint64_t pos);

/* The sending end. */
struct credit_tx {
	uint32_t window; /* 0: segments need not wait */
	uint32_t limit;  /* the peer has receives up to this message number */
	uint32_t last;   /* the youngest message that was begun, and takes a receive */
	bool beyond;     /* it is beyond the limit: the window counts from `base` */
	uint64_t base;
	uint64_t sent;     /* position */
	uint64_t reported; /* position that the peer has delivered, as far as it said */
};

/* A session begins: the window and the receives of the peer. */
void credit_tx_begin(struct credit_tx *c, uint32_t window, uint32_t receives);

/* True if the segment may be sent now. msn: the number of its message if it takes a receive. A
 * single segment never waits for more than the window has. */
bool credit_tx_may(const struct credit_tx *c, uint32_t room, bool takes, uint32_t msn);

/* It was sent. */
void credit_tx_sent(struct credit_tx *c, uint32_t room, bool takes, uint32_t msn);

/* The report of the peer. True if a segment that waits may be sent now. A report that contradicts
 * the state is ignored: it is old, because messages overtake each other, or false. */
bool credit_tx_update(struct credit_tx *c, uint64_t pos, uint32_t limit);

/* True if the peer may still be without a receive for the messages after this position, as it
 * reported.
 */
bool credit_tx_is_stalled(const struct credit_tx *c, uint64_t pos);

#endif
