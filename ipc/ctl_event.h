/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the daemon: the kinds of struct ctl_event, and its sentence. The journal, `ddpctl
 * monitor` and `ddpctl event` show the same ones.
 */
#ifndef IPC_CTL_EVENT_H
#define IPC_CTL_EVENT_H

#include <stddef.h>

#include "ipc/ctl.h"

/* Constant, name, id for the journal (MESSAGE_ID, never changes), subject of lines that are left
 * out, lines in 10 seconds. Events that a peer alone can cause have few lines. */
/* clang-format off */
#define CTL_EVENTS(X) \
	X(SESSION_BEGIN,  "session-begin",  "01b75b59df98460f85f48e60900827fc", "sessions that began", 100) \
	X(SESSION_END,    "session-end",    "8faf6108dab9401787a19e6da72957a3", "sessions that ended", 100) \
	X(SESSION_ERROR,  "session-error",  "2500752240114eb2a1c61c8327493c84", "errors of sessions", 10) \
	X(SESSION_FAIL,   "session-fail",   "41ba7041bf604e3180813c9c2ffd0142", "failed connects", 20) \
	X(SESSION_REFUSE, "session-refuse", "5f8ea6709c204824ade050add9cc11df", "refused sessions", 20) \
	X(ASSOC_UP,       "assoc-up",       "bc7dd06ce4e84db2932fa1c011fb4fca", "new associations", 10) \
	X(ASSOC_DOWN,     "assoc-down",     "a835742806fa447581951654e38420ec", "associations that ended", 10) \
	X(PATH,           "path",           "c53d485d16fb4b9da173e2c7e7869663", "paths", 10) \
	X(GUESSES,        "guesses",        "6a0f2a51c7d94b62a8d1f3be90e4c715", "guesses of STags", 10) \
	X(ASSOC_REFUSE,   "assoc-refuse",   "50a0477b9b1a4eef9a4c6080baed90e7", "refused associations", 20) \
	X(PEER_LIMIT,     "peer-limit",     "d10c5d7f3c0b4d0e8e0c6c7fb0a51f39", "limits of networks of peers", 10) \
	X(CLIENT_END,     "client-end",     "5a238733a20541dfbcd4dd77d5743046", "clients that were ended", 10) \
	X(CLIENT_REFUSE,  "client-refuse",  "e0d9a6a12e6f48749a39165a8a69566c", "refused clients", 10)
/* clang-format on */

enum ctl_event_kind {
#define X(name, word, id, about, burst) CTL_EVENT_##name,
	CTL_EVENTS(X)
#undef X
		CTL_EVENT_KINDS
};

enum { CTL_EVENT_LINE = 640 }; /* bytes of a sentence */

/* "session-begin" */
const char *ctl_event_name(enum ctl_event_kind k);

/* The kind of that name, or CTL_EVENT_KINDS. */
enum ctl_event_kind ctl_event_find(const char *name);

/* The record as one sentence, the object first: "qp 7: session with 192.0.2.1:5043 began: ...". Its
 * strings must be terminated. */
void ctl_event_line(const struct ctl_event *ev, char ret[CTL_EVENT_LINE]);

#endif
