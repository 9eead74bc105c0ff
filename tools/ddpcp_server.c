/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common.h"
#include "tools/ddpcp.h"
#include "tools/ddpcp_name.h"
#include "tools/ddpcp_xfer.h"
#include "tools/server.h"

enum { SESSIONS = 16 };

struct root {
	int fd;
	bool read_only;
};

struct served {
	const struct root *root;
	struct ddpcp_link link;
};

static int on_request(struct session *s, const void *hello, size_t len, struct server_answer *a)
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

/* The directory of a name that a client gave. */
static int find_dir(struct served *p, const char *name, int *ret_dir, const char **ret_base)
{
	const char *fault = ddpcp_name_fault(name);
	int r;

	if (fault)
		return ddpcp_link_fail(&p->link, -EINVAL, "%s", fault);
	r = ddpcp_name_open_dir(p->root->fd, name, ret_dir, ret_base);
	if (r < 0)
		ddpcp_link_fail(&p->link, r, "%s: %s", name, common_strerror(r));
	return r;
}

static int do_put(struct served *p, const struct ddpcp_rec *req, struct ddpcp_xfer *x)
{
	struct ddpcp_file f = {.dir = -1, .fd = -1};
	const char *base;
	int dir, r;

	if (p->root->read_only)
		return ddpcp_link_fail(&p->link, -EROFS, "this server is read-only");
	r = find_dir(p, req->name, &dir, &base);
	if (r < 0)
		return r;
	r = ddpcp_file_create(&f, dir, base);
	if (r < 0)
		ddpcp_link_fail(&p->link, r, "%s: %s", req->name, ddpcp_file_fault(r));
	if (r == 0) {
		x->size = req->size;
		r = ddpcp_xfer_sink(x, &f);
	}
	if (r == 0)
		r = ddpcp_file_commit(&f, req->mode);
	if (r < 0) /* unless a more exact reason is known */
		ddpcp_link_fail(&p->link, r, "%s: %s", req->name, common_strerror(r));
	ddpcp_file_close(&f);
	return r;
}

/* Sends size and mode, and receives the client's window. */
static int agree(struct served *p, const struct ddpcp_rec *meta, struct ddpcp_window *ret)
{
	struct ddpcp_rec rec;
	int r = ddpcp_link_send(&p->link, meta);

	if (r == 0)
		r = ddpcp_link_recv(&p->link, DDPCP_LINK_KIND(DDPCP_WINDOW), DDPCP_WAIT_MS, &rec);
	if (r == 0)
		*ret = rec.window;
	return r;
}

static int do_get(struct served *p, const struct ddpcp_rec *req, struct ddpcp_xfer *x)
{
	struct ddpcp_rec rec = {.kind = DDPCP_META};
	struct ddpcp_window w;
	const char *base;
	int dir, fd, r;

	r = find_dir(p, req->name, &dir, &base);
	if (r < 0)
		return r;
	r = ddpcp_file_open(dir, base, 0, &fd, &rec.size, &rec.mode);
	close(dir);
	if (r < 0)
		return ddpcp_link_fail(&p->link, r, "%s: %s", req->name, ddpcp_file_fault(r));
	x->size = rec.size;
	r = agree(p, &rec, &w);
	if (r == 0)
		r = ddpcp_xfer_source(x, fd, &w);
	close(fd);
	if (r == 0) {
		r = ddpcp_link_recv(&p->link, DDPCP_LINK_KIND(DDPCP_RESULT), DDPCP_LAST_MS, &rec);
		p->link.peer_knows = true;
	}
	return r;
}

static void log_copy(const struct session *s, const struct ddpcp_rec *req, const char *reason,
		     int r, uint64_t size)
{
	const char *verb = req->kind == DDPCP_PUT ? "put" : req->kind ? "get" : "request";
	char name[DDPCP_NAME_MAX + 1];

	common_clean(name, sizeof(name), req->name, strlen(req->name));
	if (r < 0) {
		common_error("%s: %s %s: %s", s->peer, verb, name,
			     *reason ? reason : common_strerror(r));
		return;
	}
	printf("%s: %s %s: %llu bytes\n", s->peer, verb, name, (unsigned long long)size);
	fflush(stdout);
}

static int serve(struct session *s)
{
	struct served *p = s->state;
	struct ddpcp_link *l = &p->link;
	struct ddpcp_xfer x = {.link = l};
	struct ddpcp_rec req = {0};
	int r = ddpcp_link_recv(l, DDPCP_LINK_KIND(DDPCP_PUT) | DDPCP_LINK_KIND(DDPCP_GET),
				DDPCP_WAIT_MS, &req);

	if (r == 0)
		r = req.kind == DDPCP_PUT ? do_put(p, &req, &x) : do_get(p, &req, &x);
	if (r < 0)
		ddpcp_link_fail(l, r, "%s", common_strerror(r));
	log_copy(s, &req, l->reason, r, x.size);
	if (!l->peer_knows || r == 0) {
		ddpcp_link_send_result(l);
		ddpcp_link_linger(l);
	}
	return r < 0 ? COMMON_FAILED : COMMON_OK;
}

int ddpcp_serve(const struct ddpcp_opts *o)
{
	struct root root = {.read_only = o->read_only};
	const struct server_conf conf = {
		.socket = o->socket,
		.port = o->port,
		.bind = o->bind,
		.max_sessions = SESSIONS,
		.quiet = o->quiet,
		.user = &root,
		.state_size = sizeof(struct served),
		.request = on_request,
		.run = serve,
	};
	int status;

	root.fd = open(o->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root.fd < 0) {
		common_error("%s: %s", o->root, common_strerror(errno));
		return COMMON_FAILED;
	}
	status = server_run(&conf);
	close(root.fd);
	return status;
}
