/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCX as Dask and other schedulers of tasks use it: each worker has an endpoint to each other one,
 * with an error handler, and sleeps at a file descriptor until something comes. All send to all, 1
 * byte to 1 MiB, and compare every byte. Then one is killed: each other one hears of it by its
 * error handler, and goes on with the rest.
 *
 *   ucx_workers FOLDER NUMBER WORKERS ADDRESS,ADDRESS PORT
 *
 * Workers have numbers from 0 on, listen at PORT + NUMBER, those with even numbers at the first
 * address, and meet by files in the folder. The last one is killed. Exit status 0 if all data is
 * right.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "tests/programs/rank_bytes.h"

enum { MOST = 32, LARGEST = 1 << 20, ROUNDS = 3, LIFE_S = 200, LOOK_MS = 1000 };

static const size_t sizes[] = {1, 64, 1000, 8192, 65536, LARGEST};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

#define UCX(call)                                                                                  \
	do {                                                                                       \
		ucs_status_t status_ = (call);                                                     \
		if (status_ != UCS_OK)                                                             \
			fail(__LINE__, #call, ucs_status_string(status_));                         \
	} while (0)

static struct worker {
	ucp_ep_h out, in; /* that this one opened, and that the other one did */
	int lost;
	uint8_t *data[2]; /* sent, received */
	ucs_status_ptr_t request[2];
} others[MOST];

static int me, all, ends;
static const char *folder;
static ucp_context_h context;
static ucp_worker_h worker;
static int wake_fd;

static void fail(int line, const char *what, const char *why)
{
	printf("worker %d: FAILED line %d: %s: %s\n", me, line, what, why);
	exit(1);
}

/* ---- meeting ---- */

static void path_of(const char *what, int who, char ret[256])
{
	snprintf(ret, 256, "%s/%s-%d", folder, what, who);
}

static void say(const char *what)
{
	char path[256];
	FILE *f;

	path_of(what, me, path);
	f = fopen(path, "w");
	if (!f || fclose(f))
		fail(__LINE__, "a file in the folder", what);
}

static int said(const char *what, int who)
{
	char path[256];

	path_of(what, who, path);
	return access(path, F_OK) == 0;
}

/* ---- progress: sleeps at the descriptor ---- */

/* The bound is for what the folder says, which wakes nobody. */
static void progress(void)
{
	struct pollfd p = {.fd = wake_fd, .events = POLLIN};

	if (ucp_worker_progress(worker) || ucp_worker_arm(worker) == UCS_ERR_BUSY)
		return;
	(void)poll(&p, 1, LOOK_MS);
}

static void wait_until_all(const char *what, int n)
{
	say(what);
	for (int who = 0; who < n; who++)
		while (!said(what, who))
			progress();
}

/* ---- endpoints ---- */

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	struct worker *w = arg;

	(void)ep;
	if (w != &others[all - 1] && !ends)
		fail(__LINE__, "an endpoint of one that lives", ucs_status_string(status));
	w->lost = 1;
}

static ucp_ep_params_t handled(struct worker *w)
{
	return (ucp_ep_params_t){
		.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = {on_error, w},
	};
}

/* Whose request it is comes with the first message; until then its errors are of the last one. */
static void on_request(ucp_conn_request_h request, void *arg)
{
	static int n;
	ucp_ep_params_t params = handled(&others[all - 1]);

	(void)arg;
	params.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
	params.conn_request = request;
	UCX(ucp_ep_create(worker, &params, &others[n++].in));
}

static socklen_t address_of(const char *text, int port, struct sockaddr_storage *ret)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	char service[8];
	socklen_t len;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(text, service, &hints, &found))
		fail(__LINE__, "not an address", text);
	len = found->ai_addrlen;
	memcpy(ret, found->ai_addr, len);
	freeaddrinfo(found);
	return len;
}

static void connect_to(int who, const char *address, int port)
{
	ucp_ep_params_t params = handled(&others[who]);
	struct sockaddr_storage to;

	params.field_mask |= UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
	params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
	params.sockaddr.addrlen = address_of(address, port + who, &to);
	params.sockaddr.addr = (struct sockaddr *)&to;
	UCX(ucp_ep_create(worker, &params, &others[who].out));
}

static ucp_listener_h listen_at(const char *address, int port)
{
	struct sockaddr_storage at;
	ucp_listener_params_t params = {
		.field_mask =
			UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
		.conn_handler.cb = on_request,
	};
	ucp_listener_h listener;

	params.sockaddr.addrlen = address_of(address, port + me, &at);
	params.sockaddr.addr = (struct sockaddr *)&at;
	UCX(ucp_listener_create(worker, &params, &listener));
	return listener;
}

static void open_worker(void)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
	};
	const ucp_worker_params_t of_worker = {.field_mask = 0};

	UCX(ucp_init(&params, NULL, &context));
	UCX(ucp_worker_create(context, &of_worker, &worker));
	UCX(ucp_worker_get_efd(worker, &wake_fd));
}

/* ---- messages ---- */

static const ucp_request_param_t plain;

/* 0: it is done, or the peer is lost. */
static int in_progress(struct worker *w, int way)
{
	ucs_status_ptr_t r = w->request[way];
	ucs_status_t status;

	if (!r)
		return 0;
	status = UCS_PTR_IS_ERR(r) ? UCS_PTR_STATUS(r) : ucp_request_check_status(r);
	if (status == UCS_INPROGRESS)
		return 1;
	if (UCS_PTR_IS_PTR(r))
		ucp_request_free(r);
	w->request[way] = NULL;
	if (status != UCS_OK && w != &others[all - 1])
		fail(__LINE__, "a message", ucs_status_string(status));
	return 0;
}

/* To each of the first n, and from each. */
static void exchange(int n, size_t size, int seed)
{
	for (int who = 0; who < n; who++) {
		struct worker *w = &others[who];

		if (who == me)
			continue;
		fill(w->data[0], (int)size, me * 5 + who + seed);
		memset(w->data[1], 0, size);
		w->request[1] = ucp_tag_recv_nbx(worker, w->data[1], size, (ucp_tag_t)who,
						 UINT64_MAX, &plain);
		w->request[0] = ucp_tag_send_nbx(w->out, w->data[0], size, (ucp_tag_t)me, &plain);
	}
	for (int who = 0; who < n; who++) {
		while (in_progress(&others[who], 0) || in_progress(&others[who], 1))
			progress();
		if (who != me && !same(others[who].data[1], (int)size, who * 5 + me + seed))
			fail(__LINE__, "compare", "other data came than was sent");
	}
}

static void exchange_all(int n, const char *words)
{
	for (unsigned i = 0; i < SIZES * ROUNDS; i++)
		exchange(n, sizes[i / ROUNDS], (int)i);
	printf("worker %d: %s: all data is right\n", me, words);
}

/* ---- the end ---- */

static void close_ep(ucp_ep_h ep)
{
	const ucp_request_param_t force = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_EP_CLOSE_FLAG_FORCE,
	};
	ucs_status_ptr_t r = ep ? ucp_ep_close_nbx(ep, &force) : NULL;

	while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS)
		progress();
	if (UCS_PTR_IS_PTR(r))
		ucp_request_free(r);
}

/* The last one is killed while the others wait for it: each learns it from its handler. */
static void lose_one(void)
{
	struct worker *last = &others[all - 1];

	if (me == all - 1)
		raise(SIGKILL);
	last->request[1] = ucp_tag_recv_nbx(worker, last->data[1], 1, 99, UINT64_MAX, &plain);
	while (!last->lost)
		progress();
	printf("worker %d: heard of the one that was killed\n", me);
}

/* Endpoints to all other ones. */
static ucp_listener_h meet(char *addresses, int port)
{
	const char *at[2] = {strtok(addresses, ","), strtok(NULL, ",")};
	ucp_listener_h ret;

	if (!at[0] || !at[1])
		fail(__LINE__, "usage", "two addresses");
	ret = listen_at(at[me % 2], port);
	wait_until_all("listens", all);
	for (int who = 0; who < all; who++)
		if (who != me)
			connect_to(who, at[who % 2], port);
	return ret;
}

static void leave(ucp_listener_h listener)
{
	ends = 1; /* others may close first */
	wait_until_all("ends", all - 1);
	ucp_listener_destroy(listener);
	for (int i = 0; i < all; i++) {
		close_ep(others[i].out);
		close_ep(others[i].in);
	}
	ucp_worker_destroy(worker);
	ucp_cleanup(context);
}

int main(int argc, char **argv)
{
	ucp_listener_h listener;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 6)
		fail(__LINE__, "usage", "FOLDER NUMBER WORKERS ADDRESS,ADDRESS PORT");
	folder = argv[1];
	me = atoi(argv[2]);
	all = atoi(argv[3]);
	alarm(LIFE_S);
	for (int i = 0; i < all; i++)
		for (int way = 0; way < 2; way++)
			others[i].data[way] = malloc(LARGEST);
	open_worker();
	listener = meet(argv[4], atoi(argv[5]));
	exchange_all(all, "all to all");
	wait_until_all("done", all);
	lose_one();
	exchange_all(all - 1, "without the one that was killed");
	leave(listener);
	return 0;
}
