/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of sessions, associations, paths and clients. Each entry is a line of log within the
 * budget of its kind, with fields for the journal (ddpsctpd.journal(7)); it is kept while it is one
 * of the last JOURNAL_KEEP; and watchers get it. Never used on the data path.
 */
#ifndef DAEMON_BASE_JOURNAL_H
#define DAEMON_BASE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/log.h"
#include "ipc/ctl_event.h"
#include "util/list.h"
#include "util/timer.h"

enum {
	JOURNAL_KEEP = 128,
	JOURNAL_KEEP_ERRORS = 32, /* errors among them are kept longer */
};

struct journal {
	struct log_limit budget[CTL_EVENT_KINDS];
	struct list watchers;
	uint64_t count; /* entries so far: the number of the last one */
	uint64_t errors;
	struct ctl_event *old;    /* the last ones: number n at n % JOURNAL_KEEP; NULL: none yet */
	struct ctl_event *failed; /* the last errors, likewise */
};

/* A watcher, embedded in its owner. */
struct journal_watcher {
	struct list link; /* in journal.watchers */
	/* Must not add an entry, nor begin or end watching. */
	void (*fn)(struct journal_watcher *watcher, const struct ctl_event *ev);
};

/* An empty journal. timers are in milliseconds. */
void journal_init(struct journal *j, struct timers *timers);

/* Reports the lines that were left out. All watchers are gone. */
void journal_deinit(struct journal *j);

/* Adds an entry, all of whose members but number, time and event are set. now_ms: the time of the
 * timers. Control characters in its strings become '?'. */
void journal_add(struct journal *j, uint64_t now_ms, enum ctl_event_kind kind,
		 struct ctl_event *ev);

/* True if it may be shown: to administrators (only is NULL) all entries, to others their own. */
bool journal_may_see(const struct ctl_event *ev, const uid_t *only);

/* The last error that may be shown, of this association or, with 0, of any; or NULL. */
const struct ctl_event *journal_error(const struct journal *j, const uid_t *only, uint32_t assoc);

/* The entry with that number, or NULL. */
const struct ctl_event *journal_get(const struct journal *j, uint64_t number);

/* The number of the oldest entry that is kept. */
uint64_t journal_oldest(const struct journal *j);

#endif
