/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All state of the daemon hangs off one struct: there are no mutable globals. This is the
 * place of the order of start and stop, and of the turn that everything happens in.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/config.h"
#include "daemon/base/event_loop.h"
#include "llp/llp.h"
#include "util/idtab.h"
#include "util/list.h"

struct server;
struct stag_region;
struct stag_table;

struct daemon {
	struct config cfg;  /* in effect */
	struct config said; /* ... and as it was given: reloads compare with that */
	struct event_loop *loop;
	struct acct *acct;
	struct server *server;
	struct llp *net;  /* associations with other daemons */
	struct llp *self; /* ... with clients of this one */
	struct event_loop_watch *net_watch[LLP_MAX_FDS];
	char transport[16]; /* name of net, and why it was chosen */
	char transport_reason[128];
	uint16_t udp_port;        /* that it uses; 0: none */
	bool gso;                 /* it may use UDP_SEGMENT */
	struct stag_table *stags; /* every region and window of every client */

	struct idtab clients;
	struct idtab assocs;    /* associations */
	struct list active;     /* peers that may have something to send */
	struct list connecting; /* queue pairs that wait for their session */
	struct list dirty;      /* completion queues with news in this turn */
	struct list low;        /* shared receive queues that reached their limit in this turn */
	struct list faulty;     /* clients to be ended after this turn */

	uint64_t last_pd, last_scope; /* numbers given out */
	uint32_t last_qp, last_client, last_assoc;
	uint64_t now_ms, started_ms;
	uint64_t watchdog_ms, watchdog_at_ms;
	uint32_t random[64]; /* for STags, drawn in one go */
	unsigned random_left;
	uint64_t accept_again_ms; /* the server pauses until then; 0: it does not */
	bool stopping;
	uint64_t stop_by_ms; /* sessions have until then to end in order */
};

/* Opens all that the configuration asks for. 0, or -1 after one line of log that says what failed.
 */
int daemon_start(struct daemon *d, const struct config *cfg);

/* One line for `systemctl status`; more goes behind it. */
void daemon_report_status(const struct daemon *d, const char *more);

/* Serves until daemon_stop(), from now on known to the service manager: signals should be handled
 * by then. Returns 0, or -errno. */
int daemon_run(struct daemon *d);

/* Begins to end: no new clients, sessions end in order, then daemon_run() returns. */
void daemon_stop(struct daemon *d);

/* Frees everything, in the reverse order of start. */
void daemon_free(struct daemon *d);

/*
 * Enters a region or window into the STag table under a fresh random value (RFC 5040 8.1.1 item 8)
 * that is 0 with no key. Returns 0 with r->stag set, or -ENOSPC: the table is full.
 */
int daemon_add_stag(struct daemon *d, struct stag_region *r);

#endif
