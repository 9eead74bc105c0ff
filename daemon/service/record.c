/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/record.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "daemon/base/descriptors.h"
#include "daemon/base/log.h"
#include "daemon/base/reply.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/posted.h"
#include "daemon/service/serve.h"
#include "ipc/local_protocol.h"

/* Records that a client beyond limits.clients may send. */
static bool asks_for_state(uint32_t op)
{
	return op == MSG_HELLO || op == MSG_QUERY || op == MSG_CTL_SHOW || op == MSG_CTL_DO ||
	       op == MSG_CTL_SET || op == MSG_CTL_CAPTURE || op == MSG_SET_PRIMARY;
}

/* The shape of the record, or NULL with the violation in words. */
static const struct msg_shape *check_shape(const struct client *c, const struct msg_hdr *hdr,
					   size_t len, unsigned nfds, struct reply *rep)
{
	const struct msg_shape *s = msg_shape(hdr->op);

	if (!s) {
		reply_violation(rep, EPROTO, "unknown record type %u", hdr->op);
		return NULL;
	}
	if (len != s->len)
		reply_violation(rep, EPROTO, "%s: %zu bytes, expected %zu", msg_op_str(hdr->op),
				len, s->len);
	else if (nfds != s->nfds)
		reply_violation(rep, EPROTO, "%s: %u descriptors, expected %u", msg_op_str(hdr->op),
				nfds, s->nfds);
	else if (!c->hello.done && hdr->op != MSG_HELLO)
		reply_violation(rep, EPROTO, "%s: sent before hello", msg_op_str(hdr->op));
	else if (c->hello.refusal[0] && !asks_for_state(hdr->op))
		reply_violation(rep, EDQUOT, "%s", c->hello.refusal);
	else
		return s;
	return NULL;
}

/* A descriptor that a program has not read counts for the daemon's user (unix(7)): a program has at
 * most those of one reply. So such a reply also never waits here. */
static int check_unread(const struct client *c, const struct msg_shape *shape, uint32_t op,
			struct reply *rep)
{
	int unread = 0;

	if (shape->reply_nfds == 0 || ioctl(c->io.fd, SIOCOUTQ, &unread) < 0 || unread == 0)
		return 0;
	return reply_refuse(rep, EBUSY, "%s: earlier replies have not been read", msg_op_str(op));
}

static void send_error(struct client *c, uint32_t seq, int err, const struct reply *rep)
{
	struct msg_error e = {
		.hdr = {.op = MSG_ERROR, .seq = seq}, .err = -err, .fatal = rep->fatal};

	memcpy(e.reason, rep->reason, sizeof(e.reason));
	if (!rep->fatal) {
		outq_send(&c->io.replies, &e, sizeof(e), NULL, 0);
		return;
	}
	c->fault.seq = seq;
	c->fault.err = -err;
	client_fault(c, "%s", rep->reason);
}

static bool dispatch(struct client *c, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	struct msg_hdr hdr = {0, 0};
	struct reply rep;
	const struct msg_shape *shape;
	bool took = false;
	int r = -EPROTO;

	memset(&rep, 0, sizeof(rep));
	memcpy(&hdr, rec, len < sizeof(hdr) ? len : sizeof(hdr));
	shape = check_shape(c, &hdr, len, nfds, &rep);
	if (shape) {
		log_debug("client %u: %s", c->id, msg_op_str(hdr.op));
		took = posted_take(c);
		r = check_unread(c, shape, hdr.op, &rep);
		if (!r)
			r = serve_request(c, rec, nfds > 0 ? fds[0] : -1, &rep);
	}
	if (r) {
		send_error(c, hdr.seq, r, &rep);
	} else if (shape->reply_len > 0) {
		assert(rep.nfds == shape->reply_nfds);
		rep.hdr = hdr;
		outq_send(&c->io.replies, &rep.hdr, msg_reply_len(shape, c->hello.minor), rep.fds,
			  rep.nfds);
	}
	reply_close_fds(&rep);
	return took;
}

bool record_handle(struct client *c, const void *rec, size_t len, int *fds, unsigned nfds)
{
	bool took = dispatch(c, rec, len, fds, nfds);

	while (nfds > 0)
		close(fds[--nfds]);
	return took;
}

void record_without_fds(struct client *c, const void *rec, size_t len)
{
	struct msg_hdr hdr = {0, 0};
	struct reply rep;

	memset(&rep, 0, sizeof(rep));
	memcpy(&hdr, rec, len < sizeof(hdr) ? len : sizeof(hdr));
	send_error(c, hdr.seq, descriptors_refuse(&rep, EMFILE, msg_op_str(hdr.op)), &rep);
}
