/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages, and reads and writes of a peer's memory, for programs that need no more than that. One
 * object is one connection, or one listener. ddp_easy(3) is the manual.
 *
 * Calls return 0 or more, or a negative errno value; ddp_easy_error() then has a sentence.
 *
 * Time-outs are in milliseconds. -1: no limit. 0: the call does not wait. When the time is over, a
 * call returns -ETIMEDOUT, and nothing has happened; or -EINPROGRESS: the work was started and
 * continues, and ddp_easy_wait() waits for it.
 *
 * A thread uses an object at a time. Connections of one listener may be used by a thread each,
 * beside the one that accepts.
 */
#ifndef DDP_DDP_EASY_H
#define DDP_DDP_EASY_H

#include <ddp/ddp.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ddp_easy; /* a connection or a listener */

/* Both programs may set other values. The longest message of a connection is the smaller of both.
 */
struct ddp_easy_attr {
	size_t struct_size;
	const char *socket;     /* of the daemon, as in struct ddp_open_attr */
	uint32_t message_bytes; /* of the longest message; 0: 16384; at most 16 MiB */
	uint32_t messages;      /* that the peer may send ahead; 0: 64; at most 4096 */
};

/* An object for ddp_easy_connect() or ddp_easy_listen(). attr may be NULL. Errors as for
 * ddp_open(). */
int ddp_easy_open(const struct ddp_easy_attr *attr, struct ddp_easy **ret);

/* Waits until what was sent has been handed over, ends the connection in order, and frees the
 * object in any case. -ETIMEDOUT: messages may be lost. Memory that belongs to other connections of
 * the listener stays. NULL is allowed. */
int ddp_easy_close(struct ddp_easy *e, int timeout_ms);

/* A sentence for the last failure with this object; NULL: of ddp_easy_open() in this thread. Valid
 * until the next call with it. "" if there was none, never NULL. */
const char *ddp_easy_error(const struct ddp_easy *e);

/* ---- memory ---- */

/* Memory for ddp_easy_write(), ddp_easy_read() and ddp_easy_offer(), zeroed. A listener and its
 * connections have the same memory, which is freed with the last of them. */
int ddp_easy_alloc(struct ddp_easy *e, size_t length, void **ret);

/* The same for memory of the program. memfd -1: of any kind, see ddp_reg_mr(); else addr maps this
 * memfd from its beginning, see ddp_reg_memfd(). The program frees it after the last close. */
int ddp_easy_register(struct ddp_easy *e, void *addr, size_t length, int memfd);

/* Ends what ddp_easy_alloc() or ddp_easy_register() began at this address, and its offers. -ENOENT:
 * nothing began there. */
int ddp_easy_free(struct ddp_easy *e, void *addr);

/* Lets the peer use this part of the memory: before ddp_easy_connect(), or for all connections
 * that ddp_easy_accept() takes from now on. access: DDP_ACCESS_REMOTE_READ, DDP_ACCESS_REMOTE_WRITE
 * or both. Lasts until the memory is freed. addr NULL: later connections have no offer. */
int ddp_easy_offer(struct ddp_easy *e, void *addr, size_t length, unsigned access);

/* What the peer offers: 0 bytes if nothing. access may be NULL. -ENOTCONN. */
int ddp_easy_offered(struct ddp_easy *e, uint64_t *length, unsigned *access);

/* ---- connections ---- */

/* node: a name or an address. -ECONNREFUSED, -EHOSTUNREACH ...; -EPROTO: the peer does not use
 * these calls. Time-out 0: -EINPROGRESS. After any other failure the object can only be closed. */
int ddp_easy_connect(struct ddp_easy *e, const char *node, uint16_t port, int timeout_ms);

/* address: one of the daemon, or NULL: all. Returns the port, a free one if it was 0. */
int ddp_easy_listen(struct ddp_easy *e, const char *address, uint16_t port);

/* The next connection, with the attributes of the listener. A failure leaves the listener as it
 * is. */
int ddp_easy_accept(struct ddp_easy *listener, struct ddp_easy **ret, int timeout_ms);

/* ---- work ---- */

/* Sends one message from any memory, which may be used again after the return. Waits while the peer
 * has no room for it. -EMSGSIZE; -ESHUTDOWN: the peer has closed; -ECONNRESET: the connection
 * failed. */
int ddp_easy_send(struct ddp_easy *e, const void *data, size_t length, int timeout_ms);

/* Takes the next message, and returns its length. -EMSGSIZE: it is longer, and stays; -ESHUTDOWN:
 * the peer has closed and there are no more. */
ssize_t ddp_easy_recv(struct ddp_easy *e, void *data, size_t length, int timeout_ms);

/* Writes to the offered memory of the peer, from registered memory; 0: it is there. Reads from it
 * likewise. A later message arrives after the Write. -EINPROGRESS: started; the memory is in use
 * until ddp_easy_wait() or a later call has returned 0. -ETIMEDOUT: 16 are started already.
 * -EACCES: not offered for that; -ERANGE: beyond the offer; -EFAULT: the memory is not registered.
 */
int ddp_easy_write(struct ddp_easy *e, uint64_t offset, const void *data, size_t length,
		   int timeout_ms);
int ddp_easy_read(struct ddp_easy *e, uint64_t offset, void *data, size_t length, int timeout_ms);

/* Waits until all that was started is complete: a connection, Writes and Reads. -EINPROGRESS: not
 * yet. */
int ddp_easy_wait(struct ddp_easy *e, int timeout_ms);

/* ---- event loops ---- */

/* A descriptor that becomes readable when a call with time-out 0 may have another result. Use it
 * with poll or epoll, never read it; ask again after the connection is established. */
int ddp_easy_fd(struct ddp_easy *e);

/* Call it after a call with time-out 0 and before waiting for the descriptor. *seen: 0 at first. 0:
 * it is safe to wait. 1: something has come since then, try again. */
int ddp_easy_arm(struct ddp_easy *e, uint64_t *seen);

#ifdef __cplusplus
}
#endif

#endif
