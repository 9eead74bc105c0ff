/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the tests of the transport `kernel`. They run in user-mode Linux as root of a network
 * namespace of their own, as plain programs: the first check that fails ends the program. Both ends
 * of an association are in it: two transports, or one and a raw socket of libsctp.
 */
#ifndef TESTS_KERNEL_RIG_H
#define TESTS_KERNEL_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "llp/kernel/kernel.h"
#include "llp/common/llp.h"
#include "tests/lib/patience.h"

enum {
	RIG_PORT = 5043,
	RIG_WAIT_MS = PATIENCE_MS, /* a test that waits longer has failed */
	RIG_PPID = 16,
	RIG_MAX_SEEDS = 1 << 14,
};

#define CHECK(cond) rig_check((cond), __FILE__, __LINE__, #cond)
void rig_check(bool ok, const char *file, int line, const char *cond);

/* What the upcalls of one association reported, and how it behaves. */
struct rig_side {
	struct llp_conn *c;
	unsigned incoming, up, down, acked, writable, paths;
	int err;
	char reason[256];
	unsigned msgs;
	uint64_t bytes;
	struct llp_msg last; /* its bytes are in `data` */
	char path_log[4096]; /* one line per path event */
	bool refuse;         /* incoming() returns NULL */
	bool stopped;        /* does not read */
	unsigned takes;      /* messages taken per upcall; 0: all */
	bool numbered; /* all messages are from rig_send(), with seeds that count from 0 ... */
	bool shuffled; /* ... or arrive in any order, none twice */
	bool seen[RIG_MAX_SEEDS]; /* which of these arrived */
	uint8_t data[1 << 17];
};

/* A transport at these addresses, separated by blanks. fn may change the configuration; NULL. */
struct llp *rig_open(const char *addrs, void (*fn)(struct llp_config *cfg));
void rig_close_all(void);
void rig_address(const char *text, uint16_t port, struct sockaddr_storage *ret);

/* One turn of all transports. True if anything happened. */
bool rig_turn(void);
/* Turns until *counter is at least `want`; fails the test after RIG_WAIT_MS. */
void rig_until(const unsigned *counter, unsigned want);
/* Turns until there is no more work. */
void rig_settle(void);

/* Listens at an address, or at all (NULL); a side gets the associations. */
struct llp_listener *rig_listen(struct llp *t, const char *at, struct rig_side *s);
/* Begins an association and waits for up() or down(). */
void rig_connect(struct llp *t, const char *to, struct rig_side *s);
/* The same from a to the listening side b, until both are up. */
void rig_pair(struct llp *t, struct rig_side *a, const char *to, struct rig_side *b);

/* Sends n bytes of the pattern `seed`; an LLP_E_ value or -errno. */
int rig_send(struct rig_side *s, uint16_t sid, uint32_t n, uint32_t seed);
int rig_send_urgent(struct rig_side *s, uint32_t n, uint32_t seed);
/* Turns until there is room for it. */
void rig_send_all(struct rig_side *s, uint16_t sid, uint32_t n, uint32_t seed);
void rig_fill(uint8_t *p, uint32_t n, uint32_t seed);
/* True if the last message that came is n bytes of the pattern. */
bool rig_last_is(const struct rig_side *s, uint32_t n, uint32_t seed);

/* A blocking socket of libsctp, SOCK_STREAM or SOCK_SEQPACKET, bound to an address, with an
 * adaptation indication unless that is 0. Its calls fail after RIG_WAIT_MS. */
int rig_raw(const char *local, uint16_t port, int type, uint32_t adaptation);
/* The same, connected to a transport that listens. */
int rig_raw_connect(const char *local, uint16_t port, const char *to, uint32_t adaptation);

/* Has the shell run a command, which must succeed. */
void rig_shell(const char *command);

#endif
