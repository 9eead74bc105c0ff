/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent of a context, against a daemon that the test plays. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>

#include "ipc/doorbell.h"
#include "ipc/shadow.h"
#include "tests/ipc/objects.h"

enum { LEN = 20000, SLOT = 70, AT = 5 /* of the region in its page */ };

static uint8_t *memory;
static struct ddp_mr *copied;
static struct shadow_layout layout;
static struct shadow shadow;

static void begin(void)
{
	uint8_t *p =
		mmap(NULL, LEN + AT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	start();
	memory = p + AT;
	cr_assert_eq(ddp_reg_mr(pd, memory, LEN, DDP_ACCESS_REMOTE_ATOMIC, NULL, &copied), 0, "%s",
		     ddp_last_reason());
	layout = shadow_layout(AT + LEN);
	shadow = shadow_at(fake.mr.addr + 2 * layout.size, &layout);
}

TestSuite(agent, .init = begin, .fini = stop, .timeout = 60);
/* No region was copied before. Criterion would call both functions if a test of the suite above
 * named another one. */
TestSuite(agent_start, .init = start, .fini = stop, .timeout = 60);

/* The parts of the shadow. */
static uint8_t *read_part(void)
{
	return fake.mr.addr + AT;
}

static uint8_t *written_part(void)
{
	return fake.mr.addr + layout.size + AT;
}

/* The daemon writes there. */
static void place(uint64_t offset, const char *text)
{
	memcpy(written_part() + offset, text, strlen(text));
	shadow_mark(&shadow, AT + offset, strlen(text));
	bell_ring(&fake.agent->placed, agent_region_slot(7));
	doorbell_ring(fake.agent_bell);
}

/* The answer to a request. */
static struct agent_answer ask(struct agent_request q)
{
	struct agent_slot *slot = &fake.agent->slot[SLOT];
	uint32_t asked = slot->asked + 1;

	slot->request = q;
	atomic_store(&slot->asked, asked);
	bell_ring(&fake.agent->work, SLOT);
	doorbell_ring(fake.agent_bell);
	while (atomic_load(&slot->answered) != asked)
		poll(NULL, 0, 1);
	return slot->answer;
}

Test(agent, is_reported_by_the_query)
{
	struct ddp_mr_attr attr = {.struct_size = sizeof(attr)};

	cr_assert_eq(ddp_query_mr(copied, &attr), 0);
	cr_expect_eq(attr.rung, DDP_MR_AGENT);
	cr_expect(strstr(attr.reason, "shared with others"));
}

Test(agent, fetches_what_is_asked_and_rings_the_queue_pair)
{
	struct agent_request q = {
		.op = AGENT_FETCH, .stag = copied->rkey, .offset = 100, .len = 10};

	memset(memory, 1, LEN);
	cr_expect_eq(ask(q).result, AGENT_OK);
	cr_expect_eq(read_part()[99], 0);
	cr_expect_eq(read_part()[100], 1);
	cr_expect_eq(read_part()[109], 1);
	cr_expect_eq(read_part()[110], 0);
	while (!bell_any(fake.page))
		poll(NULL, 0, 1);
	cr_expect_eq(bell_take(fake.page), 1U << SLOT / 64);
	cr_expect_eq(bell_take_word(fake.page, SLOT / 64), 1U << SLOT % 64);
}

Test(agent, copies_placed_bytes_without_a_request)
{
	place(3, "peer");
	while (!__atomic_load_n(&memory[6], __ATOMIC_ACQUIRE))
		poll(NULL, 0, 1);
	cr_expect_arr_eq(memory + 2, "\0peer\0", 6);
}

Test(agent, copies_placed_bytes_before_anything_else)
{
	struct agent_request q = {.op = AGENT_FETCH, .stag = copied->rkey, .offset = 0, .len = LEN};

	place(0, "before");
	cr_expect_eq(ask(q).result, AGENT_OK);
	cr_expect_arr_eq(read_part(), "before", 6);
	place(0, "sync");
	cr_expect_eq(ask((struct agent_request){.op = AGENT_SYNC}).result, AGENT_OK);
	cr_expect_arr_eq(memory, "syncre", 6);
}

Test(agent, executes_masked_atomics)
{
	uint64_t *cell = (uint64_t *)(void *)(memory + 8 - AT);
	struct agent_request q = {
		.op = AGENT_FETCH_ADD,
		.stag = copied->rkey,
		.offset = 8 - AT,
		.data = 0x101,
		.mask = 0x80,
	};

	*cell = 0xff;
	cr_expect_eq(ask(q).old, 0xff);
	cr_expect_eq(*cell, 0x100);
	q.op = AGENT_CMP_SWAP;
	q.data = 7;
	q.mask = UINT64_MAX;
	q.compare = 1;
	q.compare_mask = UINT64_MAX;
	cr_expect_eq(ask(q).old, 0x100, "the comparison fails");
	cr_expect_eq(*cell, 0x100);
	q.compare = 0x100;
	cr_expect_eq(ask(q).old, 0x100);
	cr_expect_eq(*cell, 7);
}

Test(agent, refuses_what_is_outside)
{
	const struct agent_request bad[] = {
		{.op = AGENT_FETCH, .stag = copied->rkey + 1, .len = 1},
		{.op = AGENT_FETCH, .stag = copied->rkey, .offset = LEN, .len = 1},
		{.op = AGENT_FETCH, .stag = copied->rkey, .offset = 1, .len = LEN},
		{.op = AGENT_FETCH, .stag = copied->rkey, .offset = UINT64_MAX, .len = 2},
		{.op = AGENT_FETCH, .stag = copied->rkey, .len = UINT64_MAX},
		{.op = AGENT_FETCH_ADD, .stag = copied->rkey, .offset = LEN - 4},
		{.op = AGENT_FETCH_ADD, .stag = copied->rkey, .offset = 1},
		{.op = AGENT_OP_COUNT, .stag = copied->rkey, .len = 1},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(ask(bad[i]).result, AGENT_FAILED, "request %zu", i);
	for (size_t i = 0; i < LEN; i++)
		cr_assert_eq(memory[i], 0, "byte %zu", i);
}

Test(agent, memory_that_is_gone_is_an_error)
{
	const struct agent_request fetch = {.op = AGENT_FETCH, .stag = copied->rkey, .len = 100};
	const struct agent_request add = {
		.op = AGENT_FETCH_ADD, .stag = copied->rkey, .offset = 8 - AT, .data = 1};

	munmap(memory - AT, LEN + AT);
	cr_expect_eq(ask(fetch).result, AGENT_FAILED);
	cr_expect_eq(ask(add).result, AGENT_FAILED);
	place(0, "nowhere");
	cr_expect_eq(ask((struct agent_request){.op = AGENT_SYNC}).result, AGENT_OK);
}

Test(agent, completions_come_behind_what_was_placed)
{
	const struct wqe_cqe e = {.opcode = WQE_RECV};
	struct ddp_wc wc;

	memcpy(written_part(), "message", 7);
	shadow_mark(&shadow, AT, 7);
	bell_ring(&fake.agent->placed, agent_region_slot(7));
	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	cr_expect_arr_eq(memory, "message", 7, "the agent was not woken");
}

Test(agent, end_of_a_region_copies_the_rest)
{
	memcpy(written_part(), "last", 4);
	shadow_mark(&shadow, AT, 4);
	cr_assert_eq(ddp_dereg_mr(copied), 0);
	cr_expect_arr_eq(memory, "last", 4);
}

/* The daemon will report it. */
Test(agent, an_element_outside_of_its_region_is_not_copied)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_sge sge = {copied->iova + LEN - 4, 8, copied->lkey};
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .sg_list = &sge, .num_sge = 1};
	struct ddp_id *id;
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 4;
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0, "%s", ddp_last_reason());
	memset(memory + LEN - 4, 1, 8);
	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0, "%s", ddp_last_reason());
	for (unsigned i = 0; i < 8; i++)
		cr_expect_eq(read_part()[LEN - 4 + i], 0, "byte %u", i);
	sge.length = 4;
	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0, "%s", ddp_last_reason());
	cr_expect_eq(read_part()[LEN - 1], 1);
}

/* ---- daemons at fault, and the end ---- */

static void small_area(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_OPEN_AGENT)
		r->open_agent.bytes = 100;
}

Test(agent_start, area_that_is_too_small_is_refused)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ddp_mr *none;

	fake.script = small_area;
	cr_expect_eq(ddp_reg_mr(pd, p, LEN, 0, NULL, &none), -EPROTO);
	cr_expect(reason_has("100 bytes"));
}

static void no_threads(size_t stack)
{
	pthread_attr_t attr;

	cr_assert_eq(pthread_attr_init(&attr), 0);
	cr_assert_eq(pthread_attr_setstacksize(&attr, stack), 0);
	cr_assert_eq(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

/* The daemon makes the memory of an agent only once. */
Test(agent_start, a_thread_that_cannot_start_may_start_later)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned calls = 0;

	no_threads((size_t)1 << 47);
	for (int i = 0; i < 2; i++) {
		cr_expect_lt(ddp_reg_mr(pd, p, LEN, 0, NULL, &copied), 0);
		cr_expect(reason_has("thread"));
		calls = i ? calls : fake.nrec;
	}
	fake_last(&fake, MSG_OPEN_AGENT);
	cr_expect_eq(fake.nrec, calls);
	no_threads(1 << 20);
	cr_assert_eq(ddp_reg_mr(pd, p, LEN, 0, NULL, &copied), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_dereg_mr(copied), 0);
}

/* Of all memory of this process. */
static unsigned shared_areas(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned n = 0;

	while (fgets(line, sizeof(line), f))
		n += strstr(line, "/memfd:") != NULL;
	fclose(f);
	return n;
}

Test(agent, context_closes_with_its_agent)
{
	unsigned fds, areas;

	cr_assert_eq(ddp_dereg_mr(copied), 0);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_destroy_cq(cq), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
	cr_assert_eq(ddp_dealloc_pd(pd2), 0);
	fds = open_fds();
	areas = shared_areas();
	cr_assert_eq(ddp_close(ctx), 0, "%s", ddp_last_reason());
	cr_expect(open_fds() < fds);
	cr_expect_eq(shared_areas(), areas - 2, "bell page and agent: %u of %u", shared_areas(),
		     areas);
}

Test(agent, ends_with_the_daemon)
{
	fake_die(&fake);
	cr_assert_eq(ddp_dereg_mr(copied), 0);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_destroy_cq(cq), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
	cr_assert_eq(ddp_dealloc_pd(pd2), 0);
	cr_expect_eq(ddp_close(ctx), 0);
}
