/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server of ddperf with a client that sends anything, in each kind of test and in both
 * directions. Input: the hello, and the steps of session_fake.c. Work stays within the memory of
 * the session, and nothing of it is left.
 */
#include "tests/fuzz/session_fake.h"
#include "tools/ddperf/ddperf.h"
#include "tools/ddperf/ddperf_proto.h"

/* A credit, the beginning or the end of a phase, or any bytes. */
static size_t draw_message(struct input *in, uint8_t *p, size_t len)
{
	uint8_t kind = in_8(in), out[UINT8_MAX];
	size_t n = kind;

	if (kind % 4 == 0) {
		n = DDPERF_CREDIT_LEN;
		memset(out, 0, n);
		out[n - 1] = in_8(in);
	} else if (kind % 4 == 1) {
		struct ddperf_go go = {.ns = in_16(in), .count = in_8(in)};

		n = DDPERF_GO_LEN;
		ddperf_go_put(out, &go);
	} else if (kind % 4 == 2) {
		struct ddperf_done done = {.messages = in_16(in), .ns = in_32(in)};

		n = DDPERF_DONE_LEN;
		ddperf_done_put(out, &done);
	} else {
		in_fill(in, out, n);
	}
	n = n < len ? n : len;
	memcpy(p, out, n);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ddperf_opts o = {.once = true};
	struct input in = {data, size};

	session_fake_begin(&in, draw_message);
	ddperf_server(&o);
	session_fake_end();
	return 0;
}
