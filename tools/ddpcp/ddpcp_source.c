/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp_file.h"
#include "tools/ddpcp/ddpcp_flight.h"
#include "tools/ddpcp/ddpcp_name.h"

static int send_entry(struct ddpcp_source *s, int dir, const char *local, const char *name,
		      unsigned depth);

/* After a file: whether the session can go on. */
static int conclude(struct ddpcp_source *s, const char *name, int r, const struct ddpcp_xfer *x)
{
	struct ddpcp_link *l = s->link;
	bool over = r < 0 && (l->midway || l->over || r == -EINTR);
	char reason[DDPCP_TEXT_MAX + 1];
	int stopped;

	if (r < 0)
		ddpcp_link_fail(l, r, "%s", message_strerror(r));
	if (r < 0 && over && !l->over && !l->peer_knows)
		ddpcp_link_send_result(l);
	strcpy(reason, l->reason);
	if (!over)
		ddpcp_link_next(l);
	stopped = s->notify(s->arg, name, r < 0 ? DDPCP_FAILED : DDPCP_OK, reason, x);
	return over ? r : stopped;
}

static int put_file(struct ddpcp_source *s, int fd, const struct ddpcp_rec *put,
		    struct ddpcp_xfer *x)
{
	struct ddpcp_rec rec;
	int r = ddpcp_link_send(s->link, put);

	if (r == 0)
		r = ddpcp_link_recv(s->link, DDPCP_LINK_KIND(DDPCP_WINDOW), DDPCP_LAST_MS, &rec);
	if (r < 0)
		return r;
	s->link->midway = true;
	r = ddpcp_xfer_source(x, fd, &rec.window);
	if (r < 0)
		return r;
	s->link->midway = false;
	return ddpcp_link_recv(s->link, DDPCP_LINK_KIND(DDPCP_RESULT), DDPCP_LAST_MS, &rec);
}

/* Flags of a file for the sink, of those that it knows. */
static unsigned flags_for(const struct ddpcp_source *s, const struct ddpcp_meta *meta)
{
	unsigned flags = s->flags & (DDPCP_PRESERVE | DDPCP_COMPARE | DDPCP_NO_SYNC);

	if (meta->sparse)
		flags |= DDPCP_SPARSE;
	return s->link->level ? flags : flags & DDPCP_FLAGS;
}

static int put_alone(struct ddpcp_source *s, int fd, const struct ddpcp_meta *meta,
		     const char *name)
{
	struct ddpcp_xfer x = {
		.link = s->link,
		.size = meta->size,
		.sparse = meta->sparse,
		.progress = s->progress,
	};
	struct ddpcp_rec rec = {.kind = DDPCP_PUT, .meta = *meta, .flags = flags_for(s, meta)};
	int r;

	strcpy(rec.name, name);
	if (x.progress)
		ddpcp_progress_start(x.progress, name, x.size);
	r = put_file(s, fd, &rec, &x);
	if (x.progress)
		ddpcp_progress_end(x.progress);
	return conclude(s, name, r, &x);
}

int ddpcp_source_stream(struct ddpcp_source *s, int fd, const char *name)
{
	const struct ddpcp_meta meta = {.size = DDPCP_STREAM, .mode = 0666};

	return put_alone(s, fd, &meta, name);
}

/* ---- level 1 ---- */

static int offer_entry(struct ddpcp_source *s, const struct ddpcp_rec *rec, int fd)
{
	if (!s->flight)
		s->flight = ddpcp_flight_new(s, put_alone);
	if (s->flight)
		return ddpcp_flight_offer(s->flight, rec, fd);
	if (fd >= 0)
		close(fd);
	return ddpcp_link_fail(s->link, -ENOMEM, "out of memory");
}

static int offer_file(struct ddpcp_source *s, int fd, const struct ddpcp_meta *meta,
		      const char *name)
{
	struct ddpcp_rec rec = {.kind = DDPCP_OFFER, .meta = *meta, .flags = flags_for(s, meta)};

	strcpy(rec.name, name);
	return offer_entry(s, &rec, fd);
}

static void set_attributes(struct ddpcp_rec *rec, const struct stat *st)
{
	rec->meta.mode = st->st_mode & 0777;
	rec->meta.mtime = st->st_mtim.tv_sec;
	rec->meta.mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
}

static int offer_folder(struct ddpcp_source *s, const struct stat *st, const char *name,
			enum ddpcp_type type)
{
	struct ddpcp_rec rec = {
		.kind = DDPCP_OFFER,
		.type = type,
		.flags = s->flags & (DDPCP_PRESERVE | DDPCP_NO_SYNC),
	};

	set_attributes(&rec, st);
	strcpy(rec.name, name);
	return offer_entry(s, &rec, -1);
}

static int offer_link(struct ddpcp_source *s, const struct stat *st, const char *name,
		      enum ddpcp_type type, const char *target)
{
	struct ddpcp_rec rec = {
		.kind = DDPCP_OFFER,
		.type = type,
		.flags = s->flags & (DDPCP_PRESERVE | DDPCP_NO_SYNC),
	};

	set_attributes(&rec, st);
	strcpy(rec.name, name);
	strcpy(rec.target, target);
	return offer_entry(s, &rec, -1);
}

static int offer_symlink(struct ddpcp_source *s, int dir, const char *local, const struct stat *st,
			 const char *name)
{
	char target[DDPCP_NAME_MAX + 1];
	ssize_t n = readlinkat(dir, local, target, sizeof(target));

	if (n < 0 || n == sizeof(target))
		return s->notify(s->arg, name, DDPCP_FAILED,
				 n < 0 ? message_strerror(errno) : "its target is too long", NULL);
	target[n] = '\0';
	return offer_link(s, st, name, DDPCP_SYMLINK, target);
}

int ddpcp_source_absent(struct ddpcp_source *s, const char *name, enum ddpcp_status status,
			const char *reason)
{
	struct ddpcp_rec rec = {.kind = DDPCP_OFFER, .type = DDPCP_ABSENT, .flags = status};

	snprintf(rec.name, sizeof(rec.name), "%s", name);
	snprintf(rec.target, sizeof(rec.target), "%s", reason);
	return offer_entry(s, &rec, -1);
}

int ddpcp_source_end(struct ddpcp_source *s)
{
	return s->flight ? ddpcp_flight_end(s->flight) : 0;
}

void ddpcp_source_free(struct ddpcp_source *s)
{
	ddpcp_flight_free(s->flight);
	ddpcp_inodes_free(&s->inodes);
	s->flight = NULL;
}

/* ---- trees ---- */

/* Sends the DIR of a directory, before or after its contents. */
static int announce_dir(struct ddpcp_source *s, const struct stat *st, const char *name,
			unsigned flags)
{
	struct ddpcp_rec answer, rec = {
					 .kind = DDPCP_DIR,
					 .meta.mode = st->st_mode & 0777,
					 .meta.mtime = st->st_mtim.tv_sec,
					 .meta.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
					 .flags = (s->flags & DDPCP_PRESERVE) | flags,
				 };
	int r;

	if (s->link->level)
		return offer_folder(s, st, name, flags & DDPCP_LEAVE ? DDPCP_LEFT : DDPCP_FOLDER);
	strcpy(rec.name, name);
	r = ddpcp_link_send(s->link, &rec);
	if (r == 0)
		r = ddpcp_link_recv(s->link, DDPCP_LINK_KIND(DDPCP_RESULT), DDPCP_WAIT_MS, &answer);
	return r;
}

static int send_named(struct ddpcp_source *s, int dir, const char *local, const char *parent,
		      unsigned depth)
{
	char name[DDPCP_NAME_MAX + 1];
	int n = snprintf(name, sizeof(name), "%s%s%s", parent, *parent ? "/" : "", local);

	if (n >= (int)sizeof(name) || depth > DDPCP_SOURCE_DEPTH)
		return s->notify(s->arg, parent, DDPCP_FAILED, "the tree is too deep", NULL);
	return send_entry(s, dir, local, name, depth);
}

static int send_contents(struct ddpcp_source *s, DIR *d, const char *name, unsigned depth)
{
	const struct dirent *e;
	int r = 0;

	while (r == 0 && (e = readdir(d))) {
		if (tool_stopped())
			return ddpcp_link_fail(s->link, -EINTR, "interrupted");
		/* . and .., and parts of copies */
		if (!ddpcp_name_fault(e->d_name))
			r = send_named(s, dirfd(d), e->d_name, name, depth + 1);
	}
	return r;
}

static int send_dir(struct ddpcp_source *s, int dir, const char *local, const char *name,
		    unsigned depth)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (s->follow && !depth ? 0 : O_NOFOLLOW);
	int fd = openat(dir, local, flags), r;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct stat st;

	if (!d || fstat(fd, &st) < 0) {
		r = s->notify(s->arg, name, DDPCP_FAILED, message_strerror(errno), NULL);
		if (d)
			closedir(d);
		else if (fd >= 0)
			close(fd);
		return r;
	}
	r = announce_dir(s, &st, name, 0);
	if (r == -EREMOTEIO) { /* refused: its contents would be, too */
		closedir(d);
		return conclude(s, name, r, NULL);
	}
	if (r == 0)
		r = send_contents(s, d, name, depth);
	if (r == 0 && s->flags & DDPCP_PRESERVE) {
		r = announce_dir(s, &st, name, DDPCP_LEAVE);
		if (r == -EREMOTEIO)
			r = conclude(s, name, r, NULL);
	}
	closedir(d);
	return r;
}

/* Why something in a directory is not copied; NULL if it is. */
static const char *skip_reason(const struct ddpcp_source *s, mode_t mode)
{
	if (S_ISLNK(mode) && s->flags & DDPCP_LINKS && s->link->level)
		return NULL;
	if (S_ISLNK(mode))
		return s->flags & DDPCP_LINKS ? "skipped: a symbolic link, which the other ddpcp "
						"is too old for"
					      : "skipped: a symbolic link (-a copies it)";
	return S_ISREG(mode) || S_ISDIR(mode) ? NULL : "skipped: not a regular file";
}

/* Closes fd. A further name of a file that was sent is a link. */
static int send_file(struct ddpcp_source *s, int fd, const struct ddpcp_meta *meta,
		     const char *name)
{
	const char *first = NULL;
	struct stat st;
	int r;

	if (!s->link->level) {
		r = put_alone(s, fd, meta, name);
		close(fd);
		return r;
	}
	if (s->flags & DDPCP_LINKS && fstat(fd, &st) == 0 && st.st_nlink > 1)
		first = ddpcp_inodes_name(&s->inodes, &st, name);
	if (!first || !strcmp(first, name))
		return offer_file(s, fd, meta, name);
	close(fd);
	return offer_link(s, &st, name, DDPCP_HARDLINK, first);
}

static int send_entry(struct ddpcp_source *s, int dir, const char *local, const char *name,
		      unsigned depth)
{
	bool follow = s->follow && !depth;
	struct ddpcp_meta meta;
	struct stat st;
	int fd, r;

	if (fstatat(dir, local, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return s->notify(s->arg, name, DDPCP_FAILED, message_strerror(errno), NULL);
	if (depth && skip_reason(s, st.st_mode))
		return s->notify(s->arg, name, DDPCP_SKIPPED, skip_reason(s, st.st_mode), NULL);
	if (depth && S_ISLNK(st.st_mode))
		return offer_symlink(s, dir, local, &st, name);
	if (S_ISDIR(st.st_mode)) {
		if (s->flags & DDPCP_TREE)
			return send_dir(s, dir, local, name, depth);
		return s->notify(s->arg, name, DDPCP_FAILED, "is a directory: -r copies it", NULL);
	}
	r = ddpcp_file_open(dir, local, follow, &fd, &meta);
	if (r < 0)
		return s->notify(s->arg, name, DDPCP_FAILED, ddpcp_file_fault(r), NULL);
	return send_file(s, fd, &meta, name);
}

int ddpcp_source_send(struct ddpcp_source *s, int dir, const char *local, const char *name)
{
	return send_entry(s, dir, local, name, 0);
}
