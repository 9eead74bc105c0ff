/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All state of the daemon hangs off one struct: there are no mutable globals. The state of one
 * thread is in struct worker (base/worker.h).
 */
#ifndef DAEMON_BASE_STATE_H
#define DAEMON_BASE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/config.h"
#include "daemon/base/event_loop.h"
#include "daemon/base/sdnotify.h"
#include "daemon/base/worker.h"
#include "util/idtab.h"
#include "util/timer.h"

struct capture;
struct server;
struct stags;

/* What programs and peers read while no session begins by the administrator's will. */
#define DRAINED "the administrator drains this daemon"

struct daemon {
	struct config cfg;  /* in effect */
	struct config said; /* as it was given: reloads compare with that */
	struct config_origin origin;
	/* Puts one value into effect, for ddpctl. 0; -errno after a line in the log, and then
	 * all is as before. NULL: values cannot change. */
	int (*change_key)(struct daemon *d, const struct config_key *k, const struct config *cfg);
	struct sdnotify_fds passed; /* by the service manager */
	struct acct *acct;
	struct server *server;
	struct stags *stags; /* every region and window of every client */
	struct idtab clients;
	struct worker worker;

	char transport[16]; /* name of worker.net, and why it was chosen */
	char transport_reason[128];
	uint16_t udp_port; /* the transport's; 0: none */
	bool gso;          /* the transport may use UDP_SEGMENT */

	uint64_t last_pd, last_scope; /* numbers given out */
	uint32_t last_qp, last_client, last_assoc;
	uint64_t started_ms;
	uint64_t watchdog_ms; /* interval of the service manager's watchdog; 0: none */
	struct timer watchdog;
	struct timer accept_again; /* set while the server pauses */
	bool stopping;
	struct {
		struct timer look; /* whether an operation still runs */
		struct timer by;   /* then the event loop is stopped */
		uint64_t work_until, moved;
		unsigned quiet;
		const char *reason; /* for peers and programs */
	} stop;
	bool draining;           /* no new session begins */
	struct capture *capture; /* the one that runs: service/capture; or NULL */
};

#endif
