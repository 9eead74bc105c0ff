/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/ddpcp/ddpcp_file.h"
#include "tools/ddpcp/ddpcp_name.h"

int ddpcp_sink_name(struct ddpcp_sink *s, const char *name, char full[DDPCP_NAME_MAX + 1])
{
	const char *base = s->base ? s->base : "", *fault;
	int n = snprintf(full, DDPCP_NAME_MAX + 1, "%s%s%s", base, *base && *name ? "/" : "", name);

	if (s->base && *name && !(s->flags & DDPCP_TREE))
		return ddpcp_link_fail(s->link, -EPROTO,
				       "the peer sent a file that was not requested");
	fault = n > DDPCP_NAME_MAX ? "the name is too long" : ddpcp_name_fault(full);
	return fault ? ddpcp_link_fail(s->link, -EINVAL, "%s", fault) : 0;
}

/* A directory and a name in it, for a name of the source. ret_base points into full. */
static int open_parent(struct ddpcp_sink *s, const char *name, char full[DDPCP_NAME_MAX + 1],
		       int *ret_dir, const char **ret_base)
{
	int r = ddpcp_sink_name(s, name, full);

	if (r < 0)
		return r;
	r = ddpcp_name_open_dir(s->dir, full, ret_dir, ret_base);
	return r < 0 ? ddpcp_link_fail(s->link, r, "%s", message_strerror(r)) : 0;
}

/* Whether the next copy can continue the incomplete file: not if it is corrupt, or the disk is
 * full. */
static bool keep_part(int r, const struct ddpcp_xfer *x)
{
	return r != -EBADMSG && r != -EPROTO && r != -ENOSPC && r != -EDQUOT && r != -EFBIG &&
	       x->size != DDPCP_STREAM;
}

static bool is_preserved(const struct ddpcp_sink *s, const struct ddpcp_rec *req)
{
	return s->flags & req->flags & DDPCP_PRESERVE;
}

static int finish_file(const struct ddpcp_sink *s, struct ddpcp_file *f,
		       const struct ddpcp_rec *req)
{
	int r;

	if (!(s->flags & req->flags & DDPCP_NO_SYNC))
		return ddpcp_file_commit(f, &req->meta, is_preserved(s, req), s->mask);
	r = ddpcp_file_dress(f, &req->meta, is_preserved(s, req), s->mask);
	return r == 0 ? ddpcp_file_rename(f) : r;
}

static int take_file(struct ddpcp_sink *s, const struct ddpcp_rec *req, struct ddpcp_xfer *x)
{
	struct ddpcp_file f = {.dir = -1, .fd = -1};
	char full[DDPCP_NAME_MAX + 1];
	int r = ddpcp_sink_name(s, req->name, full);

	if (r < 0)
		return r;
	r = ddpcp_batch_create(s->batch, full, &f);
	if (r < 0) {
		ddpcp_link_fail(s->link, r, "%s", ddpcp_file_fault(r));
	} else {
		x->sparse = req->flags & DDPCP_SPARSE;
		r = ddpcp_xfer_sink(x, f.fd, f.have, true);
		if (r == 0)
			r = finish_file(s, &f, req);
	}
	if (r < 0) /* unless a more exact reason is known */
		ddpcp_link_fail(s->link, r, "%s", message_strerror(r));
	ddpcp_file_close(&f, r < 0 && keep_part(r, x));
	return r;
}

static int take_dir(struct ddpcp_sink *s, const struct ddpcp_rec *req)
{
	char full[DDPCP_NAME_MAX + 1];
	const char *base;
	int dir, r;

	if (!(s->flags & DDPCP_TREE))
		return ddpcp_link_fail(s->link, -EPROTO, "the peer sent a directory without -r");
	r = open_parent(s, req->name, full, &dir, &base);
	if (r < 0)
		return r;
	if (!(req->flags & DDPCP_LEAVE))
		r = ddpcp_file_mkdir(dir, base, req->meta.mode & ~s->mask);
	else if (is_preserved(s, req))
		r = ddpcp_file_set_dir(dir, base, &req->meta);
	close(dir);
	return r < 0 ? ddpcp_link_fail(s->link, r, "%s", message_strerror(r)) : 0;
}

int ddpcp_sink_take(struct ddpcp_sink *s, const struct ddpcp_rec *req, struct ddpcp_xfer *x)
{
	int r, sent;

	ddpcp_link_next(s->link);
	*x = (struct ddpcp_xfer){
		.link = s->link,
		.size = req->meta.size,
		.progress = s->progress,
	};
	if (s->progress)
		ddpcp_progress_start(s->progress, *req->name ? req->name : s->base, x->size);
	if (req->kind == DDPCP_DIR)
		r = take_dir(s, req);
	else if (s->to_stdout && *req->name)
		r = ddpcp_link_fail(s->link, -EPROTO,
				    "the peer sent a file that was not requested");
	else
		r = s->to_stdout ? ddpcp_xfer_sink(x, STDOUT_FILENO, 0, false)
				 : take_file(s, req, x);
	if (s->progress)
		ddpcp_progress_end(s->progress);
	if (s->link->over)
		return r < 0 ? r : -ECONNRESET;
	sent = ddpcp_link_send_result(s->link);
	return r < 0 ? r : sent;
}
