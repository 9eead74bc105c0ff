/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common.h"
#include "tools/ddpcp.h"
#include "tools/ddpcp_name.h"
#include "tools/ddpcp_progress.h"
#include "tools/ddpcp_xfer.h"

struct copy {
	const struct ddpcp_opts *o;
	const char *verb;
	char host[512];   /* or several addresses of it */
	const char *name; /* there */
	const char *file; /* here */
	struct session s;
	struct ddpcp_link link;
	struct ddpcp_xfer x;
	struct ddpcp_progress progress;
	uint64_t began;
};

/* Clears the progress line first; the next step redraws it. */
static void note_path(const char *sentence)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	session_note_path(sentence);
}

static int connect_server(struct copy *c)
{
	uint8_t hello[DDPCP_HELLO_LEN];
	const struct session_target target = {
		.host = c->host,
		.port = c->o->port,
		.bind = c->o->bind,
		.on_path = c->o->quiet ? NULL : note_path,
		.hello = hello,
		.hello_len = sizeof(hello),
	};
	int r = session_open(&c->s, c->o->socket);

	ddpcp_hello_put(hello);
	if (r == 0)
		r = session_make_qp(&c->s, &ddpcp_link_need);
	if (r == 0)
		r = ddpcp_link_init(&c->link, &c->s);
	if (r == 0)
		r = session_connect(&c->s, &target);
	c->x.link = &c->link;
	c->x.progress = ddpcp_progress_step;
	c->x.arg = &c->progress;
	c->began = common_now_ns();
	return r;
}

/* Asks for the copy. */
static int request(struct copy *c, enum ddpcp_kind kind, uint32_t mode)
{
	struct ddpcp_rec rec = {.kind = kind, .size = c->x.size, .mode = mode};

	strcpy(rec.name, c->name);
	return ddpcp_link_send(&c->link, &rec);
}

static void summary(const struct copy *c)
{
	double seconds = (double)(common_now_ns() - c->began) / 1e9;
	char sum[2 * DDPCP_SHA_LEN + 1];

	for (int i = 0; i < DDPCP_SHA_LEN; i++)
		snprintf(sum + (ptrdiff_t)2 * i, 3, "%02x", c->x.sha256[i]);
	printf("%s %s: %llu bytes in %.3f s, %.1f MB/s, SHA-256 %s\n", c->verb, c->file,
	       (unsigned long long)c->x.size, seconds, (double)c->x.size / seconds / 1e6, sum);
}

/* Ends a copy: says why it failed, here and there, or how it went. Returns an exit status. */
static int finish(struct copy *c, int r)
{
	ddpcp_progress_end(&c->progress);
	if (r < 0 && *c->link.reason)
		common_error("%s %s: %s", c->verb, c->file, c->link.reason);
	if (r < 0 && !c->link.peer_knows && atomic_load(&c->s.up) && r != -EINTR &&
	    ddpcp_link_send_result(&c->link) == 0)
		ddpcp_link_flush(&c->link);
	if (r == 0 && !c->o->quiet)
		summary(c);
	session_close(&c->s);
	return r < 0 ? COMMON_FAILED : COMMON_OK;
}

/* Splits HOST:NAME; an empty name becomes the last part of file. An exit status. */
static int set_remote(struct copy *c, const char *remote, const char *file)
{
	const char *fault;

	if (ddpcp_name_split(remote, c->host, sizeof(c->host), &c->name) < 0)
		return common_usage("'%s' is not HOST:NAME", remote);
	if (!*c->name && file)
		c->name = ddpcp_name_base(file);
	fault = ddpcp_name_fault(c->name);
	return fault ? common_usage("'%s': %s", remote, fault) : COMMON_OK;
}

static int send_file(struct copy *c, int fd, uint32_t mode)
{
	struct ddpcp_rec rec;
	int r = connect_server(c);

	if (r == 0)
		r = request(c, DDPCP_PUT, mode);
	if (r == 0)
		r = ddpcp_link_recv(&c->link, DDPCP_LINK_KIND(DDPCP_WINDOW), DDPCP_WAIT_MS, &rec);
	if (r == 0)
		r = ddpcp_xfer_source(&c->x, fd, &rec.window);
	if (r == 0)
		r = ddpcp_link_recv(&c->link, DDPCP_LINK_KIND(DDPCP_RESULT), DDPCP_LAST_MS, &rec);
	return r;
}

int ddpcp_put(const struct ddpcp_opts *o, const char *file, const char *remote)
{
	struct copy c = {.o = o, .verb = "put", .file = file};
	uint32_t mode;
	int fd, r, status = set_remote(&c, remote, file);

	if (status != COMMON_OK)
		return status;
	r = ddpcp_file_open(AT_FDCWD, file, 1, &fd, &c.x.size, &mode);
	if (r < 0) {
		common_error("%s: %s", file, ddpcp_file_fault(r));
		return COMMON_FAILED;
	}
	ddpcp_progress_start(&c.progress, file, c.x.size, o->quiet);
	status = finish(&c, send_file(&c, fd, mode));
	close(fd);
	return status;
}

/* Where a file is made: the directory of path and the name there. path may be a directory. */
static int open_target(const char *path, const char *name, int *ret_dir, const char **ret_base)
{
	const char *base = ddpcp_name_base(path);
	char dir[PATH_MAX];
	struct stat st;
	bool exists = stat(path, &st) == 0;
	int fd;

	if (!*base || (exists && S_ISDIR(st.st_mode))) {
		snprintf(dir, sizeof(dir), "%s", path);
		base = ddpcp_name_base(name);
	} else if (exists && !S_ISREG(st.st_mode)) {
		return -EINVAL; /* also at the end of a link, as /dev/stdout is one */
	} else if (base == path) {
		strcpy(dir, ".");
	} else {
		snprintf(dir, sizeof(dir), "%.*s", (int)(base - path), path);
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_dir = fd;
	*ret_base = base;
	return 0;
}

static int receive_file(struct copy *c, struct ddpcp_file *f)
{
	struct ddpcp_rec rec;
	int r = connect_server(c);

	if (r == 0)
		r = request(c, DDPCP_GET, 0);
	if (r == 0)
		r = ddpcp_link_recv(&c->link, DDPCP_LINK_KIND(DDPCP_META), DDPCP_WAIT_MS, &rec);
	if (r < 0)
		return r;
	c->x.size = rec.size;
	ddpcp_progress_start(&c->progress, c->name, c->x.size, c->o->quiet);
	r = ddpcp_xfer_sink(&c->x, f);
	if (r == 0) {
		r = ddpcp_file_commit(f, rec.mode);
		if (r < 0)
			ddpcp_link_fail(&c->link, r, "%s", common_strerror(r));
	}
	if (r == 0)
		r = ddpcp_link_send_result(&c->link);
	return r == 0 ? ddpcp_link_flush(&c->link) : r;
}

int ddpcp_get(const struct ddpcp_opts *o, const char *remote, const char *file)
{
	struct copy c = {.o = o, .verb = "get"};
	struct ddpcp_file f = {.dir = -1, .fd = -1};
	int dir = -1, r, status = set_remote(&c, remote, NULL);
	const char *base = "";

	if (status != COMMON_OK)
		return status;
	c.file = file ? file : ddpcp_name_base(c.name);
	r = open_target(c.file, c.name, &dir, &base);
	if (r == 0)
		r = ddpcp_file_create(&f, dir, base);
	if (r < 0) {
		common_error("%s: %s", c.file, ddpcp_file_fault(r));
		status = COMMON_FAILED;
	} else {
		status = finish(&c, receive_file(&c, &f));
	}
	ddpcp_file_close(&f);
	return status;
}
