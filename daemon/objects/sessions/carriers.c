/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/carriers.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/base/log.h"
#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/sessions/carrier.h"
#include "daemon/objects/sessions/carrier_owner.h"
#include "daemon/objects/sessions/listener.h"

/* Of a worker, from the first queue pair of datagrams on. */
struct carriers {
	struct list users;           /* carrier_owner: those with queue pairs or carriers */
	struct carrier_owner *peers; /* NULL: the daemon does not listen */
	struct listener *listener;
	unsigned count; /* queue pairs of datagrams */
};

/* ---- peers ---- */

static bool accept_carrier(struct association *assoc, const struct assoc_event *ev,
			   const char **reason)
{
	return carrier_accept(assoc->worker->carriers->peers, assoc, ev, reason);
}

static int try_to_listen(struct carriers *all, uint16_t port, struct reply *rep)
{
	const struct msg_listen req = {.port = port};
	struct client *c = &all->peers->client;
	struct msg_listener at;
	int r = listener_create(c, &req, 0, &at, rep);

	if (r)
		return r;
	all->listener = idtab_get(&c->handles.listeners, at.handle);
	all->listener->accept = accept_carrier;
	return 0;
}

static void stop_listening(struct carriers *all)
{
	all->listener = listener_free(all->listener);
	if (!all->peers)
		return;
	carrier_free_all(all->peers);
	all->peers->users--;
	carrier_owner_release(all->peers);
	all->peers = NULL;
}

static void listen_here(struct worker *w)
{
	uint16_t port = (uint16_t)w->daemon->cfg.session.datagram_port;
	struct carriers *all = w->carriers;
	struct reply rep = {.nfds = 0, .reason = "out of memory"};

	if (port == 0)
		return;
	all->peers = carrier_owner_new_for_peers(w);
	if (all->peers && try_to_listen(all, port, &rep) == 0)
		return;
	stop_listening(all);
	log_limited(&w->client_log, w->now_ms, LOG_LEVEL_WARN,
		    "datagrams of other daemons cannot arrive: %s", rep.reason);
}

/* ---- users ---- */

static struct carrier_owner *find_owner(struct carriers *all, uid_t uid)
{
	list_foreach (it, &all->users) {
		struct carrier_owner *o = list_entry(it, struct carrier_owner, link);

		if (o->client.uid == uid)
			return o;
	}
	return NULL;
}

static struct carrier_owner *get_owner(struct worker *w, uid_t uid)
{
	struct carrier_owner *o;

	if (!w->carriers) {
		w->carriers = calloc(1, sizeof(*w->carriers));
		if (!w->carriers)
			return NULL;
		list_init(&w->carriers->users);
	}
	o = find_owner(w->carriers, uid);
	if (o)
		return o;
	o = carrier_owner_new(w, uid);
	if (o)
		list_add_tail(&w->carriers->users, &o->link);
	return o;
}

int carriers_begin(struct datagram *d, struct reply *rep)
{
	struct worker *w = d->client->worker;

	d->carriers = get_owner(w, d->client->uid);
	if (!d->carriers)
		return reply_refuse(rep, ENOMEM, "queue pair: out of memory");
	d->carriers->users++;
	if (w->carriers->count++ == 0)
		listen_here(w);
	return 0;
}

void carriers_end(struct datagram *d)
{
	struct carrier_owner *o = d->carriers;
	struct carriers *all = d->client->worker->carriers;

	if (!o)
		return;
	d->carriers = NULL;
	if (--o->users == 0) {
		carrier_finish_all(o);
		carrier_owner_release(o);
	}
	if (--all->count == 0)
		stop_listening(all);
}

/* ---- all ---- */

void carriers_stop_all(struct worker *w)
{
	if (!w->carriers)
		return;
	if (w->carriers->peers)
		carrier_end_all(w->carriers->peers);
	list_foreach (it, &w->carriers->users)
		carrier_end_all(list_entry(it, struct carrier_owner, link));
}

void carriers_free(struct worker *w)
{
	struct carriers *all = w->carriers;

	while (all && !list_empty(&all->users)) {
		struct carrier_owner *o = list_entry(all->users.next, struct carrier_owner, link);

		carrier_free_all(o);
		carrier_owner_release(o);
	}
	free(all);
	w->carriers = NULL;
}
