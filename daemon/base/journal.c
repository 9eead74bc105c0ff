/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/journal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/addr.h"

static const struct {
	const char *id, *about;
	uint32_t burst;
} kinds[CTL_EVENT_KINDS] = {
#define X(name, word, id, about, burst) [CTL_EVENT_##name] = {id, about, burst},
	CTL_EVENTS(X)
#undef X
};

void journal_init(struct journal *j, struct timers *timers)
{
	*j = (struct journal){.count = 0};
	list_init(&j->watchers);
	for (unsigned i = 0; i < CTL_EVENT_KINDS; i++) {
		log_limit_init(&j->budget[i], timers, kinds[i].about);
		j->budget[i].burst = kinds[i].burst;
	}
}

void journal_deinit(struct journal *j)
{
	for (unsigned i = 0; i < CTL_EVENT_KINDS; i++)
		log_limit_deinit(&j->budget[i]);
	while (list_pop(&j->watchers))
		;
	free(j->old);
	free(j->failed);
	j->old = j->failed = NULL;
}

/* ---- fields ---- */

enum { FIELDS_MAX = 1024 };

struct fields {
	size_t len;
	char text[FIELDS_MAX];
};

/* A field that has no room is left out. */
__attribute__((format(printf, 2, 3))) static void add(struct fields *f, const char *fmt, ...)
{
	size_t room = sizeof(f->text) - f->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->text + f->len, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < room)
		f->len += (size_t)n;
	f->text[f->len] = '\0';
}

static void add_number(struct fields *f, const char *name, uint64_t value)
{
	add(f, "%s=%" PRIu64 "\n", name, value);
}

static void add_objects(struct fields *f, const struct ctl_event *ev)
{
	if (ev->assoc)
		add_number(f, "DDP_ASSOC", ev->assoc);
	if (ev->assoc && (ev->qp_num || ev->stream))
		add_number(f, "DDP_STREAM", ev->stream);
	if (ev->qp_num)
		add_number(f, "DDP_QP", ev->qp_num);
	if (ev->client)
		add_number(f, "DDP_CLIENT", ev->client);
}

static void add_program(struct fields *f, const struct ctl_event *ev)
{
	if (ev->pid == 0)
		return;
	add_number(f, "DDP_PID", ev->pid);
	add_number(f, "DDP_UID", ev->uid);
	add(f, "DDP_PROGRAM=%s\n", ev->comm);
}

static void add_traffic(struct fields *f, const struct ctl_event *ev)
{
	add_number(f, "DDP_DURATION_MS", ev->duration_ms);
	add_number(f, "DDP_TX_BYTES", ev->tx_bytes);
	add_number(f, "DDP_RX_BYTES", ev->rx_bytes);
}

static void make_fields(struct fields *f, enum ctl_event_kind kind, const struct ctl_event *ev)
{
	char peer[ADDR_TEXT_MAX];

	f->len = 0;
	add(f, "MESSAGE_ID=%s\nDDP_EVENT=%s\n", kinds[kind].id, ev->event);
	add_objects(f, ev);
	add_program(f, ev);
	if (ev->remote.ss_family != AF_UNSPEC)
		add(f, "DDP_PEER=%s\n", addr_text(&ev->remote, peer));
	if (kind == CTL_EVENT_SESSION_END)
		add_traffic(f, ev);
	if (ev->err)
		add(f, "ERRNO=%d\n", ev->err);
	if (ev->reason[0])
		add(f, "DDP_REASON=%s\n", ev->reason);
}

/* ---- entries ---- */

/* Programs and peers choose these strings. */
static void tidy(char *s, size_t size)
{
	s[size - 1] = '\0';
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
	}
}

static void complete_event(struct journal *j, enum ctl_event_kind kind, struct ctl_event *ev)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ev->number = ++j->count;
	ev->time_us = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
	snprintf(ev->event, sizeof(ev->event), "%s", ctl_event_name(kind));
	tidy(ev->comm, sizeof(ev->comm));
	tidy(ev->reason, sizeof(ev->reason));
}

static void keep_event(struct ctl_event **ring, uint64_t at, unsigned size,
		       const struct ctl_event *ev)
{
	if (!*ring)
		*ring = calloc(size, sizeof(**ring));
	if (*ring)
		(*ring)[at % size] = *ev;
}

void journal_add(struct journal *j, uint64_t now_ms, enum ctl_event_kind kind, struct ctl_event *ev)
{
	struct fields fields;
	char line[CTL_EVENT_LINE];

	complete_event(j, kind, ev);
	keep_event(&j->old, ev->number, JOURNAL_KEEP, ev);
	if (ev->err)
		keep_event(&j->failed, ++j->errors, JOURNAL_KEEP_ERRORS, ev);
	make_fields(&fields, kind, ev);
	ctl_event_line(ev, line);
	log_limited_fields(&j->budget[kind], now_ms, LOG_LEVEL_INFO, fields.text, line);
	list_foreach (l, &j->watchers) {
		struct journal_watcher *watcher = list_entry(l, struct journal_watcher, link);

		watcher->fn(watcher, ev);
	}
}

bool journal_may_see(const struct ctl_event *ev, const uid_t *only)
{
	return !only || (ev->pid != 0 && ev->uid == *only);
}

const struct ctl_event *journal_error(const struct journal *j, const uid_t *only, uint32_t assoc)
{
	uint64_t n = j->failed ? j->errors : 0;

	for (unsigned i = 0; i < JOURNAL_KEEP_ERRORS && n > 0; i++, n--) {
		const struct ctl_event *ev = &j->failed[n % JOURNAL_KEEP_ERRORS];

		if ((assoc == 0 || ev->assoc == assoc) && journal_may_see(ev, only))
			return ev;
	}
	return NULL;
}

const struct ctl_event *journal_get(const struct journal *j, uint64_t number)
{
	const struct ctl_event *ev = j->old ? &j->old[number % JOURNAL_KEEP] : NULL;

	return ev && number > 0 && ev->number == number ? ev : NULL;
}

uint64_t journal_oldest(const struct journal *j)
{
	return j->count > JOURNAL_KEEP ? j->count - JOURNAL_KEEP + 1 : 1;
}
