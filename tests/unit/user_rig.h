/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the tests of the transport `user`. There is one usrsctp per process, so the other side
 * of an association is a forked child: the transport, or a raw usrsctp that computes checksums with
 * its own code and does not follow our rules.
 */
#ifndef TESTS_UNIT_USER_RIG_H
#define TESTS_UNIT_USER_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "llp/llp.h"

enum {
	RIG_SCTP_PORT = 5043,
	RIG_WAIT_MS = 20000, /* a test that waits longer has failed */
};

/* What the upcalls of one association reported. */
struct rig_conn {
	struct llp_conn *c;
	unsigned incoming, up, down, acked, writable;
	int err;
	char reason[256];
	unsigned msgs;
	uint64_t bytes;
	struct llp_msg last; /* of the last message; its bytes are in `data` */
	uint8_t data[1 << 17];
	bool echo;    /* send messages back */
	bool refuse;  /* incoming() returns NULL */
	bool stopped; /* do not read */
};

/* ---- the transport ---- */

/* A UDP port that is free on 127.0.0.1, .2, .3 and ::1. */
uint16_t rig_free_port(void);

void rig_address(const char *text, uint16_t port, struct sockaddr_storage *ret);

/* The usual configuration; `a` gets the address. */
struct llp_config rig_config(const char *text, uint16_t udp_port, struct sockaddr_storage *a);

/* Opens the process's transport, or fails the test. */
struct llp *rig_open(const struct llp_config *cfg);

/* One turn of the loop, sleeping until there is something to do. */
void rig_turn(struct llp *t);

/* Turns until *counter is at least `want`; fails the test after RIG_WAIT_MS. */
void rig_until(struct llp *t, const unsigned *counter, unsigned want);

/* Begins an association with RIG_SCTP_PORT at an address and waits for up() or down(). */
void rig_connect(struct llp *t, const char *to, struct rig_conn *rc);

/* Sends n bytes of the pattern `seed`, turning until there is room. */
void rig_send(struct llp *t, struct rig_conn *rc, uint16_t sid, uint32_t n, uint8_t seed);

/* True if the last message that came is n bytes of the pattern. */
bool rig_last_is(const struct rig_conn *rc, uint32_t n, uint8_t seed);

/* ---- a child ---- */

struct rig_child {
	pid_t pid;
	int fd; /* what the child writes */
};

/* Runs fn(arg, fd) in a child and waits for the first byte that it writes to fd. */
struct rig_child rig_fork(void (*fn)(void *arg, int fd), void *arg);

/* Waits for the child; its exit status. */
int rig_wait(struct rig_child *ch);
void rig_kill(struct rig_child *ch);

/* True until it has ended. */
bool rig_running(const struct rig_child *ch);

/* A child with the transport at 127.0.0.2 that echoes until its association ends. */
struct rig_child rig_echo_server(uint16_t udp_port);

/* The same, but rig_restart() kills it and starts another one in its place. */
struct rig_child rig_restartable_server(uint16_t udp_port);
void rig_restart(struct rig_child *ch);

/* ---- a raw peer ---- */

struct rig_raw {
	uint16_t udp_port;
	const char *local, *remote;
	int adaptation;    /* negative: none */
	bool connects;     /* else it listens */
	uint32_t send_len; /* length of one message that it sends when up; 0 = none */
	bool wants_abort;  /* exit status 0 only if the other side aborts */
};

/* A child with a raw usrsctp. */
struct rig_child rig_raw_peer(struct rig_raw *raw);

#endif
