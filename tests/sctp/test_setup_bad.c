/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: an INIT or INIT ACK that RFC 9260 forbids makes no association, is answered as it says,
 * and changes nothing of an association that exists. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(setup_bad, .init = setup, .fini = teardown);

static const uint8_t host_name[] = {0, 11, 0, 9, 'h', 'o', 's', 't', 0, 0, 0, 0};

/* What is wrong with an INIT or INIT ACK, and the cause that answers it; NOTHING: no answer. */
enum { NOTHING = 999 };

static const struct defect {
	const char *name;
	uint32_t tag, rwnd;
	uint16_t out, in;
	bool host_name;
	unsigned cause;
} defects[] = {
	{"a_rwnd of 1499", PEER_TAG, 1499, 1, 1, false, SCTP_CAUSE_INVALID},
	{"a_rwnd of 0", PEER_TAG, 0, 1, 1, false, SCTP_CAUSE_INVALID},
	{"no outbound stream", PEER_TAG, 1500, 0, 1, false, SCTP_CAUSE_INVALID},
	{"no inbound stream", PEER_TAG, 1500, 1, 0, false, SCTP_CAUSE_INVALID},
	{"host name", PEER_TAG, 1500, 1, 1, true, SCTP_CAUSE_ADDRESS},
	{"tag 0", 0, 1500, 1, 1, false, NOTHING},
};

enum { DEFECTS = sizeof(defects) / sizeof(defects[0]) };

static void put_defect(const struct defect *d, uint8_t type)
{
	uint32_t at;

	p.tag = d->tag;
	p.rwnd = d->rwnd;
	p.out_streams = d->out;
	p.in_streams = d->in;
	at = peer_begin_init(&p, type);
	if (type == SCTP_INIT_ACK)
		peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	if (d->host_name)
		sctp_put_bytes(&p.w, host_name, sizeof(host_name));
	peer_end_chunk(&p, at);
	p.tag = PEER_TAG;
	p.rwnd = PEER_RWND;
	p.out_streams = p.in_streams = PEER_STREAMS;
}

static void send_defect(const struct defect *d, uint8_t type)
{
	peer_begin_tag(&p, type == SCTP_INIT ? 0 : p.stack_tag);
	put_defect(d, type);
	peer_send(&p);
}

/* ABORT with the Initiate Tag, not reflected. */
static void expect_refusal(unsigned cause)
{
	struct sctp_error e;

	if (cause == NOTHING) {
		peer_expect_nothing(&p);
		return;
	}
	e = peer_expect_cause(&p, SCTP_ABORT, (uint16_t)cause);
	cr_assert_eq(p.chunk[0].flags, 0);
	cr_assert_eq(p.head.tag, PEER_TAG);
	if (cause == SCTP_CAUSE_INVALID || cause == SCTP_CAUSE_RESOURCE)
		cr_assert_eq(e.len, 0);
}

/* ---- INIT ---- */

/* rows: 9260-3.3.2-07 9260-3.3.2-08 9260-3.3.2-17 9260-3.3.2-19 9260-3.3.2-20 9260-3.3.2-25
 * 9260-3.3.2-26 9260-3.3.2-29 9260-3.3.2-30 9260-3.3.2.1.4-02 9260-3.3.2.1.4-03 9260-5.1.2-02
 * 9260-5.1.2-03 9260-5.1.2-04 9260-5.1-24 9260-5.1-25 9260-5.1-26 9260-8.4-05 9260-3.3.7-11
 * 9260-3.3.10.7-01 9260-12.2.4.1-05 9260-12.2.4.1-06 */
Test(setup_bad, a_bad_init_is_refused)
{
	for (unsigned i = 0; i < DEFECTS; i++) {
		send_defect(&defects[i], SCTP_INIT);
		expect_refusal(defects[i].cause);
	}
	peer_connect(&p);
}

/* rows: 9260-3.3.10.5-01 9260-3.3.2.1.4-03 9260-3.3.2-08 */
Test(setup_bad, the_host_name_comes_back)
{
	struct sctp_error e;

	send_defect(&defects[4], SCTP_INIT);
	e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_ADDRESS);
	cr_assert_eq(e.len, 9);
	cr_assert_arr_eq(e.p, host_name, 9);
}

/* rows: 9260-3.3.2-19 9260-3.3.3-15 */
Test(setup_bad, the_smallest_window_is_1500)
{
	p.rwnd = 1500;
	peer_connect(&p);
}

/* rows: 9260-3.3.2-21 9260-3.3.2-27 9260-3.3.2-31 */
Test(setup_bad, a_bad_init_does_not_touch_an_association)
{
	peer_connect(&p);
	for (unsigned i = 0; i < DEFECTS; i++) {
		send_defect(&defects[i], SCTP_INIT);
		expect_refusal(defects[i].cause);
	}
	for (unsigned i = 0; i < 2; i++)
		peer_send_data(&p, 10);
	cr_assert_eq(peer_drain(&p, SCTP_SACK), 1);
	cr_assert_eq(p.messages, 2);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-3.3.2-01 9260-3.2.1-07 */
Test(setup_bad, a_truncated_init_makes_no_cookie)
{
	for (uint32_t len = 0; len < 16; len++) {
		peer_begin_tag(&p, 0);
		peer_put(&p, SCTP_INIT, 0, "abcdefghijklmnopqrstuvwxyz", len);
		peer_send(&p);
		cr_assert_eq(peer_drain(&p, SCTP_INIT_ACK), 0);
	}
}

/* rows: 9260-3.2.1-07 9260-3.3.2.1.1-01 9260-3.3.2.1.2-01 */
Test(setup_bad, a_parameter_of_a_wrong_length_makes_no_cookie)
{
	static const uint8_t bad[][8] = {
		{0x80, 5, 0, 3},  {0x80, 5, 0, 0},           {0x80, 5, 0, 9},
		{0, 5, 0, 7, 10}, {0, 6, 0, 8, 10, 0, 0, 1}, {0x80, 5, 255, 255},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t at;

		peer_begin_tag(&p, 0);
		at = peer_begin_init(&p, SCTP_INIT);
		sctp_put_bytes(&p.w, bad[i], 8);
		peer_end_chunk(&p, at);
		peer_send(&p);
		cr_assert_eq(peer_drain(&p, SCTP_INIT_ACK), 0, "parameter %u", i);
	}
}

/* The peer's association comes up and is aborted: its user hears the reason. */
Test(setup_bad, another_indication_ends_what_the_peer_begins)
{
	static const uint8_t other[] = {0, 0, 0, 2};
	uint32_t at;

	p.no_adaptation = true;
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_param(&p, SCTP_PARAM_ADAPTATION, other, sizeof(other));
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_USER);
	cr_assert_eq(p.incoming, 0);
}

/* rows: 9260-3.2.2-02 9260-3.3.10.4-01 9260-5.1-24 9260-5.1-25 9260-8.4-05 9260-3.3.2-12 */
Test(setup_bad, init_beyond_the_limit_is_refused)
{
	struct sctp_config c = peer_config(&p, 1);
	uint32_t at;

	c.max_assocs = 1;
	peer_deinit(&p);
	peer_init_cfg(&p, &c);
	peer_connect(&p);
	p.port++;
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_param(&p, 0xc0ff, "x", 1);
	peer_end_chunk(&p, at);
	peer_send(&p);
	expect_refusal(SCTP_CAUSE_RESOURCE);
}

/* rows: 9260-5.1-24 9260-5.1-26 9260-3.3.10.4-01 */
Test(setup_bad, cookie_echo_without_memory_is_refused)
{
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	p.no_memory = true;
	peer_send_cookie_echo(&p);
	expect_refusal(SCTP_CAUSE_RESOURCE);
	p.no_memory = false;
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
}

/* rows: 9260-8.4-05 9260-3.3.2-12 */
Test(setup_bad, init_to_a_port_without_listener_is_refused)
{
	p.stack_port = 1;
	peer_send_init(&p);
	expect_refusal(SCTP_CAUSE_NONE);
}

/* rows: 9260-5.1-20 9260-12.3-03 9260-3.3.2-17 9260-8.5.1-03 */
Test(setup_bad, init_beside_other_chunks_is_ignored)
{
	for (int order = 0; order < 2; order++) {
		peer_begin_tag(&p, 0);
		if (order)
			peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
		peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
		if (!order)
			peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
		peer_send(&p);
		peer_expect_nothing(&p);
		cr_assert_eq(p.messages, 0);
	}
}

/* rows: 9260-12.3-03 */
Test(setup_bad, init_behind_chunks_of_an_association_ends_the_packet)
{
	peer_connect(&p);
	peer_begin(&p);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
	peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
	peer_send(&p);
	peer_expect(&p, SCTP_HEARTBEAT_ACK);
	peer_expect_nothing(&p);
	cr_assert_eq(p.messages, 0);
}

/* rows: 9260-12.3-04 9260-8.5.1-01 */
Test(setup_bad, init_with_a_tag_is_ignored)
{
	const uint32_t tags[] = {1, PEER_TAG, 0xffffffff};

	for (unsigned i = 0; i < 3; i++) {
		peer_begin_tag(&p, tags[i]);
		peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
		peer_send(&p);
		peer_expect_nothing(&p);
	}
	peer_connect(&p);
	peer_begin(&p);
	peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
	peer_send(&p);
	peer_expect_nothing(&p);
}

/* ---- INIT ACK ---- */

/* rows: 9260-3.3.3-05 9260-3.3.3-06 9260-3.3.3-22 9260-3.3.3-23 9260-3.3.3-26 9260-3.3.3-27
 * 9260-3.3.2.1.4-02 9260-5.1-24 9260-5.1-25 9260-5.1-26 9260-5.1.2-02 9260-12.2.4.1-05 */
Test(setup_bad, a_bad_init_ack_ends_the_attempt)
{
	for (unsigned i = 2; i < 5; i++) {
		p.down = 0;
		peer_stack_connects(&p, 1);
		send_defect(&defects[i], SCTP_INIT_ACK);
		expect_refusal(defects[i].cause);
		cr_assert_eq(p.down, 1, "%s", defects[i].name);
		peer_advance(&p, 10 * PEER_SECOND);
		peer_expect_nothing(&p);
	}
}

/* rows: 9260-3.3.3-11 9260-3.3.3-12 */
Test(setup_bad, init_ack_with_tag_0_ends_the_attempt)
{
	peer_stack_connects(&p, 1);
	send_defect(&defects[5], SCTP_INIT_ACK);
	peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NONE);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	cr_assert_eq(p.head.tag, p.stack_tag);
	cr_assert_eq(p.down, 1);
	peer_advance(&p, 10 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-3.3.3-15 9260-3.3.3-16 9260-3.3.3-17 */
Test(setup_bad, init_ack_with_a_small_window_changes_nothing)
{
	peer_stack_connects(&p, 1);
	send_defect(&defects[0], SCTP_INIT_ACK);
	expect_refusal(SCTP_CAUSE_INVALID);
	cr_assert_eq(p.down, 0);
	peer_advance(&p, PEER_SECOND);
	peer_expect(&p, SCTP_INIT);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
}

/* rows: 9260-3.3.3-01 9260-3.3.10.2-01 9260-5.1-25 */
Test(setup_bad, init_ack_without_cookie_ends_the_attempt)
{
	struct sctp_error e;

	peer_stack_connects(&p, 1);
	peer_begin(&p);
	peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT_ACK));
	peer_send(&p);
	e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_MISSING);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert_eq(e.len, 6);
	cr_assert_arr_eq(e.p, ((const uint8_t[]){0, 0, 0, 1, 0, 7}), 6);
	cr_assert_eq(p.down, 1);
}

/* rows: 9260-3.3.3-13 9260-3.3.3-24 9260-3.3.3-28 9260-5.2.3-01 */
Test(setup_bad, init_ack_is_ignored_in_other_states)
{
	for (int established = 0; established < 2; established++) {
		p.up = 0;
		peer_stack_connects(&p, 1);
		peer_send_init_ack(&p);
		peer_expect(&p, SCTP_COOKIE_ECHO);
		if (established)
			peer_send_plain(&p, SCTP_COOKIE_ACK);
		for (unsigned i = 0; i < DEFECTS; i++)
			send_defect(&defects[i], SCTP_INIT_ACK);
		p.tag = 77;
		peer_send_init_ack(&p);
		p.tag = PEER_TAG;
		peer_expect_nothing(&p);
		if (!established)
			peer_send_plain(&p, SCTP_COOKIE_ACK);
		cr_assert_eq(p.up, 1);
		peer_stack_sends(&p, 0, 4);
		peer_expect(&p, SCTP_DATA);
		cr_assert_eq(p.head.tag, PEER_TAG);
	}
}

/* rows: 9260-5.1-20 */
Test(setup_bad, init_ack_beside_data_is_ignored)
{
	uint32_t at;

	peer_stack_connects(&p, 1);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_end_chunk(&p, at);
	peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
	peer_send(&p);
	cr_assert_eq(p.messages, 0);
	peer_expect_nothing(&p);
}

/* rows: 9260-3.3.3-33 */
Test(setup_bad, a_peer_without_the_indication_is_refused)
{
	p.no_adaptation = true;
	peer_stack_connects(&p, 1);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_USER);
	cr_assert_eq(p.last_down.end, SCTP_END_INDICATION);
	cr_assert_eq(p.up, 0);
	p.stack_port = PEER_STACK;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_USER);
	cr_assert_eq(p.incoming, 0);
}

/* rows: 9260-3.1-02 */
Test(setup_bad, nobody_connects_to_port_0)
{
	struct sctp_addr addr = peer_addr(0);
	struct sctp_assoc *a;
	uint8_t local = 0;
	const struct sctp_connect to = {
		.peer = &addr, .npeer = 1, .port = 0, .local = &local, .nlocal = 1};

	cr_assert_eq(sctp_assoc_connect(p.s, &to, &a), SCTP_E_NO_ADDR);
}
