/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ddpcp with a peer that sends records in any order: a server, a client that fetches a tree, one
 * that sends it. Input: which of them, and the steps of session_fake.c; records have members from
 * it. Nothing outside of the folder changes, and no session or memory is left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/session_fake.h"
#include "tools/ddpcp/ddpcp.h"
#include "tools/ddpcp/ddpcp_proto.h"
#include "tools/ddpcp/ddpcp_xfer.h"

static char top[64]; /* its entries: the folder of the program, and a file that stays as it is */
static char root[80], secret[80];

/* ---- records ---- */

static const char *const names[] = {"",    "f",   "d",      "d/g",    "d/e",   "new",
				    "n/m", "..",  "../x",   "/tmp/x", "l",     "l/secret",
				    "out", "d/l", "out/up", "./f",    "d//g/", "f/x"};

static void draw_name(struct input *in, char *to)
{
	uint8_t which = in_8(in);
	size_t n = in_8(in) % 16;

	if (which < sizeof(names) / sizeof(names[0]))
		snprintf(to, DDPCP_NAME_MAX + 1, "%s", names[which]);
	else
		in_copy(in, to, n);
}

/* ---- members that fit to earlier records ---- */

static uint64_t put_size; /* of the file that the peer sends */
static uint64_t next_seq;

/* The sum of a file of zeros, which is right where the peer has written nothing. */
static void right_sum(uint64_t size, uint8_t sum[DDPCP_SHA_LEN])
{
	static const uint8_t zeros[UINT16_MAX];

	must(ddpcp_xfer_sum(zeros, size < UINT16_MAX ? size : UINT16_MAX, sum) == 0);
}

static void make_right(struct ddpcp_rec *r)
{
	uint32_t chunk = ddpcp_window_for(put_size).chunk;

	switch (r->kind) {
	case DDPCP_PUT:
		put_size = r->meta.size;
		next_seq = 0;
		break;
	case DDPCP_START:
		r->offset = 0;
		break;
	case DDPCP_CHUNK:
		r->seq = next_seq;
		if (put_size == DDPCP_STREAM && r->len < chunk) /* the last one */
			put_size = next_seq * chunk + r->len;
		else if (next_seq < ddpcp_chunks(put_size, chunk))
			r->len = ddpcp_chunk_len(put_size, chunk, next_seq);
		next_seq++;
		break;
	case DDPCP_TAKE:
		r->len = DDPCP_RING;
		break;
	default:
		break;
	}
	right_sum(r->kind == DDPCP_DONE ? put_size : r->meta.size, r->sha256);
}

static void draw_rec(struct input *in, struct ddpcp_rec *r)
{
	r->kind = (enum ddpcp_kind)(1 + in_8(in) % (DDPCP_KINDS - 1));
	r->flags = in_8(in) & DDPCP_ALL_FLAGS;
	r->id = in_8(in) % DDPCP_FLIGHT;
	r->type = (enum ddpcp_type)(in_8(in) % DDPCP_TYPES);
	r->status = (enum ddpcp_status)(in_8(in) % (DDPCP_UNCHANGED + 1));
	r->meta.size = in_16(in);
	if (r->meta.size == UINT16_MAX)
		r->meta.size = DDPCP_STREAM;
	r->meta.mode = in_16(in) & 0777;
	r->meta.mtime = in_8(in);
	r->len = in_16(in);
	r->offset = r->window.have = in_16(in) & (in_8(in) & 1 ? 0xffff : 0);
	r->seq = in_8(in);
	r->window.to = in_16(in);
	r->window.stag = in_8(in);
	r->window.chunk = DDPCP_MIN_CHUNK << in_8(in) % 4;
	r->window.slots = 1 + in_8(in) % DDPCP_MAX_SLOTS;
	r->hole = in_8(in) & 1;
	draw_name(in, r->name);
	draw_name(in, r->target);
	in_fill(in, r->sha256, in_8(in) % (DDPCP_SHA_LEN + 1));
	memcpy(r->window.sha256, r->sha256, sizeof(r->sha256));
	if (in_8(in) % 4)
		make_right(r);
}

static size_t draw_message(struct input *in, uint8_t *p, size_t len)
{
	static uint8_t out[DDPCP_REC_MAX];
	struct ddpcp_rec r = {.kind = DDPCP_END};
	size_t n = in_8(in);

	if (n >= 250) {
		in_fill(in, out, n);
	} else {
		draw_rec(in, &r);
		n = ddpcp_rec_put(out, &r);
	}
	n = n < len ? n : len;
	memcpy(p, out, n);
	return n;
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_root(void)
{
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_all(void)
{
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	must(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void make_top(void)
{
	snprintf(top, sizeof(top), "%s/fuzz-copy-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(top));
	snprintf(root, sizeof(root), "%s/root", top);
	snprintf(secret, sizeof(secret), "%s/secret", top);
	write_file(secret, "secret");
	must(chmod(secret, 0600) == 0);
	atexit(remove_all);
}

static const char *in_root(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void make_root(void)
{
	remove_root();
	must(mkdir(root, 0700) == 0 && mkdir(in_root("d"), 0700) == 0);
	write_file(in_root("f"), "file");
	write_file(in_root("d/g"), "a file in a folder");
	must(symlink("..", in_root("l")) == 0);
	must(symlink("../secret", in_root("out")) == 0);
	must(symlink("g", in_root("d/l")) == 0);
}

static void nothing_changed(void)
{
	char text[16] = "";
	FILE *f = fopen(secret, "r");
	DIR *dir = opendir(top);
	unsigned entries = 0;
	struct stat st;

	must(f && dir && fgets(text, sizeof(text), f));
	must(strcmp(text, "secret") == 0 && fstat(fileno(f), &st) == 0);
	must((st.st_mode & 07777) == 0600 && st.st_nlink == 1);
	fclose(f);
	while (readdir(dir))
		entries++;
	closedir(dir);
	must(entries == 4); /* ., .., root, secret */
}

/* ---- the programs ---- */

static void serve(struct ddpcp_opts *o)
{
	o->root = root;
	ddpcp_serve(o);
}

static void get(struct ddpcp_opts *o)
{
	char remote[] = "host:d", *remotes[] = {remote};

	ddpcp_get(o, 1, remotes, in_root("got"));
}

static void put(struct ddpcp_opts *o)
{
	char path[96], *files[] = {path};

	snprintf(path, sizeof(path), "%s", root);
	ddpcp_put(o, 1, files, "host:d");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const run[])(struct ddpcp_opts * o) = {serve, serve, get, put};
	struct input in = {data, size};
	uint8_t which = in_8(&in), flags = in_8(&in);
	struct ddpcp_opts o = {
		.read_only = which / 4 % 8 == 7,
		.tree = !(flags & 1),
		.archive = !(flags & 2),
		.preserve = !(flags & 4),
		.ignore_times = flags & 8,
		.no_sync = flags & 16,
		.quiet = true,
	};

	put_size = next_seq = 0;
	if (!*top)
		make_top();
	make_root();
	session_fake_begin(&in, draw_message);
	run[which % 4](&o);
	session_fake_end();
	nothing_changed();
	return 0;
}
