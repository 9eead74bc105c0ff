/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window that the peer advertises (RFC 9260 6.1 (A)), and the chunk that tests it while it is
 * closed.
 */
#ifndef SCTP_WINDOW_H
#define SCTP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/path/pmtu.h"

/* Read-only but for the functions here. */
struct sctp_window {
	uint32_t rwnd;  /* a_rwnd of the last SACK, or of INIT */
	bool probe;     /* one chunk may go although the window is closed */
	bool probe_out; /* the last chunk went for that reason */
	bool watched;   /* T3 waits for the window, with no chunk in flight */
	bool answered;  /* a SACK arrived since T3 expired last */
};

/* It takes no full packet. */
static inline bool sctp_window_closed(const struct sctp_window *w)
{
	return w->rwnd < SCTP_PMTU_BASE;
}

/* True if a chunk of len payload bytes may be sent: with no other in flight, one may probe the
 * window. */
static inline bool sctp_window_admits(const struct sctp_window *w, uint32_t in_flight, uint32_t len)
{
	if (in_flight == 0)
		return w->rwnd >= len || w->rwnd >= SCTP_PMTU_BASE || w->probe;
	return in_flight <= w->rwnd && len <= w->rwnd - in_flight;
}

/* INIT or INIT ACK says so. */
static inline void sctp_window_init(struct sctp_window *w, uint32_t rwnd)
{
	w->rwnd = rwnd;
}

/* A SACK says so. */
static inline void sctp_window_sack(struct sctp_window *w, uint32_t rwnd)
{
	w->rwnd = rwnd;
	w->answered = true;
	w->watched = w->watched && sctp_window_closed(w);
}

/* A chunk was sent that fits the window, or probes it. */
static inline void sctp_window_sent(struct sctp_window *w)
{
	w->probe_out = w->probe;
	w->probe = false;
}

/* The window prevents sending: T3 waits for it. */
static inline void sctp_window_watch(struct sctp_window *w)
{
	w->watched = true;
}

/* T3 expired while the window was closed; any: there is a chunk that may probe it. False if no SACK
 * arrived since T3 expired before. */
static inline bool sctp_window_ask(struct sctp_window *w, bool any)
{
	bool answered = w->answered;

	w->answered = w->watched = false;
	w->probe = any;
	return answered;
}

/* T3 expired for data. */
static inline void sctp_window_timed_out(struct sctp_window *w)
{
	w->answered = false;
	w->probe = sctp_window_closed(w);
}

#endif
