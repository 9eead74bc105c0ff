/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpcp serves files of its root and no others, and leaves no incomplete files. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ddpcp/ddpcp_batch.h"
#include "tools/ddpcp/ddpcp_file.h"
#include "tools/ddpcp/ddpcp_name.h"
#include "tools/ddpcp/ddpcp_proto.h"

static char top[64];
static int root = -1;

static void sh(const char *fmt)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "cd %s && %s", top, fmt);
	cr_assert_eq(system(cmd), 0, "%s", cmd);
}

static void make_root(void)
{
	strcpy(top, "/tmp/test_tools_file.XXXXXX");
	cr_assert_not_null(mkdtemp(top));
	sh("mkdir -p root/dir/sub outside && echo secret >outside/file && echo x >root/dir/file"
	   " && ln -s ../outside root/link && ln -s ../../outside/file root/dir/leak"
	   " && ln -s dir root/inner && mkfifo root/fifo");
	char path[96];
	snprintf(path, sizeof(path), "%s/root", top);
	root = open(path, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(root, 0);
}

static void remove_root(void)
{
	char cmd[96];

	close(root);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	cr_assert_eq(system(cmd), 0);
}

/* ---- names ---- */

Test(ddpcp_name, plain_names_and_paths_are_good)
{
	const char *const good[] = {"a", "a/b", "..a", "a..", "...", ".hidden", "a b", "a/.b/c"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect_null(ddpcp_name_fault(good[i]), "%s: %s", good[i],
			       ddpcp_name_fault(good[i]));
}

Test(ddpcp_name, names_that_could_leave_the_root_are_refused)
{
	const char *const bad[] = {
		"",          "/",      "/etc/passwd",  "..",  "../a",
		"a/..",      "a/../b", "a//b",         "a/",  ".",
		"./a",       "a/./b",  "a/b/../../..", "../", DDPCP_NAME_TEMP "0123456789abcdef",
		"a/.ddpcp-",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not_null(ddpcp_name_fault(bad[i]), "'%s' is taken", bad[i]);
}

/* Whatever the names before the last are, which may be such links themselves. */
Test(ddpcp_name, links_that_could_leave_the_root_are_refused)
{
	static const struct {
		const char *name, *target;
		bool good;
	} links[] = {
		{"l", "a", true},          {"l", "a/b", true},
		{"d/l", "../a", true},     {"d/e/l", "../../a/b", true},
		{"d/l", "..", true},       {"l", "..a", true},
		{"l", "a/..b/...", true},  {"l", "", false},
		{"l", "/", false},         {"l", "/etc/passwd", false},
		{"l", "..", false},        {"l", "../a", false},
		{"d/l", "../../a", false}, {"d/l", "../..", false},
		{"l", "a/..", false},      {"l", "a/b/../c", false}, /* a/b may be a link to . */
		{"d/l", "./../..", false}, {"d/l", "..//../x", false},
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		cr_expect_eq(!ddpcp_name_link_fault(links[i].name, links[i].target), links[i].good,
			     "%s -> %s", links[i].name, links[i].target);
}

Test(ddpcp_name, names_that_are_too_long_are_refused)
{
	char name[DDPCP_NAME_MAX + 2] = {0};

	memset(name, 'a', 255);
	cr_expect_null(ddpcp_name_fault(name));
	name[255] = 'a';
	cr_expect_not_null(ddpcp_name_fault(name));
	for (int i = 0; i <= DDPCP_NAME_MAX; i++)
		name[i] = i % 2 ? '/' : 'a';
	name[DDPCP_NAME_MAX] = '\0';
	cr_expect_null(ddpcp_name_fault(name), "%s", ddpcp_name_fault(name));
	name[DDPCP_NAME_MAX] = 'a';
	cr_expect_not_null(ddpcp_name_fault(name));
}

static void split_to(const char *arg, const char *host, const char *name)
{
	const char *got = NULL;
	char buf[16];

	cr_assert_eq(ddpcp_name_split(arg, buf, sizeof(buf), &got), 0, "%s", arg);
	cr_expect_str_eq(buf, host);
	cr_expect_str_eq(got, name);
}

Test(ddpcp_name, host_and_name_are_split_at_the_first_colon)
{
	const char *got;
	char buf[16];

	split_to("host:", "host", "");
	split_to("host:a:b", "host", "a:b");
	split_to("[::1]:dir/f", "::1", "dir/f");
	split_to("127.0.0.2:x", "127.0.0.2", "x");
	for (const char *const *w = (const char *const[]){"", "host", ":x", "[::1]", "[::1", "[]:x",
							  "[::1]x:y", "0123456789abcdef:x", NULL};
	     *w; w++)
		cr_expect_eq(ddpcp_name_split(*w, buf, sizeof(buf), &got), -EINVAL, "%s", *w);
}

Test(ddpcp_name, directories_are_found_without_following_links, .init = make_root,
     .fini = remove_root)
{
	const char *base = NULL;
	int dir = -1;

	cr_assert_eq(ddpcp_name_open_dir(root, "dir/sub/new", &dir, &base), 0);
	cr_expect_str_eq(base, "new");
	close(dir);
	cr_assert_eq(ddpcp_name_open_dir(root, "new", &dir, &base), 0);
	cr_expect_str_eq(base, "new");
	close(dir);
	cr_expect_lt(ddpcp_name_open_dir(root, "link/file", &dir, &base), 0);
	cr_expect_lt(ddpcp_name_open_dir(root, "inner/file", &dir, &base), 0);
	cr_expect_eq(ddpcp_name_open_dir(root, "none/file", &dir, &base), -ENOENT);
	cr_expect_eq(ddpcp_name_open_dir(root, "dir/file/x", &dir, &base), -ENOTDIR);
	cr_expect_eq(ddpcp_name_open_dir(root, "../outside/file", &dir, &base), -EINVAL);
}

/* ---- files ---- */

Test(ddpcp_file, only_regular_files_are_served, .init = make_root, .fini = remove_root)
{
	struct ddpcp_meta meta = {0};
	int fd = -1;

	cr_assert_eq(ddpcp_file_open(root, "dir/file", 0, &fd, &meta), 0);
	cr_expect_eq(meta.size, 2);
	close(fd);
	cr_expect_eq(ddpcp_file_open(root, "dir", 0, &fd, &meta), -EISDIR);
	cr_expect_eq(ddpcp_file_open(root, "fifo", 0, &fd, &meta), -EINVAL);
	cr_expect_eq(ddpcp_file_open(root, "dir/leak", 0, &fd, &meta), -ELOOP);
	cr_expect_eq(ddpcp_file_open(root, "dir/leak", 1, &fd, &meta), 0);
	close(fd);
}

Test(ddpcp_file, a_file_of_unknown_size_is_refused)
{
	struct ddpcp_meta meta = {0};
	int fd = -1;

	cr_expect_eq(ddpcp_file_open(AT_FDCWD, "/proc/self/stat", 0, &fd, &meta), -EINVAL);
	cr_expect_str_eq(ddpcp_file_fault(-EINVAL), "not a regular file");
}

/* Incomplete files in the root. */
static int temps(void)
{
	DIR *d = fdopendir(openat(root, ".", O_RDONLY | O_DIRECTORY));
	const struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += !strncmp(e->d_name, DDPCP_NAME_TEMP, strlen(DDPCP_NAME_TEMP));
	closedir(d);
	return n;
}

Test(ddpcp_file, a_file_appears_whole_with_its_mode, .init = make_root, .fini = remove_root)
{
	struct ddpcp_file f;
	struct stat st;
	char back[6];

	cr_assert_eq(ddpcp_file_create(&f, dup(root), "new"), 0);
	cr_assert_eq(ddpcp_file_pwrite(f.fd, "world", 5, 5), 0);
	cr_assert_eq(ddpcp_file_pwrite(f.fd, "hello", 5, 0), 0);
	cr_assert_eq(ddpcp_file_pread(f.fd, back, 6, 4), 0);
	cr_expect_eq(memcmp(back, "oworld", 6), 0);
	cr_expect_eq(ddpcp_file_pread(f.fd, back, 6, 5), -ENODATA);
	cr_expect_eq(fstatat(root, "new", &st, 0), -1);
	cr_expect_eq(temps(), 1);
	cr_assert_eq(ddpcp_file_commit(&f, &(struct ddpcp_meta){.mode = 0667}, false, 027), 0);
	ddpcp_file_close(&f, false);
	cr_assert_eq(fstatat(root, "new", &st, 0), 0);
	cr_expect_eq(st.st_size, 10);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_expect_eq(temps(), 0);
}

Test(ddpcp_file, zeros_stay_holes, .init = make_root, .fini = remove_root)
{
	enum { LEN = 1 << 20 };
	uint8_t *data = calloc(1, LEN), *back = malloc(LEN);
	struct ddpcp_file f;
	struct stat st;

	data[5] = data[300000] = data[LEN - 1] = 1;
	cr_assert_eq(ddpcp_file_create(&f, dup(root), "new"), 0);
	cr_assert_eq(ddpcp_file_pwrite_sparse(f.fd, data, LEN, 0), 0);
	cr_assert_eq(ddpcp_file_pread(f.fd, back, LEN, 0), 0);
	cr_expect_eq(memcmp(data, back, LEN), 0);
	cr_assert_eq(fstat(f.fd, &st), 0);
	cr_expect_leq(st.st_blocks * 512, 65536);
	cr_expect(ddpcp_file_is_hole(f.fd, 400 << 10, 64 << 10));
	cr_expect_not(ddpcp_file_is_hole(f.fd, 0, 4096));
	ddpcp_file_close(&f, false);
	free(data);
	free(back);
}

Test(ddpcp_file, an_uncommitted_file_leaves_nothing, .init = make_root, .fini = remove_root)
{
	struct ddpcp_file f;
	struct stat st;

	cr_assert_eq(ddpcp_file_create(&f, dup(root), "new"), 0);
	cr_assert_eq(ddpcp_file_pwrite(f.fd, "half", 4, 0), 0);
	ddpcp_file_close(&f, false);
	ddpcp_file_close(&f, false);
	cr_expect_eq(temps(), 0);
	cr_expect_eq(fstatat(root, "new", &st, 0), -1);
}

Test(ddpcp_file, a_link_in_the_way_is_replaced_and_not_followed, .init = make_root,
     .fini = remove_root)
{
	struct ddpcp_file f;
	struct stat st;

	cr_assert_eq(ddpcp_file_create(&f, openat(root, "dir", O_RDONLY | O_DIRECTORY), "leak"), 0);
	cr_assert_eq(ddpcp_file_commit(&f, &(struct ddpcp_meta){.mode = 0600}, true, 0), 0);
	ddpcp_file_close(&f, false);
	cr_assert_eq(fstatat(root, "dir/leak", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect(S_ISREG(st.st_mode));
	cr_assert_eq(fstatat(root, "../outside/file", &st, 0), 0);
	cr_expect_eq(st.st_size, 7);
}

Test(ddpcp_file, a_directory_in_the_way_stays, .init = make_root, .fini = remove_root)
{
	struct ddpcp_file f;

	cr_expect_eq(ddpcp_file_create(&f, dup(root), "dir"), -EISDIR);
	ddpcp_file_close(&f, false);
	cr_expect_eq(temps(), 0);
	cr_expect_eq(faccessat(root, "dir/file", F_OK, 0), 0);
}

Test(ddpcp_file, what_is_no_file_is_not_replaced, .init = make_root, .fini = remove_root)
{
	struct ddpcp_file f;
	struct stat st;

	cr_expect_eq(ddpcp_file_create(&f, dup(root), "fifo"), -EINVAL);
	ddpcp_file_close(&f, false);
	cr_expect_eq(temps(), 0);
	cr_assert_eq(fstatat(root, "fifo", &st, 0), 0);
	cr_expect(S_ISFIFO(st.st_mode));
}

Test(ddpcp_file, a_part_is_kept_for_the_next_copy_and_for_one_at_a_time, .init = make_root,
     .fini = remove_root)
{
	struct ddpcp_file f, other;
	char name[NAME_MAX + 1] = {0};

	memset(name, 'n', NAME_MAX);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(ddpcp_file_create(&f, dup(root), name), 0);
		cr_expect_eq(f.have, i ? 4 : 0);
		cr_assert_eq(ddpcp_file_pwrite(f.fd, "half", 4, 0), 0);
		cr_expect_eq(ddpcp_file_create(&other, dup(root), name), -EBUSY);
		ddpcp_file_close(&other, false);
		name[NAME_MAX - 1] = 'x'; /* another name has another part */
		cr_assert_eq(ddpcp_file_create(&other, dup(root), name), 0);
		ddpcp_file_close(&other, false);
		name[NAME_MAX - 1] = 'n';
		cr_expect_eq(temps(), 1);
		ddpcp_file_close(&f, true);
	}
	cr_expect_eq(temps(), 1);
}

Test(ddpcp_file, what_others_put_in_place_of_a_part_is_not_used, .init = make_root,
     .fini = remove_root)
{
	const char *const others[] = {"ln -s ../outside/file", "ln outside/file", "mkfifo",
				      "mkdir"};
	struct ddpcp_file f;
	char cmd[96];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(cmd, sizeof(cmd), "%s root/.ddpcp-new", others[i]);
		sh(cmd);
		cr_expect_eq(ddpcp_file_create(&f, dup(root), "new"), -EEXIST, "%s", others[i]);
		ddpcp_file_close(&f, false);
		sh("grep -q secret outside/file && rm -r root/.ddpcp-new");
	}
}

Test(ddpcp_file, directories_are_made_and_never_reached_by_links, .init = make_root,
     .fini = remove_root)
{
	const struct ddpcp_meta meta = {.mode = 0710, .mtime = 981173106, .mtime_ns = 789};
	struct stat st;

	cr_expect_eq(ddpcp_file_mkdir(root, "made", 0), 0);
	cr_expect_eq(ddpcp_file_mkdir(root, "dir", 0755), 0);
	cr_expect_eq(ddpcp_file_mkdir(root, "link", 0755), -ENOTDIR);
	cr_expect_lt(ddpcp_file_set_dir(root, "link", &meta), 0);
	cr_assert_eq(ddpcp_file_set_dir(root, "made", &meta), 0);
	cr_assert_eq(fstatat(root, "made", &st, 0), 0);
	cr_expect_eq(st.st_mode & 07777, 0710);
	cr_expect_eq(st.st_mtim.tv_sec, meta.mtime);
	cr_expect_eq(st.st_mtim.tv_nsec, meta.mtime_ns);
}

static void *close_later(void *file)
{
	poll(NULL, 0, 50); /* the other thread has begun to wait by then, mostly */
	ddpcp_file_close(file, true);
	return NULL;
}

Test(ddpcp_file, a_copy_waits_for_the_end_of_another_one, .init = make_root, .fini = remove_root)
{
	struct ddpcp_batch b;
	struct ddpcp_file f, other;
	pthread_t thread;

	cr_assert_eq(ddpcp_batch_init(&b, root), 0);
	cr_assert_eq(ddpcp_file_create(&other, dup(root), "name"), 0);
	pthread_create(&thread, NULL, close_later, &other);
	cr_expect_eq(ddpcp_batch_create(&b, "name", &f), 0);
	pthread_join(thread, NULL);
	ddpcp_file_close(&f, false);
	ddpcp_batch_free(&b);
}
