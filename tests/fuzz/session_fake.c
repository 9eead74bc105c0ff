/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/session_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

#include "tools/common/tool.h"

enum {
	REGIONS = 64,
	QUEUE = 8192,
	MEMORY = 20 << 20, /* a session has no more */
	SILENT_MS = 1,
};

struct work {
	struct ddp_sge sge;
	uint64_t wr_id;
	enum ddp_wc_opcode opcode;
};

struct queue {
	struct work at[QUEUE];
	unsigned first, count, max;
};

static struct {
	struct input *in;
	session_fake_message *message;
	struct ddp_mr region[REGIONS];
	bool remote_write[REGIONS];
	struct queue sends, recvs;
	size_t memory;
	unsigned sessions;
	int out, err; /* the real ones, while the output of tools goes nowhere */
} fake;

/* ---- an input ---- */

static void silence(bool on)
{
	static int nowhere = -1;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	fflush(stdout);
	if (on) {
		fake.out = dup(STDOUT_FILENO);
		fake.err = dup(STDERR_FILENO);
	}
	must(dup2(on ? nowhere : fake.out, STDOUT_FILENO) >= 0);
	must(dup2(on ? nowhere : fake.err, STDERR_FILENO) >= 0);
	if (!on) {
		close(fake.out);
		close(fake.err);
	}
}

void session_fake_begin(struct input *in, session_fake_message *message)
{
	memset(&fake, 0, sizeof(fake));
	fake.in = in;
	fake.message = message;
	silence(true);
}

void session_fake_end(void)
{
	silence(false);
	must(fake.sessions == 0);
	for (unsigned i = 0; i < REGIONS; i++)
		must(!fake.region[i].addr);
}

/* ---- sessions ---- */

int session_open(struct session *s, const char *socket)
{
	(void)socket;
	s->own_ctx = true;
	return 0;
}

int session_make_qp(struct session *s, const struct session_need *need)
{
	must(need->send_wr <= QUEUE && need->recv_wr <= QUEUE);
	must(!s->qp);
	s->qp = (struct ddp_qp *)&fake;
	s->cq = (struct ddp_cq *)&fake;
	fake.sends.max = need->send_wr;
	fake.recvs.max = need->recv_wr;
	fake.sends.count = fake.recvs.count = 0;
	fake.sessions++;
	return 0;
}

int session_alloc(struct session *s, size_t len, unsigned access, struct ddp_mr **ret)
{
	unsigned i = 0;

	while (i < REGIONS && fake.region[i].addr)
		i++;
	must(i < REGIONS && s->nmrs < SESSION_MRS);
	if (len > MEMORY - fake.memory)
		return -ENOMEM;
	fake.memory += len;
	fake.remote_write[i] = access & DDP_ACCESS_REMOTE_WRITE;
	fake.region[i] = (struct ddp_mr){.addr = calloc(1, len + 1), .length = len, .lkey = i + 1};
	must(fake.region[i].addr);
	fake.region[i].rkey = i + 1;
	fake.region[i].iova = (uintptr_t)fake.region[i].addr;
	s->mr[s->nmrs++] = *ret = &fake.region[i];
	return 0;
}

int session_alloc_empty(struct session *s, size_t len, unsigned access, struct ddp_mr **ret)
{
	return session_alloc(s, len, access, ret);
}

void session_free(struct session *s, struct ddp_mr *mr)
{
	unsigned i = 0;

	if (!mr)
		return;
	while (i < s->nmrs && s->mr[i] != mr)
		i++;
	must(i < s->nmrs);
	s->mr[i] = s->mr[--s->nmrs];
	fake.memory -= mr->length;
	free(mr->addr);
	mr->addr = NULL;
}

int session_connect(struct session *s, const struct session_target *t)
{
	must(t->hello_len <= SESSION_PRIVATE);
	s->reply_len = in_8(fake.in);
	in_fill(fake.in, s->reply, s->reply_len);
	s->up = true;
	return in_8(fake.in) % 16 == 15 ? -ECONNREFUSED : 0;
}

void session_close(struct session *s)
{
	while (s->nmrs > 0)
		session_free(s, s->mr[0]);
	fake.sessions -= s->qp != NULL;
	s->qp = NULL;
	s->up = false;
}

void session_note_path(const char *sentence)
{
	(void)sentence;
}

int session_fail(const char *what, int err)
{
	must(*what && err < 0);
	return err;
}

int session_wc_fail(struct session *s, const char *what, const struct ddp_wc *wc)
{
	(void)s;
	must(*what && wc->status != DDP_WC_SUCCESS);
	return -ECONNRESET;
}

void session_addr_str(const struct sockaddr_storage *sa, char *buf, size_t len)
{
	(void)sa;
	snprintf(buf, len, "peer");
}

/* ---- work ---- */

static void check_sge(const struct ddp_sge *sge)
{
	const struct ddp_mr *mr = &fake.region[(sge->lkey - 1) % REGIONS];

	must(sge->lkey > 0 && sge->lkey <= REGIONS && mr->addr);
	must(sge->addr >= mr->iova && sge->addr - mr->iova <= mr->length &&
	     sge->length <= mr->length - (sge->addr - mr->iova));
}

/* False: the queue is full. */
static bool push(struct queue *q, const struct work *w)
{
	if (q->count == q->max)
		return false;
	q->at[(q->first + q->count++) % QUEUE] = *w;
	return true;
}

static struct work take(struct queue *q)
{
	struct work w = q->at[q->first];

	must(q->count > 0);
	q->first = (q->first + 1) % QUEUE;
	q->count--;
	return w;
}

int ddp_post_recv(struct ddp_qp *qp, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad)
{
	(void)bad;
	must(qp == (struct ddp_qp *)&fake);
	for (; wr; wr = wr->next) {
		struct work w = {.sge = wr->sg_list[0], .wr_id = wr->wr_id};

		must(wr->num_sge == 1);
		check_sge(&w.sge);
		if (!push(&fake.recvs, &w))
			return -ENOMEM;
	}
	return 0;
}

static enum ddp_wc_opcode completion_of(enum ddp_wr_opcode opcode)
{
	switch (opcode) {
	case DDP_WR_RDMA_WRITE:
		return DDP_WC_RDMA_WRITE;
	case DDP_WR_RDMA_READ:
		return DDP_WC_RDMA_READ;
	case DDP_WR_ATOMIC_FETCH_AND_ADD:
		return DDP_WC_FETCH_ADD;
	default:
		return DDP_WC_SEND;
	}
}

int ddp_post_send(struct ddp_qp *qp, struct ddp_send_wr *wr, struct ddp_send_wr **bad)
{
	(void)bad;
	must(qp == (struct ddp_qp *)&fake);
	for (; wr; wr = wr->next) {
		struct work w = {.wr_id = wr->wr_id, .opcode = completion_of(wr->opcode)};

		for (unsigned i = 0; i < (unsigned)wr->num_sge; i++)
			if (!(wr->send_flags & DDP_SEND_INLINE))
				check_sge(&wr->sg_list[i]);
		if (wr->send_flags & DDP_SEND_SIGNALED && !push(&fake.sends, &w))
			return -ENOMEM;
	}
	return 0;
}

int session_post_recv(struct session *s, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		      uint64_t wr_id)
{
	struct ddp_sge sge = {mr->iova + off, len, mr->lkey};
	struct ddp_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return ddp_post_recv(s->qp, &wr, NULL);
}

int session_post_send(struct session *s, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		      uint64_t wr_id, unsigned flags)
{
	struct ddp_sge sge = {mr->iova + off, len, mr->lkey};
	struct ddp_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .send_flags = flags};

	return ddp_post_send(s->qp, &wr, NULL);
}

/* ---- the peer ---- */

static void complete_recv(struct ddp_wc *wc)
{
	struct work w = take(&fake.recvs);
	uint8_t *p = malloc(w.sge.length + 1);
	size_t len;

	must(p);
	len = fake.message(fake.in, p, w.sge.length);
	must(len <= w.sge.length);
	memcpy((void *)(uintptr_t)w.sge.addr, p, len);
	free(p);
	*wc = (struct ddp_wc){.wr_id = w.wr_id, .opcode = DDP_WC_RECV, .byte_len = (uint32_t)len};
	wc->wc_flags = in_8(fake.in) & 1 ? DDP_WC_SOLICITED : 0;
}

static void write_memory(void)
{
	unsigned i = in_8(fake.in) % REGIONS;
	size_t at = in_16(fake.in), n = in_8(fake.in);
	uint8_t bytes[UINT8_MAX];

	in_fill(fake.in, bytes, n);
	if (!fake.region[i].addr || !fake.remote_write[i] || at > fake.region[i].length)
		return;
	if (n > fake.region[i].length - at)
		n = fake.region[i].length - at;
	memcpy((uint8_t *)fake.region[i].addr + at, bytes, n);
}

static int flushed(struct ddp_wc *wc)
{
	*wc = (struct ddp_wc){.status = DDP_WC_FLUSH_ERR, .opcode = DDP_WC_RECV};
	return 1;
}

/* One thing. -1: nothing that completes. */
static int act(struct ddp_wc *wc)
{
	uint8_t step = in_8(fake.in) % 16;

	if (step < 10 && fake.recvs.count > 0) {
		complete_recv(wc);
		return 1;
	}
	if (step == 14)
		write_memory();
	if (step == 15)
		return flushed(wc);
	return step == 13 ? 0 : -1;
}

/* What is sent has arrived before the peer does more. */
static int next_completions(int n, struct ddp_wc *wc, bool waits)
{
	int done = 0, r = -1;

	for (; done < n && fake.sends.count > 0; done++) {
		struct work w = take(&fake.sends);

		wc[done] = (struct ddp_wc){.wr_id = w.wr_id, .opcode = w.opcode};
	}
	if (done > 0)
		return done;
	do {
		if (fake.in->left == 0)
			return flushed(wc);
		r = act(wc);
	} while (r < 0 && waits);
	return r > 0;
}

int session_wait(struct session *s, int n, struct ddp_wc *wc, int timeout_ms)
{
	must(s->qp && n > 0);
	return next_completions(n, wc, timeout_ms < 0 || timeout_ms > SILENT_MS);
}

int ddp_poll_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc)
{
	must(cq == (struct ddp_cq *)&fake);
	return next_completions(n, wc, false);
}

/* ---- servers ---- */

int ddp_query(struct ddp_ctx *ctx, struct ddp_caps *caps)
{
	(void)ctx;
	*caps = (struct ddp_caps){
		.struct_size = caps->struct_size,
		.max_qp_wr = QUEUE,
		.max_cqe = QUEUE,
		.max_sge = 4,
		.max_inline = 256,
	};
	return 0;
}

int server_refuse(struct server_answer *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	a->len = (size_t)vsnprintf((char *)a->data, sizeof(a->data), fmt, ap);
	va_end(ap);
	must(a->len > 0 && a->len < sizeof(a->data));
	return SERVER_REJECT;
}

/* One session, whose private data is the first part of the input. */
int server_run(const struct server_conf *conf)
{
	struct session s = {.user = conf->user, .peer = "peer"};
	struct server_answer a = {.len = 0};
	uint8_t hello[SESSION_PRIVATE];
	size_t len = in_8(fake.in);
	int r;

	len = in_copy(fake.in, hello, len);
	s.state = calloc(1, conf->state_size + 1);
	must(s.state);
	r = conf->request(&s, hello, len, &a);
	must(a.len <= sizeof(a.data));
	if (r == 0) {
		s.up = true;
		r = conf->run(&s);
		must(r == TOOL_OK || r == TOOL_FAILED);
	}
	session_close(&s);
	free(s.state);
	return TOOL_OK;
}
