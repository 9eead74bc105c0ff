/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw peer's own messages against vectors worked out by hand from the RFCs. */
#include <stdio.h>
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/raw.h"
#include "tests/raw/stage.h"
#include "util/be.h"

static void same(const char *name, uint16_t ssn, uint32_t ppid, struct raw_msg m, const char *hex)
{
	struct raw_msg want = {.ppid = ppid};
	unsigned v;
	int n;

	for (; sscanf(hex, "%2x%n", &v, &n) == 1; hex += n)
		raw_put8(&want, (uint8_t)v);
	be_put16(m.b, ssn);
	if (m.ppid == want.ppid && m.len == want.len && memcmp(m.b, want.b, m.len) == 0)
		return;
	stage_hex("the vector", want.b, want.len);
	stage_hex("ours", m.b, m.len);
	stage_fail("%s is not what the vector says", name);
}

static void control(void)
{
	same("V02", 0, 17, raw_control(RAW_INITIATE, "\xde\xad\xbe\xef", 4), "00000001deadbeef");
	same("V03", 0, 17, raw_control(RAW_ACCEPT, NULL, 0), "00000002");
	same("V04", 0, 17, raw_control(RAW_REJECT, "no", 2), "000000036e6f");
	same("V05", 5, 17, raw_control(RAW_END, NULL, 0), "00050004");
	same("V24", 0, 17, raw_enhanced(RAW_E_INITIATE, RAW_A | RAW_B | 16, RAW_D | 8, "hi", 2),
	     "00000005c01040086869");
	same("V25", 0, 17, raw_enhanced(RAW_E_ACCEPT, RAW_A | 8, RAW_D | 16, NULL, 0),
	     "0000000680084010");
	same("V26", 0, 17, raw_enhanced(RAW_E_INITIATE, RAW_KEEP, RAW_KEEP, NULL, 0),
	     "000000053fff3fff");
}

static void segments(void)
{
	static const uint8_t data[] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
				       0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf};

	same("V07", 1, 16, raw_tagged(RAW_T, RAW_WRITE, 0x12345678, 0x4000, data, 16),
	     "00018140123456780000000000004000a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
	same("V08", 2, 16, raw_write(0x12345678, 0x4010, "\xb0\xb1\xb2\xb3", 4),
	     "0002c140123456780000000000004010b0b1b2b3");
	same("V10", 1, 16, raw_send(1, "hello", 5),
	     "00014143000000000000000000000001"
	     "0000000068656c6c6f");
	same("V11", 2, 16, raw_send_inv(2, 0x0badcafe, "done", 4),
	     "000241440badcafe0000000000000002"
	     "00000000646f6e65");
	same("V14", 5, 16, raw_read(1, (struct raw_read){0x00c0ffee, 0x100, 6, 0x12345678, 0x4000}),
	     "00054141000000000000000100000001"
	     "0000000000c0ffee0000000000000100"
	     "00000006123456780000000000004000");
	same("V15", 1, 16, raw_response(0x00c0ffee, 0x100, data, 6),
	     "0001c14200c0ffee0000000000000100a0a1a2a3a4a5");
}

static void terminates(void)
{
	struct raw_msg write = raw_write(0x12345678, 0x5000, "UUUUUUUU", 8);
	struct raw_read r = {0x00c0ffee, 0x100, 0x2000, 0x12345678, 0x4800};
	struct raw_msg read = raw_read(3, r);

	same("V19", 3, 16, raw_terminate_for(RAW_ERR(1, 1, 1), &write),
	     "00034147000000000000000200000001"
	     "000000001101c0000016c14012345678"
	     "0000000000005000");
	same("V21", 3, 16, raw_terminate_for(RAW_ERR(0, 1, 1), &read),
	     "00034147000000000000000200000001"
	     "000000000101e000002e414100000000"
	     "00000001000000030000000000c0ffee"
	     "00000000000001000000200012345678"
	     "0000000000004800");
	same("V22", 3, 16, raw_terminate_for(RAW_ERR(0, 0, 0), &write),
	     "0003414700000000000000020000000100000000"
	     "00000000");
	same("V23", 1, 16, raw_terminate_for(RAW_ERR(2, 0, 6), &write),
	     "0001414700000000000000020000000100000000"
	     "20060000");
}

static void extensions(void)
{
	struct raw_atomic add = {.id = 7, .stag = 0x12345678, .to = 0x4008, .data = 5};
	struct raw_atomic swap = {.op = 2, .id = 8, .stag = 0x12345678, .to = 0x4008};

	add.compare_mask = swap.mask = swap.compare_mask = UINT64_MAX;
	swap.data = 0x99;
	swap.compare = 0x15;
	same("V27", 3, 16, raw_imm(RAW_IMM, 3, 0x1122334455667788),
	     "00034148000000000000000000000003000000001122334455667788");
	same("V29", 9, 16, raw_atomic(3, add),
	     "0009414a000000000000000100000003"
	     "00000000000000000000000712345678"
	     "00000000000040080000000000000005"
	     "00000000000000000000000000000000"
	     "ffffffffffffffff");
	same("V30", 3, 16, raw_atomic_answer(1, 7, 0x10),
	     "0003414b000000000000000300000001"
	     "00000000000000070000000000000010");
	same("V31", 10, 16, raw_atomic(4, swap),
	     "000a414a000000000000000100000004"
	     "00000000000000020000000812345678"
	     "00000000000040080000000000000099"
	     "ffffffffffffffff0000000000000015"
	     "ffffffffffffffff");
}

static void vectors(void)
{
	control();
	segments();
	terminates();
	extensions();
}

const struct raw_case case_bytes[] = {
	{"vectors", "", vectors},
	{0},
};
