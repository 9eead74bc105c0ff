/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/link_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/state.h"
#include "daemon/net/listening.h"
#include "llp/common/links.h"
#include "util/list.h"
#include "util/timer.h"

enum { SETTLE_MS = 50 }; /* after the first notice: changes arrive in groups */

struct link_state {
	struct worker *worker;
	int fd; /* of the notices; -1: the system does not tell */
	struct event_loop_watch *watch;
	struct timer look;
	void (*changed)(struct worker *w, bool up);
};

static void check_links(struct timer *t)
{
	struct link_state *l = list_entry(t, struct link_state, look);
	struct worker *w = l->worker;
	struct own_addrs named;
	bool up;

	listening_update(w);
	listening_named(w, &named);
	up = links_up(named.a, named.n);
	if (up == !w->port_down)
		return;
	log_info("links: %s", up ? "an interface with an address of the daemon is up again"
				 : "no interface with an address of the daemon is up");
	l->changed(w, up);
}

static void on_netlink(void *user, unsigned what)
{
	struct link_state *l = user;

	(void)what;
	links_drain(l->fd);
	if (l->look.at == UINT64_MAX)
		timer_set(&l->worker->timers, &l->look, l->worker->now_ms + SETTLE_MS);
}

int link_state_open(struct worker *w, void (*changed)(struct worker *w, bool up))
{
	struct link_state *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	w->links = l;
	l->worker = w;
	l->changed = changed;
	timer_init(&l->look, check_links);
	r = l->fd = links_watch();
	if (r >= 0)
		r = event_loop_watch(w->loop, l->fd, EVENT_LOOP_READ, on_netlink, l, &l->watch);
	if (r < 0) {
		log_info("links: changes are not noticed: %s", strerror(-r));
		listening_poll(w);
	}
	check_links(&l->look);
	return 0;
}

void link_state_close(struct worker *w)
{
	struct link_state *l = w->links;

	if (!l)
		return;
	timer_cancel(&w->timers, &l->look);
	event_loop_unwatch(l->watch);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
	w->links = NULL;
}
