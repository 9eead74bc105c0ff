/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/client/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "daemon/base/limits.h"
#include "daemon/base/log.h"
#include "util/minmax.h"

static uint32_t table_size(const struct config_limits *l, enum acct_kind kind)
{
	return (uint32_t)limits_of_client(l, kind);
}

void client_allow(struct client *c)
{
	const struct config *cfg = &c->daemon->cfg;
	const struct config_limits *l = &cfg->limits;

	idtab_allow(&c->handles.pds, table_size(l, ACCT_PDS));
	idtab_allow(&c->handles.mrs, table_size(l, ACCT_MRS));
	idtab_allow(&c->handles.mws, table_size(l, ACCT_MWS));
	idtab_allow(&c->handles.cqs, table_size(l, ACCT_CQS));
	idtab_allow(&c->handles.qps, table_size(l, ACCT_QPS));
	idtab_allow(&c->handles.srqs, table_size(l, ACCT_SRQS));
	idtab_allow(&c->handles.ahs, CLIENT_AHS);
	idtab_allow(&c->handles.listeners, table_size(l, ACCT_LISTENERS));
	idtab_allow(&c->handles.requests, cfg->session.pending_max * l->listeners);
}

/* ---- rights ---- */

/* The groups of the program when it connected. *ret is to be freed. */
static unsigned read_groups(const struct client *c, gid_t **ret)
{
	socklen_t len = 0;

	*ret = NULL;
	if (getsockopt(c->io.fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE)
		return 0;
	*ret = malloc(len);
	if (!*ret || getsockopt(c->io.fd, SOL_SOCKET, SO_PEERGROUPS, *ret, &len) < 0)
		return 0;
	return len / sizeof(gid_t);
}

static bool is_one_of(const struct client *c, const struct principal *list, unsigned n)
{
	gid_t *groups;
	unsigned ngroups;
	bool is;

	if (principal_holds(list, n, c->uid, &c->gid, 1))
		return true;
	if (!principal_any_group(list, n))
		return false;
	ngroups = read_groups(c, &groups);
	is = principal_holds(list, n, c->uid, groups, ngroups);
	free(groups);
	return is;
}

bool client_is_admin(const struct client *c)
{
	const struct config *cfg = &c->daemon->cfg;

	return is_one_of(c, cfg->admin, cfg->nadmin);
}

int client_check_admin(const struct client *c, const char *what, struct reply *rep)
{
	if (client_is_admin(c))
		return 0;
	return reply_refuse(rep, EPERM, "%s: uid %u is no administrator of the daemon (admin)",
			    what, (unsigned)c->uid);
}

const struct port_rule *client_port_rule(const struct client *c, uint16_t port)
{
	const struct config *cfg = &c->daemon->cfg;
	const struct port_rule *r = port_rule_for(cfg->ports, cfg->nports, port);

	return r && !is_one_of(c, r->who, r->n) ? r : NULL;
}

void client_fault(struct client *c, const char *fmt, ...)
{
	va_list ap;

	if (c->leaving || list_linked(&c->fault.link))
		return;
	va_start(ap, fmt);
	vsnprintf(c->fault.reason, sizeof(c->fault.reason), fmt, ap);
	va_end(ap);
	list_add_tail(&c->worker->faulty, &c->fault.link);
}

void client_queue_failed(void *user, const char *reason)
{
	client_fault(user, "%s", reason);
}

void client_leave(struct client *c)
{
	c->leaving = true;
	list_del(&c->fault.link);
	list_del(&c->bells.polled);
	list_del(&c->bells.notices.link);
	list_del(&c->watching.watcher.link);
	list_del(&c->async.dirty);
	drr_del(&c->io.turn);
	drr_del(&c->bells.turn);
	c->io.watch = event_loop_unwatch(c->io.watch);
	c->bells.watch = event_loop_unwatch(c->bells.watch);
	outq_deinit(&c->io.replies);
	outq_deinit(&c->io.events);
}

/* ---- charges ---- */

/* The program may not tell its user. */
static int refuse_limit(struct client *c, const char *reason, struct reply *rep)
{
	log_limited(&c->worker->client_log, c->worker->now_ms, LOG_LEVEL_INFO,
		    "client %u (%s, pid %d): refused: %s", c->id, c->comm, (int)c->pid, reason);
	return reply_refuse(rep, EDQUOT, "%s", reason);
}

int client_charge(struct client *c, enum acct_kind kind, uint64_t amount, struct acct_charge *ret,
		  struct reply *rep)
{
	char reason[ACCT_REASON_MAX];
	int r = acct_charge(c->daemon->acct, c->uid, kind, amount, ret, reason, sizeof(reason));

	if (r > 0)
		return refuse_limit(c, reason, rep);
	return r < 0 ? reply_refuse(rep, -r, "out of memory") : 0;
}

int client_change(struct client *c, struct acct_charge *charge, uint64_t amount, struct reply *rep)
{
	char reason[ACCT_REASON_MAX];

	if (acct_change(c->daemon->acct, charge, amount, reason, sizeof(reason)))
		return refuse_limit(c, reason, rep);
	return 0;
}

int client_set_charge(struct client *c, enum acct_kind kind, uint64_t amount,
		      struct acct_charge *charge, struct reply *rep)
{
	if (!charge->user)
		return client_charge(c, kind, amount, charge, rep);
	return client_change(c, charge, amount, rep);
}

/* ---- events ---- */

bool client_reads_events(const struct client *c)
{
	return c->io.events.count < c->io.events_max;
}

int client_reserve_events(struct client *c, unsigned n, struct reply *rep)
{
	char reason[ACCT_REASON_MAX];
	int r = outq_reserve(&c->io.events, n, reason, sizeof(reason));

	if (r > 0)
		return refuse_limit(c, reason, rep);
	return r < 0 ? reply_refuse(rep, -r, "out of memory") : 0;
}

void client_event(struct client *c, struct outq_place *place, struct msg_event *ev)
{
	if (c->leaving)
		return;
	ev->hdr.op = MSG_EVENT;
	outq_put(&c->io.events, place, ev, sizeof(*ev));
}

bool client_event_take_back(struct client *c, struct outq_place *place)
{
	return outq_take_back(&c->io.events, place);
}

void client_release_events(struct client *c, struct outq_place *places, unsigned n,
			   unsigned reserved)
{
	for (unsigned i = 0; i < n; i++) {
		if (!client_reads_events(c))
			outq_take_back(&c->io.events, &places[i]);
		else if (outq_leave(&c->io.events, &places[i]))
			reserved--;
	}
	outq_release(&c->io.events, reserved);
}

/* ---- bells ---- */

void client_poll_bells(struct client *c)
{
	if (c->leaving)
		return;
	c->bells.rung_ms = c->worker->now_ms;
	if (list_linked(&c->bells.polled))
		return;
	list_add_tail(&c->worker->polled, &c->bells.polled);
	bell_awake(c->bells.page);
}

void client_await_answer(struct client *c)
{
	if (c->bells.answers)
		client_poll_bells(c);
	c->bells.answers = false;
}

void client_ring(struct client *c, uint32_t qp)
{
	if (c->leaving)
		return;
	bell_ring(c->bells.page, client_slot(qp));
	client_poll_bells(c);
}
