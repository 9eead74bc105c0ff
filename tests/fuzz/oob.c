/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs of verbs without rdma_cm: verbs/verbs/oob.c with a library of its own, whose peers
 * are the input. They send any private data, and requests to ports and places that are not theirs.
 * Promises: an id is answered once and destroyed once, a queue pair has one session, which is of
 * the peer that its program named, and nothing is left.
 */
#include "verbs/verbs/oob.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "tests/fuzz/fuzz.h"
#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/oob_request.h"
#include "verbs/verbs/own_peer.h"
#include "verbs/verbs/qp_rnr.h"

enum { STEPS = 120, QPS = 4, IDS = 512, PORT = 0x1234, MAGIC = 0x64647671, PEERS = 3 };
enum { PORT_QPS = 192 /* queue pairs of a port; one address has a quarter of its backlog */ };

/* An id of the library; the queue pairs of it are numbers. */
struct ddp_id {
	void *user;
	bool alive, request, listens, accepted, connected;
	struct ddp_qp *qp;
};

struct ddp_qp {
	uint32_t num;
	struct ddp_id *id;
};

static struct input in;
static struct ddp_id ids[IDS];
static unsigned nids;
static struct ddp_qp ddp[2 * QPS]; /* those of own_peer are last */
static struct qp qp[QPS];
static struct own_peer own_peer[QPS];
static struct host host;
static struct context context;
static struct ibv_device device;
static bool adopted[QPS];
static struct sockaddr_storage from[IDS]; /* of a request */
static uint32_t from_num[IDS];

static bool fails(void)
{
	return in_8(&in) == 0xee;
}

static unsigned number_of(const struct ddp_id *id)
{
	must(id >= ids && id < ids + IDS && id->alive);
	return (unsigned)(id - ids);
}

/* ---- the library ---- */

static struct ddp_id *new_id(void *user)
{
	must(nids < IDS);
	ids[nids] = (struct ddp_id){.user = user, .alive = true};
	return &ids[nids++];
}

int ddp_create_id(struct ddp_ctx *ctx, void *user, struct ddp_id **ret)
{
	(void)ctx;
	if (fails())
		return -ENOMEM;
	*ret = new_id(user);
	return 0;
}

int ddp_destroy_id(struct ddp_id *id)
{
	if (!id)
		return 0;
	must(number_of(id) < nids && !id->qp);
	id->alive = false;
	return 0;
}

void ddp_id_set_user(struct ddp_id *id, void *user)
{
	must(number_of(id) < nids);
	id->user = user;
}

int ddp_listen(struct ddp_id *id, const struct sockaddr *addr, uint16_t port, int backlog)
{
	(void)addr;
	(void)port;
	must(backlog / 4 >= PORT_QPS * OOB_REQUESTS && number_of(id) < nids);
	if (fails())
		return -EADDRINUSE;
	id->listens = true;
	return 0;
}

int ddp_query_id(struct ddp_id *id, struct ddp_id_attr *ret)
{
	must(id->listens);
	if (fails())
		return -EPIPE;
	ret->port = PORT;
	return 0;
}

int ddp_connect(struct ddp_id *id, const struct sockaddr *addr, const struct ddp_conn_param *p)
{
	must(number_of(id) < nids && id->qp && !id->connected && !id->request);
	must(addr->sa_family == AF_INET6 && p->private_len == 12);
	if (fails())
		return -EHOSTUNREACH;
	id->connected = true;
	return 0;
}

static bool is_named(const struct qp *q, const struct ddp_id *id)
{
	unsigned i = number_of(id);
	struct sockaddr_storage named;

	addr_of_gid(&q->attr.ah_attr.grh.dgid, 0, &named);
	return from_num[i] == q->attr.dest_qp_num && addr_same(&named, &from[i]);
}

int ddp_accept(struct ddp_id *id, const struct ddp_conn_param *p)
{
	(void)p;
	must(number_of(id) < nids && id->request && !id->accepted && id->qp);
	must(is_named(&qp[id->qp - ddp], id));
	if (fails())
		return -ENOMEM;
	id->accepted = true;
	return 0;
}

int ddp_disconnect(struct ddp_id *id)
{
	must(number_of(id) < nids);
	return 0;
}

int ddp_move_qp(struct ddp_qp *of, struct ddp_id *to)
{
	must(number_of(to) < nids && (!to->qp || to->qp == of));
	if (fails())
		return -EISCONN;
	of->id->qp = NULL;
	of->id = to;
	to->qp = of;
	return 0;
}

uint32_t ddp_qp_num(const struct ddp_qp *of)
{
	return of->num;
}

/* ---- the rest of ddpverbs ---- */

union ibv_gid gid_table_of_lid(const struct gid_table *t, uint16_t lid)
{
	union ibv_gid ret = t->gid[0];

	ret.raw[15] = (uint8_t)lid;
	return ret;
}

void addr_of_gid(const union ibv_gid *gid, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memcpy(&a.sin6_addr, gid->raw, sizeof(a.sin6_addr));
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &a, sizeof(a));
}

void gid_table_reach(const struct gid_table *t, unsigned index, const union ibv_gid *gid,
		     uint16_t port, struct sockaddr_storage *ret)
{
	must(index < GID_TABLE_MAX && (t == &host.gids));
	addr_of_gid(gid, port, ret);
}

bool addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

int error_of_call(const char *call, int ret)
{
	must(*call && ret < 0);
	return -ret;
}

int error_unsupported(const char *call, const char *why, int err)
{
	must(*call && *why && err > 0);
	return err;
}

struct ddp_ctx *host_ddp(struct host *h)
{
	return (struct ddp_ctx *)(void *)h;
}

void host_drop_id(struct host *h, struct ddp_id *id)
{
	(void)h;
	ddp_destroy_id(id);
}

int host_start_events(struct host *h)
{
	(void)h;
	return fails() ? EAGAIN : 0;
}

int qp_num_set(struct qp_nums *t, uint32_t of, uint32_t ibv)
{
	(void)t;
	must(of && ibv >> 8 == PORT);
	return fails() ? ENOMEM : 0;
}

void qp_num_clear(struct qp_nums *t, uint32_t of)
{
	(void)t;
	must(of);
}

void qp_set_state(struct qp *q, enum ibv_qp_state state)
{
	q->state = state;
}

void qp_session_ended(struct qp *q, bool failed)
{
	if (failed && q->state != IBV_QPS_RESET)
		q->state = IBV_QPS_ERR;
}

void qp_disconnect(const struct qp *q)
{
	ddp_disconnect(q->end->id);
}

int qp_rnr_apply(const struct qp *q)
{
	must(q->own_peer);
	return fails() ? EINVAL : 0;
}

int own_peer_open(struct qp *q, void (*event)(struct event_sink *, const struct ddp_cm_event *))
{
	size_t i = (size_t)(q - qp);
	struct own_peer *p = &own_peer[i];

	must(!q->own_peer && q->attr.dest_qp_num == q->num);
	if (fails())
		return -ENOMEM;
	*p = (struct own_peer){.of = q, .ddp = &ddp[QPS + i], .id = new_id(&p->sink)};
	p->sink.event = event;
	*p->ddp = (struct ddp_qp){.num = 200 + (uint32_t)i, .id = p->id};
	p->id->qp = p->ddp;
	q->own_peer = p;
	return 0;
}

void own_peer_close(struct qp *q)
{
	struct own_peer *p = q->own_peer;

	if (!p)
		return;
	p->id->qp = NULL;
	ddp_destroy_id(p->id);
	q->own_peer = NULL;
}

/* Another queue pair of the library, on a new id. */
int qp_renew(struct qp *q)
{
	struct ddp_qp *of = q->ddp;

	if (fails())
		return ENOMEM;
	own_peer_close(q);
	of->id->qp = NULL;
	ddp_destroy_id(of->id);
	q->own.id = of->id = new_id(&q->own.sink);
	of->id->qp = of;
	q->joined = false;
	return 0;
}

int session_end_take(struct session_end *to, struct qp *of)
{
	(void)to;
	(void)of;
	return -EISCONN;
}

/* ---- peers ---- */

static union ibv_gid gid_of(uint8_t peer)
{
	union ibv_gid gid = {.raw = {[0] = 0xfd, [15] = (uint8_t)(1 + peer % PEERS)}};

	return gid;
}

static uint32_t draw_number(void)
{
	uint8_t how = in_8(&in);

	if (how % 4 == 0)
		return in_32(&in);
	if (how % 4 == 1)
		return how / 4;
	return (uint32_t)PORT << 8 | how / 4 % (QPS + 1);
}

/* A request, whose private data are those of a queue pair, nearly, or any. */
static void ask(void)
{
	uint8_t how = in_8(&in), bytes[64];
	uint32_t hello[3] = {htonl(MAGIC), 0, 0};
	struct ddp_cm_event ev = {.type = DDP_CM_CONNECT_REQUEST, .private_data = bytes};
	union ibv_gid gid = gid_of(how / 8);
	struct event_sink *sink;

	if (!host.ports || nids == IDS)
		return;
	hello[1] = htonl(draw_number());
	hello[2] = htonl(draw_number());
	in_fill(&in, bytes, sizeof(bytes));
	ev.private_len = how % 8 == 0 ? in_8(&in) % 65 : sizeof(hello);
	if (how % 8 != 1)
		memcpy(bytes, hello, sizeof(hello));
	addr_of_gid(&gid, 0, &ev.peer);
	for (unsigned i = 0; i < nids; i++)
		if (ids[i].alive && ids[i].listens) {
			sink = ids[i].user;
			ev.id = new_id(sink);
			ev.id->request = true;
			ev.listener = &ids[i];
			from[ev.id - ids] = ev.peer;
			memcpy(&from_num[ev.id - ids], bytes + 4, 4);
			from_num[ev.id - ids] = ntohl(from_num[ev.id - ids]);
			sink->event(sink, &ev);
			return;
		}
}

/* An event of a session, or of a request that waits. */
static void tell(void)
{
	struct ddp_id *id = nids > 0 ? &ids[in_8(&in) % nids] : NULL;
	struct ddp_cm_event ev = {.type = (enum ddp_cm_event_type)(in_8(&in) % 12), .id = id};
	struct event_sink *sink;
	bool asks = ev.type == DDP_CM_CONNECT_REQUEST;
	bool waits = id && id->request && !id->accepted;

	if (!id || !id->alive || id->listens || asks || (ev.type == DDP_CM_REQUEST_GONE) != waits)
		return;
	ev.err = in_8(&in) % 2 ? -ECONNRESET : 0;
	sink = id->user;
	if (sink->event)
		sink->event(sink, &ev);
}

/* ---- the program ---- */

static void adopt(unsigned i)
{
	if (adopted[i])
		return;
	memset(&qp[i], 0, sizeof(qp[i]));
	ddp[i] = (struct ddp_qp){.num = 100 + i, .id = new_id(&qp[i].own.sink)};
	ddp[i].id->qp = &ddp[i];
	qp[i].ibv.context = &context.verbs.context;
	qp[i].ddp = &ddp[i];
	qp[i].ibv.qp_num = qp[i].num = ddp[i].num;
	qp[i].end = &qp[i].own;
	qp[i].own.qp = &qp[i];
	qp[i].own.id = ddp[i].id;
	qp[i].init.qp_type = in_8(&in) % 16 ? IBV_QPT_RC : IBV_QPT_UD;
	adopted[i] = true;
	oob_adopt(&qp[i]);
	must(!qp[i].port || oob_find(&host, qp[i].num) == &qp[i]);
}

static void abandon(unsigned i)
{
	if (!adopted[i])
		return;
	oob_abandon(&qp[i]);
	must(!qp[i].port || !oob_find(&host, qp[i].num));
	ddp[i].id->qp = NULL;
	ddp_destroy_id(ddp[i].id);
	adopted[i] = false;
}

static void modify(unsigned i)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTR,
						   IBV_QPS_RTS,  IBV_QPS_ERR, IBV_QPS_RESET,
						   IBV_QPS_SQD,  IBV_QPS_INIT};
	uint8_t how = in_8(&in);
	enum ibv_qp_state to = states[how % 8], was = qp[i].state;

	if (!adopted[i] || (to == IBV_QPS_RTR && was != IBV_QPS_INIT) ||
	    (to == IBV_QPS_INIT && was != IBV_QPS_RESET) || nids == IDS)
		return;
	if (to == IBV_QPS_RTR) {
		qp[i].attr.dest_qp_num = draw_number();
		qp[i].attr.ah_attr = (struct ibv_ah_attr){
			.is_global = 1,
			.grh = {.dgid = gid_of(in_8(&in)), .sgid_index = how / 8 % 2}};
	}
	must(oob_modify(&qp[i], to) == 0 || qp[i].state == was);
}

static void step(uint8_t what)
{
	unsigned i = what / 8 % QPS;

	switch (what % 8) {
	case 0:
		adopt(i);
		break;
	case 1:
		abandon(i);
		break;
	case 2:
		tell();
		break;
	case 3:
	case 4:
		modify(i);
		break;
	default:
		ask();
	}
}

static unsigned waiting(const struct qp *q)
{
	unsigned n = 0;

	for (const struct oob_request *r = q->requests; r; r = r->next, n++)
		must(r->id->alive && r->id->request && !r->id->accepted);
	must(n <= OOB_REQUESTS);
	return n;
}

/* Each id that lives is of a queue pair, a request that waits, or a listener. */
static void check(void)
{
	unsigned used = 0, living = 0;

	for (unsigned i = 0; i < QPS; i++) {
		if (!adopted[i])
			continue;
		must(ddp[i].id == qp[i].own.id && ddp[i].id->alive);
		must(!qp[i].requests || !qp[i].joined);
		used += 1 + waiting(&qp[i]) + (qp[i].own_peer != NULL);
	}
	for (unsigned i = 0; i < nids; i++)
		living += ids[i].alive && !ids[i].listens;
	must(living == used);
}

static void begin(void)
{
	memset(ids, 0, sizeof(ids));
	memset(adopted, 0, sizeof(adopted));
	nids = 0;
	host.ports = NULL;
	host.gid = host.gids.gid[0] = gid_of(0);
	host.gids.gid[1] = gid_of(1);
	context.host = &host;
	context.verbs.context.device = &device;
	context.verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

/* Ports are kept as long as the process. */
static void free_ports(void)
{
	for (unsigned i = 0; i < nids; i++)
		if (ids[i].alive && ids[i].listens) {
			void *port = ids[i].user;

			free(port);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pthread_mutex_init(&host.event_lock, NULL);
	in = (struct input){data, size};
	begin();
	for (unsigned i = 0; i < STEPS && in.left > 0 && nids < IDS - 2; i++) {
		step(in_8(&in));
		check();
	}
	for (unsigned i = 0; i < QPS; i++)
		abandon(i);
	check();
	free_ports();
	return 0;
}
