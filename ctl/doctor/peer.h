/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether sessions with another host work: the only proof that a ddpsctpd answers there is a
 * session. */
#ifndef CTL_PEER_H
#define CTL_PEER_H

#include <stdbool.h>
#include <stddef.h>

/* What rounds of ddping(1) between this host's daemon and the peer's said. */
struct peer_rounds {
	bool tried; /* else ddping is not installed or did not start */
	bool works; /* every round succeeded */
	unsigned sent, good;
	double rtt_us;    /* median; 0: no round */
	char reason[512]; /* why it does not work, in ddping's words; else empty */
};

/* Connects to the host's ddping server and makes some rounds. Takes as long as the daemon tries to
 * connect. */
void peer_ping(const char *socket, const char *host, struct peer_rounds *ret);

#endif
