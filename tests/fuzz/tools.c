/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What peers of the programs send: records and hellos of ddpcp, ddperf and ddping, the private data
 * of ddp_easy(3) and ddpverbs, names of files. A record that is accepted has all members in range,
 * and written again it reads the same; a name that is accepted stays within its folder. Input: the
 * kind, then the bytes.
 */
#include <stdbool.h>

#include "client-lib/easy/easy_hello.h"
#include "tests/fuzz/fuzz.h"
#include "tools/common/message.h"
#include "tools/ddpcp/ddpcp_name.h"
#include "tools/ddpcp/ddpcp_proto.h"
#include "tools/ddperf/ddperf_proto.h"
#include "tools/ddping/ddping_proto.h"
#include "verbs/cm/cm_private.h"

enum { TEXT = 1100 };

/* ---- ddpcp ---- */

/* Whether a path leaves the folder that it begins in, read letter by letter. */
static bool leaves(const char *path, int depth)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			depth--;
		else if (n > 0 && !(n == 1 && *path == '.'))
			depth++;
		if (depth < 0)
			return true;
		path += n + (path[n] == '/');
	}
	return false;
}

static void check_name(const char *name, const char *target)
{
	int folders = 0;

	if (ddpcp_name_fault(name))
		return;
	must(*name != '/' && !leaves(name, 0) && strlen(name) <= DDPCP_NAME_MAX);
	must(*ddpcp_name_base(name));
	for (const char *c = name; *c; c++)
		folders += *c == '/';
	if (!ddpcp_name_link_fault(name, target))
		must(*target && *target != '/' && !leaves(target, folders));
}

static void check_rec(const struct ddpcp_rec *r)
{
	must(r->kind > 0 && r->kind < DDPCP_KINDS && r->id < DDPCP_FLIGHT && r->type < DDPCP_TYPES);
	must(memchr(r->name, 0, sizeof(r->name)) && memchr(r->target, 0, sizeof(r->target)) &&
	     memchr(r->text, 0, sizeof(r->text)));
	must(r->meta.mode <= 0777 && r->status <= DDPCP_UNCHANGED);
	must(r->len <= DDPCP_RING && r->window.slots <= DDPCP_MAX_SLOTS &&
	     r->window.chunk <= DDPCP_MAX_CHUNK);
	if (r->kind == DDPCP_DATA)
		must(r->offset <= DDPCP_RING && r->meta.size <= DDPCP_MAX_CHUNK);
}

/* Members that a kind does not have are 0, so the whole is comparable. */
static void read_rec(const uint8_t *p, size_t len)
{
	static struct ddpcp_rec rec, again;
	static uint8_t out[DDPCP_REC_MAX];
	size_t n;

	memset(&rec, 0, sizeof(rec));
	memset(&again, 0, sizeof(again));
	if (ddpcp_rec_get(p, len, &rec))
		return;
	check_rec(&rec);
	check_name(rec.name, rec.target);
	n = ddpcp_rec_put(out, &rec);
	must(n == len && ddpcp_rec_get(out, n, &again) == 0);
	must(again.kind == rec.kind && again.id == rec.id && again.len == rec.len &&
	     again.seq == rec.seq && again.offset == rec.offset && again.flags == rec.flags &&
	     again.status == rec.status && again.type == rec.type && again.hole == rec.hole);
	must(!strcmp(again.name, rec.name) && !strcmp(again.target, rec.target) &&
	     !strcmp(again.text, rec.text) && again.meta.size == rec.meta.size &&
	     again.window.have == rec.window.have);
}

static void read_copy_hello(const uint8_t *p, size_t len)
{
	uint8_t out[DDPCP_HELLO_LEN];
	uint16_t level = ddpcp_hello_level(p, len);

	must(level <= DDPCP_LEVEL);
	if (ddpcp_hello_get(p, len))
		must(level == 0);
	ddpcp_hello_put(out, level);
	must(ddpcp_hello_get(out, sizeof(out)) == 0);
}

/* Two strings: a name and the target of a link, or HOST:NAME. */
static void read_names(const uint8_t *p, size_t len)
{
	char name[TEXT] = "", target[TEXT] = "", host[64];
	const char *rest;
	size_t n = len < TEXT - 1 ? len : TEXT - 1;
	size_t first;

	if (n)
		memcpy(name, p, n);
	first = strlen(name) + 1;
	if (first < n)
		memcpy(target, name + first, n - first);
	check_name(name, target);
	if (ddpcp_name_split(name, host, sizeof(host), &rest) == 0)
		must(*host && rest > name && rest <= name + strlen(name));
}

/* Sizes that a peer names, and the chunks of a file. */
static void read_window(const uint8_t *p, size_t len)
{
	struct input in = {p, len};
	uint64_t size = in_64(&in) >> 1;
	struct ddpcp_window w = ddpcp_window_for(size);
	uint64_t chunks = ddpcp_chunks(size, w.chunk);

	must(w.chunk >= DDPCP_MIN_CHUNK && w.chunk <= DDPCP_MAX_CHUNK);
	must(w.slots >= 1 && w.slots <= DDPCP_MAX_SLOTS);
	if (chunks > 0)
		must(ddpcp_chunk_len(size, w.chunk, chunks - 1) > 0 &&
		     ddpcp_chunk_len(size, w.chunk, chunks - 1) <= w.chunk);
}

/* ---- ddperf and ddping ---- */

static void read_perf(const uint8_t *p, size_t len)
{
	struct ddperf_hello h, h2;
	struct ddperf_answer a, a2;
	struct ddperf_go go;
	struct ddperf_done done;
	uint8_t out[256];

	if (ddperf_hello_get(p, len, &h) == 0) {
		must(h.op < DDPERF_OPS && h.metric < DDPERF_METRICS && h.size > 0 &&
		     h.size <= DDPERF_MAX_SIZE && h.depth > 0 && h.depth <= DDPERF_MAX_DEPTH);
		ddperf_hello_put(out, &h);
		must(ddperf_hello_get(out, DDPERF_HELLO_LEN, &h2) == 0 && h2.to == h.to &&
		     h2.client == h.client && h2.credits == h.credits && h2.flags == h.flags);
	}
	if (ddperf_answer_get(p, len, &a) == 0) {
		ddperf_answer_put(out, &a);
		must(ddperf_answer_get(out, DDPERF_ANSWER_LEN, &a2) == 0 && a2.to == a.to &&
		     a2.credits == a.credits && a.credits > 0);
	}
	if (ddperf_go_get(p, len, &go) == 0) {
		ddperf_go_put(out, &go);
		must(!memcmp(out, p, DDPERF_GO_LEN));
	}
	if (ddperf_done_get(p, len, &done) == 0) {
		ddperf_done_put(out, &done);
		must(!memcmp(out + 8, p + 8, DDPERF_DONE_LEN - 8));
	}
}

static void read_ping(const uint8_t *p, size_t len)
{
	struct ddping_rec rec;
	uint8_t out[DDPING_REC_LEN];
	uint32_t size;

	if (ddping_hello_get(p, len, &size) == 0) {
		must(size > 0 && size <= DDPING_MAX_SIZE);
		ddping_hello_put(out, size);
		must(!memcmp(out + 8, p + 8, 4));
	}
	if (ddping_rec_get(p, len, DDPING_PING, &rec) == 0 ||
	    ddping_rec_get(p, len, DDPING_PONG, &rec) == 0) {
		ddping_rec_put(out, &rec);
		must(!memcmp(out, p, sizeof(out)));
	}
}

/* ---- libraries ---- */

static void read_easy(const uint8_t *p, size_t len)
{
	struct easy_hello h, again;
	uint8_t out[EASY_HELLO_SIZE];
	const char *why = easy_hello_get(p, len, &h);

	if (why) {
		must(*why);
		return;
	}
	must(h.messages > 0 && h.messages <= EASY_MESSAGES_MAX && h.message_bytes > 0 &&
	     h.addr + h.length >= h.addr);
	easy_hello_put(out, &h);
	must(!easy_hello_get(out, sizeof(out), &again) && again.addr == h.addr &&
	     again.length == h.length && again.rkey == h.rkey && again.access == h.access);
}

static void read_private(const uint8_t *p, size_t len)
{
	struct cm_private_data made;
	size_t n = len;

	if (cm_private_take(CM_PRIVATE_REQUEST, p, &n))
		must(n + CM_PRIVATE_TAIL == len);
	n = len < CM_PRIVATE_MAX ? len : CM_PRIVATE_MAX;
	cm_private_make(&made, CM_PRIVATE_REPLY, p, n);
	len = made.len;
	must(!cm_private_take(CM_PRIVATE_REQUEST, made.bytes, &len) && len == made.len);
	must(cm_private_take(CM_PRIVATE_REPLY, made.bytes, &len) && len == n);
}

/* Text of the peer, for the terminal. */
static void read_text(const uint8_t *p, size_t len)
{
	char out[64];

	message_sanitize(out, sizeof(out), p, len);
	for (const char *c = out; *c; c++)
		must(*c >= 0x20 && *c < 0x7f);
	must(strlen(out) <= len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const read[])(const uint8_t *p, size_t len) = {
		read_rec,  read_copy_hello, read_names,   read_window, read_perf,
		read_ping, read_easy,       read_private, read_text,
	};

	if (size > 0)
		read[data[0] % (sizeof(read) / sizeof(read[0]))](data + 1, size - 1);
	return 0;
}
