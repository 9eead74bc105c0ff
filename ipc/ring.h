/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings in shared memory: one producer, one consumer, entries of one fixed size. And the
 * bell page, in which a client marks the queues that have work for the daemon. Every
 * atomic operation on shared memory of the project is in this file.
 *
 * Indices run freely through 32 bits and are masked on use. Each side publishes its own
 * index and reads the other's; neither trusts what it reads: an index that is further away
 * than the size of the ring is reported as RING_BROKEN, and the ring is not used again.
 *
 * Sleeping and ringing: the consumer sets `sleeping`, checks the ring again, and only
 * then blocks; the producer publishes, then reads `sleeping`, and rings only if it is set.
 * Both put a full fence between their store and their load, so at least one of the two
 * sees the other's store. The same holds, with the roles exchanged, for `blocked`, which a
 * producer sets to wait for room.
 */
#ifndef IPC_RING_H
#define IPC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	RING_LINE = 64,
	RING_MAX_ENTRIES = 1 << 16,
	RING_MAX_COMPLETIONS = 1 << 22, /* entries of a ring of completions */
	RING_BROKEN = -1,               /* the other side's index is out of range */

	/* values of `sleeping` */
	RING_RUNS = 0,
	RING_SLEEPS = 1,           /* ring for any entry */
	RING_SLEEPS_SOLICITED = 2, /* ring for solicited completions and failures only */
};

/* The memory that both sides share. Each index has a cache line of its own. */
struct ring_shared {
	_Alignas(RING_LINE) _Atomic uint32_t tail; /* written by the producer */
	_Atomic uint32_t blocked;                  /* producer waits for room */
	_Alignas(RING_LINE) _Atomic uint32_t head; /* written by the consumer */
	_Atomic uint32_t sleeping;                 /* consumer waits for entries */
	_Atomic uint32_t done; /* work queues: entries before this index are complete */
};

_Static_assert(sizeof(struct ring_shared) == 2 * RING_LINE, "the layout is shared");

/* One side's view. */
struct ring {
	struct ring_shared *sh;
	uint8_t *entries;
	uint32_t size;       /* entries, a power of two */
	uint32_t entry_size; /* bytes */
	uint32_t mine;       /* own index: ahead of the published one while a batch is open */
	uint32_t published;  /* of a producer */
	uint32_t theirs;     /* the other side's index when last read */
};

/* Bytes of a ring in shared memory: header and entries. */
static inline uint64_t ring_bytes(uint32_t size, uint32_t entry_size)
{
	return sizeof(struct ring_shared) + (uint64_t)size * entry_size;
}

/* Initializes a view of the ring at mem. The caller has checked its size in bytes. New memory is
 * zeroed. */
static inline void ring_init(struct ring *r, void *mem, uint32_t size, uint32_t entry_size)
{
	*r = (struct ring){
		.sh = mem,
		.entries = (uint8_t *)mem + sizeof(struct ring_shared),
		.size = size,
		.entry_size = entry_size,
	};
}

static inline void *ring_slot(const struct ring *r, uint32_t index)
{
	return r->entries + (uint64_t)(index & (r->size - 1)) * r->entry_size;
}

/* The thread sanitizer does not support fences, and gcc warns. The contents of entries do not
 * depend on these fences: they only order a store of one side and its next load of the other side's
 * flag. */
static inline void ring_fence(void)
{
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wtsan"
#endif
	atomic_thread_fence(memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

/* ---- producer ---- */

/* Free slots, or RING_BROKEN. Reads the shared index only if the private copy leaves fewer than
 * `want`. */
static inline int ring_room(struct ring *r, uint32_t want)
{
	uint32_t head;

	if (r->size - (r->mine - r->theirs) < want) {
		/* pairs with the release in ring_release(): the consumer is done with the slots */
		head = atomic_load_explicit(&r->sh->head, memory_order_acquire);
		/* The consumer's index neither passes the published one nor goes back. */
		if (head - r->theirs > r->published - r->theirs)
			return RING_BROKEN;
		r->theirs = head;
	}
	return (int)(r->size - (r->mine - r->theirs));
}

/* The next free slot, to be filled in. The caller has checked that there is room. Not yet
 * published. */
static inline void *ring_reserve(struct ring *r)
{
	return ring_slot(r, r->mine++);
}

/* Gives back the slots that were reserved since r->mine was this, and not published. */
static inline void ring_unreserve(struct ring *r, uint32_t mine)
{
	r->mine = mine;
}

/* Publishes all reserved slots. */
static inline void ring_submit(struct ring *r)
{
	r->published = r->mine;
	/* pairs with the acquire in ring_avail(): entries are complete before they are visible */
	atomic_store_explicit(&r->sh->tail, r->mine, memory_order_release);
}

/* Whether and for what the consumer sleeps, RING_*; an unknown value counts as RING_SLEEPS. The
 * producer calls it after ring_submit(). */
static inline uint32_t ring_sleeper(struct ring *r)
{
	ring_fence(); /* pairs with the fence in ring_sleep() */
	return atomic_load_explicit(&r->sh->sleeping, memory_order_relaxed);
}

/* True if the producer must ring now. solicited: a solicited completion or a failure was published
 * since the last call. Each ring_sleep() that returned RING_RUNS is answered once. Call it after
 * ring_submit(). */
static inline bool ring_wake(struct ring *r, bool solicited)
{
	uint32_t sleeper = ring_sleeper(r);

	if (sleeper == RING_RUNS || (sleeper == RING_SLEEPS_SOLICITED && !solicited))
		return false;
	return atomic_exchange_explicit(&r->sh->sleeping, RING_RUNS, memory_order_relaxed) !=
	       RING_RUNS;
}

/* The producer waits for room. Check ring_room() again afterward. */
static inline void ring_block(struct ring *r)
{
	atomic_store_explicit(&r->sh->blocked, 1, memory_order_relaxed);
	ring_fence(); /* pairs with the fence in ring_unblock() */
}

/* ---- consumer ---- */

/* Entries to read, or RING_BROKEN. */
static inline int ring_avail(struct ring *r)
{
	uint32_t n = r->theirs - r->mine;

	if (n == 0) {
		r->theirs = atomic_load_explicit(&r->sh->tail, memory_order_acquire);
		n = r->theirs - r->mine;
	}
	return n <= r->size ? (int)n : RING_BROKEN;
}

/* The oldest entry. The caller has checked that there is one. */
static inline void *ring_peek(const struct ring *r)
{
	return ring_slot(r, r->mine);
}

/* Frees the slots of the oldest n entries. */
static inline void ring_release(struct ring *r, uint32_t n)
{
	r->mine += n;
	atomic_store_explicit(&r->sh->head, r->mine, memory_order_release);
}

/* The consumer of a work queue has completed all entries before this index, and their completions
 * are in their ring. */
static inline void ring_set_done(struct ring *r, uint32_t index)
{
	/* pairs with the acquire in ring_done(); the completion was published before */
	atomic_store_explicit(&r->sh->done, index, memory_order_release);
}

static inline uint32_t ring_done(const struct ring *r)
{
	return atomic_load_explicit(&r->sh->done, memory_order_acquire);
}

/* True, once, if the producer waits for room and must be woken. Call it after ring_release(). */
static inline bool ring_unblock(struct ring *r)
{
	ring_fence(); /* pairs with the fence in ring_block() */
	if (!atomic_load_explicit(&r->sh->blocked, memory_order_relaxed))
		return false;
	return atomic_exchange_explicit(&r->sh->blocked, 0, memory_order_relaxed) != 0;
}

/*
 * Before blocking: requests a ring of the bell. Check ring_avail() again afterward. Returns
 * the previous value, RING_*. RING_RUNS: this call is answered by a ring of its own. Other values:
 * the producer has not answered an earlier call yet, and one ring answers both. The exchange is
 * atomic: between a separate load and store the producer could ring, and the consumer would
 * count one ring where two come.
 */
static inline uint32_t ring_sleep(struct ring *r, uint32_t what)
{
	uint32_t before = atomic_exchange_explicit(&r->sh->sleeping, what, memory_order_relaxed);

	ring_fence(); /* pairs with the fence in ring_sleeper() */
	return before;
}

/* The same with RING_SLEEPS_SOLICITED, but a call for any entry stays in force. */
static inline uint32_t ring_sleep_solicited(struct ring *r)
{
	uint32_t before = RING_RUNS;

	atomic_compare_exchange_strong_explicit(&r->sh->sleeping, &before, RING_SLEEPS_SOLICITED,
						memory_order_relaxed, memory_order_relaxed);
	ring_fence(); /* pairs with the fence in ring_sleeper() */
	return before;
}

/* The consumer is awake. A ring may still arrive. */
static inline void ring_awake(struct ring *r)
{
	atomic_store_explicit(&r->sh->sleeping, RING_RUNS, memory_order_relaxed);
}

/* ---- the bell page ---- */

enum {
	BELL_WORDS = 64,
	BELL_QUEUES = BELL_WORDS * 64, /* queue pairs that one client can have */
};

/*
 * One page that a client shares with the daemon. Bit q of the words: the queue pair in slot q has
 * work: new send requests, or room again in a completion queue that was full. Bit w of summary:
 * word w has bits.
 */
struct bell_page {
	_Alignas(RING_LINE) _Atomic uint64_t summary;
	_Alignas(RING_LINE) _Atomic uint64_t word[BELL_WORDS];
	_Alignas(RING_LINE) _Atomic uint32_t sleeping; /* the daemon sleeps: ring its bell */
};

/* Client: marks slot q. True if the daemon sleeps and the client must ring its bell. */
static inline bool bell_ring(struct bell_page *b, uint32_t q)
{
	/* Sequentially consistent throughout: pairs with bell_sleep() and bell_take(). */
	atomic_fetch_or(&b->word[q / 64], UINT64_C(1) << (q % 64));
	atomic_fetch_or(&b->summary, UINT64_C(1) << (q / 64));
	return atomic_load(&b->sleeping) != 0;
}

/* Daemon: true if a slot may be marked. */
static inline bool bell_any(struct bell_page *b)
{
	return atomic_load_explicit(&b->summary, memory_order_relaxed) != 0;
}

/* Daemon: takes the summary; each of its bits is then taken with bell_take_word(). */
static inline uint64_t bell_take(struct bell_page *b)
{
	return atomic_exchange(&b->summary, 0);
}

static inline uint64_t bell_take_word(struct bell_page *b, unsigned w)
{
	return atomic_exchange(&b->word[w], 0);
}

/* Daemon, before blocking: true if no slot is marked and clients will ring. */
static inline bool bell_sleep(struct bell_page *b)
{
	atomic_store(&b->sleeping, 1);
	return atomic_load(&b->summary) == 0;
}

static inline void bell_awake(struct bell_page *b)
{
	atomic_store_explicit(&b->sleeping, 0, memory_order_relaxed);
}

#endif
