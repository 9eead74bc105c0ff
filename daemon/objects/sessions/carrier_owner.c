/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/carrier_owner.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/worker.h"

static const uid_t NOBODY = (uid_t)-2;

static void init_client(struct client *c, struct worker *w, uid_t uid)
{
	c->daemon = w->daemon;
	c->worker = w;
	c->uid = uid;
	c->gid = (gid_t)NOBODY;
	c->io.fd = c->io.event_fd = c->bells.doorbell = -1;
	c->leaving = true;
	c->io.events_max = 1; /* none waits: it may be asked */
	snprintf(c->comm, sizeof(c->comm), "ddpsctpd");
	list_init(&c->handles.scopes);
	drr_init(&c->turn, NULL);
	client_allow(c);
}

static struct carrier_owner *new_owner(struct worker *w, uid_t uid)
{
	struct carrier_owner *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	list_init(&o->link);
	for (unsigned i = 0; i < CARRIER_OWNER_BUCKETS; i++)
		list_init(&o->carriers[i]);
	init_client(&o->client, w, uid);
	o->pd.client = &o->client;
	o->pd.number = ++w->daemon->last_pd;
	return o;
}

struct carrier_owner *carrier_owner_new_for_peers(struct worker *w)
{
	struct carrier_owner *o = new_owner(w, NOBODY);

	if (o)
		o->users = 1;
	return o;
}

struct carrier_owner *carrier_owner_new(struct worker *w, uid_t uid)
{
	struct carrier_owner *o = new_owner(w, uid);

	if (!o)
		return NULL;
	if (acct_charge_granted(w->daemon->acct, uid, ACCT_MEMORY, sizeof(*o), &o->charge)) {
		carrier_owner_release(o);
		return NULL;
	}
	drr_init(&o->client.turn, acct_turn(&o->charge, ACCT_SENDS, &w->users));
	return o;
}

struct list *carrier_owner_bucket(struct carrier_owner *o, const struct msg_addr *remote)
{
	uint32_t hash = remote->family;

	for (size_t i = 0; i < sizeof(remote->bytes); i++)
		hash = hash * 31 + remote->bytes[i];
	return &o->carriers[hash % CARRIER_OWNER_BUCKETS];
}

void carrier_owner_release(struct carrier_owner *o)
{
	if (o->users > 0 || o->ncarriers > 0)
		return;
	list_del(&o->link);
	list_assert_out(&o->client.handles.scopes);
	drr_assert_out(&o->client.turn);
	idtab_deinit(&o->client.handles.listeners);
	idtab_deinit(&o->client.handles.requests);
	acct_release(&o->charge);
	free(o);
}
