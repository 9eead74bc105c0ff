/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends invalid records to a running daemon. Promise: that client gets a reason and is
 * disconnected, another client is not affected, and invalid single requests end no client.
 *
 *   bad_client SOCKET      exit status 0 if every case held
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ipc/local_protocol.h"
#include "tests/lib/patience.h"
#include "tests/system/bad_rig.h"

/* ---- cases: each on a new connection ---- */

static void no_hello(struct bad *b)
{
	struct msg_hdr m = {MSG_ALLOC_PD, 1};

	put(b, &m, sizeof(m), NULL, 0);
}

static void wrong_version(struct bad *b)
{
	struct msg_hello m = {.hdr = {MSG_HELLO, 1}, .major = 99};

	put(b, &m, sizeof(m), NULL, 0);
}

static void unknown_opcode(struct bad *b)
{
	struct msg_hdr m = {77, 1};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void opcode_zero(struct bad *b)
{
	struct msg_hdr m = {0, 1};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void too_short(struct bad *b)
{
	struct msg_create_cq m = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 16};

	hello(b);
	put(b, &m, sizeof(m) - 1, NULL, 0);
}

static void too_long(struct bad *b)
{
	struct msg_hdr m[2] = {{MSG_ALLOC_PD, 1}, {0, 0}};

	hello(b);
	put(b, m, sizeof(m), NULL, 0);
}

static void one_byte(struct bad *b)
{
	hello(b);
	put(b, "x", 1, NULL, 0);
}

static void beyond_any_record(struct bad *b)
{
	static const unsigned char big[MSG_MAX + 1];

	hello(b);
	put(b, big, sizeof(big), NULL, 0);
}

static void fd_missing(struct bad *b)
{
	struct msg_reg_mr m = {.hdr = {MSG_REG_MR, 1}, .len = 4096};

	hello(b);
	m.pd = make_pd(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void fd_too_many(struct bad *b)
{
	struct msg_hdr m = {MSG_ALLOC_PD, 1};
	int fd = 0;

	hello(b);
	put(b, &m, sizeof(m), &fd, 1);
}

static void foreign_handle(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_DEALLOC_PD, 1}, .handle = 0x00050001};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void stale_handle(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_DEALLOC_PD, 1}};

	hello(b);
	m.handle = make_pd(b);
	call(b, &m, sizeof(m), NULL, 0);
	put(b, &m, sizeof(m), NULL, 0);
}

static void hello_twice(struct bad *b)
{
	struct msg_hello m = {.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void private_data_too_long(struct bad *b)
{
	struct msg_connect m = {.hdr = {MSG_CONNECT, 1}, .private_len = 513};
	struct ring sq;

	hello(b);
	m.qp = make_qp(b, &sq).handle;
	m.npeers = 1;
	m.peers[0].family = AF_INET;
	put(b, &m, sizeof(m), NULL, 0);
}

static void srq_without_domain(struct bad *b)
{
	struct msg_create_srq m = {.hdr = {MSG_CREATE_SRQ, 1}, .entries = 16, .max_sge = 1};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void modify_no_srq(struct bad *b)
{
	struct msg_modify_srq m = {.hdr = {MSG_MODIFY_SRQ, 1}, .what = MSG_SRQ_LIMIT};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void stale_srq(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_DESTROY_SRQ, 1}};

	hello(b);
	m.handle = make_srq(b, make_pd(b));
	call(b, &m, sizeof(m), NULL, 0);
	m.hdr.op = MSG_QUERY_SRQ;
	put(b, &m, sizeof(m), NULL, 0);
}

static void qp_with_no_srq(struct bad *b)
{
	struct msg_create_qp m = {.hdr = {MSG_CREATE_QP, 1}, .sq_entries = 16, .srq = 0x00070001};

	hello(b);
	m.pd = make_pd(b);
	m.send_cq = m.recv_cq = make_cq(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void window_without_domain(struct bad *b)
{
	struct msg_alloc_mw m = {.hdr = {MSG_ALLOC_MW, 1}, .type = MSG_MW_TYPE_1};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void bind_to_nothing_known(struct bad *b)
{
	struct msg_bind_mw m = {.hdr = {MSG_BIND_MW, 1}, .mr = 0x00030004, .len = 1};

	hello(b);
	m.mw = make_mw(b, make_pd(b), MSG_MW_TYPE_1);
	put(b, &m, sizeof(m), NULL, 0);
}

static void query_another_kind(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_QUERY_MW, 1}};

	hello(b);
	m.handle = make_mr(b, make_pd(b), 0);
	put(b, &m, sizeof(m), NULL, 0);
}

static void rereg_without_memory(struct bad *b)
{
	struct msg_rereg_mr m = {
		.hdr = {MSG_REREG_MR, 1}, .what = MSG_REREG_TRANSLATION, .len = 4096};

	hello(b);
	m.mr = make_mr(b, make_pd(b), 0);
	put(b, &m, sizeof(m), NULL, 0);
}

static void remap_of_rights(struct bad *b)
{
	struct msg_rereg_mr m = {.hdr = {MSG_REMAP_MR, 1}, .what = MSG_REREG_ACCESS};
	int fd = make_memfd(4096);

	hello(b);
	m.mr = make_mr(b, make_pd(b), 0);
	put(b, &m, sizeof(m), &fd, 1);
	close(fd);
}

static void remap_without_descriptor(struct bad *b)
{
	struct msg_rereg_mr m = {.hdr = {MSG_REMAP_MR, 1}, .what = MSG_REREG_TRANSLATION};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void rereg_to_no_domain(struct bad *b)
{
	struct msg_rereg_mr m = {.hdr = {MSG_REREG_MR, 1}, .what = MSG_REREG_PD, .pd = 0x99};

	hello(b);
	m.mr = make_mr(b, make_pd(b), 0);
	put(b, &m, sizeof(m), NULL, 0);
}

static void primary_of_no_qp(struct bad *b)
{
	struct msg_set_primary m = {.hdr = {MSG_SET_PRIMARY, 1}, .qp = 0x00070001};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void paths_of_no_qp(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_QUERY_PATHS, 1}};

	hello(b);
	m.handle = make_cq(b) + 0x10000;
	put(b, &m, sizeof(m), NULL, 0);
}

static void paths_with_descriptor(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_QUERY_PATHS, 1}};
	int fd = 0;

	hello(b);
	put(b, &m, sizeof(m), &fd, 1);
}

static void nine_addresses(struct bad *b)
{
	struct msg_connect m = {.hdr = {MSG_CONNECT, 1}, .npeers = MSG_MAX_ADDRS + 1};
	struct ring sq;

	hello(b);
	m.qp = make_qp(b, &sq).handle;
	put(b, &m, sizeof(m), NULL, 0);
}

static void longer_than_ipv4(struct bad *b)
{
	struct msg_listen m = {.hdr = {MSG_LISTEN, 1}, .port = 1, .naddrs = 1};

	hello(b);
	m.addrs[0] = (struct msg_addr){.family = AF_INET, .port = 1, .bytes = {[4] = 1}};
	put(b, &m, sizeof(m), NULL, 0);
}

static void no_key(struct bad *b)
{
	struct msg_listen_key m = {.listen = {.hdr = {MSG_LISTEN_KEY, 1}, .port = 1}};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static const struct {
	const char *name;
	void (*act)(struct bad *b);
	const char *words; /* of the reason */
} fatal[] = {
	{"a listener with key 0", no_key, "service key 0"},
	{"a request before hello", no_hello, "sent before hello"},
	{"another version", wrong_version, "version 99.0"},
	{"an unknown opcode", unknown_opcode, "unknown record type 77"},
	{"opcode 0", opcode_zero, "unknown record type 0"},
	{"a record too short", too_short, "bytes"},
	{"a record too long", too_long, "bytes"},
	{"a record of one byte", one_byte, "unknown record type"},
	{"a record beyond every limit", beyond_any_record, "a record of more than"},
	{"a descriptor missing", fd_missing, "0 descriptors, expected 1"},
	{"a descriptor too many", fd_too_many, "1 descriptors, expected 0"},
	{"a foreign handle", foreign_handle, "unknown handle"},
	{"a stale handle", stale_handle, "unknown handle"},
	{"hello twice", hello_twice, "sent twice"},
	{"513 bytes of private data", private_data_too_long, "513 bytes"},
	{"a shared queue without a domain", srq_without_domain,
	 "protection domain 0x0: unknown handle"},
	{"modify of no shared queue", modify_no_srq, "shared receive queue 0x0: unknown handle"},
	{"a stale shared queue", stale_srq, "unknown handle"},
	{"a queue pair with no such shared queue", qp_with_no_srq, "shared receive queue 0x70001"},
	{"a window without a domain", window_without_domain,
	 "protection domain 0x0: unknown handle"},
	{"a bind to no region", bind_to_nothing_known, "memory region 0x30004"},
	{"a window's query with a region's handle", query_another_kind, "unknown handle"},
	{"new memory without a descriptor", rereg_without_memory, "rereg 0x1 with 0 descriptors"},
	{"a descriptor for new rights", remap_of_rights, "rereg 0x4 with 1 descriptors"},
	{"remap without a descriptor", remap_without_descriptor, "0 descriptors, expected 1"},
	{"a primary path of no queue pair", primary_of_no_qp, "queue pair 0x70001: unknown handle"},
	{"paths of no queue pair", paths_of_no_qp, "unknown handle"},
	{"paths with a descriptor", paths_with_descriptor, "1 descriptors, expected 0"},
	{"nine addresses of the peer", nine_addresses, "9 addresses: at most 8"},
	{"an IPv4 address of five bytes", longer_than_ipv4, "longer than an IPv4 address"},
	{"rereg to no domain", rereg_to_no_domain, "protection domain 0x99: unknown handle"},
};

static bool ended_with(struct bad *b, const char *words)
{
	const struct msg_error *e = (const void *)b->rec;

	if (!get(b) || b->len != sizeof(*e) || e->hdr.op != MSG_ERROR || !e->fatal)
		return false;
	if (!strstr(e->reason, words)) {
		fprintf(stderr, "bad_client: the reason was: %s\n", e->reason);
		return false;
	}
	return !get(b);
}

static unsigned run_fatal(const char *path, struct bad *by)
{
	unsigned failed = 0;

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		struct bad b = {.path = path, .fd = attach(path)};
		bool ok;

		fatal[i].act(&b);
		ok = ended_with(&b, fatal[i].words) && client_works(by);
		printf("%s %s\n", ok ? "ok  " : "FAIL", fatal[i].name);
		failed += !ok;
		drop_fds(&b);
		close(b.fd);
	}
	return failed;
}

/* A record of 9 bytes fits no request. */
static unsigned run_sizes(const char *path, struct bad *by)
{
	unsigned failed = 0;

	for (uint32_t op = MSG_QUERY; op < MSG_OP_COUNT; op++) {
		struct bad b = {.path = path, .fd = attach(path)};
		struct msg_hdr m[2] = {{op, 1}, {0, 0}};
		bool ok;

		hello(&b);
		put(&b, m, sizeof(m[0]) + 1, NULL, 0);
		ok = ended_with(&b, "9 bytes") && client_works(by);
		printf("%s %s of 9 bytes\n", ok ? "ok  " : "FAIL", msg_op_str(op));
		failed += !ok;
		drop_fds(&b);
		close(b.fd);
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct bad by = {0};
	unsigned failed;

	if (argc != 2) {
		fprintf(stderr, "usage: bad_client SOCKET\n");
		return 2;
	}
	alarm(LIFE_S);
	by.fd = attach(argv[1]);
	hello(&by);
	failed = run_fatal(argv[1], &by);
	failed += run_sizes(argv[1], &by);
	failed += run_refusals(&by);
	failed += !check("the client still works after all that", client_works(&by));
	printf("%u failed\n", failed);
	return failed ? 1 : 0;
}
