/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DDP-SSN: 16-bit serial numbers (RFC 5043 5.2.1, 10), and the store of messages that arrive out of
 * order. One store serves all streams of an association. A record holds headers, never payload, and
 * is found by stream and number in constant time, whatever order a peer chooses.
 */
#ifndef PROTO_SSN_H
#define PROTO_SSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ddp/perr.h"
#include "proto/ddp/wire.h"
#include "util/blocks.h"

enum {
	SSN_WINDOW = 32768, /* numbers that can be ahead of the next one expected, RFC 5043 10 */
};

/* a - b as serial numbers: negative if a precedes b. */
static inline int ssn_diff(uint16_t a, uint16_t b)
{
	return (int16_t)(uint16_t)(a - b);
}

/* A chunk that was examined and placed, and waits for delivery. */
struct ssn_rec {
	uint32_t next;       /* private to the store */
	uint16_t sid;        /* stream */
	uint16_t ssn;        /* its DDP-SSN */
	uint16_t len;        /* DDP segment length, DDP-SSN not counted */
	uint8_t func;        /* enum wire_func of a control message, 0 for a segment */
	uint8_t hlen;        /* DDP header length */
	uint8_t ctl[2];      /* its first two bytes as received, with reserved bits */
	uint16_t own;        /* private to the store */
	struct wire_ddp ddp; /* a segment's header */
	uint16_t perr;       /* the error to raise in order, or PERR_NONE */
};

/* Private. */
struct ssn_store {
	struct blocks *pool;
	uint8_t **bucket;      /* blocks of buckets, NULL where all are empty */
	uint8_t **rec;         /* blocks of records */
	uint16_t *bucket_used; /* the blocks of buckets that are not NULL */
	uint32_t buckets_used;
	uint32_t mask;
	uint32_t max;
	uint32_t used;
	uint32_t fresh;
	uint32_t free1;
};

/* Bytes of memory for a store of max records (at most 65535). */
size_t ssn_store_size(uint32_t max);

/* Blocks of the pool that it can hold at once. It reserves them when it needs them, because most
 * associations never do. An empty store holds none. */
uint32_t ssn_store_blocks(uint32_t max);

/* Makes an empty store; mem: zeroed memory of ssn_store_size(), only the used part is ever
 * written. */
void ssn_store_init(struct ssn_store *s, struct blocks *pool, void *mem, uint32_t max);

/* Removes all records. */
void ssn_store_clear(struct ssn_store *s);

/*
 * Adds a record for (sid, ssn), to be filled in by the caller. NULL if the store is full. The
 * caller has checked that there is none yet.
 */
struct ssn_rec *ssn_store_add(struct ssn_store *s, uint16_t sid, uint16_t ssn);

/* The record of (sid, ssn), or NULL. */
struct ssn_rec *ssn_store_find(struct ssn_store *s, uint16_t sid, uint16_t ssn);

/* Frees the record. */
void ssn_store_del(struct ssn_store *s, struct ssn_rec *r);

/* Frees all records of a stream: those numbered first .. first + SSN_WINDOW - 1. */
void ssn_store_drop(struct ssn_store *s, uint16_t sid, uint16_t first);

#endif
