/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An RDMAP endpoint (RFC 5040, RFC 7306): the protocol's half of a queue pair. It holds only
 * requests that are in flight: waiting requests stay in the client's rings, and the endpoint takes
 * them through struct rdmap_ops when it can send them.
 *
 * In raw mode it is a DDP endpoint without RDMAP (RFC 5041 alone): only Sends and Writes, with the
 * queues and RsvdULP fields of the ULP. An error is reported, and the ULP ends the stream (RFC 5041
 * 6.2).
 */
#ifndef PROTO_RDMAP_H
#define PROTO_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ddp/perr.h"
#include "proto/rdmap/sgl.h"
#include "proto/ddp/stag.h"
#include "util/blocks.h"
#include "util/opcode.h"
#include "util/wc_status.h"

struct wire_atomic_req;

enum { RDMAP_INLINE_MAX = 256, RDMAP_RAW_QUEUES = 8 };

/* RDMAP_SEND ...: the operations of util/opcode.h. RDMAP_RECV and RDMAP_RECV_TAGGED, a raw tagged
 * message with notification, are only in completions. */
enum rdmap_op {
#define X(name, form, min_sge, max_sge, traits, text) RDMAP_##name,
	OPCODE_TABLE(X)
#undef X
		RDMAP_OP_COUNT
};

enum {
	RDMAP_SIGNALED = 1,  /* report success, too; failures are always reported */
	RDMAP_FENCE = 2,     /* begin only when all earlier Reads and atomics have completed */
	RDMAP_SOLICITED = 4, /* Sends and Immediate Data: Solicited Event */
	RDMAP_INLINE = 8,    /* payload is inl[0..len), not sge */
	RDMAP_PLACED = 16,   /* Sends, Writes, Immediate Data: a Read of no bytes follows, and the
				request completes with its response: then the peer has delivered it */
	RDMAP_PACED = 32,    /* the same, but when the peer ends the session in order first, the
				request completes as it does without the flag */
	RDMAP_WITH_IMM = 64, /* Sends, Writes: imm is sent, too, as Immediate Data before the Send
				or after the Write. Not in raw mode */
};

/* Completion status of a work request, RDMAP_SUCCESS ...: those of util/wc_status.h. After
 * RDMAP_FLUSH_ERR it is unknown whether Writes and Reads in flight happened. */
enum rdmap_status {
#define X(name, kind, text, subject, predicate) RDMAP_##name,
	WC_STATUS_TABLE(X)
#undef X
		RDMAP_STATUS_COUNT
};

/* The completion status for a STAG_E_ outcome of a check of local memory. */
enum rdmap_status rdmap_status_of_stag(int outcome);

/* A send-side work request, copied out of a ring. */
struct rdmap_wr {
	uint64_t cookie; /* given back in the completion */
	uint8_t op;      /* enum rdmap_op */
	uint8_t flags;   /* RDMAP_SIGNALED ... */
	uint8_t nsge;   /* Read: the sinks, each of which gets a Read Request; atomics: 0, or 1 of 8
			   bytes for the old value; Immediate Data, Bind, invalidation: 0 */
	uint8_t status; /* not RDMAP_SUCCESS: take_send found an error; completes with it in
			   order, unsent */
	uint32_t len;   /* bytes in inl, with RDMAP_INLINE */
	uint32_t inv_stag; /* RDMAP_SEND_INV, RDMAP_LOCAL_INV */
	uint32_t rstag; /* Write: sink; Read: source; atomics: target; Bind: the window's new value
			 */
	uint64_t rto;   /* tagged offset in rstag; Bind: first byte of the window */
	bool fetch;     /* payload in elements: ops->reach before it is read */
	union {
		uint64_t imm; /* RDMAP_IMM, RDMAP_WITH_IMM: 8 bytes as a number, sent in network
				 byte order */
		struct {
			uint64_t data, mask, compare, compare_mask; /* as in wire_atomic_req */
		} atomic;
		struct {
			uint32_t region; /* STag */
			uint32_t rights; /* STAG_REMOTE_ */
			uint64_t len;
		} bind;
		struct {
			uint64_t rsvd; /* RsvdULP: 40 bits of a Send, 8 bits of a Write */
			uint32_t qn;   /* Send */
		} raw;
		uint64_t operand[4]; /* all of them */
	};
	struct sgl_elem sge[SGL_MAX];
	uint8_t inl[RDMAP_INLINE_MAX];
};

enum {
	RDMAP_QN_TAGGED = 0xff
}; /* rdmap_recv.qn of a receive for notifications of tagged messages */

/* A receive, copied out of a ring. */
struct rdmap_recv {
	uint64_t cookie;
	uint8_t status; /* as in rdmap_wr: a bad receive completes and the endpoint takes the next
			   one */
	uint8_t nsge;
	uint8_t qn; /* raw: the queue, or RDMAP_QN_TAGGED; else 0 */
	struct sgl_elem sge[SGL_MAX];
};

/* The completion of a work request. Each request that was taken completes exactly once. */
struct rdmap_done {
	uint64_t cookie;
	uint8_t op;        /* enum rdmap_op */
	uint8_t status;    /* enum rdmap_status */
	bool signaled;     /* RDMAP_SIGNALED of the request; true for receives */
	bool solicited;    /* receive: the Send had the SE bit */
	bool invalidated;  /* receive: inv_stag was invalidated by the Send */
	bool immediate;    /* receive: it was Immediate Data, imm */
	uint8_t qn;        /* raw receive: its queue */
	uint32_t len;      /* receive, Read: bytes placed */
	uint32_t inv_stag; /* also the STag of a raw tagged notification; of Immediate Data, the
			      bytes of the Write before it */
	uint64_t imm; /* Immediate Data; atomics: the old value; raw: RsvdULP of the last segment */
	struct perr_at at; /* where it failed */
};

/* An access to memory that may not be at hand: a Read or an atomic of the peer, or the payload of a
 * request of our own. */
struct rdmap_reach {
	uint32_t stag;
	uint64_t to;
	uint32_t len;                         /* the rest of a Read, perhaps 0, or of an element */
	bool own;                             /* an element of rdmap_wr.fetch */
	const struct wire_atomic_req *atomic; /* NULL: a Read */
	uint32_t ret_len; /* RDMAP_REACHED, a Read or an element: bytes that may be read */
	uint64_t ret_old; /* RDMAP_REACHED, an atomic: the old value */
};

enum {
	RDMAP_AT_HAND,     /* the endpoint reads or changes the memory itself */
	RDMAP_REACHED,     /* the first bytes may be read; the atomic was executed */
	RDMAP_NOT_YET,     /* call assoc_tx_wake() when that changes */
	RDMAP_UNREACHABLE, /* the session ends */
};

/*
 * Functions of the owner of an endpoint. None of them may call a function of proto.
 */
struct rdmap_ops {
	/* Takes the oldest send request out of the ring. False if there is none, or no room for its
	 * completion: call assoc_tx_wake() when that changes. */
	bool (*take_send)(void *user, struct rdmap_wr *ret);
	/* Takes the oldest receive. False if there is none. */
	bool (*take_recv)(void *user, struct rdmap_recv *ret);
	/* How many receives take_recv() would give at least, if no other endpoint takes them. NULL:
	 * 0. */
	uint32_t (*recvs)(void *user);
	/* Completes a request. Send requests complete in the order in which they were taken, and so
	 * do the receives of each queue. */
	void (*complete)(void *user, const struct rdmap_done *done);
	/* Called before a request of the peer is answered, and for the rest of a Read when the
	 * bytes that may be read are used up; likewise for each element of rdmap_wr.fetch. Again
	 * with the same request after RDMAP_NOT_YET. Rights and bounds were checked. Returns
	 * RDMAP_AT_HAND ... NULL: all memory is at hand. */
	int (*reach)(void *user, struct rdmap_reach *r);
	/* A Write of the peer to a region with this stag_notice() was delivered. May be NULL. */
	void (*written)(void *user, uint32_t notice);
	/* A message is about to be kept in the hold, up to this byte of its memory. False: that may
	 * not be used, and the hold counts as full. NULL: all may. */
	bool (*keep)(void *user, uint32_t reach);
	/* Memory of requests is about to be read or written, now that rights and bounds were
	 * checked. False: the session ends, because the owner does not permit it. NULL: all may. */
	bool (*touch)(void *user, const struct span *at, unsigned n);
	/* The endpoint itself wrote len bytes at p, to memory of a request. May be NULL. */
	void (*wrote)(void *user, uint8_t *p, uint32_t len);
};

struct drr;

struct rdmap_cfg {
	struct stag_table *stags;
	struct blocks *pool; /* of memory in flight; rdmap_blocks() of it are reserved */
	struct stag_accessor
		accessor;     /* protection domain and this endpoint's scope, unique and not 0 */
	struct drr *owner;    /* whose turn the endpoint sends in; NULL: everybody's */
	uint16_t ord;         /* maximum of our outstanding Reads and atomics */
	uint16_t ird;         /* maximum of outstanding Reads and atomics of the peer */
	uint16_t sq_depth;    /* requests in flight, a power of two */
	uint16_t rq_depth;    /* receives in flight, a power of two */
	uint8_t max_recv_sge; /* elements of a receive, 1 .. SGL_MAX */
	bool plain_rdmap;     /* without RFC 7306: opcodes 8 to B are unexpected (7306 1.1) */
	bool raw;             /* DDP without RDMAP */
	uint8_t queues;       /* raw: queue numbers 0 .. queues - 1 exist, 1 .. RDMAP_RAW_QUEUES */
	uint8_t notify_mask;  /* raw: a tagged message whose RsvdULP has one of these bits takes a
				 receive of RDMAP_QN_TAGGED at delivery */
};

struct rdmap;

/* Bytes of memory for an endpoint. */
size_t rdmap_size(const struct rdmap_cfg *cfg);

/* Blocks of the pool that it can hold at once: the caller reserves them. Without requests and
 * receives in flight it holds none. */
uint32_t rdmap_blocks(const struct rdmap_cfg *cfg);

/* Makes an endpoint in zeroed memory of that size. The caller keeps the memory and frees it, after
 * rdmap_clear(). */
struct rdmap *rdmap_init(void *mem, const struct rdmap_cfg *cfg, const struct rdmap_ops *ops,
			 void *user);

/*
 * Makes room for messages that wait, in bytes of messages and of their entries: that takes
 * hold_size() bytes of zeroed memory (proto/rdmap/hold.h). The caller keeps it as long as the
 * endpoint. Only while the endpoint is not bound, and not in raw mode.
 *
 * wait_ms: how long a message without a receive waits for one (RFC 5041 7.1); meanwhile no later
 * message of the stream is delivered. Then, and when the room is used up, the session ends as it
 * does at once without a hold. 0: it does not wait.
 */
void rdmap_set_hold(struct rdmap *ep, void *mem, uint32_t bytes, uint32_t wait_ms);

enum {
	RDMAP_PLACE_IN_ORDER = 1, /* segments are placed in the order of DDP-SSNs; needs a hold */
	RDMAP_ACKED = 4, /* a request without a response completes when the peer has acknowledged
			    its segments. Where the transport does not report that (assoc_cfg.acks),
			    signaled ones complete like RDMAP_PACED, if Reads are possible, else
			    when all of the association is acknowledged */
	RDMAP_KEEP_RECVS = 2,  /* when the peer ends the session in order, receives that were taken
				  complete only at rdmap_flush_recvs() */
	RDMAP_IMM_OF_SEND = 8, /* with RDMAP_PLACE_IN_ORDER: Immediate Data whose low 32 bits are
				  RDMAP_IMM_MARK completes no receive: the Send that follows it
				  takes the receive and is reported with both */
	RDMAP_CREDITS = 16, /* if the endpoint of the peer has this option, too, each waits rather
			       than be farther ahead of the other's receives than its
			       rdmap_set_window() says (proto/rdmap/credit.h) */
	RDMAP_STRICT_RECVS = 32, /* a message that finds a bad receive takes no other and does not
				    wait: the session ends */
	RDMAP_RNR = 64, /* with RDMAP_CREDITS, and if the endpoint of the peer has this option,
			   too: a message without a receive waits as long as its sender lets it,
			   rdmap_set_rnr(), whatever rdmap_set_hold() says */
	RDMAP_STRICT_SENDS = 128, /* a request that fails at this end ends the session, when those
				     before it have ended; those after it are flushed, and none
				     of them is sent */
};

#define RDMAP_IMM_MARK UINT32_C(0xdd5e4d1a)

/* Sets the options of an endpoint that is not bound: a set of RDMAP_PLACE_IN_ORDER ... */
void rdmap_set_options(struct rdmap *ep, unsigned options);

/* RDMAP_CREDITS: how far the peer may be ahead of receives, at most credit_window() of the hold. 0,
 * which is the default: without limit. Only while the endpoint is not bound. */
void rdmap_set_window(struct rdmap *ep, uint32_t bytes);

enum { RDMAP_RNR_NO_END = 7 };

/* RDMAP_RNR: a message waits for a receive of the peer for `retry` times of the peer's timer_ms,
 * then the session ends; RDMAP_RNR_NO_END, which is the default: it waits without end. Applies to
 * messages of which the peer reports from now on that they wait. timer_ms is that for the peer, at
 * least 1. With less, signaled requests that take a receive complete when it was found. */
void rdmap_set_rnr(struct rdmap *ep, unsigned retry, uint32_t timer_ms);

/* Sets the STAG_REMOTE_ rights of the peer, at first all of them; the STag has to permit an access,
 * too. May be called at any time, and applies to segments that arrive and responses that are sent
 * after it. A Write or Read of no bytes needs no right. */
void rdmap_set_access(struct rdmap *ep, uint32_t rights);

/* True if the last session left receives uncompleted because of RDMAP_KEEP_RECVS. */
bool rdmap_keeps_recvs(const struct rdmap *ep);

/* Completes those receives with RDMAP_FLUSH_ERR. */
void rdmap_flush_recvs(struct rdmap *ep);

/* Gives all blocks back, without completions, before the memory of an endpoint is freed. It is not
 * bound. */
void rdmap_clear(struct rdmap *ep);

/* The user pointer given at init. */
void *rdmap_user(const struct rdmap *ep);

/* Snapshot for ddpctl. */
struct rdmap_info {
	uint16_t ord, ird;  /* of this session or the last one, else of the endpoint */
	uint16_t reads_out; /* our Reads outstanding */
	uint16_t reads_in;  /* the peer's Reads being answered */
	uint32_t in_flight; /* send-side requests taken and not completed */
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes; /* payload */
	uint32_t held_bytes;                           /* that messages take in the hold now */
	uint64_t held_msgs; /* messages that waited for a receive so far */
	uint64_t not_ready; /* times so far that the peer had no receive */
};

/* Fills in the snapshot. */
void rdmap_query(const struct rdmap *ep, struct rdmap_info *ret);

#endif
