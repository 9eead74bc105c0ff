/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/server.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp.h"
#include "tools/ddpcp/ddpcp_name.h"
#include "tools/ddpcp/ddpcp_sink.h"
#include "tools/ddpcp/ddpcp_source.h"

enum { SESSIONS = 16 };

struct root {
	int fd;
	uint32_t mask;
	bool read_only;
};

struct served {
	const struct root *root;
	struct ddpcp_link link;
};

static int start_session(struct session *s, const void *hello, size_t len, struct server_answer *a)
{
	struct served *p = s->state;
	int r = ddpcp_hello_get(hello, len);

	if (r == -EPROTONOSUPPORT)
		return server_refuse(a, "this ddpcp speaks version %d", DDPCP_VERSION);
	if (r < 0)
		return server_refuse(a, "ddpcp serves ddpcp only");
	p->root = s->user;
	r = session_make_qp(s, &ddpcp_link_need);
	return r == 0 ? ddpcp_link_init(&p->link, s) : r;
}

static void log_copy(const struct session *s, const char *verb, const char *name, int r,
		     const char *reason, uint64_t size)
{
	char clean[DDPCP_NAME_MAX + 1];

	message_sanitize(clean, sizeof(clean), name, strlen(name));
	if (r < 0) {
		message_error("%s: %s %s: %s", s->peer, verb, clean, reason);
		return;
	}
	printf("%s: %s %s: %llu bytes\n", s->peer, verb, clean, (unsigned long long)size);
	fflush(stdout);
}

static int do_put(struct session *s, const struct ddpcp_rec *req)
{
	struct served *p = s->state;
	struct ddpcp_sink sink = {
		.link = &p->link,
		.dir = p->root->fd,
		.mask = p->root->mask,
		.flags = DDPCP_TREE | DDPCP_PRESERVE,
	};
	struct ddpcp_xfer x;
	int r;

	if (p->root->read_only) {
		r = ddpcp_link_fail(&p->link, -EROFS, "this server is read-only");
		log_copy(s, "put", req->name, r, p->link.reason, 0);
		return ddpcp_link_send_result(&p->link);
	}
	r = ddpcp_sink_take(&sink, req, &x);
	if (r < 0 || req->kind == DDPCP_PUT)
		log_copy(s, "put", req->name, r, p->link.reason, x.size);
	return p->link.midway || p->link.over ? r : 0;
}

/* The subject of a GET. */
struct fetched {
	struct session *s;
	const char *name; /* as the client asked for it */
};

/* A file of a GET has this result. The client does not know the results of files that were not
 * sent. */
static int report_to_client(void *arg, const char *name, enum ddpcp_status status,
			    const char *reason, const struct ddpcp_xfer *x)
{
	const struct fetched *f = arg;
	struct served *p = f->s->state;
	char full[2 * DDPCP_NAME_MAX + 2];
	struct ddpcp_rec rec = {.kind = DDPCP_RESULT, .status = status};

	snprintf(full, sizeof(full), "%s%s%s", f->name, *name ? "/" : "", name);
	if (status != DDPCP_SKIPPED)
		log_copy(f->s, "get", full, status == DDPCP_OK ? 0 : -EIO, reason, x ? x->size : 0);
	if (x || status == DDPCP_OK)
		return 0;
	snprintf(rec.text, sizeof(rec.text), "%.120s: %.120s", full, reason);
	return ddpcp_link_send(&p->link, &rec);
}

static int do_get(struct session *s, const struct ddpcp_rec *req)
{
	struct served *p = s->state;
	struct fetched f = {.s = s, .name = req->name};
	struct ddpcp_source source = {
		.link = &p->link,
		.flags = req->flags & (DDPCP_TREE | DDPCP_PRESERVE),
		.notify = report_to_client,
		.arg = &f,
	};
	const struct ddpcp_rec end = {.kind = DDPCP_END};
	const char *fault = ddpcp_name_fault(req->name), *base;
	int dir, r;

	if (fault) {
		r = report_to_client(&f, "", DDPCP_FAILED, fault, NULL);
		return r == 0 ? ddpcp_link_send(&p->link, &end) : r;
	}
	r = ddpcp_name_open_dir(p->root->fd, req->name, &dir, &base);
	if (r < 0) {
		r = report_to_client(&f, "", DDPCP_FAILED, message_strerror(r), NULL);
	} else {
		r = ddpcp_source_send(&source, dir, base, "");
		close(dir);
	}
	return r == 0 ? ddpcp_link_send(&p->link, &end) : r;
}

/* One request after the other, until the client ends the session. */
static int serve_requests(struct session *s)
{
	const unsigned kinds = DDPCP_LINK_KIND(DDPCP_PUT) | DDPCP_LINK_KIND(DDPCP_GET) |
			       DDPCP_LINK_KIND(DDPCP_DIR);
	struct served *p = s->state;
	struct ddpcp_link *l = &p->link;
	struct ddpcp_rec req;
	int r;

	while ((r = ddpcp_link_recv(l, kinds, DDPCP_WAIT_MS, &req)) == 0) {
		ddpcp_link_next(l);
		r = req.kind == DDPCP_GET ? do_get(s, &req) : do_put(s, &req);
		if (r < 0)
			break;
		ddpcp_link_next(l);
	}
	if (l->over)
		return TOOL_OK;
	ddpcp_link_fail(l, r, "%s", message_strerror(r));
	message_error("%s: %s", s->peer, l->reason);
	if (!l->peer_knows)
		ddpcp_link_send_result(l);
	ddpcp_link_linger(l);
	return TOOL_FAILED;
}

int ddpcp_serve(const struct ddpcp_opts *o)
{
	struct root root = {.read_only = o->read_only, .mask = umask(0)};
	const struct server_conf conf = {
		.socket = o->socket,
		.port = o->port,
		.bind = o->bind,
		.max_sessions = SESSIONS,
		.quiet = o->quiet,
		.user = &root,
		.state_size = sizeof(struct served),
		.request = start_session,
		.run = serve_requests,
	};
	int status;

	umask(root.mask);
	root.fd = open(o->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root.fd < 0) {
		message_error("%s: %s", o->root, message_strerror(errno));
		return TOOL_FAILED;
	}
	status = server_run(&conf);
	close(root.fd);
	return status;
}
