/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_batch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp_entry.h"
#include "tools/ddpcp/ddpcp_name.h"

enum {
	FEW = 4, /* files that are written to disk one by one: the file system may be busy */
	BUSY_TRIES = 100,
	BUSY_PAUSE_MS = 50,
};

struct ddpcp_batch_later {
	enum ddpcp_type type;
	struct ddpcp_meta meta;
	bool sync;
	char *name, *target;
};

int ddpcp_batch_init(struct ddpcp_batch *b, int root)
{
	*b = (struct ddpcp_batch){.root = root, .dir = -1};
	b->file = calloc(DDPCP_BATCH, sizeof(*b->file));
	b->later = calloc(DDPCP_BATCH, sizeof(*b->later));
	return b->file && b->later ? 0 : -ENOMEM;
}

static void note_failure(struct ddpcp_batch *b, const char *name, int r)
{
	if (b->failed++ == 0)
		snprintf(b->reason, sizeof(b->reason), "%.120s: %.120s", name, ddpcp_file_fault(r));
}

/* One call for the file system, or for a few files one for each. It also reports faults of other
 * files: then each file is asked for its own. */
static void sync_files(struct ddpcp_batch *b, bool few)
{
	if (!few && syncfs(b->dir) == 0)
		return;
	for (unsigned i = 0; i < b->files; i++) {
		struct ddpcp_file *f = &b->file[i];

		if (fsync(f->fd) == 0)
			continue;
		note_failure(b, f->base, -errno);
		ddpcp_file_close(f, false);
	}
}

static void name_files(struct ddpcp_batch *b, bool few)
{
	for (unsigned i = 0; i < b->files; i++) {
		struct ddpcp_file *f = &b->file[i];
		int r = f->made ? ddpcp_file_rename(f) : 0;

		if (r == 0 && b->sync && few && f->dir >= 0 && fsync(f->dir) < 0)
			r = -errno;
		if (r < 0)
			note_failure(b, f->base, r);
		ddpcp_file_close(f, false);
	}
	b->dirty |= b->sync && !few && b->files;
	b->files = 0;
	b->bytes = 0;
	b->sync = false;
}

static int link_hard(struct ddpcp_batch *b, const struct ddpcp_batch_later *l)
{
	const char *base, *from;
	int dir, from_dir, r;

	r = ddpcp_name_open_dir(b->root, l->target, &from_dir, &from);
	if (r < 0)
		return r;
	r = ddpcp_name_open_dir(b->root, l->name, &dir, &base);
	if (r == 0) {
		bool is_new;

		r = ddpcp_entry_hardlink(from_dir, from, dir, base, &is_new);
		b->dirty |= is_new && l->sync;
		close(dir);
	}
	close(from_dir);
	return r;
}

static int leave_dir(struct ddpcp_batch *b, const struct ddpcp_batch_later *l)
{
	const char *base;
	int dir, r = ddpcp_name_open_dir(b->root, l->name, &dir, &base);

	if (r < 0)
		return r;
	r = ddpcp_file_set_dir(dir, base, &l->meta);
	close(dir);
	return r;
}

static void do_laters(struct ddpcp_batch *b)
{
	for (unsigned i = 0; i < b->laters; i++) {
		struct ddpcp_batch_later *l = &b->later[i];
		int r = l->type == DDPCP_HARDLINK ? link_hard(b, l) : leave_dir(b, l);

		if (r < 0)
			note_failure(b, l->name, r);
		free(l->name);
		free(l->target);
		*l = (struct ddpcp_batch_later){0};
	}
	b->laters = 0;
}

static void commit(struct ddpcp_batch *b)
{
	bool few = b->files <= FEW && !b->dirty;

	if (b->sync)
		sync_files(b, few);
	name_files(b, few);
	do_laters(b);
}

/* The names of all files that were committed. */
static void sync_names(struct ddpcp_batch *b)
{
	if (b->dirty && syncfs(b->dir >= 0 ? b->dir : b->root) < 0)
		note_failure(b, *b->path ? b->path : ".", -errno);
	b->dirty = false;
}

static void forget_dir(struct ddpcp_batch *b)
{
	if (b->dir >= 0)
		close(b->dir);
	b->dir = -1;
	b->path[0] = '\0';
}

static bool is_dir_of(const struct ddpcp_batch *b, const char *full, size_t len)
{
	return b->dir >= 0 && strlen(b->path) == len && !memcmp(b->path, full, len);
}

int ddpcp_batch_dir(struct ddpcp_batch *b, const char *full, int *ret_dir, const char **ret_base)
{
	const char *base = ddpcp_name_base(full);
	size_t len = base == full ? 0 : (size_t)(base - full) - 1;
	struct stat st;
	int dir, r;

	if (!is_dir_of(b, full, len)) {
		r = ddpcp_name_open_dir(b->root, full, &dir, &base);
		if (r < 0)
			return r;
		if (fstat(dir, &st) == 0 && b->dir >= 0 && st.st_dev != b->dev) {
			commit(b);
			sync_names(b);
		}
		forget_dir(b);
		b->dir = dir;
		b->dev = st.st_dev;
		snprintf(b->path, sizeof(b->path), "%.*s", (int)len, full);
	}
	*ret_dir = b->dir;
	*ret_base = base;
	return 0;
}

static int try_create(struct ddpcp_batch *b, const char *full, struct ddpcp_file *ret)
{
	const char *base;
	int dir, r = ddpcp_batch_dir(b, full, &dir, &base);

	*ret = (struct ddpcp_file){.dir = -1, .fd = -1};
	if (r < 0)
		return r;
	dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		return -errno;
	r = ddpcp_file_create(ret, dir, base);
	if (r < 0)
		ddpcp_file_close(ret, false);
	return r;
}

int ddpcp_batch_create(struct ddpcp_batch *b, const char *full, struct ddpcp_file *ret)
{
	int r = try_create(b, full, ret);

	/* The same name twice, or descriptors are used up. */
	if (b->files && (r == -EBUSY || r == -EMFILE || r == -ENFILE)) {
		commit(b);
		r = try_create(b, full, ret);
	}
	for (int i = 0; r == -EBUSY && i < BUSY_TRIES && !tool_stopped(); i++) {
		poll(NULL, 0, BUSY_PAUSE_MS);
		r = try_create(b, full, ret);
	}
	return r;
}

void ddpcp_batch_add(struct ddpcp_batch *b, const struct ddpcp_file *f, uint64_t size, bool sync)
{
	b->file[b->files++] = *f;
	b->bytes += size;
	b->sync |= sync;
	if (b->files == DDPCP_BATCH || b->bytes >= DDPCP_BATCH_BYTES)
		commit(b);
}

int ddpcp_batch_later(struct ddpcp_batch *b, const struct ddpcp_rec *rec, const char *full,
		      const char *target)
{
	struct ddpcp_batch_later *l;

	if (b->laters == DDPCP_BATCH)
		commit(b);
	l = &b->later[b->laters];
	*l = (struct ddpcp_batch_later){
		.type = rec->type,
		.meta = rec->meta,
		.sync = !(rec->flags & DDPCP_NO_SYNC),
		.name = strdup(full),
		.target = strdup(target),
	};
	if (l->name && l->target) {
		b->laters++;
		return 0;
	}
	free(l->name);
	free(l->target);
	return -ENOMEM;
}

int ddpcp_batch_end(struct ddpcp_batch *b)
{
	unsigned failed;

	commit(b);
	sync_names(b);
	forget_dir(b);
	failed = b->failed;
	b->failed = 0;
	return failed ? -EIO : 0;
}

void ddpcp_batch_free(struct ddpcp_batch *b)
{
	if (b->file && b->later)
		ddpcp_batch_end(b);
	free(b->file);
	free(b->later);
	*b = (struct ddpcp_batch){.dir = -1};
}
