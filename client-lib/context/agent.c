/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/context/agent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "ipc/agent.h"
#include "ipc/doorbell.h"
#include "util/checked.h"
#include "util/cleanup.h"
#include "util/masked.h"

enum {
	LISTS = 4096,  /* of regions, by STag and by bell */
	TRIES = 100000 /* bounds an atomic against a program that keeps changing the cell */
};

_Static_assert((int)LISTS == BELL_QUEUES, "a list for each bell");

struct agent {
	struct ddp_ctx *ctx;
	struct ring_map *map;
	struct agent_area *area;
	int bell; /* the daemon wakes us */
	pthread_t thread;
	bool runs; /* the thread */

	pthread_mutex_t lock; /* guards the rest; held while bytes are copied */
	struct list by_stag[LISTS], by_slot[LISTS];
};

/* ---- copying; the lock is held ---- */

/* Copies placed bytes to the region. If its memory is gone, so are they. */
static void copy_from_shadow(void *arg, uint64_t at, uint64_t len)
{
	const struct agent_region *r = arg;

	if (at >= r->head && checked_range(at - r->head, len, r->len))
		(void)sparse_read(&r->file, r->layout.size + at, r->addr + (at - r->head), len);
}

/* Copies bytes of the region to the part that the daemon reads. */
static int copy_to_shadow(const struct agent_region *r, uint64_t offset, uint64_t len)
{
	return sparse_write(&r->file, r->head + offset, r->addr + offset, len);
}

/* The number of the lowest bit, which is cleared. There is one. */
static unsigned take_bit(uint64_t *bits)
{
	unsigned n = (unsigned)__builtin_ctzll(*bits);

	*bits &= *bits - 1;
	return n;
}

static void sync_slot(struct agent *a, unsigned slot)
{
	list_foreach (it, &a->by_slot[slot]) {
		struct agent_region *r = list_entry(it, struct agent_region, by_slot);

		shadow_take(&r->shadow, copy_from_shadow, r);
	}
}

/* Copies all that was placed. True if there was anything. */
static bool sync_all(struct agent *a)
{
	struct bell_page *placed = &a->area->placed;
	uint64_t words;

	if (!bell_any(placed))
		return false;
	words = bell_take(placed);
	while (words) {
		unsigned word = take_bit(&words);
		uint64_t bits = bell_take_word(placed, word);

		while (bits)
			sync_slot(a, word * 64 + take_bit(&bits));
	}
	return true;
}

static struct list *list_of(struct agent *a, uint32_t stag)
{
	return &a->by_stag[(stag >> 8) % LISTS];
}

static struct agent_region *find_region(struct agent *a, uint32_t stag)
{
	list_foreach (it, list_of(a, stag)) {
		struct agent_region *r = list_entry(it, struct agent_region, by_stag);

		if (r->stag == stag)
			return r;
	}
	return NULL;
}

/* ---- requests of the daemon ---- */

static uint64_t result_of(uint64_t old, const struct agent_request *q)
{
	if (q->op == AGENT_CMP_SWAP)
		return masked_swap(old, q->data, q->mask, q->compare, q->compare_mask);
	return masked_add(old, q->data, q->mask);
}

/* Executes an atomic by the processor's instructions: other programs may share the memory. */
static int execute(const struct agent_region *r, const struct agent_request *q, uint64_t *ret_old)
{
	uint64_t *cell = (uint64_t *)(void *)(r->addr + q->offset), old;

	/* Memory that is gone is found by the copy. */
	if ((uintptr_t)cell % sizeof(*cell) || copy_to_shadow(r, q->offset, sizeof(*cell)))
		return AGENT_FAILED;
	old = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < TRIES; i++) {
		if (__atomic_compare_exchange_n(cell, &old, result_of(old, q), false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			*ret_old = old;
			return AGENT_OK;
		}
	}
	return AGENT_FAILED;
}

/* AGENT_OK or AGENT_FAILED. */
static uint32_t carry_out(struct agent *a, const struct agent_request *q, uint64_t *ret_old)
{
	const struct agent_region *r;
	bool atomic = q->op == AGENT_FETCH_ADD || q->op == AGENT_CMP_SWAP;

	sync_all(a);
	if (q->op == AGENT_SYNC)
		return AGENT_OK;
	r = find_region(a, q->stag);
	if (!r || !checked_range(q->offset, atomic ? sizeof(uint64_t) : q->len, r->len))
		return AGENT_FAILED;
	if (atomic)
		return (uint32_t)execute(r, q, ret_old);
	if (q->op != AGENT_FETCH)
		return AGENT_FAILED;
	return copy_to_shadow(r, q->offset, q->len) ? AGENT_FAILED : AGENT_OK;
}

static void serve_request(struct agent *a, unsigned n)
{
	struct agent_answer answer = {0};
	struct agent_request q;
	uint32_t asked;

	if (!agent_take(&a->area->slot[n], &q, &asked))
		return;
	pthread_mutex_lock(&a->lock);
	answer.result = carry_out(a, &q, &answer.old);
	pthread_mutex_unlock(&a->lock);
	agent_answer(&a->area->slot[n], &answer, asked);
	if (bell_ring((struct bell_page *)(void *)a->ctx->page.addr, n))
		doorbell_ring(a->ctx->bell);
}

/* True if there was any. */
static bool serve_all(struct agent *a)
{
	struct bell_page *work = &a->area->work;
	uint64_t words = bell_any(work) ? bell_take(work) : 0;
	bool any = words;

	while (words) {
		unsigned word = take_bit(&words);
		uint64_t bits = bell_take_word(work, word);

		while (bits)
			serve_request(a, word * 64 + take_bit(&bits));
	}
	return any;
}

/* ---- the thread ---- */

static bool sync_locked(struct agent *a)
{
	bool any;

	pthread_mutex_lock(&a->lock);
	any = sync_all(a);
	pthread_mutex_unlock(&a->lock);
	return any;
}

/* False if the daemon is gone, or the context closes. */
static bool sleep_on_bell(struct agent *a)
{
	struct pollfd p = {.fd = a->bell, .events = POLLIN};
	bool quiet = bell_sleep(&a->area->work);

	quiet &= bell_sleep(&a->area->placed);
	if (quiet)
		poll(&p, 1, -1);
	bell_awake(&a->area->work);
	bell_awake(&a->area->placed);
	return doorbell_drain(a->bell) >= 0;
}

/* True if there was any. */
static bool work(struct agent *a)
{
	bool served = serve_all(a);

	return sync_locked(a) || served;
}

static void *agent_thread(void *arg)
{
	struct agent *a = arg;

	do {
		while (work(a))
			;
	} while (sleep_on_bell(a));
	return NULL;
}

/* All signals are for the threads of the program. */
static int start_thread(struct agent *a)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&a->thread, NULL, agent_thread, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	a->runs = r == 0;
	return -r;
}

/* ---- life ---- */

int agent_start(struct ddp_ctx *ctx, struct ring_map *map, uint8_t *area, int bell)
{
	struct agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->ctx = ctx;
	a->map = map;
	a->area = (struct agent_area *)(void *)area;
	a->bell = bell;
	pthread_mutex_init(&a->lock, NULL);
	for (unsigned i = 0; i < LISTS; i++) {
		list_init(&a->by_stag[i]);
		list_init(&a->by_slot[i]);
	}
	r = start_thread(a);
	if (r) {
		pthread_mutex_destroy(&a->lock);
		free(a);
		return r;
	}
	__atomic_store_n(&ctx->agent, a, __ATOMIC_RELEASE);
	return 0;
}

static struct agent *agent_of(struct ddp_ctx *ctx)
{
	return __atomic_load_n(&ctx->agent, __ATOMIC_ACQUIRE);
}

static void end_thread(struct agent *a)
{
	if (!a->runs)
		return;
	shutdown(a->bell, SHUT_RDWR);
	pthread_join(a->thread, NULL);
	a->runs = false;
}

int agent_restart(struct agent *a, struct ring_map *map, uint8_t *area, int bell)
{
	struct agent_area *area_before = a->area;
	struct ring_map *map_before = a->map;
	int bell_before = a->bell, r;

	end_thread(a);
	pthread_mutex_lock(&a->lock);
	sync_all(a); /* bytes that the daemon placed before it ended */
	a->map = map;
	a->area = (struct agent_area *)(void *)area;
	a->bell = bell;
	pthread_mutex_unlock(&a->lock);
	r = start_thread(a);
	if (r) {
		pthread_mutex_lock(&a->lock);
		a->map = map_before;
		a->area = area_before;
		a->bell = bell_before;
		pthread_mutex_unlock(&a->lock);
		return r;
	}
	ring_map_put(&a->ctx->maps, map_before);
	cleanup_close(&bell_before);
	return 0;
}

void agent_close(struct ddp_ctx *ctx)
{
	struct agent *a = ctx->agent;

	if (ctx->agent_memory.kept) {
		close(ctx->agent_memory.area);
		close(ctx->agent_memory.bell);
	}
	if (!a)
		return;
	end_thread(a);
	ring_map_put(&ctx->maps, a->map);
	cleanup_close(&a->bell);
	pthread_mutex_destroy(&a->lock);
	free(a);
	ctx->agent = NULL;
}

/* ---- regions ---- */

static int make_shadow(struct agent_region *r)
{
	uint64_t marks = r->layout.total - 2 * r->layout.size;
	int e = memfd_create_sealed("ddp-shadow", r->layout.total, &r->file.fd);

	if (e)
		return e;
	r->marks = mmap(NULL, marks, PROT_READ | PROT_WRITE, MAP_SHARED, r->file.fd,
			(off_t)(2 * r->layout.size));
	if (r->marks == MAP_FAILED) {
		r->marks = NULL;
		return -errno;
	}
	r->shadow = shadow_at(r->marks, &r->layout);
	return 0;
}

int agent_region_make(const char *call, void *addr, size_t len, uint64_t iova,
		      struct agent_region *ret)
{
	struct agent_region r = {
		.addr = addr,
		.len = len,
		.iova = iova,
		.head = (uintptr_t)addr % SHADOW_PAGE,
		.file.fd = -1,
	};
	int e;

	r.layout = shadow_layout(r.head + len);
	e = make_shadow(&r);
	if (e) {
		agent_region_free(&r);
		return reason_errno(e, call, "memory to copy the region to");
	}
	*ret = r;
	return 0;
}

void agent_region_add(struct agent_region *r, struct ddp_ctx *ctx, uint32_t handle, uint32_t stag)
{
	struct agent *a = agent_of(ctx);

	pthread_mutex_lock(&a->lock);
	r->agent = a;
	r->stag = stag;
	list_add_tail(list_of(a, stag), &r->by_stag);
	list_add_tail(&a->by_slot[agent_region_slot(handle)], &r->by_slot);
	pthread_mutex_unlock(&a->lock);
}

void agent_region_set_stag(struct agent_region *r, uint32_t stag)
{
	struct agent *a = r->agent;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	list_del(&r->by_stag);
	r->stag = stag;
	list_add_tail(list_of(a, stag), &r->by_stag);
	pthread_mutex_unlock(&a->lock);
}

void agent_region_renew(struct agent_region *r, uint32_t handle, uint32_t stag)
{
	struct agent *a = r->agent;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	shadow_take(&r->shadow, copy_from_shadow, r);
	list_del(&r->by_stag);
	list_del(&r->by_slot);
	r->stag = stag;
	list_add_tail(list_of(a, stag), &r->by_stag);
	list_add_tail(&a->by_slot[agent_region_slot(handle)], &r->by_slot);
	pthread_mutex_unlock(&a->lock);
}

void agent_region_free(struct agent_region *r)
{
	struct agent *a = r->agent;

	if (a) {
		pthread_mutex_lock(&a->lock);
		shadow_take(&r->shadow, copy_from_shadow, r);
		list_del(&r->by_stag);
		list_del(&r->by_slot);
		pthread_mutex_unlock(&a->lock);
	}
	if (r->marks)
		munmap(r->marks, r->layout.total - 2 * r->layout.size);
	if (r->layout.total)
		cleanup_close(&r->file.fd);
	*r = (struct agent_region){0};
}

/* ---- for work requests of this side ---- */

/* The region of an element, or NULL. The daemon reports elements outside their region. */
static const struct agent_region *region_of(struct agent *a, const struct ddp_sge *sge)
{
	const struct agent_region *r = find_region(a, sge->lkey);

	if (!r || sge->addr < r->iova || !checked_range(sge->addr - r->iova, sge->length, r->len))
		return NULL;
	return r;
}

static int gather_one(struct agent *a, const struct ddp_sge *sge)
{
	const struct agent_region *r = region_of(a, sge);

	if (r && copy_to_shadow(r, sge->addr - r->iova, sge->length))
		return reason_fail(-EFAULT,
				   "ddp_post_send: the memory of lkey 0x%08x is not mapped",
				   sge->lkey);
	return 0;
}

int agent_gather(struct ddp_ctx *ctx, const struct ddp_sge *sge, int n)
{
	struct agent *a = agent_of(ctx);
	int r = 0;

	if (!a)
		return 0;
	pthread_mutex_lock(&a->lock);
	sync_all(a); /* bytes of Reads before an earlier fence */
	for (int i = 0; i < n && r == 0; i++)
		r = gather_one(a, &sge[i]);
	pthread_mutex_unlock(&a->lock);
	return r;
}

bool agent_has(struct ddp_ctx *ctx, const struct ddp_sge *sge, int n)
{
	struct agent *a = agent_of(ctx);
	bool any = false;

	if (!a)
		return false;
	pthread_mutex_lock(&a->lock);
	for (int i = 0; i < n && !any; i++)
		any = region_of(a, &sge[i]) != NULL;
	pthread_mutex_unlock(&a->lock);
	return any;
}

void agent_sync(struct ddp_ctx *ctx)
{
	struct agent *a = agent_of(ctx);

	if (a)
		sync_locked(a);
}
