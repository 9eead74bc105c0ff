/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions that do all kinds of operations for long, end and begin again; every byte is compared.
 *
 *   soak serve SOCKET PORT PORTS                 listens at that many ports, until SIGTERM
 *   soak run SOCKET ADDRESS PORT PORTS SESSIONS SECONDS SEED
 *                                                exit status 0 if all went well; prints a line
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <time.h>

#include "tests/lib/must.h"

enum {
	AREA = 24 << 10,  /* of a session, which the client alone changes, by Writes */
	COUNTER = AREA,   /* for atomics */
	SLOTS = AREA + 8, /* for messages to the server, where they are sent back from */
	SLOT = 4096,
	SIZE = SLOTS + 2 * SLOT,
	SENT = 1 << 8, /* wr_id: the end of a Send from that slot */
	SMALL = 64,
	ROUNDS = 2000, /* a session has at most */
	WAIT_MS = 100,
};

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;

static void make_common(const char *path, unsigned sessions)
{
	struct ddp_open_attr open = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);

	setvbuf(stdout, NULL, _IOLBF, 0);
	open.socket = path;
	MUST(ddp_open(&open, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	attr.entries = 8 * sessions;
	attr.spin_us = -1;
	MUST(ddp_create_cq(ctx, &attr, &cq));
}

static void make_qp(struct ddp_id *id, struct ddp_qp **ret)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 4;
	init.hold_bytes = 16 * SLOT;
	init.hold_ms = 60000;
	MUST(ddp_create_qp(id, pd, &init, ret));
}

static int post_recv(struct ddp_qp *qp, const struct ddp_mr *mr, size_t offset, uint64_t wr_id)
{
	struct ddp_sge sge = {mr->iova + offset, SLOT, mr->lkey};
	struct ddp_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return ddp_post_recv(qp, &wr, NULL);
}

static int post_send(struct ddp_qp *qp, const struct ddp_mr *mr, size_t offset, uint32_t len,
		     struct ddp_send_wr wr)
{
	struct ddp_sge sge = {mr->iova + offset, len, mr->lkey};

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags |= DDP_SEND_SIGNALED;
	return ddp_post_send(qp, &wr, NULL);
}

/* ---- the server ---- */

/* The memory that a session may use: private data of its Accept. */
struct offer {
	uint64_t to;
	uint32_t rkey;
};

struct served {
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_mr *mr;
};

/* By number of the queue pair; more sessions than these live at no time. */
static struct served *all_served[1 << 16];

static struct served **served_at(uint32_t qp_num)
{
	return &all_served[qp_num % (sizeof(all_served) / sizeof(all_served[0]))];
}

static void free_served(struct served *s)
{
	*served_at(ddp_qp_num(s->qp)) = NULL;
	MUST(ddp_destroy_qp(s->qp));
	MUST(ddp_destroy_id(s->id));
	MUST(ddp_dereg_mr(s->mr));
	free(s);
}

static void accept_session(struct ddp_id *id)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct served *s = calloc(1, sizeof(*s));
	struct offer offer;

	HOLDS(s);
	s->id = id;
	make_qp(id, &s->qp);
	HOLDS(!*served_at(ddp_qp_num(s->qp)));
	*served_at(ddp_qp_num(s->qp)) = s;
	MUST(ddp_alloc_mr(pd, SIZE,
			  DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE |
				  DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC,
			  &s->mr));
	memset(s->mr->addr, 0, SIZE);
	for (unsigned i = 0; i < 2; i++)
		MUST(post_recv(s->qp, s->mr, SLOTS + i * SLOT, i));
	memset(&offer, 0, sizeof(offer));
	offer.to = s->mr->iova;
	offer.rkey = s->mr->rkey;
	param.private_data = &offer;
	param.private_len = sizeof(offer);
	if (ddp_accept(id, &param) < 0) /* it has gone meanwhile */
		free_served(s);
}

static void serve_completion(const struct ddp_wc *wc)
{
	struct served *s = *served_at(wc->qp_num);
	size_t slot = SLOTS + (wc->wr_id & 1) * SLOT;

	if (!s || wc->status != DDP_WC_SUCCESS)
		return;
	if (wc->wr_id & SENT)
		(void)!post_recv(s->qp, s->mr, slot, wc->wr_id & 1);
	else
		(void)!post_send(s->qp, s->mr, slot, wc->byte_len,
				 (struct ddp_send_wr){.wr_id = wc->wr_id | SENT});
}

static void serve_event(struct ddp_cm_event *ev)
{
	struct ddp_id *id = ev->id;
	enum ddp_cm_event_type type = ev->type;

	if (type == DDP_CM_DISCONNECTED && ev->err)
		printf("a session failed: %s\n", ev->reason);
	ddp_ack_cm_event(ev);
	if (type == DDP_CM_CONNECT_REQUEST)
		accept_session(id);
	else if (type == DDP_CM_DISCONNECTED || type == DDP_CM_CONNECT_ERROR ||
		 type == DDP_CM_REQUEST_GONE)
		free_served(*served_at(ddp_qp_num(ddp_id_qp(id))));
}

static void serve(const char *path, uint16_t port, unsigned ports)
{
	struct ddp_cm_event *ev;
	struct ddp_wc wc[16];

	make_common(path, 4096);
	for (unsigned i = 0; i < ports; i++) {
		struct ddp_id *listener;

		MUST(ddp_create_id(ctx, NULL, &listener));
		MUST(ddp_listen(listener, NULL, (uint16_t)(port + i), 0));
	}
	puts("listening");
	for (;;) {
		int n = MUST(ddp_wait(cq, 16, wc, &ev, -1));

		for (int i = 0; i < n; i++)
			serve_completion(&wc[i]);
		if (ev)
			serve_event(ev);
	}
}

/* ---- the client ---- */

enum op { WRITE, READ, SEND, ADD, OPS };

struct session {
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_mr *mr; /* what the server's region should be, then a slot for what comes */
	struct offer offer;
	uint64_t counter, began_ns;
	unsigned rounds; /* left */
	enum op op;
	uint32_t at, len; /* of the operation */
	uint32_t port;
	uint8_t message[SLOT];
};

static const char *address;
static uint64_t random_state;
static struct timespec until;
static unsigned long long done[OPS], begun;
static unsigned open_sessions;
static uint32_t micros[1 << 20]; /* round trips of small messages */
static unsigned nmicros;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) * n >> 31);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool time_is_up(void)
{
	return now_ns() >= (uint64_t)until.tv_sec * 1000000000;
}

static uint8_t *memory(const struct session *s, size_t offset)
{
	return (uint8_t *)s->mr->addr + offset;
}

static void fill(uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)random_below(256);
}

static void begin(struct session *s)
{
	s->rounds = 1 + random_below(ROUNDS);
	s->counter = 0;
	s->op = READ;
	memset(s->mr->addr, 0, SIZE);
	MUST(ddp_create_id(ctx, s, &s->id));
	make_qp(s->id, &s->qp);
	MUST(ddp_connect_name(s->id, address, (uint16_t)s->port, NULL));
	begun++;
}

static int post(struct session *s)
{
	const uint64_t to = s->offer.to;
	struct ddp_send_wr wr = {.rdma = {to + s->at, s->offer.rkey}};

	switch (s->op) {
	case WRITE:
		fill(memory(s, s->at), s->len);
		wr.opcode = DDP_WR_RDMA_WRITE;
		return post_send(s->qp, s->mr, s->at, s->len, wr);
	case READ:
		wr.opcode = DDP_WR_RDMA_READ;
		return post_send(s->qp, s->mr, SLOTS, s->len, wr);
	case ADD:
		wr.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD;
		wr.rdma.remote_addr = to + COUNTER;
		wr.atomic.compare_add = s->at;
		return post_send(s->qp, s->mr, SLOTS, 8, wr);
	default:
		fill(s->message, s->len);
		memcpy(memory(s, SLOTS + SLOT), s->message, s->len);
		MUST(post_recv(s->qp, s->mr, SLOTS, 0));
		return post_send(s->qp, s->mr, SLOTS + SLOT, s->len, wr);
	}
}

static void go_on(struct session *s)
{
	if (s->rounds == 0 || time_is_up()) {
		MUST(ddp_disconnect(s->id));
		return;
	}
	s->rounds--;
	if (s->op == WRITE) {
		s->op = READ; /* of the same bytes: overlapping Writes have no order by themselves
			       */
	} else {
		s->op = (enum op)random_below(OPS);
		s->len = 1 + random_below(random_below(2) ? SMALL : SLOT);
		s->at = random_below(AREA - s->len);
	}
	s->began_ns = now_ns();
	MUST(post(s));
}

static void compare(struct session *s, const struct ddp_wc *wc)
{
	uint64_t old;

	memcpy(&old, memory(s, SLOTS), 8);
	if (s->op == READ)
		HOLDS(memcmp(memory(s, SLOTS), memory(s, s->at), s->len) == 0);
	if (s->op == SEND)
		HOLDS(wc->byte_len == s->len && memcmp(memory(s, SLOTS), s->message, s->len) == 0);
	if (s->op == ADD)
		HOLDS(old == s->counter);
	s->counter += s->op == ADD ? s->at : 0;
}

static void on_completion(const struct ddp_wc *wc)
{
	struct ddp_id *id = ddp_find_id(ctx, wc->qp_num);
	struct session *s = id ? ddp_id_user(id) : NULL;
	char reason[256];

	/* The end of a Send may come after its echo. */
	if (!s || (wc->opcode == DDP_WC_SEND && wc->status == DDP_WC_SUCCESS))
		return;
	if (wc->status != DDP_WC_SUCCESS)
		ddp_explain(wc, reason, sizeof(reason));
	if (wc->status != DDP_WC_SUCCESS)
		MUST_FAIL("operation %d: %s", (int)s->op, reason);
	compare(s, wc);
	done[s->op]++;
	if (s->op == SEND && s->len <= SMALL && nmicros < sizeof(micros) / sizeof(micros[0]))
		micros[nmicros++] = (uint32_t)((now_ns() - s->began_ns) / 1000);
	go_on(s);
}

static void on_event(struct ddp_cm_event *ev)
{
	struct session *s = ddp_id_user(ev->id);
	enum ddp_cm_event_type type = ev->type;

	if (type == DDP_CM_ESTABLISHED)
		memcpy(&s->offer, ev->private_data, sizeof(s->offer));
	else if (type != DDP_CM_PATH && (type != DDP_CM_DISCONNECTED || ev->err))
		MUST_FAIL("%s: %s", ddp_event_str(type), ev->reason);
	ddp_ack_cm_event(ev);
	if (type == DDP_CM_ESTABLISHED)
		go_on(s);
	if (type != DDP_CM_DISCONNECTED)
		return;
	MUST(ddp_destroy_qp(s->qp));
	MUST(ddp_destroy_id(s->id));
	if (time_is_up())
		open_sessions--;
	else
		begin(s);
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void report(void)
{
	qsort(micros, nmicros, sizeof(micros[0]), by_size);
	printf("%llu sessions, %llu Writes, %llu Reads, %llu Sends, %llu atomics; small round "
	       "trips: "
	       "median %u us, p99 %u us\n",
	       begun, done[WRITE], done[READ], done[SEND], done[ADD],
	       nmicros ? micros[nmicros / 2] : 0, nmicros ? micros[nmicros / 100 * 99] : 0);
}

static void run(uint32_t port, unsigned ports, unsigned sessions)
{
	struct session *all = calloc(sessions, sizeof(*all));
	struct ddp_cm_event *ev;
	struct ddp_wc wc[16];

	HOLDS(all && sessions > 0 && ports > 0);
	for (unsigned i = 0; i < sessions; i++) {
		MUST(ddp_alloc_mr(pd, SIZE, DDP_ACCESS_LOCAL_WRITE, &all[i].mr));
		all[i].port = port + i % ports;
		begin(&all[i]);
	}
	open_sessions = sessions;
	while (open_sessions > 0) {
		int n = MUST(ddp_wait(cq, 16, wc, &ev, WAIT_MS));

		for (int i = 0; i < n; i++)
			on_completion(&wc[i]);
		if (ev)
			on_event(ev);
	}
	for (unsigned i = 0; i < sessions; i++)
		MUST(ddp_dereg_mr(all[i].mr));
	free(all);
	report();
}

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "serve") == 0)
		serve(argv[2], (uint16_t)number(argv[3]), number(argv[4]));
	if (argc != 9 || strcmp(argv[1], "run") != 0) {
		fprintf(stderr,
			"usage: soak serve SOCKET PORT PORTS\n"
			"       soak run SOCKET ADDRESS PORT PORTS SESSIONS SECONDS SEED\n");
		return 2;
	}
	make_common(argv[2], number(argv[6]));
	address = argv[3];
	random_state = number(argv[8]);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += number(argv[7]);
	run(number(argv[4]), number(argv[5]), number(argv[6]));
	MUST(ddp_destroy_cq(cq));
	MUST(ddp_dealloc_pd(pd));
	MUST(ddp_close(ctx));
	return 0;
}
