/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for UCX: a client and a server exchange messages of many sizes, by tag, stream and
 * active message and by put, get and atomics, and each compares every byte. It knows nothing of
 * transports: UCX chooses them.
 *
 *   ucx_bytes ADDRESS PORT          serves one client
 *   ucx_bytes ADDRESS PORT client   exit status 0 if all data is right
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { LARGEST = 1 << 20, ROUNDS = 3, AM_ID = 5 };

static const size_t sizes[] = {1, 7, 64, 1000, 4096, 9001, 65536, 300000, LARGEST};

#define UCX(call)                                                                                  \
	do {                                                                                       \
		ucs_status_t status_ = (call);                                                     \
		if (status_ != UCS_OK)                                                             \
			fail(__LINE__, #call, ucs_status_string(status_));                         \
	} while (0)

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h ep;
static ucp_conn_request_h request;
static uint8_t *out, *in; /* LARGEST bytes; in is for the peer's puts, too */

static void fail(int line, const char *what, const char *why)
{
	printf("FAILED line %d: %s: %s\n", line, what, why);
	exit(1);
}

static void fill(size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static void compare(size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		if (in[i] != (uint8_t)(seed * 31 + i * 7 + (i >> 8)))
			fail(__LINE__, "compare", "other data came than was sent");
	memset(in, 0, n);
}

static void wait_for(ucs_status_ptr_t r)
{
	ucs_status_t status;

	if (!r)
		return;
	if (UCS_PTR_IS_ERR(r))
		fail(__LINE__, "an operation", ucs_status_string(UCS_PTR_STATUS(r)));
	while ((status = ucp_request_check_status(r)) == UCS_INPROGRESS)
		ucp_worker_progress(worker);
	ucp_request_free(r);
	UCX(status);
}

/* ---- messages ---- */

static const ucp_request_param_t plain;

static void tag_send(const void *data, size_t n)
{
	wait_for(ucp_tag_send_nbx(ep, data, n, 7, &plain));
}

static void tag_recv(void *to, size_t n)
{
	wait_for(ucp_tag_recv_nbx(worker, to, n, 7, UINT64_MAX, &plain));
}

static void stream_send(const void *data, size_t n)
{
	wait_for(ucp_stream_send_nbx(ep, data, n, &plain));
}

static void stream_recv(void *to, size_t n)
{
	const ucp_request_param_t all = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_STREAM_RECV_FLAG_WAITALL,
	};
	size_t got = 0;

	wait_for(ucp_stream_recv_nbx(ep, to, n, &got, &all));
}

static void am_send(const void *data, size_t n)
{
	wait_for(ucp_am_send_nbx(ep, AM_ID, &n, sizeof(n), data, n, &plain));
}

/* The message that has come: descriptor is NULL if its data is in the buffer. */
static struct {
	int there;
	size_t len;
	void *descriptor;
} am;

static ucs_status_t on_message(void *arg, const void *header, size_t header_len, void *data,
			       size_t len, const ucp_am_recv_param_t *param)
{
	(void)arg;
	if (header_len != sizeof(len) || memcmp(header, &len, sizeof(len)) != 0)
		fail(__LINE__, "active message", "its header is not what was sent");
	am.there = 1;
	am.len = len;
	am.descriptor = NULL;
	if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
		am.descriptor = data;
		return UCS_INPROGRESS;
	}
	memcpy(in, data, len);
	return UCS_OK;
}

static void am_recv(void *to, size_t n)
{
	while (!am.there)
		ucp_worker_progress(worker);
	am.there = 0;
	if (am.len != n)
		fail(__LINE__, "active message", "its length is not what was sent");
	if (am.descriptor)
		wait_for(ucp_am_recv_data_nbx(worker, am.descriptor, to, n, &plain));
}

/* ---- memory of the peer ---- */

static uint64_t remote;
static ucp_rkey_h remote_key;
static uint64_t counter; /* of atomics; the peer's is at remote_counter */
static uint64_t remote_counter;
static ucp_rkey_h counter_key;

/* Tells the peer of memory. */
static ucp_mem_h offer(void *addr, size_t len)
{
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = addr,
		.length = len,
	};
	uint64_t message[2] = {(uintptr_t)addr, 0};
	ucp_mem_h mem;
	void *key;
	size_t n;

	UCX(ucp_mem_map(context, &params, &mem));
	UCX(ucp_rkey_pack(context, mem, &key, &n));
	message[1] = n;
	tag_send(message, sizeof(message));
	tag_send(key, n);
	ucp_rkey_buffer_release(key);
	return mem;
}

static void take(uint64_t *addr, ucp_rkey_h *key)
{
	uint64_t message[2];
	char packed[4096];

	tag_recv(message, sizeof(message));
	if (message[1] > sizeof(packed))
		fail(__LINE__, "key", "too long");
	tag_recv(packed, message[1]);
	*addr = message[0];
	UCX(ucp_ep_rkey_unpack(ep, packed, key));
}

static void put_send(const void *data, size_t n)
{
	wait_for(ucp_put_nbx(ep, data, n, remote, remote_key, &plain));
	wait_for(ucp_ep_flush_nbx(ep, &plain));
	tag_send(&n, sizeof(n));
}

static void put_recv(void *to, size_t n)
{
	size_t said = 0;

	(void)to; /* the peer has put it there */
	tag_recv(&said, sizeof(said));
	if (said != n)
		fail(__LINE__, "put", "its length is not what was sent");
}

/* The receiver gets it from the sender's in, which has a copy of out. */
static void get_send(const void *data, size_t n)
{
	memcpy(in, data, n);
	tag_send(&n, sizeof(n));
	tag_recv(&n, sizeof(n));
}

static void get_recv(void *to, size_t n)
{
	size_t said = 0;

	tag_recv(&said, sizeof(said));
	wait_for(ucp_get_nbx(ep, to, n, remote, remote_key, &plain));
	tag_send(&n, sizeof(n));
}

static void atomics(int client)
{
	const ucp_request_param_t fetch = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
		.datatype = ucp_dt_make_contig(sizeof(uint64_t)),
		.reply_buffer = out,
	};
	uint64_t old, add = 3;

	for (unsigned i = 0; client && i < 100; i++) {
		wait_for(ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &add, 1, remote_counter,
					   counter_key, &fetch));
		memcpy(&old, out, sizeof(old));
		if (old != add * i)
			fail(__LINE__, "atomics", "another value came");
	}
	if (client)
		tag_send(&add, sizeof(add));
	else
		tag_recv(&add, sizeof(add));
	if (!client && counter != 300)
		fail(__LINE__, "atomics", "another sum");
}

/* ---- rounds ---- */

static const struct {
	const char *name;
	void (*send)(const void *data, size_t n);
	void (*recv)(void *to, size_t n);
} ways[] = {
	{"tag", tag_send, tag_recv}, {"stream", stream_send, stream_recv}, {"am", am_send, am_recv},
	{"put", put_send, put_recv}, {"get", get_send, get_recv},
};

static void exchange(unsigned way, size_t n, int client, unsigned seed)
{
	if (!client) {
		ways[way].recv(in, n);
		compare(n, seed);
	}
	fill(n, client ? seed : seed + 1);
	ways[way].send(out, n);
	if (client) {
		ways[way].recv(in, n);
		compare(n, seed + 1);
	}
}

static void exchange_all(int client)
{
	unsigned seed = 1;

	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * ROUNDS; i++)
			exchange(way, sizes[i / ROUNDS], client, seed += 2);
		printf("%s: all data is right\n", ways[way].name);
	}
	atomics(client);
	puts("atomics: all data is right");
}

/* ---- sessions ---- */

static void open_worker(void)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_TAG | UCP_FEATURE_STREAM | UCP_FEATURE_AM |
			    UCP_FEATURE_RMA | UCP_FEATURE_AMO64,
	};
	const ucp_worker_params_t of_worker = {.field_mask = 0};
	const ucp_am_handler_param_t handler = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB,
		.id = AM_ID,
		.cb = on_message,
	};

	UCX(ucp_init(&params, NULL, &context));
	UCX(ucp_worker_create(context, &of_worker, &worker));
	UCX(ucp_worker_set_am_recv_handler(worker, &handler));
}

static void on_request(ucp_conn_request_h r, void *arg)
{
	(void)arg;
	request = r;
}

static void on_error(void *arg, ucp_ep_h failed, ucs_status_t status)
{
	(void)arg, (void)failed;
	if (status != UCS_ERR_CONNECTION_RESET)
		fail(__LINE__, "endpoint", ucs_status_string(status));
}

static void create_ep(const struct sockaddr_in *to)
{
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler.cb = on_error,
	};

	if (to) {
		params.field_mask |= UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
		params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
		params.sockaddr.addr = (const struct sockaddr *)to;
		params.sockaddr.addrlen = sizeof(*to);
	} else {
		params.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
		params.conn_request = request;
	}
	UCX(ucp_ep_create(worker, &params, &ep));
}

static void serve(const struct sockaddr_in *at)
{
	const ucp_listener_params_t params = {
		.field_mask =
			UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
		.sockaddr = {(const struct sockaddr *)at, sizeof(*at)},
		.conn_handler.cb = on_request,
	};
	ucp_listener_h listener;

	UCX(ucp_listener_create(worker, &params, &listener));
	while (!request)
		ucp_worker_progress(worker);
	create_ep(NULL);
	ucp_listener_destroy(listener);
}

/* The client closes when the server says that it has compared all. */
static void close_ep(int client)
{
	const ucp_request_param_t force = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_EP_CLOSE_FLAG_FORCE,
	};
	ucs_status_ptr_t r;
	char done = 1;

	if (client)
		tag_recv(&done, sizeof(done));
	else
		tag_send(&done, sizeof(done));
	r = ucp_ep_close_nbx(ep, client ? &plain : &force);
	if (UCS_PTR_IS_PTR(r)) {
		while (ucp_request_check_status(r) == UCS_INPROGRESS)
			ucp_worker_progress(worker);
		ucp_request_free(r);
	}
}

int main(int argc, char **argv)
{
	const int client = argc > 3;
	struct sockaddr_in addr = {.sin_family = AF_INET};
	ucp_mem_h mem[2];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3 || inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1)
		fail(__LINE__, "arguments", "ADDRESS PORT [client]");
	addr.sin_port = htons((uint16_t)atoi(argv[2]));
	out = calloc(1, LARGEST);
	in = calloc(1, LARGEST);
	open_worker();
	if (client)
		create_ep(&addr);
	else
		serve(&addr);
	mem[0] = offer(in, LARGEST);
	mem[1] = offer(&counter, sizeof(counter));
	take(&remote, &remote_key);
	take(&remote_counter, &counter_key);
	exchange_all(client);
	ucp_rkey_destroy(remote_key);
	ucp_rkey_destroy(counter_key);
	close_ep(client);
	for (int i = 0; i < 2; i++)
		UCX(ucp_mem_unmap(context, mem[i]));
	ucp_worker_destroy(worker);
	ucp_cleanup(context);
	return 0;
}
