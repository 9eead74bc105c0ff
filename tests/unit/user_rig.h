/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the tests of the transport `user`. The other side of an association is another
 * transport of this process; a child with the transport, which can be killed; or the program
 * usrsctp_peer, which does not follow our rules.
 */
#ifndef TESTS_UNIT_USER_RIG_H
#define TESTS_UNIT_USER_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "llp/common/llp.h"
#include "tests/lib/patience.h"

enum {
	RIG_SCTP_PORT = 5043,
	RIG_WAIT_MS = PATIENCE_MS, /* a test that waits longer has failed */
	RIG_TRANSPORTS = 4,
	RIG_PATH_EVENTS = 32,
};

/* What the upcalls of one association reported. */
struct rig_conn {
	struct llp_conn *c;
	unsigned incoming, up, down, acked, writable, resized;
	int err;
	char reason[256];
	unsigned msgs;
	uint64_t bytes;
	struct llp_msg last; /* of the last message; its bytes are in `data` */
	uint8_t data[1 << 17];
	bool echo;   /* send messages back */
	bool refuse; /* incoming() returns NULL */
	unsigned npaths;
	char path[RIG_PATH_EVENTS][128]; /* "ADDRESS what happened" */
};

/* ---- the transports ---- */

/* A UDP port that is free on 127.0.0.1, .2, .3 and ::1. */
uint16_t rig_free_port(void);

void rig_address(const char *text, uint16_t port, struct sockaddr_storage *ret);

/* The usual configuration; `a` gets the address. */
struct llp_config rig_config(const char *text, uint16_t udp_port, struct sockaddr_storage *a);

/* Opens a transport, or fails the test. */
struct llp *rig_open(const struct llp_config *cfg);
struct llp *rig_close(struct llp *t);

/* Until rig_resume() the transport has no turns: its host seems dead. */
void rig_pause(const struct llp *t);
void rig_resume(struct llp *t);

/* Stops the clock of all transports; it goes on later, with so much time passed. Of the functions
 * below only rig_turn() is for the time between. */
void rig_hold_clock(void);
void rig_release_clock(uint64_t passed_us);

/* One turn of all transports, sleeping until there is something to do. */
void rig_turn(void);

/* A turn of one transport as the daemon has them, without a sleep: timers, input, output. */
void rig_turn_of(struct llp *t);

/* Timers and output of one transport, which reads nothing, until it has sent `want` packets in all;
 * fails the test if it has to send data again before. Its pacer may hold packets for a moment, as
 * round trips are longer where others use the processor. The time that passes is the test's. */
void rig_until_sent(struct llp *t, uint64_t want);

/* Turns until *counter is at least `want`; fails the test after RIG_WAIT_MS. */
void rig_until(const unsigned *counter, unsigned want);

/* Begins an association with RIG_SCTP_PORT at an address and waits for up() or down(). */
void rig_connect(struct llp *t, const char *to, struct rig_conn *rc);
/* The same with several addresses. */
void rig_connect_at(struct llp *t, const struct llp_addrs *to, const struct llp_addrs *from,
		    struct rig_conn *rc);

/* Turns until n bytes are the longest message: the path MTU was found. */
void rig_until_max(struct rig_conn *rc, uint32_t n);

/* Sends n bytes of the pattern `seed`, turning until there is room. */
void rig_send(struct rig_conn *rc, uint16_t sid, uint32_t n, uint8_t seed);

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

/* The program usrsctp_peer. */
struct rig_child rig_raw_peer(struct rig_raw *raw);

#endif
