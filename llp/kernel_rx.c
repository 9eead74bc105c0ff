/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages on their way in. They are read in batches, into memory that all associations share: one
 * that does not take all that was read for it keeps a copy of the rest.
 */
#include "llp/kernel.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	/* Not a power of two, for then all messages would begin in the same few lines of the
	 * processor's cache. */
	SLOT = KERNEL_MAX_CHUNK + 1472,
};

union control {
	struct cmsghdr align;
	uint8_t room[CMSG_SPACE(sizeof(struct sctp_rcvinfo))];
};

int kernel_rx_init(struct kernel *t)
{
	t->rx_mem = malloc((size_t)KERNEL_BATCH * SLOT);
	return t->rx_mem ? 0 : -ENOMEM;
}

/* ---- reading ---- */

static void take_info(struct kernel_in *in, struct msghdr *h)
{
	struct cmsghdr *cm = CMSG_FIRSTHDR(h);

	in->has_info = cm && cm->cmsg_level == IPPROTO_SCTP && cm->cmsg_type == SCTP_RCVINFO &&
		       cm->cmsg_len >= CMSG_LEN(sizeof(in->info));
	if (in->has_info)
		memcpy(&in->info, CMSG_DATA(cm), sizeof(in->info));
}

/* One system call: how many it brought, or -errno. */
static int receive(struct kernel *t, int fd)
{
	struct mmsghdr msgs[KERNEL_BATCH];
	struct iovec iov[KERNEL_BATCH];
	union control control[KERNEL_BATCH];
	struct kernel_batch *b = &t->batch;
	int n;

	for (unsigned i = 0; i < KERNEL_BATCH; i++) {
		iov[i] = (struct iovec){t->rx_mem + (size_t)i * SLOT, SLOT};
		msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
						  .msg_iovlen = 1,
						  .msg_control = &control[i],
						  .msg_controllen = sizeof(control[i])};
	}
	t->stats.rx_batches++;
	n = recvmmsg(fd, msgs, KERNEL_BATCH, MSG_DONTWAIT, NULL);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		struct kernel_in *in = &b->in[i];

		in->p = iov[i].iov_base;
		in->len = msgs[i].msg_len;
		in->flags = msgs[i].msg_hdr.msg_flags;
		take_info(in, &msgs[i].msg_hdr);
	}
	return n;
}

/* Notifications are structures, and begin where such may lie. */
static size_t aligned(size_t len)
{
	return (len + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

/* Copies what its reader has left in the shared batch. */
static void keep(struct kernel_conn *c, const struct kernel_batch *b)
{
	size_t size = 0;
	uint8_t *p;

	for (unsigned i = b->head; i < b->n; i++)
		size += aligned(b->in[i].len);
	c->kept = malloc(aligned(sizeof(*c->kept)) + size);
	if (!c->kept) {
		kernel_conn_end(c, ENOMEM, "no memory for messages that wait to be taken");
		return;
	}
	*c->kept = *b;
	p = (uint8_t *)c->kept + aligned(sizeof(*c->kept));
	for (unsigned i = b->head; i < b->n; i++) {
		memcpy(p, b->in[i].p, b->in[i].len);
		c->kept->in[i].p = p;
		p += aligned(b->in[i].len);
	}
}

static void claim(struct kernel *t, struct kernel_conn *c)
{
	if (t->reader && t->reader != c && t->batch.head < t->batch.n)
		keep(t->reader, &t->batch);
	if (t->reader != c)
		t->batch.head = t->batch.n = 0;
	t->reader = c;
}

/* The event that says more should have come before. */
static bool gone(struct kernel_conn *c, int err)
{
	kernel_conn_end(c, err, "the association is gone: %s", strerror(err));
	return false;
}

/* The peer sends nothing any more, but what we sent may still be on its way: an event tells when
 * all is over. */
static void end_of_input(struct kernel_conn *c)
{
	struct sctp_status st;

	c->drained = true;
	if (!kernel_sock_status(c->watch.fd, &st))
		kernel_conn_end(c, 0, "closed");
	else if (!c->eof) {
		c->eof = true;
		kernel_conn_watch(c, c->tx.blocked);
	}
}

/* recvmmsg() tells the socket's error before the event that explains it. */
static bool note_error(struct kernel_conn *c, int err)
{
	if (err == EINTR)
		return true;
	if (err == EAGAIN || c->sock_err)
		return false;
	c->sock_err = err;
	return true;
}

/* False if there was nothing, or not in this turn. */
static bool refill(struct kernel_conn *c)
{
	struct kernel *t = kernel_of(c);
	int n;

	if (c->drained || c->rx_left == 0)
		return false;
	c->rx_left--;
	do
		n = receive(t, c->watch.fd);
	while (n < 0 && note_error(c, -n));
	if (n < 0) {
		c->drained = true;
		return c->sock_err ? gone(c, c->sock_err) : false;
	}
	/* Short of a full batch there was no more; epoll tells when there is. */
	c->drained = n < KERNEL_BATCH && c->state >= KERNEL_UP;
	t->batch.head = 0;
	t->batch.n = (unsigned)n;
	return true;
}

/* ---- handing out ---- */

bool kernel_rx_holds(const struct kernel_conn *c)
{
	const struct kernel *t = kernel_of(c);

	return (c->kept && c->kept->head < c->kept->n) ||
	       (t->reader == c && t->batch.head < t->batch.n);
}

void kernel_rx_drop(struct kernel_conn *c)
{
	struct kernel *t = kernel_of(c);

	if (t->reader == c) {
		t->reader = NULL;
		t->batch.head = t->batch.n = 0;
	}
	free(c->kept);
	c->kept = NULL;
}

static struct kernel_in *next(struct kernel_conn *c)
{
	struct kernel *t = kernel_of(c);

	if (c->kept && c->kept->head < c->kept->n)
		return &c->kept->in[c->kept->head++];
	free(c->kept);
	c->kept = NULL;
	claim(t, c);
	if (t->batch.head == t->batch.n && !refill(c))
		return NULL;
	return &t->batch.in[t->batch.head++];
}

/* Collects a message that comes in pieces. */
static enum kernel_pulled add_piece(struct kernel_conn *c, struct kernel_in *in)
{
	bool last = in->flags & MSG_EOR;

	if (!c->part)
		c->part = malloc(KERNEL_MAX_MESSAGE);
	if (!c->part) {
		kernel_conn_end(c, ENOMEM, "no memory for a fragmented message");
		return KERNEL_PULLED_NOTHING;
	}
	if (in->len > KERNEL_MAX_MESSAGE - c->part_len) {
		kernel_conn_end(c, EMSGSIZE, "the peer sent a message of more than %d bytes",
				KERNEL_MAX_MESSAGE);
		return KERNEL_PULLED_NOTHING;
	}
	memcpy(c->part + c->part_len, in->p, in->len);
	c->part_len += in->len;
	if (!last)
		return KERNEL_PULLED_EVENT;
	in->p = c->part;
	in->len = c->part_len;
	c->part_taken = true;
	return KERNEL_PULLED_DATA;
}

enum kernel_pulled kernel_pull(struct kernel_conn *c, struct kernel_in *ret)
{
	struct kernel_in *in;

	if (c->part_taken) {
		c->part_taken = false;
		c->part_len = 0;
	}
	if (c->watch.fd < 0 || c->ended)
		return KERNEL_PULLED_NOTHING;
	in = next(c);
	if (!in)
		return KERNEL_PULLED_NOTHING;
	if (in->flags & MSG_NOTIFICATION) {
		if (in->flags & MSG_EOR)
			kernel_event(c, in->p, in->len);
		return KERNEL_PULLED_EVENT;
	}
	if (in->len == 0) {
		/* All others of the batch would be the same. */
		kernel_rx_drop(c);
		end_of_input(c);
		return KERNEL_PULLED_NOTHING;
	}
	if (!in->has_info)
		return KERNEL_PULLED_EVENT;
	*ret = *in;
	if (c->part_len || !(in->flags & MSG_EOR))
		return add_piece(c, ret);
	return KERNEL_PULLED_DATA;
}

int kernel_recv(struct llp_conn *lc, struct llp_msg *ret)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;
	struct kernel *t = kernel_of(c);
	struct kernel_in in;
	enum kernel_pulled r;

	if (c->state != KERNEL_UP && c->state != KERNEL_CLOSING)
		return LLP_E_DOWN;
	if (t->current != c) {
		c->rx_left = 1;
		c->drained = false;
	}
	do
		r = kernel_pull(c, &in);
	while (r == KERNEL_PULLED_EVENT);
	if (r == KERNEL_PULLED_NOTHING) {
		/* Outside of the upcall what was met has to be told in the next turn. */
		if ((c->ended || c->dry || c->nnews) && t->current != c)
			kernel_conn_touch(c);
		return LLP_E_AGAIN;
	}
	t->stats.rx_bytes += in.len;
	ret->sid = in.info.rcv_sid;
	ret->ppid = ntohl(in.info.rcv_ppid);
	ret->len = in.len;
	ret->urgent = false;
	ret->ordered = !(in.info.rcv_flags & SCTP_UNORDERED);
	ret->n = 1;
	ret->part[0] = (struct span){in.p, in.len};
	return LLP_E_OK;
}
