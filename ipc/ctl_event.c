/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/ctl_event.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/addr.h"

static const char *const names[] = {
#define X(name, word, id, about, burst) [CTL_EVENT_##name] = word,
	CTL_EVENTS(X)
#undef X
};

const char *ctl_event_name(enum ctl_event_kind k)
{
	return names[k];
}

enum ctl_event_kind ctl_event_find(const char *name)
{
	int k = 0;

	while (k < CTL_EVENT_KINDS && strcmp(names[k], name) != 0)
		k++;
	return (enum ctl_event_kind)k;
}

/* A sentence that grows. */
struct line {
	char *text;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void append(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, CTL_EVENT_LINE - l->len, fmt, ap);
	va_end(ap);
	l->len += n > 0 ? (size_t)n : 0;
	if (l->len >= CTL_EVENT_LINE)
		l->len = CTL_EVENT_LINE - 1;
}

static void add_program(struct line *l, const struct ctl_event *ev)
{
	if (ev->pid)
		append(l, " (%s, pid %" PRIu32 ", uid %" PRIu32 ")", ev->comm, ev->pid, ev->uid);
}

/* The object of the event: a program, a queue pair, a stream or an association. */
static void add_object(struct line *l, const struct ctl_event *ev, enum ctl_event_kind kind)
{
	if (kind >= CTL_EVENT_CLIENT_END) {
		append(l, "client %" PRIu32, ev->client);
		add_program(l, ev);
	} else if (ev->qp_num) {
		append(l, "qp %" PRIu32, ev->qp_num);
	} else {
		append(l, "assoc %" PRIu32, ev->assoc);
		if (kind <= CTL_EVENT_SESSION_REFUSE)
			append(l, " stream %u", ev->stream);
	}
	append(l, ": ");
}

/* " on assoc 3 stream 2" of a queue pair */
static void add_stream(struct line *l, const struct ctl_event *ev)
{
	if (ev->assoc && ev->qp_num)
		append(l, " on assoc %" PRIu32 " stream %u", ev->assoc, ev->stream);
}

static void add_traffic(struct line *l, const struct ctl_event *ev)
{
	append(l, " after %" PRIu64 ".%03u s, %" PRIu64 " bytes sent, %" PRIu64 " received",
	       ev->duration_ms / 1000, (unsigned)(ev->duration_ms % 1000), ev->tx_bytes,
	       ev->rx_bytes);
}

/* The event, around the peer's address; without `after` the address is left out. */
static const struct {
	const char *before, *after;
} words[CTL_EVENT_KINDS] = {
	[CTL_EVENT_SESSION_BEGIN] = {"session with ", " began"},
	[CTL_EVENT_SESSION_END] = {"session with ", " ended"},
	[CTL_EVENT_SESSION_ERROR] = {"session with ", " failed"},
	[CTL_EVENT_SESSION_FAIL] = {"no session with ", ""},
	[CTL_EVENT_SESSION_REFUSE] = {"session request of ", " refused"},
	[CTL_EVENT_ASSOC_UP] = {"up, ", ""},
	[CTL_EVENT_ASSOC_DOWN] = {"down, ", ""},
	[CTL_EVENT_PATH] = {"", NULL},
	[CTL_EVENT_CLIENT_END] = {"ended", NULL},
	[CTL_EVENT_CLIENT_REFUSE] = {"refused", NULL},
	[CTL_EVENT_ASSOC_REFUSE] = {"association of ", " refused"},
	[CTL_EVENT_PEER_LIMIT] = {"", NULL},
	[CTL_EVENT_GUESSES] = {"new sessions of the network of ", " are slow"},
};

static void add_what(struct line *l, const struct ctl_event *ev, enum ctl_event_kind kind)
{
	char peer[ADDR_TEXT_MAX];

	append(l, "%s", words[kind].before);
	if (words[kind].after)
		append(l, "%s%s", addr_text(&ev->remote, peer), words[kind].after);
}

void ctl_event_line(const struct ctl_event *ev, char ret[CTL_EVENT_LINE])
{
	enum ctl_event_kind kind = ctl_event_find(ev->event);
	struct line l = {.text = ret};

	if (kind == CTL_EVENT_KINDS) { /* of a newer daemon */
		append(&l, "%s: %s", ev->event, ev->reason);
		return;
	}
	if (kind == CTL_EVENT_PEER_LIMIT)
		append(&l, "network of peers at its limit: ");
	else if (kind != CTL_EVENT_ASSOC_REFUSE)
		add_object(&l, ev, kind);
	if (kind == CTL_EVENT_PATH || kind == CTL_EVENT_PEER_LIMIT) {
		append(&l, "%s", ev->reason);
		return;
	}
	add_what(&l, ev, kind);
	if (kind <= CTL_EVENT_SESSION_REFUSE)
		add_stream(&l, ev);
	if (kind == CTL_EVENT_SESSION_END)
		add_traffic(&l, ev);
	if (kind < CTL_EVENT_CLIENT_END)
		add_program(&l, ev);
	if (ev->reason[0])
		append(&l, ": %s", ev->reason);
}
