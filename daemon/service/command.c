/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/command.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/base/reply.h"
#include "daemon/net/association.h"
#include "daemon/net/association_index.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/service/stop.h"
#include "daemon/service/watch.h"
#include "ipc/ctl.h"

/* Reasons for peers and programs. */
#define BY_ADMIN "ended by the administrator"

static int do_watch(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	(void)rep;
	watch_begin(c, req->hdr.seq);
	return 0;
}

static int do_log_level(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	struct daemon *d = c->daemon;
	struct config new = d->cfg;

	if (req->arg >= LOG_LEVELS)
		return reply_refuse(rep, EINVAL, "log level: unknown level %u", req->arg);
	new.log.level = req->arg;
	if (!d->change_key || d->change_key(d, config_key_named("log.level"), &new))
		return reply_refuse(rep, EIO, "log level: it cannot change");
	return 0;
}

/* The association with that id that has not ended, or NULL after a refusal. */
static struct association *find_assoc(struct client *c, uint32_t id, struct reply *rep)
{
	struct association *assoc = association_index_by_id(c->worker, id);

	if (assoc && assoc->state != ASSOCIATION_DOWN)
		return assoc;
	reply_refuse(rep, ENOENT, "no association %u", id);
	return NULL;
}

static int do_abort(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	struct association *assoc = find_assoc(c, req->id, rep);

	if (!assoc)
		return -ENOENT;
	association_abort(assoc, ECONNABORTED, BY_ADMIN);
	return 0;
}

static struct qp *qp_on(const struct association *assoc, uint32_t stream)
{
	struct assoc_stream_info info;
	uint32_t pos = 0;

	while (assoc->ddp && assoc_stream_next(assoc->ddp, &pos, &info))
		if (info.sid == stream)
			return info.ep ? rdmap_user(info.ep) : NULL;
	return NULL;
}

static int do_terminate(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	struct association *assoc = find_assoc(c, req->id, rep);
	struct qp *qp = assoc ? qp_on(assoc, req->arg) : NULL;

	if (!assoc)
		return -ENOENT;
	if (!qp)
		return reply_refuse(rep, ENOENT,
				    "association %u: no session of a program on stream %u", req->id,
				    req->arg);
	qp_terminate(qp, BY_ADMIN);
	return 0;
}

static int do_kick(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	uint32_t pos = 0;
	struct client *it;

	while ((it = idtab_next(&c->daemon->clients, &pos))) {
		if (it->id != req->id)
			continue;
		it->fault.err = ECONNABORTED;
		client_fault(it, BY_ADMIN);
		return 0;
	}
	return reply_refuse(rep, ENOENT, "no client %u", req->id);
}

static int do_drain(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	if (req->arg > CTL_DRAIN_END)
		return reply_refuse(rep, EINVAL, "drain %u: not off (0), on (1) or end (2)",
				    req->arg);
	stop_drain(c->daemon, (enum ctl_drain)req->arg);
	return 0;
}

/* As the service manager requests it; the log has the result. */
static int do_reload(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	(void)c;
	(void)req;
	(void)rep;
	kill(getpid(), SIGHUP);
	return 0;
}

static const struct verb {
	const char *name;
	int (*run)(struct client *c, const struct ctl_do *req, struct reply *rep);
	bool anybody;
} verbs[CTL_VERB_COUNT] = {
	[CTL_WATCH] = {"monitor", do_watch, true},
	[CTL_LOG_LEVEL] = {"log level", do_log_level, false},
	[CTL_ABORT] = {"assoc abort", do_abort, false},
	[CTL_TERMINATE] = {"session terminate", do_terminate, false},
	[CTL_KICK] = {"client kick", do_kick, false},
	[CTL_DRAIN] = {"drain", do_drain, false},
	[CTL_RELOAD] = {"config reload", do_reload, false},
};

static void note(const struct client *c, const struct verb *v, const struct ctl_do *req)
{
	log_limited(&c->worker->client_log, c->worker->now_ms, LOG_LEVEL_INFO,
		    "ddpctl %s %u %u, by pid %d, uid %u", v->name, req->id, req->arg, (int)c->pid,
		    (unsigned)c->uid);
}

int command_run(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	const struct verb *v = req->verb < CTL_VERB_COUNT ? &verbs[req->verb] : NULL;
	int r;

	if (req->version != CTL_VERSION)
		return reply_refuse(rep, EPROTONOSUPPORT,
				    "ddpctl speaks version %u of the records, the daemon %u",
				    req->version, CTL_VERSION);
	if (!v || !v->run)
		return reply_refuse(rep, EPROTONOSUPPORT,
				    "unknown verb %u; the daemon may be older than ddpctl",
				    req->verb);
	r = v->anybody ? 0 : client_check_admin(c, v->name, rep);
	if (!r)
		r = v->run(c, req, rep);
	if (r == 0 && !v->anybody)
		note(c, v, req);
	return r;
}
