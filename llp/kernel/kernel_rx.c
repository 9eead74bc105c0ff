/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving. Messages are read in batches into memory that all associations share; an association
 * that does not take all of its batch keeps a copy of the rest.
 */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	/* Not a power of two: all messages would begin in the same few lines of the processor's
	 * cache. */
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
static int read_batch(struct kernel *t, int fd)
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

/* Notifications are structures: they need their alignment. */
static size_t aligned(size_t len)
{
	return (len + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

/* Copies the messages that the reader has left in the shared batch. */
static void keep_rest(struct kernel_conn *c, const struct kernel_batch *b)
{
	size_t size = 0;
	uint8_t *p;

	for (unsigned i = b->head; i < b->n; i++)
		size += aligned(b->in[i].len);
	c->kept = malloc(aligned(sizeof(*c->kept)) + size);
	if (!c->kept) {
		llp_sctp_end(&c->sctp, ENOMEM, "no memory for received messages");
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
		keep_rest(t->reader, &t->batch);
	if (t->reader != c)
		t->batch.head = t->batch.n = 0;
	t->reader = c;
}

/* An event with the reason should have preceded this error. */
static bool end_on_error(struct kernel_conn *c, int err)
{
	llp_sctp_end(&c->sctp, err, "the association was lost: %s", strerror(err));
	return false;
}

/* The peer has shut down, but our data may still be in flight: an event reports the end of the
 * association. */
static void end_of_input(struct kernel_conn *c)
{
	struct sctp_status st;

	c->drained = true;
	if (!kernel_sock_status(c->watch.fd, &st))
		llp_sctp_end(&c->sctp, 0, "closed");
	else if (!c->eof) {
		c->eof = true;
		kernel_conn_watch(c, c->tx.blocked);
	}
}

/* recvmmsg() returns the socket's error before the event that explains it. */
static bool note_error(struct kernel_conn *c, int err)
{
	if (err == EINTR)
		return true;
	if (err == EAGAIN || c->sock_err)
		return false;
	c->sock_err = err;
	return true;
}

/* False if the socket is empty, or the turn's budget is spent. */
static bool refill(struct kernel_conn *c)
{
	struct kernel *t = kernel_of(c);
	int n;

	if (c->drained || c->rx_left == 0)
		return false;
	c->rx_left--;
	do
		n = read_batch(t, c->watch.fd);
	while (n < 0 && note_error(c, -n));
	if (n < 0) {
		c->drained = true;
		return c->sock_err ? end_on_error(c, c->sock_err) : false;
	}
	/* A batch that is not full has emptied the socket; epoll reports the next message. */
	c->drained = n < KERNEL_BATCH && c->sctp.state >= LLP_SCTP_UP;
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

static struct kernel_in *next_input(struct kernel_conn *c)
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

/* A message that arrives in fragments. */
static enum llp_sctp_pulled add_part(struct kernel_conn *c, struct kernel_in *in)
{
	struct span whole;
	enum llp_sctp_pulled r =
		llp_sctp_add_part(&c->sctp, in->p, in->len, in->flags & MSG_EOR, &whole);

	if (r == LLP_SCTP_DATA) {
		in->p = whole.p;
		in->len = (uint32_t)whole.len;
	}
	return r;
}

enum llp_sctp_pulled kernel_pull(struct kernel_conn *c, struct kernel_in *ret)
{
	struct kernel_in *in;

	if (c->sctp.part_whole)
		llp_sctp_drop_part(&c->sctp);
	if (c->watch.fd < 0 || c->sctp.ended)
		return LLP_SCTP_NOTHING;
	in = next_input(c);
	if (!in)
		return LLP_SCTP_NOTHING;
	if (in->flags & MSG_NOTIFICATION) {
		if (in->flags & MSG_EOR)
			kernel_event(c, in->p, in->len);
		return LLP_SCTP_EVENT;
	}
	if (in->len == 0) {
		/* The rest of the batch would be the same. */
		kernel_conn_drop_input(c);
		end_of_input(c);
		return LLP_SCTP_NOTHING;
	}
	if (!in->has_info)
		return LLP_SCTP_EVENT;
	*ret = *in;
	if (c->sctp.part || !(in->flags & MSG_EOR))
		return add_part(c, ret);
	return LLP_SCTP_DATA;
}

int kernel_recv(struct llp_conn *lc, struct llp_msg *ret)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;
	struct kernel *t = kernel_of(c);
	struct kernel_in in;
	enum llp_sctp_pulled r;

	if (c->sctp.state != LLP_SCTP_UP && c->sctp.state != LLP_SCTP_CLOSING)
		return LLP_E_DOWN;
	if (t->sctp.current != &c->sctp) {
		c->rx_left = 1;
		c->drained = false;
	}
	do
		r = kernel_pull(c, &in);
	while (r == LLP_SCTP_EVENT);
	if (r == LLP_SCTP_NOTHING) {
		/* Events that were read outside of an upcall are reported in the next turn. */
		if ((c->sctp.ended || c->sctp.acked || c->npath_events) &&
		    t->sctp.current != &c->sctp)
			llp_sctp_touch(&c->sctp);
		return LLP_E_AGAIN;
	}
	kernel_conn_use(c);
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
