/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/monitor.h"

#include <string.h>

#include "ipc/ctl_event.h"

struct monitor {
	const struct ddpctl *c;
	uint32_t printed;
	enum ctl_exit result;
};

/* Lines of text contain no bytes that could control a terminal. */
static void print_event_text(const struct ddpctl *c, struct ctl_event *ev)
{
	char time[FIELD_TEXT], line[CTL_EVENT_LINE];

	ev->event[sizeof(ev->event) - 1] = '\0';
	ev->comm[sizeof(ev->comm) - 1] = '\0';
	ev->reason[sizeof(ev->reason) - 1] = '\0';
	ctl_event_line(ev, line);
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
			*p = '?';
	field_text(field_find(c->obj, "time"), ev, false, time);
	printf("%s %s\n", time, line);
}

static bool print_event(void *arg, const struct ctl_record *rec)
{
	struct monitor *m = arg;
	struct ctl_event ev = rec->event;

	if (ev.lost)
		query_error("%u events were lost: ddpctl was too slow to read them", ev.lost);
	if (!print_takes(m->c->filters, m->c->nfilters, rec))
		return true;
	if (!m->c->opts.print.json)
		print_event_text(m->c, &ev);
	else if (print_json_line(stdout, m->c->obj, rec, &m->c->opts.print))
		m->result = CTL_EXIT_FAILED;
	if (fflush(stdout) != 0)
		m->result = CTL_EXIT_FAILED;
	m->printed++;
	return m->result == CTL_EXIT_OK && m->printed != m->c->opts.count;
}

enum ctl_exit monitor_run(struct ddpctl *c, int n, char **args)
{
	struct monitor m = {.c = c, .result = CTL_EXIT_OK};
	enum ctl_exit e;

	c->obj = args_object("event");
	e = args_filters(c, n, args);
	if (e == CTL_EXIT_OK)
		e = query_watch(c->opts.socket, args_timeout_ms(c), print_event, &m);
	return e == CTL_EXIT_OK ? m.result : e;
}
