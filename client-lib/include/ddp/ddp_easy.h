/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages, and reads and writes of a peer's memory, for programs that need no more than that. An
 * object is one connection or one listener. ddp_easy(3) is the manual.
 *
 * Results: calls return 0 or more, or a negative errno value; ddp_easy_error() then returns a
 * sentence.
 *
 * Time-outs: in milliseconds. -1: no limit. 0: the call does not wait. After the time-out a call
 * returns -ETIMEDOUT: it had no effect; or -EINPROGRESS: the work has started and continues, and
 * ddp_easy_wait() waits for it.
 *
 * Threads: one thread at a time uses an object. The connections of a listener, and the listener,
 * may be used by different threads.
 */
#ifndef DDP_DDP_EASY_H
#define DDP_DDP_EASY_H

#include <ddp/ddp.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ddp_easy; /* a connection or a listener */

/* The two programs may set different values. The smaller message_bytes applies to a connection. */
struct ddp_easy_attr {
	size_t struct_size;
	const char *socket;     /* of the daemon, as in struct ddp_open_attr */
	uint32_t message_bytes; /* length of the longest message; 0: 16384; at most 16 MiB */
	uint32_t messages;      /* messages that the peer may send ahead; 0: 64; at most 4096 */
	unsigned listen_flags;  /* of a listener: set of DDP_LISTEN_ */
};

/* Opens an object for ddp_easy_connect() or ddp_easy_listen(). attr may be NULL. Errors: those of
 * ddp_open(). */
int ddp_easy_open(const struct ddp_easy_attr *attr, struct ddp_easy **ret);

/* Waits until all messages have left, ends the connection in order, and frees the object in any
 * case. Memory that other connections of the listener use stays. e may be NULL. -ETIMEDOUT:
 * messages may be lost. */
int ddp_easy_close(struct ddp_easy *e, int timeout_ms);

/* Returns a sentence about the last failure with this object, valid until the next call with it; ""
 * if there was none, never NULL. e NULL: that of ddp_easy_open() in this thread. */
const char *ddp_easy_error(const struct ddp_easy *e);

/* ---- memory ---- */

/* Allocates zeroed memory for ddp_easy_write(), ddp_easy_read() and ddp_easy_offer(). A listener
 * and its connections share their memory, which is freed with the last of them. */
int ddp_easy_alloc(struct ddp_easy *e, size_t length, void **ret);

/* Registers memory of the program for the same purposes. memfd -1: memory of any kind, see
 * ddp_reg_mr(); else addr maps this memfd from its beginning, see ddp_reg_memfd(). The program
 * frees the memory after the last close. */
int ddp_easy_register(struct ddp_easy *e, void *addr, size_t length, int memfd);

/* Frees or deregisters the memory that begins at this address, and ends its offers. -ENOENT: no
 * memory of ddp_easy_alloc() or ddp_easy_register() begins there. */
int ddp_easy_free(struct ddp_easy *e, void *addr);

/* Offers this part of the memory to the peer: call it before ddp_easy_connect(), or on a listener
 * for the connections that ddp_easy_accept() takes later. access: DDP_ACCESS_REMOTE_READ,
 * DDP_ACCESS_REMOTE_WRITE or both. The offer lasts until the memory is freed. addr NULL: later
 * connections have no offer. */
int ddp_easy_offer(struct ddp_easy *e, void *addr, size_t length, unsigned access);

/* Returns length and access of the peer's offer; length 0: the peer offers no memory. access may be
 * NULL. -ENOTCONN: the object is not connected. */
int ddp_easy_offered(struct ddp_easy *e, uint64_t *length, unsigned *access);

/* ---- connections ---- */

/* Connects. node: a host name or an address. -EINPROGRESS: always with time-out 0. After any other
 * failure the object can only be closed. -ECONNREFUSED; -EHOSTUNREACH; -EPROTO: the peer does not
 * use these calls. */
int ddp_easy_connect(struct ddp_easy *e, const char *node, uint16_t port, int timeout_ms);

/* Listens at an address of the daemon, or at all: address NULL. port 0: a free one. Returns the
 * port. */
int ddp_easy_listen(struct ddp_easy *e, const char *address, uint16_t port);

/* Takes the next connection, which has the attributes of the listener. A failure does not change
 * the listener. When the daemon ends, its connections end; the listener waits for the next daemon,
 * as for a connection, and listens there, with its memory and its offer. */
int ddp_easy_accept(struct ddp_easy *listener, struct ddp_easy **ret, int timeout_ms);

/* ---- work ---- */

/* Sends one message from any memory, which may be changed after the return. Waits while the peer
 * has no room for it. -EMSGSIZE: it is too long; -ESHUTDOWN: the peer has closed the connection;
 * -ECONNRESET: the connection has failed. */
int ddp_easy_send(struct ddp_easy *e, const void *data, size_t length, int timeout_ms);

/* Takes the next message, and returns its length. -EMSGSIZE: it is longer than `length`, and stays;
 * -ESHUTDOWN: the peer has closed the connection, and all messages were taken. */
ssize_t ddp_easy_recv(struct ddp_easy *e, void *data, size_t length, int timeout_ms);

/* Write registered memory to the memory that the peer offers, from byte `offset` of the offer, and
 * read likewise. Return 0 when the data is there. A message that is sent later arrives after a
 * Write. -EINPROGRESS: started; the memory is in use until ddp_easy_wait() or a later call of these
 * returns 0. -ETIMEDOUT: not started, because 16 others are in progress. -EACCES: the offer does
 * not permit it; -ERANGE: the range passes the end of the offer; -EFAULT: the memory is not
 * registered. */
int ddp_easy_write(struct ddp_easy *e, uint64_t offset, const void *data, size_t length,
		   int timeout_ms);
int ddp_easy_read(struct ddp_easy *e, uint64_t offset, void *data, size_t length, int timeout_ms);

/* Waits until everything that was started is complete: the connection, Writes and Reads.
 * -EINPROGRESS: it is not yet. */
int ddp_easy_wait(struct ddp_easy *e, int timeout_ms);

/* ---- event loops ---- */

/* Returns a descriptor that becomes readable when a call with time-out 0 may have another result.
 * Use it with poll or epoll; do not read it. An established connection has another descriptor than
 * before. */
int ddp_easy_fd(struct ddp_easy *e);

/* Call it after a call with time-out 0 and before you wait for the descriptor. *seen: 0 at first.
 * Returns 0: it is safe to wait; 1: there are new events or completions, try again. */
int ddp_easy_arm(struct ddp_easy *e, uint64_t *seen);

#ifdef __cplusplus
}
#endif

#endif
