/* SPDX-License-Identifier: BSD-2-Clause */
/* A DDP message of the daemon, put together from its segments, each of which is checked. */
#ifndef TESTS_RAW_WHOLE_H
#define TESTS_RAW_WHOLE_H

#include "tests/raw/link.h"

struct whole {
	bool tagged;
	uint8_t rdmap;      /* the whole octet */
	uint32_t stag;      /* tagged */
	uint64_t to;        /* of the first byte */
	struct raw_queue q; /* untagged; mo is 0 */
	unsigned segments;
	bool cut; /* a Terminate came before its end: it is `term` */
	struct raw_msg term;
	uint32_t len;
	const uint8_t *data; /* valid until the next one */
};

/*
 * Takes the segments of the next message of the stream up to the one with L. They must agree with
 * each other and with RFC 5041 4 and 5: version, reserved bits, fields that stay the same, offsets
 * without a gap, none empty in a message that has bytes.
 */
struct whole whole_take(struct link *l, uint16_t sid);

/* The message is a Read Response to that sink with those bytes. */
void whole_response(struct link *l, uint16_t sid, struct raw_read r, const uint8_t *bytes);

#endif
