/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: llp_send() stages messages, which are handed to the kernel in batches. */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Control data of one message. */
union control {
	struct cmsghdr align;
	uint8_t room[CMSG_SPACE(sizeof(struct sctp_sndinfo))];
};

int kernel_tx_init(struct kernel_conn *c)
{
	struct kernel_tx *tx = &c->tx;

	tx->size = KERNEL_BATCH * c->sctp.max_message;
	if (tx->size < KERNEL_MIN_STAGE)
		tx->size = KERNEL_MIN_STAGE;
	if (tx->size > KERNEL_MAX_STAGE)
		tx->size = KERNEL_MAX_STAGE;
	tx->stage = malloc(tx->size);
	return tx->stage ? 0 : -ENOMEM;
}

static void empty(struct kernel_tx *tx)
{
	tx->head = tx->n = tx->used = 0;
	tx->blocked = false;
	list_del(&tx->dirty);
}

/* ---- to the kernel ---- */

/* One system call: how many it took, or -errno. */
static int send_batch(struct kernel_conn *c)
{
	struct kernel_tx *tx = &c->tx;
	struct mmsghdr msgs[KERNEL_BATCH];
	struct iovec iov[KERNEL_BATCH];
	union control control[KERNEL_BATCH];
	unsigned n = tx->n - tx->head;
	int r;

	for (unsigned i = 0; i < n; i++) {
		const struct kernel_out *o = &tx->out[tx->head + i];
		struct cmsghdr *cm = &control[i].align;

		*cm = (struct cmsghdr){.cmsg_level = IPPROTO_SCTP,
				       .cmsg_type = SCTP_SNDINFO,
				       .cmsg_len = CMSG_LEN(sizeof(o->info))};
		memcpy(CMSG_DATA(cm), &o->info, sizeof(o->info));
		iov[i] = (struct iovec){tx->stage + o->at, o->len};
		msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
						  .msg_iovlen = 1,
						  .msg_control = cm,
						  .msg_controllen = sizeof(control[i])};
	}
	r = sendmmsg(c->watch.fd, msgs, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? -errno : r;
}

/* 0 if all was sent; -EAGAIN if the socket is full; or -errno of the first message. */
static int send_all(struct kernel_conn *c)
{
	struct kernel_tx *tx = &c->tx;
	struct kernel *t = kernel_of(c);
	int r;

	if (kernel_tx_empty(tx))
		return 0;
	do {
		r = send_batch(c);
		t->stats.tx_batches++;
	} while (r == -EINTR);
	if (r < 0)
		return r;
	for (int i = 0; i < r; i++)
		t->stats.tx_bytes += tx->out[tx->head++].len;
	if (!kernel_tx_empty(tx))
		return -EAGAIN;
	empty(tx);
	return 0;
}

/*
 * A peer that acknowledges every fourth packet delays its SACK while the congestion window admits
 * fewer, as it does at first. Every second message then asks for an immediate SACK.
 */
static void request_sacks(struct kernel_conn *c)
{
	struct kernel_tx *tx = &c->tx;
	uint32_t bytes = tx->used - tx->out[tx->head].at;

	if (bytes >= c->cwnd)
		(void)kernel_conn_measure(c);
	if (bytes < c->cwnd)
		return;
	for (unsigned i = tx->head + 1; i < tx->n; i += 2)
		tx->out[i].info.snd_flags |= SCTP_SACK_IMMEDIATELY;
}

static uint32_t longest(const struct kernel_tx *tx)
{
	uint32_t len = 0;

	for (unsigned i = tx->head; i < tx->n; i++)
		if (tx->out[i].len > len)
			len = tx->out[i].len;
	return len;
}

/* The path MTU shrank after these messages were staged. Their DDP-SSNs are assigned, so each is
 * still sent in one chunk, and IP fragments the packet. */
static int send_too_long(struct kernel_conn *c)
{
	int r;

	kernel_sock_force_mtu(c->watch.fd, longest(&c->tx));
	r = send_all(c);
	kernel_sock_force_mtu(c->watch.fd, 0);
	kernel_conn_measure(c);
	return r;
}

/* The reason is in the socket's event queue, or is the error itself. */
static void lost(struct kernel_conn *c, int err)
{
	if (err != EPIPE && err != ENOTCONN && err != ESHUTDOWN)
		c->sock_err = err;
	c->tx.dropped |= !kernel_tx_empty(&c->tx);
	empty(&c->tx);
	c->readable = true;
	llp_sctp_touch(&c->sctp);
}

void kernel_tx_push(struct kernel_conn *c)
{
	struct kernel_tx *tx = &c->tx;
	int r;

	if (tx->n - tx->head > 1)
		request_sacks(c);
	r = send_all(c);
	if (r == -EMSGSIZE)
		r = send_too_long(c);
	switch (-r) {
	case 0:
		break;
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
		tx->blocked = true;
		list_del(&tx->dirty);
		break;
	case EPIPE:
	case ENOTCONN:
	case ESHUTDOWN:
	case ECONNRESET:
	case ECONNABORTED:
	case ETIMEDOUT:
		lost(c, -r);
		break;
	default:
		kernel_of(c)->stats.tx_errors++;
		empty(tx);
		llp_sctp_end(&c->sctp, -r, "cannot send: %s", strerror(-r));
		break;
	}
	/* EPOLLOUT stays armed until it fires with no waiter. */
	if (tx->blocked)
		kernel_conn_watch(c, true);
}

void kernel_flush(struct llp *llp)
{
	struct kernel *t = (struct kernel *)llp;
	struct list *link;

	while ((link = list_pop(&t->dirty)))
		kernel_tx_push(list_entry(link, struct kernel_conn, tx.dirty));
}

/* ---- from the owner ---- */

static bool stage_has_room(const struct kernel_tx *tx, uint32_t len)
{
	return tx->n < KERNEL_BATCH && len <= tx->size - tx->used;
}

static void stage(struct kernel_conn *c, const struct llp_msg *m)
{
	struct kernel_tx *tx = &c->tx;
	struct kernel_out *o = &tx->out[tx->n++];

	*o = (struct kernel_out){.at = tx->used, .len = m->len};
	o->info.snd_sid = m->sid;
	o->info.snd_flags = SCTP_UNORDERED | (m->urgent ? SCTP_SACK_IMMEDIATELY : 0);
	o->info.snd_ppid = htonl(m->ppid);
	llp_sctp_gather(tx->stage + tx->used, m);
	/* The next message is aligned for fast copying. */
	tx->used += (m->len + 63) & ~63u;
	if (tx->used > tx->size)
		tx->used = tx->size;
	kernel_conn_use(c);
	if (!tx->blocked && !list_linked(&tx->dirty))
		list_add_tail(&kernel_of(c)->dirty, &tx->dirty);
}

int kernel_send(struct llp_conn *lc, const struct llp_msg *m)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;
	struct kernel_tx *tx = &c->tx;
	int r = llp_sctp_check_send(&c->sctp, m);

	if (r)
		return r;
	if (c->eof)
		return LLP_E_DOWN;
	if (!stage_has_room(tx, m->len) && !tx->blocked)
		kernel_tx_push(c);
	if (c->sctp.ended)
		return LLP_E_DOWN;
	/* The path MTU may have decreased since. */
	if (m->len > c->sctp.max_message)
		return LLP_E_TOO_LONG;
	if (!stage_has_room(tx, m->len)) {
		tx->wanted = true;
		return LLP_E_AGAIN;
	}
	stage(c, m);
	return LLP_E_OK;
}
