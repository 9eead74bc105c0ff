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
#include "tools/ddpcp/ddpcp_offer.h"
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
	struct ddpcp_batch batch;
	uint64_t files, bytes; /* since the last line of the log */
	char last[2 * DDPCP_NAME_MAX + 2];
};

static int start_session(struct session *s, const void *hello, size_t len, struct server_answer *a)
{
	struct served *p = s->state;
	uint16_t level = ddpcp_hello_level(hello, len);
	int r = ddpcp_hello_get(hello, len);

	if (r == -EPROTONOSUPPORT)
		return server_refuse(a, "this ddpcp speaks version %d", DDPCP_VERSION);
	if (r < 0)
		return server_refuse(a, "ddpcp serves ddpcp only");
	p->root = s->user;
	r = session_make_qp(s, &ddpcp_link_need);
	if (r == 0)
		r = ddpcp_link_init(&p->link, s);
	p->link.level = level;
	if (r == 0 && level) {
		ddpcp_hello_put(a->data, level);
		a->len = DDPCP_HELLO_LEN;
	}
	return r;
}

static void log_copy(const struct session *s, const char *verb, const char *name, int r,
		     const char *reason, uint64_t size)
{
	char clean[2 * DDPCP_NAME_MAX + 2];

	message_sanitize(clean, sizeof(clean), name, strlen(name));
	if (r < 0) {
		message_error("%s: %s %s: %s", s->peer, verb, clean, reason);
		return;
	}
	printf("%s: %s %s: %llu bytes\n", s->peer, verb, clean, (unsigned long long)size);
	fflush(stdout);
}

static int refuse(struct ddpcp_link *l, const struct ddpcp_rec *req)
{
	struct ddpcp_rec answer = {
		.kind = DDPCP_ANSWER,
		.id = req->id,
		.status = DDPCP_FAILED,
	};

	if (req->kind != DDPCP_OFFER && req->kind != DDPCP_DATA)
		return ddpcp_link_send_result(l);
	if (req->type == DDPCP_FLUSH) /* each file was refused */
		answer.status = DDPCP_OK;
	else
		strcpy(answer.text, l->reason);
	return ddpcp_link_send(l, &answer);
}

/* A line for the files of a tree together. */
static void log_files(struct session *s, const char *verb)
{
	struct served *p = s->state;

	if (p->files == 1)
		log_copy(s, verb, p->last, 0, "", p->bytes);
	else if (p->files)
		printf("%s: %s %llu files: %llu bytes\n", s->peer, verb,
		       (unsigned long long)p->files, (unsigned long long)p->bytes);
	fflush(stdout);
	p->files = p->bytes = 0;
}

static void count_file(struct served *p, const char *name, uint64_t size)
{
	p->files++;
	p->bytes += size;
	snprintf(p->last, sizeof(p->last), "%s", name);
}

static int do_put(struct session *s, const struct ddpcp_rec *req)
{
	struct served *p = s->state;
	struct ddpcp_sink sink = {
		.link = &p->link,
		.dir = p->root->fd,
		.mask = p->root->mask,
		.flags = DDPCP_ALL_FLAGS,
		.batch = &p->batch,
	};
	struct ddpcp_xfer x;
	int r;

	if (p->root->read_only) {
		r = ddpcp_link_fail(&p->link, -EROFS, "this server is read-only");
		log_copy(s, "put", req->name, r, p->link.reason, 0);
		return refuse(&p->link, req);
	}
	r = ddpcp_offer_take(&sink, req, &x);
	if (r < 0 || req->kind == DDPCP_PUT)
		log_copy(s, "put", req->name, r, p->link.reason, x.size);
	else if (req->kind == DDPCP_DATA)
		count_file(p, req->name, x.size);
	else if (req->kind == DDPCP_OFFER && req->type == DDPCP_FLUSH)
		log_files(s, "put");
	return p->link.midway || p->link.over ? r : 0;
}

/* The subject of a GET. */
struct fetched {
	struct session *s;
	struct ddpcp_source *source;
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

	snprintf(full, sizeof(full), "%s%s%s", f->name, name && *name ? "/" : "", name ? name : "");
	if (status == DDPCP_OK && x && x->link->level)
		count_file(p, full, x->size);
	else if (status == DDPCP_FAILED || (status == DDPCP_OK && x))
		log_copy(f->s, "get", full, status == DDPCP_OK ? 0 : -EIO, reason, x ? x->size : 0);
	if (x || status == DDPCP_OK)
		return 0;
	if (p->link.level)
		return ddpcp_source_absent(f->source, name, status, reason);
	snprintf(rec.text, sizeof(rec.text), "%.120s: %.120s", full, reason);
	return ddpcp_link_send(&p->link, &rec);
}

static int send_named(const struct served *p, struct ddpcp_source *source, const char *name)
{
	const char *base;
	int dir, r = ddpcp_name_open_dir(p->root->fd, name, &dir, &base);

	if (r < 0)
		return source->notify(source->arg, "", DDPCP_FAILED, message_strerror(r), NULL);
	r = ddpcp_source_send(source, dir, base, "");
	close(dir);
	return r;
}

static int do_get(struct session *s, const struct ddpcp_rec *req)
{
	struct served *p = s->state;
	struct fetched f = {.s = s, .name = req->name};
	struct ddpcp_source source = {
		.link = &p->link,
		.flags = req->flags & ~(unsigned)(DDPCP_LEAVE | DDPCP_SPARSE),
		.notify = report_to_client,
		.arg = &f,
	};
	const struct ddpcp_rec end = {.kind = DDPCP_END};
	const char *fault = ddpcp_name_fault(req->name);
	int r;

	f.source = &source;
	r = fault ? report_to_client(&f, "", DDPCP_FAILED, fault, NULL)
		  : send_named(p, &source, req->name);
	if (r == 0)
		r = ddpcp_source_end(&source);
	ddpcp_source_free(&source);
	log_files(s, "get");
	return r == 0 ? ddpcp_link_send(&p->link, &end) : r;
}

/* One request after the other, until the client ends the session. */
static int serve_requests(struct session *s)
{
	struct served *p = s->state;
	struct ddpcp_link *l = &p->link;
	const unsigned kinds = DDPCP_LINK_KIND(DDPCP_PUT) | DDPCP_LINK_KIND(DDPCP_GET) |
			       DDPCP_LINK_KIND(DDPCP_DIR) |
			       (l->level ? DDPCP_LINK_KIND(DDPCP_OFFER) : 0) |
			       (l->level ? DDPCP_LINK_KIND(DDPCP_DATA) : 0);
	struct ddpcp_rec req;
	int r = ddpcp_batch_init(&p->batch, p->root->fd);

	while (r == 0 && (r = ddpcp_link_recv(l, kinds, DDPCP_WAIT_MS, &req)) == 0) {
		ddpcp_link_next(l);
		r = req.kind == DDPCP_GET ? do_get(s, &req) : do_put(s, &req);
		if (r < 0)
			break;
		ddpcp_link_next(l);
	}
	ddpcp_batch_free(&p->batch);
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
		.listen_flags = o->proven ? DDP_LISTEN_PROVEN : 0,
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
	if (!o->proven)
		message_error("every host that the rules of the daemon admit may %s %s: --proven "
			      "serves only those that have proven who they are",
			      o->read_only ? "read" : "read and write", o->root);
	status = server_run(&conf);
	close(root.fd);
	return status;
}
