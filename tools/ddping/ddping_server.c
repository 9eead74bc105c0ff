/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "tools/common/message.h"
#include "tools/common/server.h"
#include "tools/common/tool.h"
#include "tools/ddping/ddping.h"
#include "tools/ddping/ddping_proto.h"

enum {
	SESSIONS = 64,
	IDLE_MS = 120000, /* longer than the longest interval */
	PONG_OFF = 64,    /* of the record to send; the received one is at 0 */
	CTL_LEN = 128,
};

struct pinged {
	uint32_t size;
	struct ddp_mr *ctl, *data;
};

static int prepare_rounds(struct session *s, const void *hello, size_t len, struct server_answer *a)
{
	const struct session_need need = {.send_wr = 8, .recv_wr = 2};
	struct pinged *p = s->state;
	uint32_t size;
	int r = ddping_hello_get(hello, len, &size);

	if (r == -EPROTONOSUPPORT)
		return server_refuse(a, "this ddping speaks version %d", DDPING_VERSION);
	if (r == -ERANGE)
		return server_refuse(a, "the size of a round is 1 to %d bytes", DDPING_MAX_SIZE);
	if (r < 0)
		return server_refuse(a, "ddping serves ddping only");
	p->size = size;
	r = session_make_qp(s, &need);
	if (r == 0)
		r = session_alloc(s, CTL_LEN, DDP_ACCESS_LOCAL_WRITE, &p->ctl);
	if (r == 0)
		r = session_alloc(s, size, DDP_ACCESS_LOCAL_WRITE, &p->data);
	if (r == 0)
		r = session_post_recv(s, p->ctl, 0, DDPING_REC_LEN, 0);
	return r;
}

/* Read, write back, answer: one list, in which the Write waits for the Read by its fence, and
 * the peer sees the Send after the Write. The next ping says that all are complete. */
static int post_round(struct session *s, const struct pinged *p, const struct ddping_rec *rec)
{
	struct ddp_sge data = {p->data->iova, rec->len, p->data->lkey};
	struct ddp_sge pong = {p->ctl->iova + PONG_OFF, DDPING_REC_LEN, p->ctl->lkey};
	struct ddp_send_wr send = {
		.sg_list = &pong,
		.num_sge = 1,
		.opcode = DDP_WR_SEND,
	};
	struct ddp_send_wr write = {
		.next = &send,
		.sg_list = &data,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = DDP_SEND_FENCE,
		.rdma = {rec->sink_to, rec->sink_stag},
	};
	struct ddp_send_wr read = {
		.next = &write,
		.sg_list = &data,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_READ,
		.rdma = {rec->src_to, rec->src_stag},
	};
	int r = ddp_post_send(s->qp, &read, NULL);

	return r < 0 ? session_fail("post a round", r) : r;
}

static int on_ping(struct session *s, const struct pinged *p, uint32_t len)
{
	struct ddping_rec rec;
	int r = ddping_rec_get(p->ctl->addr, len, DDPING_PING, &rec);

	if (r < 0 || rec.len > p->size) {
		message_error("%s: malformed ping", s->peer);
		return -EPROTO;
	}
	rec.kind = DDPING_PONG;
	ddping_rec_put((uint8_t *)p->ctl->addr + PONG_OFF, &rec);
	/* The next ping may arrive as soon as the pong is sent. */
	r = session_post_recv(s, p->ctl, 0, DDPING_REC_LEN, 0);
	return r < 0 ? r : post_round(s, p, &rec);
}

static int serve_pings(struct session *s)
{
	const struct pinged *p = s->state;
	struct ddp_wc wc;
	int n;

	while ((n = session_wait(s, 1, &wc, IDLE_MS)) > 0) {
		if (wc.status == DDP_WC_FLUSH_ERR)
			return TOOL_OK;
		if (wc.status != DDP_WC_SUCCESS) {
			session_wc_fail(s, s->peer, &wc);
			return TOOL_FAILED;
		}
		if (wc.opcode == DDP_WC_RECV && on_ping(s, p, wc.byte_len) < 0)
			return TOOL_FAILED;
	}
	return n == 0 || n == -EINTR ? TOOL_OK : TOOL_FAILED;
}

int ddping_server(const struct ddping_opts *o)
{
	const struct server_conf conf = {
		.socket = o->socket,
		.port = o->port,
		.bind = o->bind,
		.max_sessions = SESSIONS,
		.quiet = o->quiet,
		.state_size = sizeof(struct pinged),
		.request = prepare_rounds,
		.run = serve_pings,
	};

	return server_run(&conf);
}
