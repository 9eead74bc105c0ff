/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One node, and a peer that the test plays message by message. The node has accepted a
 * session; the peer's segments begin at DDP-SSN 1, the node's next message has 1 as well.
 * The functions fake_expect_...() are Criterion assertions about the node.
 */
#ifndef TESTS_LIB_FAKE_H
#define TESTS_LIB_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/pair.h"

enum {
	FAKE_SID = 2,
	FAKE_STAG = 0x12345678,
	FAKE_BASE = 0x4000, /* TO of the region's first byte */
	FAKE_MEM = 4096,
	FAKE_ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ | STAG_REMOTE_ATOMIC,
};

struct fake {
	struct pair_node node;
	struct pair_qp *qp;
	uint8_t *mem; /* the region FAKE_STAG, all rights, no scope */
};

extern struct fake fake;

void fake_setup(void);
void fake_teardown(void);

/* The same with an endpoint of another kind: from cfg, which also has its queues' depths. */
void fake_setup_as(const struct rdmap_cfg *cfg);

/* ---- messages of the peer ---- */

/* A header with L set, versions 1, everything else 0. */
struct wire_ddp fake_header(uint8_t opcode);

struct pair_msg fake_send(uint16_t ssn, uint32_t msn, uint32_t mo, bool last, const char *text);
struct pair_msg fake_write(uint16_t ssn, uint64_t to, const char *text);
struct pair_msg fake_read(uint16_t ssn, uint32_t msn, uint32_t src, uint64_t to, uint32_t size);
struct pair_msg fake_response(uint16_t ssn, uint32_t stag, uint64_t to, bool last,
			      const char *text);

/* The RDMAP message, and the one that ends the session. */
struct pair_msg fake_rdmap_terminate(uint16_t ssn, const void *body, uint32_t len);
struct pair_msg fake_end(uint16_t ssn);

void fake_push(struct pair_msg m);

/* A golden message, with another DDP-SSN. */
void fake_push_vector(const char *id, uint16_t ssn);

/* ---- actions of the node ---- */

/* Posts receives with cookies from 0 on; their buffers follow each other in the region. */
void fake_post_recvs(unsigned count, uint32_t len);

/* Posts a Read into the region and removes its request from the wire. */
void fake_post_read(uint64_t cookie, uint64_t off, uint32_t len);

void fake_expect_done(uint64_t cookie, enum rdmap_status status, uint32_t len);
void fake_expect_none(void);

/* No message is sent. */
void fake_expect_nothing_sent(void);

/* Expects a session Terminate, as the last message. */
void fake_expect_end(uint16_t ssn);

/* Both Terminates are sent, with consecutive numbers. Returns the contents of the first one. */
struct wire_term fake_expect_terminate(enum perr perr);

/* The same, and the first one is the golden message except for its DDP-SSN. */
void fake_expect_vector(const char *id, uint16_t ssn);

void fake_expect_closed(enum assoc_reason reason, enum perr perr);
void fake_expect_open(void);

#endif
