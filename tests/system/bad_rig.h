/* SPDX-License-Identifier: BSD-2-Clause */
/* Common functions of the tests of malformed records: a connection, and requests that succeed. */
#ifndef TESTS_SYSTEM_BAD_RIG_H
#define TESTS_SYSTEM_BAD_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/msg.h"
#include "ipc/ring.h"

struct bad {
	const char *path;
	int fd;
	_Alignas(8) unsigned char rec[MSG_MAX];
	size_t len;
	int fds[MSG_MAX_FDS];
	unsigned nfds;
	/* after hello() */
	int event_fd, bell;
	struct bell_page *page;
};

/* Ends the test. */
void die(const char *what) __attribute__((noreturn));

/* Connects. */
int attach(const char *path);

/* Closes the descriptors of the last reply. */
void drop_fds(struct bad *b);

/* Sends a record unchanged. */
void put(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds);

/* The reply; false if the connection is closed. */
bool get(struct bad *b);

/* A request that must succeed. Its reply, until the next one. */
const void *call(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds);

/* Sends the hello. */
void hello(struct bad *b);

/* Makes an object. Returns its handle. */
uint32_t make_pd(struct bad *b);
uint32_t make_cq(struct bad *b);
uint32_t make_srq(struct bad *b, uint32_t pd);
uint32_t make_mw(struct bad *b, uint32_t pd, uint32_t type);

/* A region of one page at iova 0x10000. Returns its handle. */
uint32_t make_mr(struct bad *b, uint32_t pd, uint32_t access);

/* A queue pair and its send ring. */
struct msg_qp make_qp(struct bad *b, struct ring *ret_sq);

/* A memfd that is not sealed. */
int make_memfd(off_t size);

/* True if the connection still answers. */
bool client_works(struct bad *by);

/* Prints the result of a case. */
bool check(const char *name, bool ok);

/* Requests that are refused and end no client (bad_refused.c). Returns how many cases failed. */
unsigned run_refusals(struct bad *b);

#endif
