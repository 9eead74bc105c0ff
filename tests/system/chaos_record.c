/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "ipc/ctl.h"
#include "ipc/local_protocol.h"
#include "ipc/rung.h"
#include "tests/system/chaos.h"

/* ---- values ---- */

/* Mostly small, sometimes a limit of its type. */
static uint32_t chaos_number(struct chaos *c)
{
	static const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 65535, 65536};

	switch (chaos_below(c, 8)) {
	case 0:
		return edges[chaos_below(c, sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return 1u << chaos_below(c, 32);
	default:
		return chaos_below(c, 64);
	}
}

/* Entries of a queue: mostly few, and a power of two. */
static uint32_t chaos_entries(struct chaos *c)
{
	return chaos_once_in(c, 16) ? chaos_number(c) : 1u << chaos_below(c, 7);
}

static uint32_t chaos_access(struct chaos *c)
{
	return chaos_once_in(c, 16) ? chaos_number(c) : chaos_below(c, 32) | 1;
}

static uint16_t chaos_port(struct chaos *c)
{
	return (uint16_t)(CHAOS_PORT + chaos_below(c, CHAOS_PORTS));
}

static struct msg_addr chaos_addr(struct chaos *c, uint16_t port)
{
	struct msg_addr a = c->daemon[chaos_below(c, 2)];

	a.port = port;
	return a;
}

static uint64_t chaos_length(struct chaos *c)
{
	return chaos_once_in(c, 16) ? (uint64_t)chaos_number(c) << 4
				    : 1 + chaos_below(c, CHAOS_MEMORY / 2);
}

/* ---- a function for each kind of request; the record is zero but for the header ---- */

static void fill_hdr(struct chaos *c, void *rec)
{
	(void)c;
	(void)rec;
}

static void fill_hello(struct chaos *c, void *rec)
{
	struct msg_hello *m = rec;

	m->major = IPC_VERSION_MAJOR;
	m->minor = (uint16_t)(chaos_once_in(c, 4) ? chaos_number(c) : IPC_VERSION_MINOR);
	snprintf(m->comm, sizeof(m->comm), "%s", chaos_once_in(c, 8) ? "ddpctl" : "chaos");
}

static void fill_handle(struct chaos *c, void *rec, enum chaos_kind kind)
{
	((struct msg_handle *)rec)->handle = chaos_handle(c, kind);
}

static void fill_pd(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_PD);
}

static void fill_mr(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_MR);
}

static void fill_mw(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_MW);
}

static void fill_cq(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_CQ);
}

static void fill_qp(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_QP);
}

static void fill_srq(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_SRQ);
}

static void fill_ah(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_AH);
}

static void fill_listener(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_LISTENER);
}

static void fill_request(struct chaos *c, void *rec)
{
	fill_handle(c, rec, CHAOS_REQUEST);
}

static void fill_reg_mr(struct chaos *c, void *rec)
{
	struct msg_reg_mr *m = rec;

	m->pd = chaos_handle(c, CHAOS_PD);
	m->access = chaos_access(c);
	m->offset = chaos_below(c, CHAOS_MEMORY / 2);
	m->len = chaos_length(c);
	m->iova = CHAOS_IOVA;
}

static void fill_reg_own_mr(struct chaos *c, void *rec)
{
	struct msg_reg_own_mr *m = rec;

	fill_reg_mr(c, &m->reg);
	m->rung = chaos_below(c, 6);
	m->reason = chaos_below(c, 8);
}

static void fill_bind_mr(struct chaos *c, void *rec)
{
	struct msg_bind_mr *m = rec;

	m->mr = chaos_handle(c, CHAOS_MR);
	m->qp = chaos_once_in(c, 2) ? 0 : chaos_handle(c, CHAOS_QP);
}

static void fill_rereg(struct chaos *c, struct msg_rereg_mr *m, uint32_t what)
{
	m->mr = chaos_handle(c, CHAOS_MR);
	m->what = what;
	m->pd = chaos_handle(c, CHAOS_PD);
	m->access = chaos_access(c);
}

static void fill_rereg_mr(struct chaos *c, void *rec)
{
	fill_rereg(c, rec, chaos_below(c, 4) << 1);
}

static void fill_remap_mr(struct chaos *c, void *rec)
{
	struct msg_rereg_mr *m = rec;

	fill_rereg(c, m, chaos_below(c, 16) | MSG_REREG_TRANSLATION);
	m->len = chaos_length(c);
	m->iova = CHAOS_IOVA;
}

static void fill_notify_mr(struct chaos *c, void *rec)
{
	struct msg_notify_mr *m = rec;

	m->mr = chaos_handle(c, CHAOS_MR);
	m->cq = chaos_once_in(c, 4) ? 0 : chaos_handle(c, CHAOS_CQ);
}

static void fill_alloc_mw(struct chaos *c, void *rec)
{
	struct msg_alloc_mw *m = rec;

	m->pd = chaos_handle(c, CHAOS_PD);
	m->type = 1 + chaos_below(c, 3);
}

static void fill_bind_mw(struct chaos *c, void *rec)
{
	struct msg_bind_mw *m = rec;

	m->mw = chaos_handle(c, CHAOS_MW);
	m->mr = chaos_once_in(c, 4) ? 0 : chaos_handle(c, CHAOS_MR);
	m->access = chaos_access(c) & ~1u;
	m->addr = CHAOS_IOVA;
	m->len = chaos_length(c) / 2;
}

static void fill_create_cq(struct chaos *c, void *rec)
{
	((struct msg_create_cq *)rec)->entries = chaos_entries(c);
}

static void fill_resize_cq(struct chaos *c, void *rec)
{
	struct msg_resize_cq *m = rec;

	m->cq = chaos_handle(c, CHAOS_CQ);
	m->entries = chaos_entries(c);
}

static void fill_create_srq(struct chaos *c, void *rec)
{
	struct msg_create_srq *m = rec;

	m->pd = chaos_handle(c, CHAOS_PD);
	m->entries = chaos_entries(c);
	m->max_sge = chaos_below(c, 4);
	m->limit = chaos_below(c, 4);
	m->per_qp = chaos_below(c, 4);
}

static void fill_modify_srq(struct chaos *c, void *rec)
{
	struct msg_modify_srq *m = rec;

	m->srq = chaos_handle(c, CHAOS_SRQ);
	m->what = chaos_below(c, 4);
	m->limit = chaos_number(c);
	m->per_qp = chaos_number(c);
}

static void fill_create_qp(struct chaos *c, void *rec)
{
	struct msg_create_qp *m = rec;

	m->pd = chaos_handle(c, CHAOS_PD);
	m->send_cq = chaos_handle(c, CHAOS_CQ);
	m->recv_cq = chaos_handle(c, CHAOS_CQ);
	m->sq_entries = chaos_entries(c);
	m->rq_entries = chaos_entries(c);
	m->max_send_sge = 1 + chaos_below(c, 3);
	m->max_recv_sge = 1 + chaos_below(c, 3);
	m->max_inline = chaos_below(c, 2) * 64;
	m->ord = m->ird = (uint16_t)chaos_below(c, 8);
	m->sq_sig_all = chaos_below(c, 2);
	if (chaos_once_in(c, 4)) {
		m->srq = chaos_handle(c, CHAOS_SRQ);
		m->rq_entries = 0;
		m->max_recv_sge = 0;
	} else if (chaos_once_in(c, 4)) {
		m->type = MSG_QP_RAW;
		m->raw_queues = (uint16_t)chaos_below(c, 8);
	} else if (chaos_once_in(c, 4)) {
		m->type = MSG_QP_DATAGRAM;
		m->ord = m->ird = 0;
	}
}

static void fill_options(struct chaos *c, struct msg_options *m, enum chaos_kind kind)
{
	m->handle = chaos_handle(c, kind);
	m->what = chaos_below(c, 4);
	m->hold_bytes = chaos_number(c);
	m->hold_ms = chaos_number(c);
}

/* Mostly options alone, and often those that RNR retries need, which may follow. */
static void fill_qp_options(struct chaos *c, void *rec)
{
	struct msg_options *m = rec;

	fill_options(c, m, CHAOS_QP);
	m->flags = chaos_once_in(c, 2) ? MSG_QP_CREDITS | MSG_QP_RNR
				       : chaos_below(c, 2 * MSG_QP_STRICT_SENDS);
	if (!chaos_once_in(c, 4))
		m->what = MSG_OPTIONS_FLAGS;
	c->follows = chaos_once_in(c, 2) ? MSG_SET_QP_RNR : 0;
}

static void fill_qp_rnr(struct chaos *c, void *rec)
{
	struct msg_qp_rnr *m = rec;

	m->handle = chaos_handle(c, CHAOS_QP);
	m->retry = chaos_below(c, 9);
	m->timer_ms = chaos_number(c);
}

static void fill_qp_qkey(struct chaos *c, void *rec)
{
	struct msg_qp_qkey *m = rec;

	m->handle = chaos_handle(c, CHAOS_QP);
	m->qkey = chaos_below(c, 3);
}

static void fill_qp_number(struct chaos *c, void *rec)
{
	struct msg_qp_number *m = rec;

	m->handle = chaos_handle(c, CHAOS_QP);
	m->from = chaos_handle(c, CHAOS_QP);
}

static void fill_create_ah(struct chaos *c, void *rec)
{
	struct msg_create_ah *m = rec;

	m->pd = chaos_handle(c, CHAOS_PD);
	m->remote = chaos_addr(c, 0);
	if (chaos_once_in(c, 4))
		m->local = chaos_addr(c, 0);
}

static void fill_srq_options(struct chaos *c, void *rec)
{
	fill_options(c, rec, CHAOS_SRQ);
}

static void fill_listen(struct chaos *c, void *rec)
{
	struct msg_listen *m = rec;

	m->backlog = chaos_below(c, 8);
	m->port = chaos_port(c);
	m->naddrs = (uint16_t)chaos_below(c, 2);
	m->addrs[0] = chaos_addr(c, m->port);
	if (m->naddrs == 0)
		m->addrs[0] = (struct msg_addr){0};
}

static void fill_listen_key(struct chaos *c, void *rec)
{
	fill_listen(c, rec);
	((struct msg_listen_key *)rec)->key = 1 + chaos_below(c, 3);
}

static void fill_connect(struct chaos *c, void *rec)
{
	struct msg_connect *m = rec;

	m->qp = chaos_handle(c, CHAOS_QP);
	m->timeout_ms = chaos_once_in(c, 4) ? 0 : 1 + chaos_below(c, 3000);
	m->private_len = (uint16_t)chaos_below(c, MSG_PRIVATE_MAX + 1);
	m->flags = (uint16_t)(chaos_once_in(c, 2) ? 0 : chaos_below(c, 64));
	m->ird = m->ord = (uint16_t)chaos_below(c, 4);
	m->npeers = 1;
	m->peers[0] = chaos_addr(c, chaos_port(c));
}

static void fill_accept(struct chaos *c, void *rec)
{
	struct msg_accept *m = rec;

	m->request = chaos_handle(c, CHAOS_REQUEST);
	m->qp = chaos_handle(c, CHAOS_QP);
	m->private_len = (uint16_t)chaos_below(c, MSG_PRIVATE_MAX + 1);
	m->flags = (uint16_t)chaos_below(c, 2);
	m->ird = m->ord = (uint16_t)chaos_below(c, 4);
}

static void fill_reject(struct chaos *c, void *rec)
{
	struct msg_reject *m = rec;

	m->request = chaos_handle(c, CHAOS_REQUEST);
	m->private_len = (uint16_t)chaos_below(c, MSG_PRIVATE_MAX + 1);
}

static void fill_set_primary(struct chaos *c, void *rec)
{
	struct msg_set_primary *m = rec;

	m->qp = chaos_handle(c, CHAOS_QP);
	m->remote = chaos_addr(c, 0);
}

static void fill_ctl_show(struct chaos *c, void *rec)
{
	struct ctl_show *m = rec;

	m->object = chaos_below(c, CTL_OBJECT_COUNT + 1);
	m->version = CTL_VERSION;
}

/* An administrator may end what belongs to others: here it ends nothing but itself. */
static void fill_ctl_do(struct chaos *c, void *rec)
{
	struct ctl_do *m = rec;

	m->version = CTL_VERSION;
	m->verb = chaos_below(c, CTL_VERB_COUNT + 1);
	m->id = m->verb == CTL_KICK ? c->id : 0x7f000000 + chaos_below(c, 1000);
	m->arg = m->verb == CTL_DRAIN ? 0 : m->verb == CTL_LOG_LEVEL ? 2 : chaos_number(c);
}

static void fill_ctl_set(struct chaos *c, void *rec)
{
	static const char *const keys[] = {"limits.mrs", "mrs",    "limits",
					   "log.level",  "listen", ""};
	static const char *const values[] = {"65535", "-1", "", "1e99", "[", "info"};
	struct ctl_set *m = rec;
	bool right = chaos_once_in(c, 4);

	m->version = CTL_VERSION;
	snprintf(m->key, sizeof(m->key), "%s", keys[right ? 0 : chaos_below(c, 6)]);
	snprintf(m->value, sizeof(m->value), "%s",
		 values[right || strstr(m->key, "mrs") ? 0 : 1 + chaos_below(c, 4)]);
}

static void fill_ctl_capture(struct chaos *c, void *rec)
{
	struct ctl_capture *m = rec;

	m->version = CTL_VERSION;
	m->what = chaos_below(c, CTL_CAPTURE_COUNT + 1);
	m->id = chaos_below(c, 64);
	m->snap = chaos_number(c);
}

/* ---- the table: a request without a row here does not compile ---- */

struct chaos_row {
	size_t len;
	unsigned nfds;
	void (*fill)(struct chaos *c, void *rec);
	enum chaos_kind makes, ends;
};

#define ROW(type, fill)                                                                            \
	{                                                                                          \
		sizeof(struct type), 0, fill, CHAOS_KINDS, CHAOS_KINDS                             \
	}
#define ROW_MAKES(type, fill, kind)                                                                \
	{                                                                                          \
		sizeof(struct type), 0, fill, kind, CHAOS_KINDS                                    \
	}
#define ROW_MEMFD(type, fill, kind)                                                                \
	{                                                                                          \
		sizeof(struct type), 1, fill, kind, CHAOS_KINDS                                    \
	}
#define ROW_ENDS(type, fill, kind)                                                                 \
	{                                                                                          \
		sizeof(struct type), 0, fill, CHAOS_KINDS, kind                                    \
	}

#define ROW_HELLO ROW(msg_hello, fill_hello)
#define ROW_QUERY ROW(msg_hdr, fill_hdr)
#define ROW_ALLOC_PD ROW_MAKES(msg_hdr, fill_hdr, CHAOS_PD)
#define ROW_DEALLOC_PD ROW_ENDS(msg_handle, fill_pd, CHAOS_PD)
#define ROW_REG_MR ROW_MEMFD(msg_reg_mr, fill_reg_mr, CHAOS_MR)
#define ROW_BIND_MR ROW(msg_bind_mr, fill_bind_mr)
#define ROW_DEREG_MR ROW_ENDS(msg_handle, fill_mr, CHAOS_MR)
#define ROW_CREATE_CQ ROW_MAKES(msg_create_cq, fill_create_cq, CHAOS_CQ)
#define ROW_DESTROY_CQ ROW_ENDS(msg_handle, fill_cq, CHAOS_CQ)
#define ROW_CREATE_QP ROW_MAKES(msg_create_qp, fill_create_qp, CHAOS_QP)
#define ROW_DESTROY_QP ROW_ENDS(msg_handle, fill_qp, CHAOS_QP)
#define ROW_QUERY_QP ROW(msg_handle, fill_qp)
#define ROW_LISTEN ROW_MAKES(msg_listen, fill_listen, CHAOS_LISTENER)
#define ROW_UNLISTEN ROW_ENDS(msg_handle, fill_listener, CHAOS_LISTENER)
#define ROW_CONNECT ROW(msg_connect, fill_connect)
#define ROW_ACCEPT ROW_ENDS(msg_accept, fill_accept, CHAOS_REQUEST)
#define ROW_REJECT ROW_ENDS(msg_reject, fill_reject, CHAOS_REQUEST)
#define ROW_DISCONNECT ROW(msg_handle, fill_qp)
#define ROW_CTL_SHOW ROW(ctl_show, fill_ctl_show)
#define ROW_QUERY_PD ROW(msg_handle, fill_pd)
#define ROW_QUERY_MR ROW(msg_handle, fill_mr)
#define ROW_QUERY_CQ ROW(msg_handle, fill_cq)
#define ROW_REREG_MR ROW(msg_rereg_mr, fill_rereg_mr)
#define ROW_REMAP_MR ROW_MEMFD(msg_rereg_mr, fill_remap_mr, CHAOS_KINDS)
#define ROW_ALLOC_MW ROW_MAKES(msg_alloc_mw, fill_alloc_mw, CHAOS_MW)
#define ROW_BIND_MW ROW(msg_bind_mw, fill_bind_mw)
#define ROW_QUERY_MW ROW(msg_handle, fill_mw)
#define ROW_DEALLOC_MW ROW_ENDS(msg_handle, fill_mw, CHAOS_MW)
#define ROW_CREATE_SRQ ROW_MAKES(msg_create_srq, fill_create_srq, CHAOS_SRQ)
#define ROW_MODIFY_SRQ ROW(msg_modify_srq, fill_modify_srq)
#define ROW_QUERY_SRQ ROW(msg_handle, fill_srq)
#define ROW_DESTROY_SRQ ROW_ENDS(msg_handle, fill_srq, CHAOS_SRQ)
#define ROW_QUERY_PATHS ROW(msg_handle, fill_qp)
#define ROW_SET_PRIMARY ROW(msg_set_primary, fill_set_primary)
#define ROW_LISTEN_KEY ROW_MAKES(msg_listen_key, fill_listen_key, CHAOS_LISTENER)
#define ROW_QUERY_REQUEST ROW(msg_handle, fill_request)
#define ROW_QUERY_ADDRS ROW(msg_hdr, fill_hdr)
#define ROW_QP_OPTIONS ROW(msg_options, fill_qp_options)
#define ROW_SRQ_OPTIONS ROW(msg_options, fill_srq_options)
#define ROW_RESIZE_CQ ROW(msg_resize_cq, fill_resize_cq)
#define ROW_REG_OWN_MR ROW_MEMFD(msg_reg_own_mr, fill_reg_own_mr, CHAOS_MR)
#define ROW_ASYNC_OPEN ROW(msg_hdr, fill_hdr)
#define ROW_ASYNC_TAKE ROW(msg_hdr, fill_hdr)
#define ROW_OPEN_AGENT ROW(msg_hdr, fill_hdr)
#define ROW_NOTIFY_MR ROW(msg_notify_mr, fill_notify_mr)
#define ROW_CTL_DO ROW(ctl_do, fill_ctl_do)
#define ROW_CTL_SET ROW(ctl_set, fill_ctl_set)
#define ROW_CTL_CAPTURE ROW(ctl_capture, fill_ctl_capture)
#define ROW_SET_QP_RNR ROW(msg_qp_rnr, fill_qp_rnr)
#define ROW_CREATE_AH ROW_MAKES(msg_create_ah, fill_create_ah, CHAOS_AH)
#define ROW_DESTROY_AH ROW_ENDS(msg_handle, fill_ah, CHAOS_AH)
#define ROW_SET_QP_QKEY ROW(msg_qp_qkey, fill_qp_qkey)
#define ROW_TAKE_QP_NUMBER ROW(msg_qp_number, fill_qp_number)
#define ROW_QUERY_PEER ROW(msg_handle, fill_qp)

static const struct chaos_row table[MSG_OP_COUNT] = {
#define X(op, ...) [MSG_##op] = ROW_##op,
	MSG_OPS(X)
#undef X
};

enum chaos_kind chaos_record_makes(uint32_t op)
{
	return op > 0 && op < MSG_OP_COUNT ? table[op].makes : CHAOS_KINDS;
}

enum chaos_kind chaos_record_ends(uint32_t op)
{
	return op > 0 && op < MSG_OP_COUNT ? table[op].ends : CHAOS_KINDS;
}

/* ---- drawing ---- */

size_t chaos_record_of(struct chaos *c, uint32_t op, void *rec, int *fds, unsigned *ret_nfds)
{
	const struct chaos_row *row = &table[op];
	const struct msg_hdr hdr = {.op = op, .seq = chaos_below(c, 1000)};

	memset(rec, 0, MSG_MAX);
	memcpy(rec, &hdr, sizeof(hdr));
	row->fill(c, rec);
	for (unsigned i = 0; i < row->nfds; i++)
		fds[i] = c->fds[0];
	*ret_nfds = row->nfds;
	return row->len;
}

/* Changes some bytes, but no address to connect to: whatever happens, it happens on this host. */
static void spoil(struct chaos *c, uint32_t op, uint8_t *rec, size_t len)
{
	const size_t last = op == MSG_CONNECT ? offsetof(struct msg_connect, peers) : len;

	if (c->admin && (op == MSG_CTL_DO || op == MSG_CTL_SET))
		return;
	for (unsigned n = 1 + chaos_below(c, 4); n > 0 && last > sizeof(struct msg_hdr); n--)
		rec[sizeof(struct msg_hdr) +
		    chaos_below(c, (uint32_t)(last - sizeof(struct msg_hdr)))] =
			(uint8_t)chaos_number(c);
}

/* Objects are needed more often than their end. */
static uint32_t chaos_op(struct chaos *c)
{
	static const uint8_t often[] = {MSG_ALLOC_PD,  MSG_REG_MR,    MSG_REG_MR, MSG_CREATE_CQ,
					MSG_CREATE_QP, MSG_CREATE_QP, MSG_LISTEN, MSG_CONNECT,
					MSG_CONNECT,   MSG_ACCEPT,    MSG_ACCEPT, MSG_ACCEPT,
					MSG_ALLOC_MW,  MSG_CREATE_SRQ};

	return chaos_once_in(c, 2) ? often[chaos_below(c, sizeof(often))]
				   : 1 + chaos_below(c, MSG_OP_COUNT - 1);
}

size_t chaos_record(struct chaos *c, void *rec, int *fds, unsigned *ret_nfds)
{
	uint32_t op;
	size_t len;

	do {
		c->lacking = false;
		op = c->follows ? c->follows : chaos_op(c);
		c->follows = 0;
		len = chaos_record_of(c, op, rec, fds, ret_nfds);
	} while (c->lacking);
	if (chaos_once_in(c, 60))
		spoil(c, op, rec, len);
	if (chaos_once_in(c, 1000))
		len = 1 + chaos_below(c, MSG_MAX);
	if (chaos_once_in(c, 1000))
		*ret_nfds = chaos_below(c, MSG_MAX_FDS + 1);
	for (unsigned i = 0; i < *ret_nfds; i++)
		fds[i] = c->fds[chaos_once_in(c, 30) ? chaos_below(c, CHAOS_FDS) : 0];
	return len;
}
