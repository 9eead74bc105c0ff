/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/clock.h"
#include "tools/common/host_list.h"
#include "tools/common/message.h"
#include "tools/common/tool.h"

enum {
	SLICE_MS = 100, /* interval of checking tool_stopped() */
	PART_MS = 2000, /* how long the end of a session may take */
	MS_NS = 1000000,
	REASON_MS = 500, /* how long to wait for the reason after a failure */
};

int session_fail(const char *what, int err)
{
	return message_fail(what, err, ddp_last_reason());
}

void session_addr_str(const struct sockaddr_storage *sa, char *buf, size_t len)
{
	char host[INET6_ADDRSTRLEN] = "?";
	unsigned port = 0;

	if (sa->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		port = ntohs(in->sin_port);
	} else if (sa->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		port = ntohs(in6->sin6_port);
	}
	snprintf(buf, len, "%s port %u", host, port);
}

int session_open(struct session *s, const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	int r;

	*s = (struct session){.own_ctx = true};
	attr.socket = socket;
	r = ddp_open(&attr, &s->ctx);
	if (r < 0)
		return session_fail("attach to the daemon", r);
	r = ddp_alloc_pd(s->ctx, &s->pd);
	if (r < 0)
		session_fail("allocate a protection domain", r);
	return r;
}

int session_make_qp(struct session *s, const struct session_need *need)
{
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);
	struct ddp_qp_init qp = DDP_INIT(ddp_qp_init);
	int r;

	cq.entries = need->send_wr + need->recv_wr;
	cq.spin_us = -1;
	r = ddp_create_cq(s->ctx, &cq, &s->cq);
	if (r < 0)
		return session_fail("create a completion queue", r);
	if (!s->id) {
		r = ddp_create_id(s->ctx, s, &s->id);
		if (r < 0)
			return session_fail("create an endpoint", r);
	}
	qp.send_cq = qp.recv_cq = s->cq;
	qp.max_send_wr = need->send_wr;
	qp.max_recv_wr = need->recv_wr;
	qp.max_inline = need->max_inline;
	qp.max_ord = qp.max_ird = need->reads;
	r = ddp_create_qp(s->id, s->pd, &qp, &s->qp);
	if (r < 0)
		session_fail("create a queue pair", r);
	return r;
}

/* The pages have data, so that they are there. */
static int register_own(struct ddp_pd *pd, size_t len, unsigned access, struct ddp_mr **ret)
{
	void *p = malloc(len);
	int r;

	if (!p)
		return -ENOMEM;
	memset(p, 0, len);
	r = ddp_reg_mr(pd, p, len, access, NULL, ret);
	if (r < 0)
		free(p);
	return r;
}

static int alloc_memory(struct session *s, size_t len, unsigned access, struct ddp_mr **ret)
{
	int r;

	if (s->nmrs == SESSION_MRS)
		return -ENOSPC;
	r = s->own_memory ? register_own(s->pd, len, access, &s->mr[s->nmrs])
			  : ddp_alloc_mr(s->pd, len, access, &s->mr[s->nmrs]);
	if (r < 0)
		return session_fail("register memory", r);
	*ret = s->mr[s->nmrs++];
	return 0;
}

int session_alloc(struct session *s, size_t len, unsigned access, struct ddp_mr **ret)
{
	return alloc_memory(s, len, s->own_memory ? access : access | DDP_ACCESS_POPULATE, ret);
}

int session_alloc_empty(struct session *s, size_t len, unsigned access, struct ddp_mr **ret)
{
	return alloc_memory(s, len, access, ret);
}

/* The next event that is not about a path. Path events go to on_path, if it is set. */
static int get_event(struct session *s, int timeout_ms, struct ddp_cm_event **ret)
{
	int r;

	while ((r = ddp_get_cm_event(s->ctx, ret, timeout_ms)) == 0 &&
	       (*ret)->type == DDP_CM_PATH) {
		if (s->on_path)
			s->on_path((*ret)->reason);
		ddp_ack_cm_event(*ret);
	}
	return r;
}

/* Takes path events while the session runs. An event of another kind is kept in pending. */
static void poll_path_events(struct session *s)
{
	uint64_t now = clock_now_ns();

	if (!s->own_ctx || !s->on_path || s->pending ||
	    now - s->polled < (uint64_t)SLICE_MS * MS_NS)
		return;
	s->polled = now;
	if (get_event(s, 0, &s->pending) != 0)
		s->pending = NULL;
}

/* The next event of a client, which the caller acknowledges. -EAGAIN after timeout_ms (< 0: never),
 * -EINTR when the program shall stop. */
static int await_event(struct session *s, int timeout_ms, struct ddp_cm_event **ret)
{
	if (s->pending) {
		*ret = s->pending;
		s->pending = NULL;
		return 0;
	}
	for (int left = timeout_ms;; left -= SLICE_MS) {
		int slice = timeout_ms >= 0 && left < SLICE_MS ? left : SLICE_MS;
		int r = get_event(s, slice < 0 ? 0 : slice, ret);

		if (r != -EAGAIN && r != -EINTR)
			return r;
		if (timeout_ms >= 0 && left <= SLICE_MS)
			return -EAGAIN;
		if (timeout_ms < 0 && tool_stopped())
			return -EINTR;
	}
}

/* Whether the host was reached, and only the server is missing. */
static bool is_server_missing(const struct ddp_cm_event *ev)
{
	return ev->err == -ECONNREFUSED && ev->reason &&
	       (strstr(ev->reason, "nothing listens on this port") ||
		strstr(ev->reason, "no program listens"));
}

/* server: what the user would have to start there, or NULL. */
static int event_fail(const char *what, const struct ddp_cm_event *ev, const char *server)
{
	char text[SESSION_PRIVATE + 1];
	int err = ev->err ? ev->err : -ECONNRESET;

	if (ev->type == DDP_CM_REJECTED) {
		message_sanitize(text, sizeof(text), ev->private_data, ev->private_len);
		message_error("%s: rejected%s%s", what, *text ? ": " : "", text);
		return -ECONNREFUSED;
	}
	if (server && is_server_missing(ev)) {
		message_error("%s: %s; '%s' serves there", what, ev->reason, server);
		return err;
	}
	return message_fail(what, err, ev->reason);
}

static int keep_reply(struct session *s, const struct ddp_cm_event *ev)
{
	atomic_store(&s->up, true);
	session_addr_str(&ev->peer, s->peer, sizeof(s->peer));
	s->reply_len = ev->private_len < sizeof(s->reply) ? ev->private_len : sizeof(s->reply);
	if (s->reply_len)
		memcpy(s->reply, ev->private_data, s->reply_len);
	return 0;
}

/* By name; several addresses of the peer are one list for the daemon. */
static int start_connect(struct session *s, const struct session_target *t, const char *what)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct host_list to = {.n = 0}, from = {.n = 0};
	int r = 0;

	param.private_data = t->hello;
	param.private_len = t->hello_len;
	if (t->bind)
		r = host_list_parse("--bind", t->bind, 0, &from);
	if (r == 0 && host_list_several(t->host))
		r = host_list_parse("HOST", t->host, t->port, &to);
	if (r < 0)
		return r;
	param.local_addrs = from.a;
	param.num_local_addrs = from.n;
	if (to.n > 1) {
		param.peer_addrs = to.a + 1;
		param.num_peer_addrs = to.n - 1;
		r = ddp_connect(s->id, (struct sockaddr *)&to.a[0], &param);
	} else {
		r = ddp_connect_name(s->id, t->host, t->port, &param);
	}
	return r < 0 ? session_fail(what, r) : r;
}

int session_connect(struct session *s, const struct session_target *t)
{
	struct ddp_cm_event *ev;
	char what[320];
	int r;

	if (!host_list_check(t->host))
		return -EINVAL;
	snprintf(what, sizeof(what), "connect %s port %u", t->host, t->port);
	s->on_path = t->on_path;
	r = start_connect(s, t, what);
	if (r < 0)
		return r;
	r = await_event(s, -1, &ev);
	if (r == -EINTR)
		return r;
	if (r < 0)
		return session_fail(what, r);
	r = ev->type == DDP_CM_ESTABLISHED ? keep_reply(s, ev) : event_fail(what, ev, t->server);
	ddp_ack_cm_event(ev);
	return r;
}

/* Waits for the end after ddp_disconnect() and drops other events. */
static void await_end(struct session *s)
{
	struct ddp_cm_event *ev;
	bool end = false;

	while (!end && await_event(s, PART_MS, &ev) == 0) {
		end = ev->type == DDP_CM_DISCONNECTED;
		ddp_ack_cm_event(ev);
	}
}

static void free_memory(const struct session *s, struct ddp_mr *mr)
{
	void *own = s->own_memory ? mr->addr : NULL;

	ddp_dereg_mr(mr);
	free(own);
}

void session_free(struct session *s, struct ddp_mr *mr)
{
	for (unsigned i = 0; i < s->nmrs; i++) {
		if (s->mr[i] != mr)
			continue;
		free_memory(s, mr);
		s->mr[i] = s->mr[--s->nmrs];
		return;
	}
}

void session_close(struct session *s)
{
	s->on_path = NULL;
	if (s->qp && atomic_exchange(&s->up, false) && ddp_disconnect(s->id) == 0 && s->own_ctx)
		await_end(s);
	if (s->qp)
		ddp_destroy_qp(s->qp);
	ddp_ack_cm_event(s->pending);
	if (s->id)
		ddp_destroy_id(s->id);
	if (s->cq)
		ddp_destroy_cq(s->cq);
	while (s->nmrs)
		free_memory(s, s->mr[--s->nmrs]);
	if (s->pd)
		ddp_dealloc_pd(s->pd);
	if (s->own_ctx)
		ddp_close(s->ctx);
	*s = (struct session){0};
}

int session_post_recv(struct session *s, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		      uint64_t wr_id)
{
	struct ddp_sge sge = {.addr = mr->iova + off, .length = len, .lkey = mr->lkey};
	struct ddp_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	int r = ddp_post_recv(s->qp, &wr, NULL);

	return r < 0 ? session_fail("post a receive", r) : r;
}

int session_post_send(struct session *s, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		      uint64_t wr_id, unsigned flags)
{
	struct ddp_sge sge = {.addr = mr->iova + off, .length = len, .lkey = mr->lkey};
	struct ddp_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_SEND,
		.send_flags = flags,
	};
	int r = ddp_post_send(s->qp, &wr, NULL);

	return r < 0 ? session_fail("post a send", r) : r;
}

/* The daemon has ended. An orderly end left an event with the reason, which a client reads. */
static int daemon_ended(struct session *s)
{
	const char *what = "wait for completions";
	struct ddp_cm_event *ev;

	session_fail(what, -EPIPE);
	if (!s->own_ctx || await_event(s, 0, &ev) != 0)
		return -EPIPE;
	if (ev->err)
		event_fail("session", ev, NULL);
	ddp_ack_cm_event(ev);
	return -EPIPE;
}

int session_wait(struct session *s, int n, struct ddp_wc *wc, int timeout_ms)
{
	for (int left = timeout_ms;; left -= SLICE_MS) {
		int slice = timeout_ms >= 0 && left < SLICE_MS ? left : SLICE_MS;
		int r;

		poll_path_events(s);
		r = ddp_wait_cq(s->cq, n, wc, slice < 0 ? 0 : slice);
		if (r > 0)
			return r;
		if (r == -EPIPE)
			return daemon_ended(s);
		if (r < 0 && r != -EINTR)
			return session_fail("wait for completions", r);
		if (tool_stopped())
			return -EINTR;
		if (timeout_ms >= 0 && left <= SLICE_MS)
			return 0;
	}
}

void session_note_path(const char *sentence)
{
	message_note("%s", sentence);
}

/* Why the session ended: a client reads its event. The main thread reads those of a server. */
static int session_ended(struct session *s, const char *what)
{
	struct ddp_cm_event *ev;
	int r = s->own_ctx ? await_event(s, REASON_MS, &ev) : -EAGAIN;

	if (r == -EPIPE)
		return session_fail(what, r);
	if (r == 0) {
		r = -ECONNRESET;
		if (ev->type == DDP_CM_DISCONNECTED)
			atomic_store(&s->up, false);
		if (ev->err)
			r = event_fail(what, ev, NULL);
		else
			message_error("%s: %s ended the session", what, s->peer);
		ddp_ack_cm_event(ev);
		return r;
	}
	message_error("%s: the session with %s ended", what, s->peer);
	return -ECONNRESET;
}

int session_wc_fail(struct session *s, const char *what, const struct ddp_wc *wc)
{
	char text[256] = "";

	if (wc->status == DDP_WC_FLUSH_ERR)
		return session_ended(s, what);
	ddp_explain(wc, text, sizeof(text));
	message_error("%s: %s%s%s", what, ddp_wc_status_str(wc->status), *text ? ": " : "", text);
	return -EIO;
}
