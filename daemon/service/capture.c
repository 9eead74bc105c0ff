/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "daemon/base/descriptors.h"
#include "daemon/base/log.h"
#include "daemon/base/reply.h"
#include "daemon/net/association.h"
#include "daemon/net/association_index.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "ipc/ctl.h"
#include "ipc/memfd.h"
#include "ipc/msg_addr.h"
#include "ipc/packet_ring.h"
#include "llp/common/llp.h"

enum { RING_SIZE = 8 << 20 };

struct capture {
	struct client *client;
	void *memory;
	struct packet_ring ring;
	uint32_t snap;
};

/* Runs on the data path. */
static void packet_seen(void *arg, const struct llp_packet *p)
{
	struct capture *cap = arg;
	struct packet_head h = {.out = p->out};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	h.time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (msg_addr_put(&h.local, &p->local) == 0 && msg_addr_put(&h.remote, &p->remote) == 0)
		packet_ring_put(&cap->ring, &h, p->part, p->n, cap->snap);
}

/* ---- which packets ---- */

/* The numbers that there are, as the end of a sentence. */
struct numbers {
	char text[MSG_REASON_MAX / 2];
	size_t len;
	unsigned n;
};

static void add_number(struct numbers *l, uint32_t number)
{
	int n;

	if (l->len + sizeof(", 4294967295, ...") > sizeof(l->text)) {
		if (l->text[l->len - 1] != '.')
			l->len += (size_t)sprintf(l->text + l->len, ", ...");
		return;
	}
	n = sprintf(l->text + l->len, "%s%u", l->n++ ? ", " : "; there are ", number);
	l->len += n > 0 ? (size_t)n : 0;
}

static int no_assoc(struct client *c, uint32_t id, struct reply *rep)
{
	struct numbers l = {.text = ""};
	const struct association *assoc;
	uint32_t pos = 0;

	while ((assoc = idtab_next(&c->worker->assocs, &pos)))
		if (assoc->state == ASSOCIATION_UP)
			add_number(&l, assoc->id);
	return reply_refuse(rep, ENOENT, "no association %u%s", id, l.text);
}

/* Adds those with an association to the list, and looks for one with that number. */
static struct qp *find_qp(struct daemon *d, uint32_t num, struct numbers *l)
{
	uint32_t pos = 0, inner;
	struct client *c;
	struct qp *qp;

	while ((c = idtab_next(&d->clients, &pos))) {
		inner = 0;
		while ((qp = idtab_next(&c->handles.qps, &inner))) {
			if (qp->num == num)
				return qp;
			if (qp->assoc)
				add_number(l, qp->num);
		}
	}
	return NULL;
}

static int select_assoc(struct client *c, uint32_t id, struct llp_tap *tap, struct reply *rep)
{
	const struct association *assoc = association_index_by_id(c->worker, id);

	if (!assoc || assoc->state == ASSOCIATION_DOWN || !assoc->conn)
		return no_assoc(c, id, rep);
	tap->only = assoc->conn;
	return 0;
}

static int select_qp(struct client *c, uint32_t num, struct llp_tap *tap, struct reply *rep)
{
	struct numbers l = {.text = ""};
	const struct qp *qp = find_qp(c->daemon, num, &l);

	if (!qp)
		return reply_refuse(rep, ENOENT, "no queue pair %u%s", num, l.text);
	if (!qp->assoc || !qp->assoc->conn || !qp->ep)
		return reply_refuse(rep, ENOTCONN, "queue pair %u has no session", num);
	tap->only = qp->assoc->conn;
	tap->one_stream = true;
	tap->stream = qp->sid;
	return 0;
}

static int choose(struct client *c, const struct ctl_capture *req, struct llp_tap *tap,
		  struct reply *rep)
{
	switch (req->what) {
	case CTL_CAPTURE_ALL:
		return 0;
	case CTL_CAPTURE_ASSOC:
		return select_assoc(c, req->id, tap, rep);
	case CTL_CAPTURE_QP:
		return select_qp(c, req->id, tap, rep);
	default:
		return reply_refuse(rep, EPROTONOSUPPORT,
				    "capture: unknown object %u; the daemon may be older than "
				    "ddpctl",
				    req->what);
	}
}

/* ---- begin and end ---- */

static int check_caller(struct client *c, const struct ctl_capture *req, struct reply *rep)
{
	const struct capture *other = c->daemon->capture;

	if (req->version != CTL_VERSION)
		return reply_refuse(rep, EPROTONOSUPPORT,
				    "ddpctl speaks version %u of the records, the daemon %u",
				    req->version, CTL_VERSION);
	if (client_check_admin(c, "capture", rep))
		return -EPERM;
	if (other)
		return reply_refuse(rep, EBUSY, "capture: client %u (pid %d) captures already",
				    other->client->id, (int)other->client->pid);
	return 0;
}

static int no_packets(struct client *c, int err, struct reply *rep)
{
	const char *name = c->daemon->transport;
	bool kernel = !strcmp(name, "kernel");

	if (err == -ENOTCONN)
		return reply_refuse(rep, ENOTCONN, "capture: the association is not up");
	if (c->worker->self && llp_set_tap(c->worker->net, NULL) == 0)
		return reply_refuse(rep, EOPNOTSUPP,
				    "capture: both ends of the association are in this daemon: "
				    "it sends no packets");
	return reply_refuse(rep, EOPNOTSUPP, "capture: the transport %s sees no packets; %s", name,
			    kernel ? "use tcpdump or tshark with the filter 'sctp or udp'"
				   : "messages stay in the daemon, 'ddpctl monitor' and 'ddpctl "
				     "session' show them");
}

static struct capture *capture_free(struct capture *cap)
{
	if (cap && cap->memory)
		munmap(cap->memory, packet_ring_bytes(RING_SIZE));
	free(cap);
	return NULL;
}

static int make(struct client *c, const struct ctl_capture *req, struct capture **ret, int *ret_fd)
{
	struct capture *cap = calloc(1, sizeof(*cap));
	int r;

	if (!cap)
		return -ENOMEM;
	r = memfd_create_mapped("ddp-packets", packet_ring_bytes(RING_SIZE), ret_fd, &cap->memory);
	if (r < 0) {
		cap->memory = NULL;
		capture_free(cap);
		return r;
	}
	/* All pages exist before the first packet. */
	memset(cap->memory, 0, packet_ring_bytes(RING_SIZE));
	packet_ring_init(&cap->ring, cap->memory, RING_SIZE);
	cap->client = c;
	cap->snap = req->snap ? req->snap : PACKET_RING_MAX;
	*ret = cap;
	return 0;
}

int capture_begin(struct client *c, const struct ctl_capture *req, struct msg_capture *ret,
		  struct reply *rep)
{
	struct llp_tap tap = {.fn = packet_seen};
	struct capture *cap = NULL;
	int fd = -1, r = check_caller(c, req, rep);

	/* A feature that the transport lacks is reported first, before memory is allocated. */
	if (!r && (r = llp_set_tap(c->worker->net, NULL)) < 0)
		r = no_packets(c, r, rep);
	if (!r)
		r = choose(c, req, &tap, rep);
	if (r)
		return r;
	r = make(c, req, &cap, &fd);
	if (r < 0)
		return descriptors_lack(-r)
			       ? descriptors_refuse(rep, -r, "capture")
			       : reply_refuse(rep, -r, "capture: no memory for %d bytes",
					      RING_SIZE);
	reply_add_fd(rep, fd);
	tap.arg = cap;
	r = llp_set_tap(c->worker->net, &tap);
	if (r < 0) {
		capture_free(cap);
		return no_packets(c, r, rep);
	}
	c->daemon->capture = cap;
	ret->size = RING_SIZE;
	log_limited(&c->worker->client_log, c->worker->now_ms, LOG_LEVEL_INFO,
		    "ddpctl capture begins, by pid %d, uid %u", (int)c->pid, (unsigned)c->uid);
	return 0;
}

void capture_end(struct client *c)
{
	struct capture *cap = c->daemon->capture;

	if (!cap || cap->client != c)
		return;
	llp_set_tap(c->worker->net, NULL);
	c->daemon->capture = capture_free(cap);
}
