/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ddpcp/ddpcp_name.h"

/* Links that are made, of which a name in use is not a fault: they are renamed then. */
struct made {
	const char *target; /* of a symbolic link; NULL: a hard link */
	int from_dir;
	const char *from;
};

static int make(const struct made *m, int dir, const char *name)
{
	int r = m->target ? symlinkat(m->target, dir, name)
			  : linkat(m->from_dir, m->from, dir, name, 0);

	return r < 0 ? -errno : 0;
}

/* By a name of this program alone. */
static int replace(const struct made *m, int dir, const char *base)
{
	static atomic_uint count;
	char temp[64];
	struct stat st;
	int r;

	if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	snprintf(temp, sizeof(temp), DDPCP_NAME_TEMP "link-%ld-%u", (long)getpid(),
		 atomic_fetch_add(&count, 1));
	r = make(m, dir, temp);
	if (r == 0 && renameat(dir, temp, dir, base) < 0) {
		r = -errno;
		unlinkat(dir, temp, 0);
	}
	return r;
}

static int make_or_replace(const struct made *m, int dir, const char *base)
{
	int r = make(m, dir, base);

	return r == -EEXIST ? replace(m, dir, base) : r;
}

static bool has_target(int dir, const char *base, const char *target)
{
	char now[DDPCP_NAME_MAX + 2];
	ssize_t n = readlinkat(dir, base, now, sizeof(now) - 1);

	if (n < 0)
		return false;
	now[n] = '\0';
	return !strcmp(now, target);
}

int ddpcp_entry_symlink(int dir, const char *base, const char *target,
			const struct ddpcp_meta *meta, bool *ret_new)
{
	const struct made m = {.target = target};
	bool is_new = !has_target(dir, base, target);
	int r = is_new ? make_or_replace(&m, dir, base) : 0;

	if (r == 0 && meta) {
		const struct timespec times[2] = {
			{.tv_nsec = UTIME_OMIT},
			{.tv_sec = meta->mtime, .tv_nsec = meta->mtime_ns},
		};

		r = utimensat(dir, base, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	}
	*ret_new = is_new;
	return r;
}

int ddpcp_entry_hardlink(int from_dir, const char *from, int dir, const char *base, bool *ret_new)
{
	const struct made m = {.from_dir = from_dir, .from = from};
	struct stat of, now;

	*ret_new = true;
	if (fstatat(from_dir, from, &of, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(of.st_mode))
		return -EINVAL;
	if (fstatat(dir, base, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == of.st_ino &&
	    now.st_dev == of.st_dev) {
		*ret_new = false;
		return 0;
	}
	return make_or_replace(&m, dir, base);
}

bool ddpcp_entry_is_same(int dir, const char *base, const struct ddpcp_meta *meta)
{
	struct stat st;

	return fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == meta->size && st.st_mtim.tv_sec == meta->mtime &&
	       (uint32_t)st.st_mtim.tv_nsec == meta->mtime_ns && (st.st_mode & 0777) == meta->mode;
}
