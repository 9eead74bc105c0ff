/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of ddpcp: records in Sends, each of the fixed length of its kind, integers
 * big-endian. A session copies any number of files, one after the other.
 *
 *	client sends files                client fetches files
 *	  for each: DIR or PUT  ->          GET name              ->
 *	                                                          <- for each: DIR or PUT
 *	                                                          <- END
 *
 * The sender of a PUT is the source of that file, the receiver its sink. A RESULT answers a DIR. A
 * PUT continues like this:
 *
 *	source: PUT name, size, mode, time      sink: WINDOW memory, and the part that it has
 *	source: START offset: the part's size if both parts have the same SHA-256, else 0
 *	  from source to sink: an RDMA Write to slot seq % slots of the window and CHUNK seq, len;
 *	  back: ACK seq, when the slot is free again
 *	source: DONE sum of the whole file      sink: RESULT
 *
 * Instead of WINDOW a sink answers with a RESULT that is not DDPCP_OK, and both continue with the
 * next file. After START either side can send such a RESULT at any time, and the session ends. In
 * place of a PUT or DIR the source of a GET sends one for a file that it cannot or will not send.
 * Names of a tree are relative to the name in the GET, which itself is "".
 *
 * Peers that both announce level 1 (client: in its hello, server: in the private data of its
 *Accept) have up to DDPCP_FLIGHT entries of a tree on their way at a time:
 *
 *	source: OFFER id, type, name, attributes        sink: ANSWER id, status
 *	        or, for a file that it needs,           sink: TAKE id, memory
 *	source: DATA id, all of the OFFER, SHA-256, after an RDMA Write of the file to an offset of
 *	        that memory                             sink: ANSWER id, status
 *
 * Files above DDPCP_MAX_CHUNK follow as a PUT when all others have arrived. The sink gives files
 * their names in batches, with one sync for each; the ANSWER to an OFFER of type DDPCP_FLUSH says
 * that all names are there, or which one is not. A source offers an entry that it cannot send as
 * DDPCP_ABSENT.
 */
#ifndef TOOLS_DDPCP_PROTO_H
#define TOOLS_DDPCP_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DDPCP_VERSION = 2,
	DDPCP_LEVEL = 1,
	DDPCP_FLIGHT = 32,
	DDPCP_RING = 16 << 20, /* bytes of the memory for files of DDPCP_DATA */
	DDPCP_PORT = 5045,
	DDPCP_NAME_MAX = 1023,
	DDPCP_TEXT_MAX = 255,
	DDPCP_SHA_LEN = 32,
	DDPCP_MAX_CHUNK = 4 << 20,
	DDPCP_MIN_CHUNK = 4096,
	DDPCP_MAX_SLOTS = 8,
	DDPCP_RECVS = 48,     /* level 0 has at most 16 on their way in one direction */
	DDPCP_REC_MAX = 2112, /* no record is longer */
	DDPCP_HELLO_LEN = 8,
};

enum ddpcp_kind {
	DDPCP_PUT = 1,
	DDPCP_GET,
	DDPCP_DIR,
	DDPCP_END,
	DDPCP_WINDOW,
	DDPCP_START,
	DDPCP_CHUNK,
	DDPCP_ACK,
	DDPCP_DONE,
	DDPCP_RESULT,
	DDPCP_OFFER, /* this and the following: level 1 */
	DDPCP_TAKE,
	DDPCP_DATA,
	DDPCP_ANSWER,
	DDPCP_KINDS,
};

/* Bytes of the memory that a file of DDPCP_DATA takes. Files follow each other there, so the sum of
 * those that were taken bounds the bytes that are used. */
static inline uint64_t ddpcp_room(uint64_t size)
{
	return (size + 63) / 64 * 64;
}

/* Of an OFFER or DATA. */
enum ddpcp_type {
	DDPCP_FILE,
	DDPCP_FOLDER,
	DDPCP_LEFT,     /* a directory whose contents were offered */
	DDPCP_SYMLINK,  /* to `target`, as it is */
	DDPCP_HARDLINK, /* to `target`, a name as in `name` */
	DDPCP_ABSENT,   /* not sent, for the reason in `target`; flags: an enum ddpcp_status */
	DDPCP_FLUSH,
	DDPCP_TYPES,
};

/* ANSWER alone has the last: the sink has the same file. */
enum ddpcp_status { DDPCP_OK, DDPCP_FAILED, DDPCP_SKIPPED, DDPCP_UNCHANGED };

enum ddpcp_flag {
	DDPCP_TREE = 1,     /* GET: directories, too */
	DDPCP_PRESERVE = 2, /* PUT, DIR: set mode and time; GET: send DIRs to leave */
	DDPCP_LEAVE = 4,    /* DIR: all that is in it was sent */
	DDPCP_FLAGS = 7,    /* of level 0 */
	/* level 1 */
	DDPCP_LINKS = 8,    /* GET: symbolic and hard links, too */
	DDPCP_COMPARE = 16, /* GET, OFFER: not if the sink's file has the same size and time */
	DDPCP_NO_SYNC = 32, /* GET, PUT, OFFER, DATA: names need not wait for the disk */
	DDPCP_SPARSE = 64,  /* PUT, DATA: blocks of zeros need no place on the disk */
	DDPCP_ALL_FLAGS = 127,
};

/* Size of a file that ends when its source says so. */
#define DDPCP_STREAM UINT64_MAX

/* The attributes of a file. */
struct ddpcp_meta {
	uint64_t size;     /* at most INT64_MAX, or DDPCP_STREAM */
	uint32_t mode;     /* permission bits */
	int64_t mtime;     /* seconds since 1970 */
	uint32_t mtime_ns; /* below 1000000000 */
	bool sparse;       /* has holes: the flag DDPCP_SPARSE */
};

/* The sink's memory. */
struct ddpcp_window {
	uint64_t to;
	uint32_t stag;
	uint32_t chunk; /* bytes of a slot */
	uint32_t slots;
	uint64_t have;                 /* bytes of an earlier copy: whole chunks */
	uint8_t sha256[DDPCP_SHA_LEN]; /* of these */
};

struct ddpcp_rec {
	enum ddpcp_kind kind;
	struct ddpcp_meta meta;          /* PUT, DIR, GET */
	unsigned flags;                  /* PUT, DIR, GET, OFFER, DATA: of enum ddpcp_flag */
	char name[DDPCP_NAME_MAX + 1];   /* PUT, DIR, GET, OFFER, DATA */
	struct ddpcp_window window;      /* WINDOW; TAKE: to and stag */
	uint64_t offset;                 /* START; DATA: in the sink's memory */
	uint64_t seq;                    /* CHUNK, ACK */
	uint32_t len;                    /* CHUNK: 1 to DDPCP_MAX_CHUNK; TAKE: of the memory */
	bool hole;                       /* CHUNK: zeros, which were not written */
	uint8_t sha256[DDPCP_SHA_LEN];   /* DONE, DATA: of all bytes */
	enum ddpcp_status status;        /* RESULT, ANSWER */
	char text[DDPCP_TEXT_MAX + 1];   /* RESULT, ANSWER: why it failed or was skipped */
	uint16_t id;                     /* OFFER, TAKE, DATA, ANSWER: below DDPCP_FLIGHT */
	enum ddpcp_type type;            /* OFFER, DATA */
	char target[DDPCP_NAME_MAX + 1]; /* OFFER */
};

/* The private data of a connect, or of its answer. */
void ddpcp_hello_put(uint8_t buf[DDPCP_HELLO_LEN], uint16_t level);

/* The level that both ends have, from the peer's hello: 0 if it sent none. */
uint16_t ddpcp_hello_level(const void *buf, size_t len);

/* Returns 0, -EPROTO for a malformed hello, or -EPROTONOSUPPORT for another version. */
int ddpcp_hello_get(const void *buf, size_t len);

/* Returns the length of the record. */
size_t ddpcp_rec_put(uint8_t buf[DDPCP_REC_MAX], const struct ddpcp_rec *rec);

/* Returns 0, or -EPROTO for a record of unknown kind or version, of another length than its kind's,
 * or with a member out of its range. Members of other kinds are 0. Names are not checked here, only
 * that they are terminated. */
int ddpcp_rec_get(const void *buf, size_t len, struct ddpcp_rec *ret);

/* The window that suits a file: whole chunks, no more slots than chunks. to and stag are 0. */
struct ddpcp_window ddpcp_window_for(uint64_t size);

/* Chunks of a file. */
uint64_t ddpcp_chunks(uint64_t size, uint32_t chunk);

/* Bytes of chunk seq, which exists. */
uint32_t ddpcp_chunk_len(uint64_t size, uint32_t chunk, uint64_t seq);

#endif
