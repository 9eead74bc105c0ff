/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: what the stack does with parameters of INIT and INIT ACK: unknown ones of the four
 * kinds, addresses, address families. */
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

TestSuite(params, .init = setup, .fini = teardown);

static const struct kind {
	uint16_t type;
	bool goes_on, reports;
} kinds[] = {
	{0x3ff0, false, false}, {0x7ff0, false, true}, {0x8008, true, false},
	{0xc000, true, true},   {0x8000, true, false}, {0x8002, true, false},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* One address, an unknown parameter of 5 bytes with FF as padding, another address. */
static void put_around(uint16_t type)
{
	const struct sctp_addr before = peer_addr(1), behind = peer_addr(2);
	uint8_t odd[8] = {(uint8_t)(type >> 8), (uint8_t)type, 0, 5, 0xaa, 0xff, 0xff, 0xff};

	peer_put_addr(&p, &before);
	sctp_put_bytes(&p.w, odd, sizeof(odd));
	peer_put_addr(&p, &behind);
}

static unsigned count_paths(void)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];

	return sctp_assoc_paths(p.assoc, path);
}

static void forget(void)
{
	p.assoc = sctp_assoc_free(p.assoc);
	peer_poll(&p);
	peer_drain(&p, SCTP_ABORT);
}

/* rows: 9260-3.2.1-06 9260-3.2.1-08 9260-3.2.1-09 9260-3.2.1-10 9260-3.2.1-11 9260-3.2.1-12
 * 9260-3.2.1-13 9260-3.2.2-01 9260-3.3.3.1.2-01 9260-3.3.3.1.2-02 9260-3.3.2-05 */
Test(params, unknown_ones_of_init_are_handled_by_their_kind)
{
	for (unsigned i = 0; i < KINDS; i++) {
		const uint8_t *report;
		uint32_t at, len;

		peer_begin_tag(&p, 0);
		at = peer_begin_init(&p, SCTP_INIT);
		put_around(kinds[i].type);
		peer_end_chunk(&p, at);
		peer_send(&p);
		peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
		report = peer_param(&p.chunk[0], SCTP_PARAM_UNRECOGNIZED, 0, &len);
		cr_assert_eq(report != NULL, kinds[i].reports, "type %x", kinds[i].type);
		if (report) {
			cr_assert_eq(len, 9);
			cr_assert_eq(be_get16(report + 4), kinds[i].type);
			cr_assert_arr_eq(report + 6, ((const uint8_t[]){0, 5, 0xaa, 0, 0, 0}), 6);
		}
		peer_send_cookie_echo(&p);
		peer_drain(&p, SCTP_COOKIE_ACK);
		cr_assert_eq(p.incoming, i + 1);
		cr_assert_eq(count_paths(), kinds[i].goes_on ? 3 : 2, "type %x", kinds[i].type);
		forget();
	}
}

/* rows: 9260-3.2.1-12 9260-3.2.2-03 9260-3.2.2-05 9260-3.3.10.8-01 9260-3.3.3-32 9260-5.1-12 */
Test(params, unknown_ones_of_init_ack_are_handled_by_their_kind)
{
	/* The cookie comes before the unknown one, or after it. */
	for (unsigned n = 0; n < 2 * KINDS; n++) {
		const unsigned i = n / 2;
		struct sctp_cursor c;
		struct sctp_error e;
		uint32_t at;

		peer_stack_connects(&p, 1);
		peer_begin(&p);
		at = peer_begin_init(&p, SCTP_INIT_ACK);
		if (n % 2)
			peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
		put_around(kinds[i].type);
		if (n % 2 == 0)
			peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
		peer_end_chunk(&p, at);
		peer_send(&p);
		if (kinds[i].reports) {
			peer_expect2(&p, SCTP_COOKIE_ECHO, SCTP_ERROR);
			c = sctp_errors(&p.chunk[1]);
			cr_assert(sctp_error_next(&c, &e));
			cr_assert_eq(e.cause, SCTP_CAUSE_PARAM);
			cr_assert_eq(be_get16(e.p), kinds[i].type);
			cr_assert_arr_eq(e.p + 2, ((const uint8_t[]){0, 5, 0xaa}), 3);
		} else {
			peer_expect(&p, SCTP_COOKIE_ECHO);
		}
		cr_assert_eq(p.chunk[0].len, 10);
		peer_send_plain(&p, SCTP_COOKIE_ACK);
		cr_assert_eq(p.up, n + 1);
		cr_assert_eq(count_paths(), kinds[i].goes_on ? 3 : 2, "type %x", kinds[i].type);
		forget();
	}
}

/* rows: 9260-3.2.2-01 9260-3.2.1-04 */
Test(params, several_unknown_ones_are_reported_one_by_one)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_param(&p, 0xc0f0, "1", 1);
	peer_put_param(&p, 0xc0f1, "22", 2);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_INIT_ACK);
	cr_assert_not_null(peer_param(&p.chunk[0], SCTP_PARAM_UNRECOGNIZED, 1, NULL));
	cr_assert_null(peer_param(&p.chunk[0], SCTP_PARAM_UNRECOGNIZED, 2, NULL));
}

/* rows: 9260-12.4-07 9260-12.4-08 */
Test(params, a_large_init_of_unknown_parameters_is_answered_with_little_more)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	while (p.w.len < 1400)
		peer_put_param(&p, 0xc0f0, NULL, 0);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_INIT_ACK);
	cr_assert_leq(p.pkt->len, 600, "INIT ACK has %u bytes", p.pkt->len);
}

/* rows: 9260-3.3.2.1.3-03 */
Test(params, a_wish_for_a_longer_cookie_is_ignored)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_param(&p, SCTP_PARAM_PRESERVATIVE, "\xff\xff\xff\xff", 4);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_advance(&p, 61 * PEER_SECOND);
	peer_send_cookie_echo(&p);
	peer_expect_cause(&p, SCTP_ERROR, SCTP_CAUSE_STALE_COOKIE);
}

/* ---- addresses ---- */

/* Sets up an association as listener; INIT lists these. */
static void connect_listing(const struct sctp_addr *addr, unsigned n)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	for (unsigned i = 0; i < n; i++)
		peer_put_addr(&p, &addr[i]);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_drain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-3.3.2.1.2-07 9260-5.1.2-01 9260-5.1.2-10 */
Test(params, without_a_list_the_source_is_the_only_address)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];

	connect_listing(NULL, 0);
	cr_assert_eq(sctp_assoc_paths(p.assoc, path), 1);
	cr_assert(path[0].primary);
	cr_assert_eq(path[0].state, SCTP_PATH_ACTIVE);
	cr_assert(sctp_addr_equal(&path[0].flow.peer, &p.from.peer));
}

/* rows: 9260-3.3.2.1.2-06 9260-5.1.2-05 */
Test(params, the_source_counts_beside_the_list)
{
	const struct sctp_addr list[] = {peer_addr(1), peer_addr(2), peer_addr(1), peer_addr(0)};

	connect_listing(list, 4);
	cr_assert_eq(count_paths(), 3);
}

/* rows: 9260-5.1.2-09 */
Test(params, addresses_that_lead_elsewhere_are_not_used)
{
	static const uint8_t v4[][4] = {
		{224, 0, 0, 1}, {0, 0, 0, 0},     {255, 255, 255, 255},
		{127, 0, 0, 1}, {169, 254, 1, 1},
	};
	static const struct sctp_addr v6[] = {
		{.ip = {0xff, 2, [15] = 1}},
		{.ip = {0}},
		{.ip = {[15] = 1}},
		{.ip = {0xfe, 0x80, [15] = 1}},
	};
	struct sctp_addr list[9];

	for (unsigned i = 0; i < 5; i++)
		list[i] = sctp_addr_v4(v4[i]);
	memcpy(list + 5, v6, sizeof(v6));
	connect_listing(list, 9);
	cr_assert_eq(count_paths(), 1);
	peer_advance(&p, 10 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-5.1.2-14 9260-5.1.2-15 9260-5.1.2-16 9260-3.3.2-04 */
Test(params, an_ipv4_stack_uses_the_ipv4_addresses)
{
	const struct sctp_addr list[] = {{.ip = {0x20, 1, [15] = 1}},
					 peer_addr(1),
					 {.ip = {0x20, 1, [15] = 2}},
					 peer_addr(2)};
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	for (unsigned i = 0; i < 4; i++)
		peer_put_addr(&p, &list[i]);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_null(peer_param(&p.chunk[0], SCTP_PARAM_UNRECOGNIZED, 0, NULL));
	peer_send_cookie_echo(&p);
	cr_assert_eq(count_paths(), 3);
}

/* A stack with two addresses of each family and IPv4 loopback. */
static void open_dual(void)
{
	struct sctp_config c = peer_config(&p, 2);

	c.local[2] = (struct sctp_addr){.ip = {0x20, 1, [15] = 1}};
	c.local[3] = (struct sctp_addr){.ip = {0x20, 1, [15] = 3}};
	c.local[4] = sctp_addr_v4((const uint8_t[]){127, 0, 0, 1});
	c.nlocal = 5;
	peer_deinit(&p);
	peer_init_cfg(&p, &c);
}

/* rows: 9260-3.3.2-04 9260-3.3.2-09 9260-3.3.2.1.2-02 9260-3.3.2.1.2-03 9260-3.3.2.1.2-05
 * 9260-3.3.3-03 9260-11.1-02 */
Test(params, a_dual_stack_lists_what_the_peer_can_reach)
{
	const struct sctp_chunk *c;

	open_dual();
	for (int role = 0; role < 2; role++) {
		if (role) {
			peer_send_init(&p);
			c = peer_expect(&p, SCTP_INIT_ACK);
		} else {
			peer_stack_connects(&p, 1);
			p.stack_port = PEER_STACK;
			c = &p.chunk[0];
		}
		cr_assert_not_null(peer_param(c, SCTP_PARAM_IPV4, 1, NULL));
		cr_assert_null(peer_param(c, SCTP_PARAM_IPV4, 2, NULL), "loopback is listed");
		cr_assert_not_null(peer_param(c, SCTP_PARAM_IPV6, 1, NULL));
		cr_assert_null(peer_param(c, SCTP_PARAM_IPV6, 2, NULL));
		cr_assert_arr_eq(peer_param(c, SCTP_PARAM_IPV4, 0, NULL) + 4,
				 p.cfg.local[0].ip + 12, 4);
	}
}

/* rows: 9260-3.3.2.1.5-01 9260-3.3.2.1.5-02 9260-5.1.2-12 9260-3.2.1-02 */
Test(params, an_ipv4_stack_says_so)
{
	const uint8_t *param;
	uint32_t len;

	peer_stack_connects(&p, 1);
	param = peer_param(&p.chunk[0], SCTP_PARAM_FAMILIES, 0, &len);
	cr_assert_not_null(param);
	cr_assert_eq(len, 6);
	cr_assert_arr_eq(param, ((const uint8_t[]){0, 12, 0, 6, 0, 5, 0, 0}), 8);
}

/* rows: 9260-5.1.2-17 9260-5.1.2-18 */
Test(params, a_family_in_use_is_supported_whatever_the_list_says)
{
	uint32_t at;

	open_dual();
	p.from = (struct sctp_flow){{.ip = {0x20, 1, [15] = 2}}, PEER_UDP, 2, false};
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_param(&p, SCTP_PARAM_FAMILIES, "\0\5", 2);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &p.from.peer));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
}

/* rows: 9260-3.3.2.1.5-03 */
Test(params, a_host_name_among_the_families_is_ignored)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_param(&p, SCTP_PARAM_FAMILIES, "\0\5\0\13", 4);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_INIT_ACK);
}

/* rows: 9260-3.3.3-34 9260-3.3.3-35 9260-5.1.2-06 9260-5.4-01 */
Test(params, init_ack_says_which_addresses_the_peer_has)
{
	const struct sctp_addr third = peer_addr(3);
	uint32_t at;

	/* The user named two; the peer lists none. */
	peer_stack_connects(&p, 2);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(count_paths(), 1);
	forget();
	/* The second of them answers and lists another one. */
	peer_stack_connects(&p, 2);
	p.from.peer = peer_addr(1);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_put_addr(&p, &third);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &p.from.peer));
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(count_paths(), 2);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
	cr_assert_eq(peer_path_state(&p, 3), SCTP_PATH_UNCONFIRMED);
}

/* rows: 9260-5.1.2-07 9260-3.3.3-34 */
Test(params, init_ack_from_another_address_that_lists_ours_is_taken)
{
	const struct sctp_addr first = peer_addr(0);
	uint32_t at;

	peer_stack_connects(&p, 1);
	p.from.peer = peer_addr(5);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_put_addr(&p, &first);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
	cr_assert_eq(count_paths(), 2);
}

/* rows: 9260-3.3.3-30 9260-3.3.3-03 */
Test(params, init_ack_may_list_many_addresses)
{
	uint32_t at;

	peer_stack_connects(&p, 1);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	for (unsigned i = 0; i < 1000; i++) {
		const struct sctp_addr a =
			sctp_addr_v4((const uint8_t[]){11, 1, (uint8_t)(i >> 8), (uint8_t)i});

		peer_put_addr(&p, &a);
	}
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
	cr_assert_eq(count_paths(), SCTP_MAX_PATHS);
}
