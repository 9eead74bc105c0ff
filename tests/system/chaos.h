/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile client of a daemon: it draws requests, entries of rings, bytes of shared memory and
 * descriptors at random, most of them almost right, so that they get far. Nothing is checked here:
 * whatever it does, the daemon and the clients of other users must live.
 */
#ifndef TESTS_SYSTEM_CHAOS_H
#define TESTS_SYSTEM_CHAOS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

/* Objects that have handles. */
enum chaos_kind {
	CHAOS_PD,
	CHAOS_MR,
	CHAOS_MW,
	CHAOS_CQ,
	CHAOS_QP,
	CHAOS_SRQ,
	CHAOS_AH,
	CHAOS_LISTENER,
	CHAOS_REQUEST,
	CHAOS_KINDS,
};

enum {
	CHAOS_HELD = 16,  /* handles of a kind that it remembers */
	CHAOS_AREAS = 48, /* pieces of memory that it shares with the daemon */
	CHAOS_STAGS = 256,
	CHAOS_FDS = 6, /* kinds of descriptors that it sends */
	CHAOS_PORT = 5000,
	CHAOS_PORTS = 4,
	CHAOS_IOVA = 0x10000,
	CHAOS_MEMORY = 1 << 16, /* bytes of the memfd that it registers */
};

/* Of all hostile programs together, in shared memory. */
struct chaos_shared {
	_Atomic uint64_t sent[MSG_OP_COUNT], done[MSG_OP_COUNT];
	_Atomic uint64_t events, posts;
	_Atomic uint32_t stags[CHAOS_STAGS], nstags; /* keys of their regions and windows,
							   and numbers of queue pairs */
};

/* A ring, if entry is not 0: it belongs to the queue pair in that slot. */
struct chaos_area {
	uint8_t *p;
	size_t len;
	uint32_t entry, entries, slot;
	bool sends;
};

struct chaos {
	struct chaos_shared *shared;
	const char *path;              /* of the daemon's socket */
	const struct msg_addr *daemon; /* the addresses of both daemons, without ports */
	uint64_t random;
	bool admin; /* it has the rights of an administrator: it must not harm the others by them */
	int fd, event_fd, bell; /* -1: none */
	struct bell_page *page;
	uint32_t id; /* as the daemon counts clients */
	uint32_t held[CHAOS_KINDS][CHAOS_HELD], nheld[CHAOS_KINDS];
	bool lacking;       /* the record that it draws needs an object which it does not have */
	uint32_t follows;   /* the next request, or 0: drawn */
	uint32_t requested; /* the first number after the header of its last request */
	struct chaos_area area[CHAOS_AREAS];
	_Atomic unsigned nareas; /* its threads read it */
	int fds[CHAOS_FDS];
};

/* A number below n, which is not 0. */
uint32_t chaos_below(struct chaos *c, uint32_t n);

/* True once in n times. */
bool chaos_once_in(struct chaos *c, uint32_t n);

/* A handle of the kind: one that it got, or, rarely, any number. */
uint32_t chaos_handle(struct chaos *c, enum chaos_kind kind);
void chaos_hold(struct chaos *c, enum chaos_kind kind, uint32_t handle);
void chaos_forget(struct chaos *c, enum chaos_kind kind, uint32_t handle);

/* A key of some hostile program, or any number. */
uint32_t chaos_stag(struct chaos *c);

/* Draws a request into rec, which has MSG_MAX bytes. Its length, and descriptors. */
size_t chaos_record(struct chaos *c, void *rec, int *fds, unsigned *ret_nfds);

/* The request with that opcode, as it should be. */
size_t chaos_record_of(struct chaos *c, uint32_t op, void *rec, int *fds, unsigned *ret_nfds);

/* The kind of object that a request makes or ends when it succeeds, or CHAOS_KINDS. */
enum chaos_kind chaos_record_makes(uint32_t op);
enum chaos_kind chaos_record_ends(uint32_t op);

/* Sends a request and takes what the reply brings. False: the connection is over. */
bool chaos_call(struct chaos *c, uint32_t op);

/* Is a client until the daemon ends it, or it has done so many steps. */
void chaos_run(struct chaos *c, unsigned steps);

#endif
