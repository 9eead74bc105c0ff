/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_offer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/ddpcp/ddpcp_entry.h"
#include "tools/ddpcp/ddpcp_name.h"
#include "util/minmax.h"

/* Whether the source asked for it and this end permits it. */
static bool is_agreed(const struct ddpcp_sink *s, const struct ddpcp_rec *req, unsigned flag)
{
	return s->flags & req->flags & flag;
}

static int fail_with(struct ddpcp_sink *s, int r)
{
	return ddpcp_link_fail(s->link, r, "%s", ddpcp_file_fault(r));
}

/* ---- files ---- */

static bool has_same(const struct ddpcp_sink *s, const struct ddpcp_rec *req, const char *full)
{
	const char *base;
	int dir;

	return is_agreed(s, req, DDPCP_COMPARE) &&
	       ddpcp_batch_dir(s->batch, full, &dir, &base) == 0 &&
	       ddpcp_entry_is_same(dir, base, &req->meta);
}

/* Memory for this file and the next ones. The answer to the offer. */
static int offer_memory(struct ddpcp_sink *s, const struct ddpcp_rec *req, struct ddpcp_rec *answer)
{
	struct ddpcp_link *l = s->link;
	int r = ddpcp_link_in(l, DDPCP_RING);

	if (r < 0)
		return r;
	if (req->meta.size <= DDPCP_MAX_CHUNK)
		l->offered += ddpcp_room(req->meta.size);
	answer->kind = DDPCP_TAKE;
	answer->window.to = l->in->iova;
	answer->window.stag = l->in->rkey;
	answer->len = (uint32_t)min_size(l->in->length, DDPCP_RING);
	ddpcp_link_touch(l, (size_t)min_u64(l->offered, answer->len));
	return 0;
}

/* Writes the file and compares the sum of the file then: the peer can change the memory
 * meanwhile. */
static int write_and_compare(struct ddpcp_sink *s, const struct ddpcp_rec *req, int fd,
			     struct ddpcp_xfer *x)
{
	size_t len = (size_t)req->meta.size;
	const uint8_t *in = (const uint8_t *)s->link->in->addr + req->offset;
	void *back = malloc(len + 1);
	int r = back ? 0 : -ENOMEM;

	if (r == 0 && is_agreed(s, req, DDPCP_SPARSE))
		r = ddpcp_file_pwrite_sparse(fd, in, len, 0);
	else if (r == 0)
		r = ddpcp_file_pwrite(fd, in, len, 0);
	if (r == 0 && is_agreed(s, req, DDPCP_SPARSE) && ftruncate(fd, (off_t)len) < 0)
		r = -errno;
	if (r == 0)
		r = ddpcp_file_pread(fd, back, len, 0);
	if (r == 0)
		r = ddpcp_xfer_sum(back, len, x->sha256);
	free(back);
	if (r < 0)
		return ddpcp_link_fail(s->link, r, "write: %s", message_strerror(r));
	if (memcmp(req->sha256, x->sha256, sizeof(x->sha256)))
		return ddpcp_link_fail(
			s->link, -EBADMSG,
			"the SHA-256 of the written file differs from that of the sent one");
	return 0;
}

static int take_data(struct ddpcp_sink *s, const struct ddpcp_rec *req, const char *full,
		     struct ddpcp_xfer *x)
{
	const struct ddp_mr *in = s->link->in;
	struct ddpcp_file f;
	int r;

	if (!in || in->length < req->offset || in->length - req->offset < req->meta.size)
		return ddpcp_link_fail(s->link, -EPROTO, "data outside of the memory for it");
	r = ddpcp_batch_create(s->batch, full, &f);
	if (r < 0)
		return fail_with(s, r);
	if (f.have && ftruncate(f.fd, 0) < 0)
		r = -errno;
	if (r == 0)
		r = write_and_compare(s, req, f.fd, x);
	if (r == 0)
		r = ddpcp_file_dress(&f, &req->meta, is_agreed(s, req, DDPCP_PRESERVE), s->mask);
	if (r == 0)
		ddpcp_batch_add(s->batch, &f, req->meta.size, !is_agreed(s, req, DDPCP_NO_SYNC));
	else
		ddpcp_file_close(&f, false);
	return r < 0 ? fail_with(s, r) : 0;
}

/* ---- other entries ---- */

static int make_folder(struct ddpcp_sink *s, const struct ddpcp_rec *req, const char *full)
{
	const char *base;
	struct stat st;
	int dir, r = ddpcp_batch_dir(s->batch, full, &dir, &base);

	if (r < 0)
		return fail_with(s, r);
	if (!is_agreed(s, req, DDPCP_NO_SYNC) && fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		s->batch->dirty = true;
	r = ddpcp_file_mkdir(dir, base, req->meta.mode & ~s->mask);
	return r < 0 ? ddpcp_link_fail(s->link, r, "%s", message_strerror(r)) : 0;
}

static int make_symlink(struct ddpcp_sink *s, const struct ddpcp_rec *req, const char *full)
{
	const char *fault = ddpcp_name_link_fault(full, req->target), *base;
	bool preserve = is_agreed(s, req, DDPCP_PRESERVE), is_new;
	int dir, r;

	if (fault)
		return ddpcp_link_fail(s->link, -EPERM, "%s", fault);
	r = ddpcp_batch_dir(s->batch, full, &dir, &base);
	if (r == 0)
		r = ddpcp_entry_symlink(dir, base, req->target, preserve ? &req->meta : NULL,
					&is_new);
	if (r < 0)
		return fail_with(s, r);
	s->batch->dirty |= is_new && !is_agreed(s, req, DDPCP_NO_SYNC);
	return 0;
}

static int make_hardlink(struct ddpcp_sink *s, const struct ddpcp_rec *req, const char *full)
{
	char of[DDPCP_NAME_MAX + 1];
	int r = ddpcp_sink_name(s, req->target, of);

	if (r < 0)
		return r;
	r = ddpcp_batch_later(s->batch, req, full, of);
	return r < 0 ? fail_with(s, r) : 0;
}

static int leave_folder(struct ddpcp_sink *s, const struct ddpcp_rec *req, const char *full)
{
	int r = is_agreed(s, req, DDPCP_PRESERVE) ? ddpcp_batch_later(s->batch, req, full, "") : 0;

	return r < 0 ? fail_with(s, r) : 0;
}

static int flush_batch(struct ddpcp_sink *s)
{
	int r = ddpcp_batch_end(s->batch);

	return r < 0 ? ddpcp_link_fail(s->link, r, "%s", s->batch->reason) : 0;
}

/* ---- */

/* Whether an entry of that type was asked for. */
static bool is_permitted(const struct ddpcp_sink *s, enum ddpcp_type type)
{
	switch (type) {
	case DDPCP_FOLDER:
	case DDPCP_LEFT:
		return s->flags & DDPCP_TREE;
	case DDPCP_SYMLINK:
	case DDPCP_HARDLINK:
		return s->flags & DDPCP_LINKS;
	default:
		return true;
	}
}

static int take_offer(struct ddpcp_sink *s, const struct ddpcp_rec *req, const char *full,
		      struct ddpcp_rec *answer)
{
	switch (req->type) {
	case DDPCP_FOLDER:
		return make_folder(s, req, full);
	case DDPCP_LEFT:
		return leave_folder(s, req, full);
	case DDPCP_SYMLINK:
		return make_symlink(s, req, full);
	case DDPCP_HARDLINK:
		return make_hardlink(s, req, full);
	default:
		if (has_same(s, req, full)) {
			answer->status = DDPCP_UNCHANGED;
			return 0;
		}
		return offer_memory(s, req, answer);
	}
}

/* Answers an entry. */
static int take_entry(struct ddpcp_sink *s, const struct ddpcp_rec *req, struct ddpcp_xfer *x,
		      struct ddpcp_rec *answer)
{
	char full[DDPCP_NAME_MAX + 1];
	int r;

	if (!is_permitted(s, req->type))
		return ddpcp_link_fail(s->link, -EPROTO,
				       "the peer sent a directory or a link without -r or -a");
	r = ddpcp_sink_name(s, req->name, full);
	if (r < 0)
		return r;
	return req->kind == DDPCP_DATA ? take_data(s, req, full, x)
				       : take_offer(s, req, full, answer);
}

int ddpcp_offer_take(struct ddpcp_sink *s, const struct ddpcp_rec *req, struct ddpcp_xfer *x)
{
	struct ddpcp_rec answer = {.kind = DDPCP_ANSWER, .id = req->id};
	int r, sent;

	if (req->kind != DDPCP_OFFER && req->kind != DDPCP_DATA)
		return ddpcp_sink_take(s, req, x);
	ddpcp_link_next(s->link);
	*x = (struct ddpcp_xfer){.link = s->link, .size = req->meta.size};
	if (req->kind == DDPCP_OFFER && req->type == DDPCP_ABSENT)
		r = 0;
	else if (req->kind == DDPCP_OFFER && req->type == DDPCP_FLUSH)
		r = flush_batch(s);
	else
		r = take_entry(s, req, x, &answer);
	x->unchanged = answer.status == DDPCP_UNCHANGED;
	if (s->link->over)
		return r < 0 ? r : -ECONNRESET;
	if (r < 0) {
		answer.status = DDPCP_FAILED;
		strcpy(answer.text, s->link->reason);
	}
	sent = ddpcp_link_send(s->link, &answer);
	return r < 0 ? r : sent;
}
