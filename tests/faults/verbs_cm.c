/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of rdma_cm. One channel has the events of both sides. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/faults/verbs.h"

enum { SLICE_MS = 20 };

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *ids[2];

/* ---- undoing ---- */

static int undo_channel(void *ch)
{
	rdma_destroy_event_channel(ch);
	return 0;
}
static int undo_id(void *id)
{
	return rdma_destroy_id(id);
}
static int undo_qp_of(void *id)
{
	rdma_destroy_qp(id);
	return 0;
}
static int undo_names(void *res)
{
	rdma_freeaddrinfo(res);
	return 0;
}
static int undo_endpoint(void *id)
{
	rdma_destroy_ep(id);
	return 0;
}

/* ---- events ---- */

/* Waits until it is readable, and looks at the devices. */
static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	side_fatal(0);
	return poll(&p, 1, SLICE_MS) == 1;
}

static struct rdma_cm_event *take_event(void)
{
	struct rdma_cm_event *ev;

	for (int ms = 0; ms < WAIT_MS; ms += SLICE_MS)
		if (is_readable(channel->fd)) {
			VERB(rdma_get_cm_event(channel, &ev) == 0);
			return ev;
		}
	return NULL;
}

/* The next event, without the one that follows an end a second later. It stays valid until the next
 * call acknowledges it: ids and kinds are all that the parts need. */
static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	enum rdma_cm_event_type came;
	struct rdma_cm_id *id;
	int status;

	do {
		ev = take_event();
		if (!ev)
			complain("no event %s", rdma_event_str(type));
		came = ev->event, id = ev->id, status = ev->status;
		if (came == RDMA_CM_EVENT_CONNECT_REQUEST)
			later(undo_id, id);
		VERB(rdma_ack_cm_event(ev) == 0);
	} while (came == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	if (came != type)
		give_up("event %s, status %d", rdma_event_str(came), status);
	return id;
}

/* ---- sessions ---- */

static struct rdma_cm_id *new_id(void)
{
	struct rdma_cm_id *id;

	VERB(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
	later(undo_id, id);
	return id;
}

static struct sockaddr_in address_of(const struct program *p)
{
	struct sockaddr_in a = {.sin_family = AF_INET};

	inet_pton(AF_INET, p->address, &a.sin_addr);
	return a;
}

static void listen_and_resolve(const struct program *p)
{
	struct sockaddr_in to = address_of(p);

	side_clear();
	VERB(channel = rdma_create_event_channel());
	later(undo_channel, channel);
	listener = new_id();
	VERB(rdma_bind_addr(listener, (struct sockaddr *)&to) == 0);
	VERB(rdma_listen(listener, 4) == 0);
	to.sin_port = rdma_get_src_port(listener);
	side_objects(1, listener->verbs);
	ids[0] = new_id();
	VERB(rdma_resolve_addr(ids[0], NULL, (struct sockaddr *)&to, 2000) == 0);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(rdma_resolve_route(ids[0], 2000) == 0);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	side_objects(0, ids[0]->verbs);
}

static void make_qp(int i)
{
	struct ibv_qp_init_attr init = side_init(i);

	VERB(rdma_create_qp(ids[i], side[i].pd, &init) == 0);
	later(undo_qp_of, ids[i]);
	side[i].qp = ids[i]->qp;
}

static void ask(void)
{
	struct rdma_conn_param param = {
		.private_data = "faults",
		.private_data_len = 6,
		.initiator_depth = 3,
		.responder_resources = 2,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	make_qp(0);
	VERB(rdma_connect(ids[0], &param) == 0);
	ids[1] = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
}

static void connect_both(void)
{
	ask();
	make_qp(1);
	VERB(rdma_accept(ids[1], NULL) == 0);
	expect(RDMA_CM_EVENT_ESTABLISHED);
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

static void disconnect_both(int first)
{
	VERB(rdma_disconnect(ids[first]) == 0);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	expect(RDMA_CM_EVENT_DISCONNECTED);
}

/* ---- parts ---- */

void part_cm(struct program *p)
{
	listen_and_resolve(p);
	connect_both();
	side_send(0, 3000);
	side_send(1, 60000);
	side_reach(0, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, 20000);
	side_reach(0, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, 20000);
	disconnect_both(0);
}

/* The id of a session moves to another channel. */
void part_moved(struct program *p)
{
	struct rdma_event_channel *other;

	listen_and_resolve(p);
	VERB(other = rdma_create_event_channel());
	later(undo_channel, other);
	connect_both();
	VERB(rdma_migrate_id(ids[1], other) == 0);
	VERB(rdma_disconnect(ids[0]) == 0);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	VERB(rdma_migrate_id(ids[1], channel) == 0);
	expect(RDMA_CM_EVENT_DISCONNECTED);
}

void part_refusal(struct program *p)
{
	listen_and_resolve(p);
	ask();
	VERB(rdma_reject(ids[1], "no", 2) == 0);
	expect(RDMA_CM_EVENT_REJECTED);
}

void part_names(struct program *p)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *res;
	struct ibv_context **list;
	int n;

	VERB(rdma_getaddrinfo(p->address, "7005", &hints, &res) == 0);
	later(undo_names, res);
	VERB(list = rdma_get_devices(&n));
	rdma_free_devices(list);
}

/* ---- endpoints ---- */

/* A client in a thread, whose calls wait. */
struct client {
	const struct rdma_addrinfo *to;
	struct rdma_cm_id *id;
	pthread_t thread;
	int err; /* -1: it goes on */
};

static struct ibv_qp_init_attr init_of_endpoint(void)
{
	return (struct ibv_qp_init_attr){.cap = {4, 4, 1, 1, 32}, .qp_type = IBV_QPT_RC};
}

static void *run_client(void *arg)
{
	struct client *c = arg;
	struct ibv_qp_init_attr init = init_of_endpoint();
	int r = rdma_create_ep(&c->id, (struct rdma_addrinfo *)c->to, NULL, &init);

	if (r == 0)
		r = rdma_connect(c->id, NULL);
	__atomic_store_n(&c->err, r ? errno : 0, __ATOMIC_RELEASE);
	return NULL;
}

static int undo_client(void *arg)
{
	struct client *c = arg;

	pthread_join(c->thread, NULL);
	if (c->id)
		rdma_destroy_ep(c->id);
	return 0;
}

/* Waits for the client: for a request, or for its end. */
static void await_client(struct client *c, int fd)
{
	for (int ms = 0; ms < WAIT_MS; ms += SLICE_MS) {
		int err = __atomic_load_n(&c->err, __ATOMIC_ACQUIRE);

		if (err > 0)
			give_up("the client: %s", strerror(err));
		if (err == 0 || is_readable(fd))
			return;
	}
	complain("no request of an endpoint");
}

static struct rdma_addrinfo *names(const struct program *p, int flags)
{
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *res;

	VERB(rdma_getaddrinfo(p->address, "7006", &hints, &res) == 0);
	later(undo_names, res);
	return res;
}

void part_endpoint(struct program *p)
{
	static struct client c;
	struct ibv_qp_init_attr init = init_of_endpoint();
	struct rdma_cm_id *l, *id;

	side_clear();
	VERB(rdma_create_ep(&l, names(p, RAI_PASSIVE), NULL, &init) == 0);
	later(undo_endpoint, l);
	VERB(rdma_listen(l, 4) == 0);
	c = (struct client){.to = names(p, 0), .err = -1};
	if (pthread_create(&c.thread, NULL, run_client, &c))
		give_up("no thread");
	later(undo_client, &c);
	await_client(&c, l->channel->fd);
	VERB(rdma_get_request(l, &id) == 0);
	later(undo_endpoint, id);
	VERB(rdma_accept(id, NULL) == 0);
	await_client(&c, -1);
	VERB(rdma_disconnect(id) == 0);
}
