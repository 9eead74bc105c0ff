/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of ddp_easy.h: their begin and end, their memory, and how they become connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client-lib/base/deadline.h"
#include "client-lib/easy/easy_memory.h"
#include "client-lib/easy/easy_work.h"
#include "util/limit_text.h"

enum {
	MESSAGES = 64,
	MESSAGE_BYTES = 16384,
	AGAIN_MS = 100, /* between two attempts to listen at the next daemon */
};

/* ---- begin and end ---- */

/* Copies the members that the program's header has. */
static int read_attr(const struct ddp_easy_attr *from, struct ddp_easy_attr *ret)
{
	*ret = (struct ddp_easy_attr)DDP_INIT(ddp_easy_attr);
	if (from && from->struct_size < sizeof(from->struct_size))
		return easy_error_set(NULL, -EINVAL, "ddp_easy_open: struct_size is not set");
	if (from && from->struct_size > sizeof(*ret))
		return easy_error_set(NULL, -E2BIG,
				      "ddp_easy_open: struct_size %zu: this library knows %zu",
				      from->struct_size, sizeof(*ret));
	if (from)
		memcpy(ret, from, from->struct_size);
	ret->message_bytes = ret->message_bytes ? ret->message_bytes : MESSAGE_BYTES;
	ret->messages = ret->messages ? ret->messages : MESSAGES;
	if (ret->message_bytes > EASY_BYTES_MAX || ret->messages > EASY_MESSAGES_MAX)
		return easy_error_set(
			NULL, -EINVAL, "ddp_easy_open: %u messages of %u bytes: at most %u of %u",
			ret->messages, ret->message_bytes, EASY_MESSAGES_MAX, EASY_BYTES_MAX);
	return 0;
}

static struct ddp_easy *make_easy(struct easy_hub *hub, const struct easy_hello *mine)
{
	struct ddp_easy *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->hub = hub;
	e->mine = *mine;
	e->end.bell = -1;
	e->epoll = e->again = -1;
	return e;
}

int ddp_easy_open(const struct ddp_easy_attr *attr, struct ddp_easy **ret)
{
	struct easy_hello mine = {0};
	struct ddp_easy_attr a;
	struct easy_hub *hub;
	struct ddp_easy *e;
	int r = read_attr(attr, &a);

	if (r == 0)
		r = easy_hub_open(a.socket, &hub);
	if (r < 0)
		return r;
	mine.messages = a.messages;
	mine.message_bytes = a.message_bytes;
	e = make_easy(hub, &mine);
	if (!e) {
		easy_hub_destroy(hub);
		return easy_error_set(NULL, -ENOMEM, "ddp_easy_open: out of memory");
	}
	e->listen_flags = a.listen_flags;
	*ret = e;
	return 0;
}

static void close_epoll(struct ddp_easy *e)
{
	if (e->epoll >= 0)
		close(e->epoll);
	if (e->end.bell >= 0)
		close(e->end.bell);
	if (e->again >= 0)
		close(e->again);
	e->epoll = e->end.bell = e->again = -1;
}

static void free_easy(struct ddp_easy *e)
{
	if (e->pending)
		free_easy(e->pending);
	easy_link_free(e);
	if (e->state == EASY_LISTENING)
		close_epoll(e);
	if (easy_hub_leave(e->hub)) {
		easy_memory_remove_all(e->hub);
		easy_hub_destroy(e->hub);
	}
	free(e);
}

static bool is_over(const struct easy_end *end)
{
	return end->over;
}

int ddp_easy_close(struct ddp_easy *e, int timeout_ms)
{
	uint64_t deadline = deadline_in(timeout_ms);
	int r = 0;

	if (!e)
		return 0;
	if (e->state == EASY_CONNECTED) {
		r = easy_work_flush(e, deadline);
		if (e->state == EASY_CONNECTED && ddp_disconnect(e->end.id) == 0 && r == 0)
			r = easy_hub_wait(e->hub, &e->end, is_over, deadline);
		if (r == -ESHUTDOWN)
			r = 0;
	}
	if (r == -ETIMEDOUT)
		easy_error_set(NULL, r, "ddp_easy_close: the connection did not end in time");
	else if (r < 0)
		easy_error_set(NULL, r, "ddp_easy_close: %s",
			       e->broken ? e->broken_text : ddp_last_reason());
	free_easy(e);
	return r;
}

const char *ddp_easy_error(const struct ddp_easy *e)
{
	return easy_error_text(e ? &e->error : NULL);
}

/* ---- memory ---- */

int ddp_easy_alloc(struct ddp_easy *e, size_t length, void **ret)
{
	return easy_memory_add(e->hub, &e->error, NULL, length, -1, ret);
}

int ddp_easy_register(struct ddp_easy *e, void *addr, size_t length, int memfd)
{
	void *same;

	if (!addr)
		return easy_error_set(&e->error, -EINVAL, "ddp_easy_register: addr is NULL");
	return easy_memory_add(e->hub, &e->error, addr, length, memfd, &same);
}

int ddp_easy_free(struct ddp_easy *e, void *addr)
{
	return easy_memory_remove(e->hub, &e->error, addr);
}

int ddp_easy_offer(struct ddp_easy *e, void *addr, size_t length, unsigned access)
{
	const unsigned all = DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_WRITE;
	struct easy_hello offer = {0};
	int r = 0;

	if (e->state > EASY_LISTENING)
		return easy_error_set(&e->error, -EISCONN,
				      "ddp_easy_offer: the peer knows the offer already");
	if (addr && (access == 0 || access & ~all || length == 0))
		return easy_error_set(
			&e->error, -EINVAL,
			"ddp_easy_offer: %zu bytes, access %u: expected at least one byte, and "
			"DDP_ACCESS_REMOTE_READ, DDP_ACCESS_REMOTE_WRITE or both",
			length, access);
	if (addr)
		r = easy_memory_offer(e->hub, &e->error, addr, length, access, &offer);
	if (r < 0)
		return r;
	offer.messages = e->mine.messages;
	offer.message_bytes = e->mine.message_bytes;
	e->mine = offer;
	return 0;
}

int ddp_easy_offered(struct ddp_easy *e, uint64_t *length, unsigned *access)
{
	if (e->state < EASY_CONNECTED)
		return easy_link_check(e);
	*length = e->peer.access ? e->peer.length : 0;
	if (access)
		*access = e->peer.length ? e->peer.access : 0;
	return 0;
}

/* ---- connect ---- */

static bool is_answered(const struct easy_end *end)
{
	return end->established || end->over;
}

/* Waits for the answer to a request. -EINPROGRESS after the deadline. */
static int await_answer(struct ddp_easy *e, uint64_t deadline)
{
	int r = easy_hub_wait(e->hub, &e->end, is_answered, deadline);

	if (r == -ETIMEDOUT)
		return easy_error_set(&e->error, -EINPROGRESS,
				      "the peer has not answered the connection request yet");
	if (r < 0)
		return easy_link_break(e, r, "%s", ddp_last_reason());
	if (!e->end.established)
		return easy_link_break(e, e->end.err ? e->end.err : -ECONNREFUSED, "%s",
				       e->end.reason);
	e->state = EASY_CONNECTED;
	return 0;
}

static int await_server(struct ddp_easy *e, uint64_t deadline)
{
	int r = await_answer(e, deadline);

	return r < 0 ? r : easy_link_start(e, e->end.data, e->end.len);
}

static struct ddp_conn_param conn_param(const struct easy_hello *mine, uint8_t *hello)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);

	easy_hello_put(hello, mine);
	param.private_data = hello;
	param.private_len = EASY_HELLO_SIZE;
	return param;
}

static int request(struct ddp_easy *e, const char *node, uint16_t port, int timeout_ms)
{
	uint8_t hello[EASY_HELLO_SIZE];
	struct ddp_conn_param param = conn_param(&e->mine, hello);
	int r = ddp_create_id(e->hub->ctx, &e->end, &e->end.id);

	if (r < 0)
		return easy_link_break(e, r, "%s", ddp_last_reason());
	r = easy_link_make(e);
	if (r < 0)
		return easy_link_break(e, r, "%s", easy_error_text(&e->error));
	param.timeout_ms = timeout_ms > 0 ? timeout_ms : 0;
	r = ddp_connect_name(e->end.id, node, port, &param);
	if (r < 0)
		return easy_link_break(e, r, "%s", ddp_last_reason());
	e->state = EASY_CONNECTING;
	return 0;
}

int ddp_easy_connect(struct ddp_easy *e, const char *node, uint16_t port, int timeout_ms)
{
	uint64_t deadline = deadline_in(timeout_ms);
	int r;

	if (e->state == EASY_BROKEN)
		return easy_link_check(e);
	if (e->state != EASY_NEW)
		return easy_error_set(&e->error, -EISCONN,
				      "ddp_easy_connect: the object is a listener or a connection");
	if (!node)
		return easy_error_set(&e->error, -EINVAL, "ddp_easy_connect: node is NULL");
	r = easy_hub_reopen(e->hub, &e->end, deadline);
	if (r < 0)
		return easy_link_break(e, r, "%s", ddp_last_reason());
	easy_memory_renew(e->hub, &e->mine);
	r = request(e, node, port, timeout_ms);
	if (r == 0)
		r = await_server(e, deadline);
	if (r == -EINPROGRESS && timeout_ms != 0)
		r = easy_link_break(e, -ETIMEDOUT, "%s, port %u: no answer within %d ms", node,
				    port, timeout_ms);
	return r;
}

int ddp_easy_wait(struct ddp_easy *e, int timeout_ms)
{
	uint64_t deadline = deadline_in(timeout_ms);
	int r = 0;

	if (e->state == EASY_CONNECTING)
		r = await_server(e, deadline);
	return r < 0 ? r : easy_work_finish(e, deadline);
}

/* ---- listen and accept ---- */

static int parse_address(struct ddp_easy *e, const char *address, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (!address)
		return 0;
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1)
		ret->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1)
		ret->ss_family = AF_INET6;
	else
		return easy_error_set(&e->error, -EINVAL, "ddp_easy_listen: '%s' is not an address",
				      address);
	return 0;
}

/* One descriptor of three: events of the context, those that another thread has taken, and a timer.
 */
static int make_epoll(struct ddp_easy *e)
{
	struct epoll_event in = {.events = EPOLLIN};
	char text[LIMIT_TEXT_MAX];
	int err;

	e->end.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->again = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (e->end.bell >= 0 && e->again >= 0 && e->epoll >= 0 &&
	    epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->again, &in) == 0 &&
	    epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->end.bell, &in) == 0 &&
	    epoll_ctl(e->epoll, EPOLL_CTL_ADD, ddp_fd(e->hub->ctx), &in) == 0)
		return 0;
	err = -errno;
	close_epoll(e);
	return easy_error_set(&e->error, err, "ddp_easy_listen: cannot make a descriptor: %s",
			      limit_text(-err, text, sizeof(text)));
}

int ddp_easy_listen(struct ddp_easy *e, const char *address, uint16_t port)
{
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	struct ddp_listen_attr at = DDP_INIT(ddp_listen_attr);
	struct sockaddr_storage addr;
	int r = parse_address(e, address, &addr);

	if (r < 0)
		return r;
	if (e->state != EASY_NEW)
		return easy_error_set(&e->error, -EISCONN,
				      "ddp_easy_listen: the object is a listener or a connection");
	at.addrs = &addr;
	at.num_addrs = addr.ss_family != AF_UNSPEC;
	at.port = port;
	at.flags = e->listen_flags;
	r = make_epoll(e);
	if (r < 0)
		return r;
	r = ddp_create_id(e->hub->ctx, &e->end, &e->end.id);
	if (r == 0)
		r = ddp_listen_service(e->end.id, &at);
	if (r == 0)
		r = ddp_query_id(e->end.id, &attr);
	if (r < 0) {
		easy_error_pass(&e->error, r);
		easy_hub_drop(e->hub, &e->end);
		close_epoll(e);
		return r;
	}
	e->state = EASY_LISTENING;
	return attr.port;
}

/* Answers a request. Its connection is pending until it is established. */
static int accept_request(struct ddp_easy *listener, struct ddp_easy *e,
			  const struct easy_request *asked)
{
	uint8_t hello[EASY_HELLO_SIZE];
	struct ddp_conn_param param = conn_param(&e->mine, hello);
	int r = easy_link_make(e);

	if (r == 0)
		r = easy_link_start(e, asked->data, asked->len);
	if (r == 0) {
		r = ddp_accept(e->end.id, &param);
		if (r < 0)
			easy_error_pass(&e->error, r);
	}
	if (r == 0) {
		e->state = EASY_CONNECTING;
		listener->pending = e;
		return 0;
	}
	easy_error_set(&listener->error, r, "ddp_easy_accept: %s", easy_error_text(&e->error));
	free_easy(e); /* which rejects the request */
	return r;
}

static bool is_asked(const struct easy_end *end)
{
	return end->requests;
}

static void arm_again(struct ddp_easy *listener, long ms)
{
	const struct itimerspec t = {.it_value.tv_nsec = ms * 1000000};

	timerfd_settime(listener->again, 0, &t, NULL);
}

/* A daemon may refuse at first, as one whose address is not there yet, or whose port somebody
 * else has. */
static int reopen_until(struct ddp_easy *listener, uint64_t deadline)
{
	int r, left;

	for (;;) {
		r = easy_hub_reopen(listener->hub, &listener->end, deadline);
		left = deadline_left(deadline);
		if (r == 0 || left == 0)
			return r;
		poll(NULL, 0, left > 0 && left < AGAIN_MS ? left : AGAIN_MS);
	}
}

/* The daemon has ended. Listens at the next one; without one the timer makes the descriptor of
 * event loops readable, instead of the old connection. */
static int listen_again(struct ddp_easy *listener, uint64_t deadline)
{
	struct epoll_event in = {.events = EPOLLIN};
	int fd = ddp_fd(listener->hub->ctx);
	int r = reopen_until(listener, deadline);

	epoll_ctl(listener->epoll, EPOLL_CTL_DEL, fd, &in);
	if (r < 0) {
		arm_again(listener, AGAIN_MS);
		return easy_error_set(&listener->error, -ETIMEDOUT,
				      "ddp_easy_accept: the daemon has ended: %s",
				      ddp_last_reason());
	}
	arm_again(listener, 0);
	easy_memory_renew(listener->hub, &listener->mine);
	epoll_ctl(listener->epoll, EPOLL_CTL_ADD, fd, &in);
	return 0;
}

static int take_request(struct ddp_easy *listener, uint64_t deadline)
{
	struct easy_request asked;
	struct ddp_easy *e;
	int r = easy_hub_wait(listener->hub, &listener->end, is_asked, deadline);

	if (r == -ETIMEDOUT)
		return easy_error_set(&listener->error, r,
				      "ddp_easy_accept: no connection request in time");
	if (r == -EPIPE)
		return listen_again(listener, deadline);
	if (r < 0)
		return easy_error_pass(&listener->error, r);
	easy_memory_renew(listener->hub, &listener->mine);
	e = make_easy(easy_hub_use(listener->hub), &listener->mine);
	if (!e) {
		easy_hub_leave(listener->hub);
		return easy_error_set(&listener->error, -ENOMEM, "ddp_easy_accept: out of memory");
	}
	e->end.bell = listener->end.bell; /* until it is established */
	if (easy_hub_take_request(listener->hub, &listener->end, &e->end, &asked))
		r = accept_request(listener, e, &asked);
	else
		free_easy(e);
	return r == -EPIPE ? listen_again(listener, deadline) : r;
}

/* Waits for the pending connection; it is gone if its peer has left, or the daemon. If waiting
 * fails for another reason, it stays. */
static int finish_pending(struct ddp_easy *listener, struct ddp_easy **ret, uint64_t deadline)
{
	struct ddp_easy *e = listener->pending;
	int r = easy_hub_wait(e->hub, &e->end, is_answered, deadline);

	if (r == -ETIMEDOUT)
		return easy_error_set(&listener->error, r,
				      "ddp_easy_accept: a peer has not completed its connection");
	if (r < 0 && r != -EPIPE)
		return easy_error_pass(&listener->error, r);
	r = await_answer(e, deadline);
	listener->pending = NULL;
	if (r < 0) {
		free_easy(e);
		return 0;
	}
	pthread_mutex_lock(&listener->hub->lock);
	e->end.bell = -1;
	pthread_mutex_unlock(&listener->hub->lock);
	*ret = e;
	return 1;
}

int ddp_easy_accept(struct ddp_easy *listener, struct ddp_easy **ret, int timeout_ms)
{
	uint64_t deadline = deadline_in(timeout_ms), rings;
	int r = 0;

	if (listener->state != EASY_LISTENING)
		return easy_error_set(&listener->error, -EINVAL,
				      "ddp_easy_accept: the object is not a listener");
	if (read(listener->end.bell, &rings, sizeof(rings)) < 0)
		rings = 0; /* it was not rung */
	while (r == 0) {
		if (listener->pending)
			r = finish_pending(listener, ret, deadline);
		else
			r = take_request(listener, deadline);
	}
	return r < 0 ? r : 0;
}

/* ---- event loops ---- */

int ddp_easy_fd(struct ddp_easy *e)
{
	if (e->state == EASY_LISTENING)
		return e->epoll;
	return e->state >= EASY_CONNECTED && e->cq ? ddp_cq_fd(e->cq) : ddp_fd(e->hub->ctx);
}

int ddp_easy_arm(struct ddp_easy *e, uint64_t *seen)
{
	int r = easy_link_check(e);

	if (e->state < EASY_CONNECTED)
		return 0;
	if (r < 0)
		return r;
	r = easy_link_look(e);
	if (r < 0)
		return r;
	if (e->taken == *seen && e->state == EASY_CONNECTED && !e->flushed) {
		r = ddp_req_notify_cq(e->cq, 0);
		return r < 0 ? easy_error_pass(&e->error, r) : r;
	}
	*seen = e->taken;
	return 1;
}
