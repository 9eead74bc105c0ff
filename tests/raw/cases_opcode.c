/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5040 4.1, 7.2: the RDMAP control octet against T bit and queue number. */
#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"

enum {
	OPCODE = RAW_ERR(0, 2, 6),
	VERSION = RAW_ERR(0, 2, 5),
	QN = RAW_ERR(1, 2, 1),
	BUFFER = RAW_ERR(1, 2, 2),
};

static const uint8_t bytes[8];

static void tagged(void)
{
	struct fault f = fault_new(NULL);

	for (uint8_t op = 1; op < 16; op++)
		fault_try(&f, "tagged",
			  raw_tagged(RAW_TL, 0x40 | op, f.r.mr->rkey, FAULT_BASE, bytes, 8),
			  OPCODE);
	for (uint8_t op = 1; op < 16; op++)
		fault_try(&f, "tagged, without bytes", raw_tagged(RAW_TL, 0x40 | op, 0, 0, NULL, 0),
			  OPCODE);
}

/* The opcodes of a queue. */
static bool belongs(uint8_t op, uint32_t qn)
{
	static const uint16_t set[] = {
		1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 9,
		1 << 1 | 1 << 10,
		1 << 7,
		1 << 11,
	};

	return set[qn] >> op & 1;
}

static struct raw_msg on(uint8_t op, uint32_t qn, uint32_t msn)
{
	struct raw_queue q = {.qn = qn, .msn = msn};

	return raw_untagged(RAW_UL, op | 0x40, q, bytes, 8);
}

static void untagged(void)
{
	/* No atomic is outstanding, so queue 3 has no buffer, either. */
	static const uint16_t queue3[] = {OPCODE, BUFFER, QN};
	struct fault f = fault_new(NULL);

	for (uint32_t qn = 0; qn < 3; qn++)
		for (uint8_t op = 0; op < 16; op++)
			if (!belongs(op, qn))
				fault_try(&f, "untagged", on(op, qn, qn == 0 ? 2 : 1), OPCODE);
	for (uint8_t op = 0; op < 16; op++) {
		fault_try_any(&f, "untagged, queue 3", on(op, 3, 1), queue3, 3);
		fault_try(&f, "untagged, queue 4", on(op, 4, 1), QN);
	}
}

static void versions(void)
{
	struct fault f = fault_new(NULL);
	struct raw_queue q = {.msn = 1};

	/* RV 0 is accepted as well. */
	pair_tx(&f.p, raw_tagged(RAW_TL, 0x00, f.r.mr->rkey, FAULT_BASE, "old", 3));
	pair_tx(&f.p, raw_untagged(RAW_UL, 0x03, q, "old", 3));
	client_received(&f.p.v, 0, 3);
	client_untouched(&f.r, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		f.r.p[i] = CLIENT_FILL;
	pair_end(&f.p);
	pair_next(&f.p);
	for (unsigned rv = 0x80; rv <= 0xc0; rv += 0x40) {
		q.msn = 2;
		fault_try(&f, "Send", raw_untagged(RAW_UL, (uint8_t)(rv | 3), q, bytes, 8),
			  VERSION);
		fault_try(&f, "empty Send", raw_untagged(RAW_UL, (uint8_t)(rv | 3), q, NULL, 0),
			  VERSION);
		fault_try(&f, "Write",
			  raw_tagged(RAW_TL, (uint8_t)rv, f.r.mr->rkey, FAULT_BASE, bytes, 8),
			  VERSION);
		fault_try(&f, "empty Write", raw_tagged(RAW_TL, (uint8_t)rv, 0, 0, NULL, 0),
			  VERSION);
	}
}

#define ROWS "5040-7.2-02 5040-4.1-03 5040-6.2.1-01 "

const struct raw_case case_opcode[] = {
	{"opcode-tagged", ROWS "5040-4.1-04", tagged},
	{"opcode-untagged", ROWS "5040-3.1-02 5040-4.1-05", untagged},
	{"rdmap-version", "5040-4.1-07 5040-7.2-03", versions},
	{0},
};
