/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection of ddp_easy.h whose peer sends any messages: client-lib/easy/easy_link with a
 * library of its own, whose peer is the input. Promises: messages for the program lie in their
 * slots and are no longer than it said; there are no more of them, and the peer has no more
 * credits, than were given; a slot is used once at a time; after the end nothing is posted.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>

#include "client-lib/base/deadline.h"
#include "client-lib/easy/easy_link.h"
#include "tests/fuzz/fuzz.h"

enum {
	STEPS = 200,
	QUEUE = 64, /* more than a connection here posts */
	MESSAGES = 5,
	LONGEST = 100,
};

struct posted {
	uint64_t wr_id, addr;
	uint32_t length;
};

struct queue {
	struct posted at[QUEUE];
	unsigned n;
};

static struct input in;
static struct queue receives, sends;
static struct ddp_mr mr;
static struct ddp_wc done[QUEUE];
static unsigned ndone, disconnects;
static uint32_t data_sent, credits_given; /* by the peer, and to it */
static volatile uint8_t seen;
static struct easy_hub hub;
static struct ddp_easy e;

/* ---- the library ---- */

static bool inside(uint64_t addr, uint32_t length)
{
	uint64_t from = (uintptr_t)mr.addr;

	return addr >= from && length <= mr.length && addr - from <= mr.length - length;
}

static void post(struct queue *q, uint64_t wr_id, const struct ddp_sge *sge)
{
	must(q->n < QUEUE && inside(sge->addr, sge->length));
	for (unsigned i = 0; i < q->n; i++)
		must(q->at[i].wr_id != wr_id || wr_id >> 32 == 3);
	q->at[q->n++] = (struct posted){wr_id, sge->addr, sge->length};
}

static struct posted take(struct queue *q)
{
	struct posted p = q->at[0];

	memmove(q->at, q->at + 1, --q->n * sizeof(p));
	return p;
}

static bool fails(void)
{
	return in_8(&in) == 0xee;
}

int ddp_post_recv(struct ddp_qp *qp, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	must(e.state != EASY_BROKEN);
	if (fails())
		return -EIO;
	post(&receives, wr->wr_id, wr->sg_list);
	return 0;
}

int ddp_post_send(struct ddp_qp *qp, struct ddp_send_wr *wr, struct ddp_send_wr **bad)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)wr->sg_list->addr;
	uint32_t credits;

	(void)qp;
	(void)bad;
	must(e.state != EASY_BROKEN);
	if (fails())
		return -EIO;
	post(&sends, wr->wr_id, wr->sg_list);
	if (wr->opcode == DDP_WR_SEND) {
		memcpy(&credits, p + 4, sizeof(credits));
		credits_given += be32toh(credits);
	}
	return 0;
}

int ddp_wait_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc, int timeout_ms)
{
	unsigned taken = ndone < (unsigned)n ? ndone : (unsigned)n;

	(void)cq;
	(void)timeout_ms;
	if (fails())
		return -EPIPE;
	memcpy(wc, done, taken * sizeof(*wc));
	ndone -= taken;
	memmove(done, done + taken, ndone * sizeof(*wc));
	return (int)taken;
}

int ddp_alloc_mr(struct ddp_pd *pd, size_t length, unsigned access, struct ddp_mr **ret)
{
	(void)pd;
	(void)access;
	mr = (struct ddp_mr){.addr = malloc(length), .length = length, .lkey = 1};
	must(mr.addr);
	memset(mr.addr, 0, length);
	mr.iova = (uintptr_t)mr.addr;
	*ret = &mr;
	return 0;
}

int ddp_dereg_mr(struct ddp_mr *of)
{
	free(of->addr);
	return 0;
}

int ddp_create_cq(struct ddp_ctx *ctx, const struct ddp_cq_attr *attr, struct ddp_cq **ret)
{
	(void)ctx;
	must(attr->entries <= QUEUE);
	*ret = (struct ddp_cq *)(void *)&receives;
	return 0;
}

int ddp_destroy_cq(struct ddp_cq *cq)
{
	(void)cq;
	return 0;
}

int ddp_create_qp(struct ddp_id *id, struct ddp_pd *pd, const struct ddp_qp_init *init,
		  struct ddp_qp **ret)
{
	(void)id;
	(void)pd;
	(void)init;
	*ret = (struct ddp_qp *)(void *)&sends;
	return 0;
}

int ddp_destroy_qp(struct ddp_qp *qp)
{
	(void)qp;
	return 0;
}

int ddp_disconnect(struct ddp_id *id)
{
	(void)id;
	disconnects++;
	return 0;
}

int ddp_explain(const struct ddp_wc *wc, char *buf, size_t len)
{
	(void)wc;
	return snprintf(buf, len, "the work failed");
}

const char *ddp_last_reason(void)
{
	return "a reason";
}

int easy_hub_wait(struct easy_hub *h, const struct easy_end *end,
		  bool (*holds)(const struct easy_end *end), uint64_t deadline)
{
	uint8_t how = in_8(&in);

	(void)h;
	(void)deadline;
	if (how % 4 == 0)
		return -ETIMEDOUT;
	if (how % 4 == 1)
		return -EPIPE;
	e.end.over = true;
	e.end.err = how & 4 ? -ECONNRESET : 0;
	must(holds(end));
	return 0;
}

uint64_t deadline_in(int timeout_ms)
{
	return (uint64_t)timeout_ms;
}

int deadline_left(uint64_t deadline)
{
	return (int)deadline;
}

void easy_hub_drop(struct easy_hub *h, struct easy_end *end)
{
	(void)h;
	(void)end;
}

/* ---- the peer ---- */

static void complete(struct ddp_wc wc)
{
	must(ndone < QUEUE);
	done[ndone++] = wc;
}

/* Its message arrives: one that keeps the rules, or any bytes. */
static void arrive(void)
{
	uint8_t how = in_8(&in), bytes[EASY_HEADER + LONGEST];
	struct posted to;
	static const uint8_t data[4] = {0, 0, 0, EASY_DATA};
	uint32_t head[2] = {htobe32(EASY_DATA), htobe32(how / 16 % 4)};
	uint32_t n = EASY_HEADER + in_8(&in) % (LONGEST + 1);

	if (receives.n == 0 || ndone == QUEUE)
		return; /* there is no room for it */
	to = take(&receives);
	in_fill(&in, bytes, sizeof(bytes));
	if (how % 4 == 1)
		head[0] = htobe32(EASY_CREDITS);
	if (how % 4 == 2)
		n = in_8(&in);
	if (how % 4 != 3)
		memcpy(bytes, head, sizeof(head));
	n = n < to.length ? n : to.length;
	memcpy((uint8_t *)(uintptr_t)to.addr, bytes, n < sizeof(bytes) ? n : sizeof(bytes));
	data_sent += n >= EASY_HEADER && memcmp(bytes, data, sizeof(data)) == 0;
	complete((struct ddp_wc){.wr_id = to.wr_id, .byte_len = n});
}

/* What was sent is done, or has failed. */
static void finish(void)
{
	uint8_t how = in_8(&in);

	if (sends.n == 0 || ndone == QUEUE)
		return;
	complete((struct ddp_wc){
		.wr_id = take(&sends).wr_id,
		.status = how < 0xe0 ? DDP_WC_SUCCESS : (enum ddp_wc_status)(how % 16),
	});
}

/* The session ends: all that is posted comes back. */
static void flush(void)
{
	if (receives.n > 0 && ndone < QUEUE)
		complete((struct ddp_wc){.wr_id = take(&receives).wr_id,
					 .status = DDP_WC_FLUSH_ERR});
}

/* ---- the program ---- */

static unsigned idle_slot(void)
{
	for (unsigned i = 0; i < EASY_SENDS; i++)
		if (e.idle_sends & 1U << i)
			return i;
	return EASY_SENDS;
}

static void send_message(void)
{
	unsigned slot = idle_slot();
	uint32_t length = in_8(&in) % (e.longest + 1);

	if (easy_link_check(&e) < 0 || e.flushed || e.credits == 0 || slot == EASY_SENDS)
		return;
	memset(easy_link_send_at(&e, slot), 0x5a, length);
	if (easy_link_send(&e, slot, EASY_DATA, length) == 0)
		e.credits--;
}

static void write_memory(void)
{
	struct ddp_sge sge = {.addr = mr.iova, .length = 8, .lkey = 1};
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_RDMA_WRITE};

	if (easy_link_check(&e) == 0 && !e.flushed && e.rdma < EASY_RDMA)
		easy_link_rdma(&e, &wr);
}

static void take_message(void)
{
	const uint8_t *p;
	size_t length;

	if (e.arrived_count == 0)
		return;
	p = easy_link_message(&e, &length);
	must(length <= LONGEST && inside((uintptr_t)p, (uint32_t)length));
	for (size_t i = 0; i < length; i++)
		seen = p[i];
	easy_link_release(&e);
}

static bool has_message(const struct ddp_easy *of)
{
	return of->arrived_count > 0 || (ndone == 0 && in.left == 0);
}

static void look(void)
{
	int r = in_8(&in) % 2 ? easy_link_look(&e) : easy_link_wait(&e, has_message, 0);

	must(r <= 0);
	must(r == 0 || r == -ETIMEDOUT || *easy_error_text(&e.error));
}

static void act(uint8_t what)
{
	static void (*const acts[])(void) = {arrive,       arrive,       finish, flush,
					     send_message, take_message, look,   write_memory};

	acts[what % 8]();
}

static void check(bool was_broken)
{
	must(e.arrived_count <= MESSAGES && e.credits <= e.peer.messages);
	must(e.to_return <= MESSAGES && credits_given <= data_sent);
	must(e.rdma <= EASY_RDMA);
	must(!was_broken || e.state == EASY_BROKEN);
	must(e.state != EASY_BROKEN || (e.broken < 0 && *e.broken_text && disconnects == 1));
}

static void begin(void)
{
	memset(&e, 0, sizeof(e));
	receives.n = sends.n = ndone = disconnects = 0;
	data_sent = credits_given = 0;
	e.hub = &hub;
	e.end.id = (struct ddp_id *)(void *)&hub;
	e.end.bell = -1;
	e.mine = (struct easy_hello){.messages = MESSAGES, .message_bytes = LONGEST};
	e.state = EASY_CONNECTING;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t hello[EASY_HELLO_SIZE];
	bool valid;

	in = (struct input){data, size};
	begin();
	valid = in_8(&in) % 8 != 0;
	in_fill(&in, hello, sizeof(hello));
	if (valid)
		easy_hello_put(hello, &(struct easy_hello){.messages = 1 + hello[0] % 20U,
							   .message_bytes = 1 + hello[1]});
	if (easy_link_make(&e) == 0 && easy_link_start(&e, hello, in_8(&in) % 64 ? 32 : 7) == 0) {
		e.state = EASY_CONNECTED;
		for (unsigned i = 0; i < STEPS && in.left > 0; i++) {
			bool broken = e.state == EASY_BROKEN;

			act(in_8(&in));
			check(broken);
		}
	}
	easy_link_free(&e);
	return 0;
}
