/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport `user` from ports that it listens on: associations that both ends begin, or use. */
#include <criterion/criterion.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user_rig.h"
#include "util/addr.h"

/* Two hosts, each with a listener. */
static const uint16_t sctp_port[2] = {6001, 6002};
static struct sockaddr_storage addr[2];
static struct llp *host[2];
static struct llp_listener *listener[2];
static struct rig_conn in[2], out[2];
static uint16_t udp_port;

static void begin_at(const char *first, const char *second)
{
	const char *const text[] = {first, second};
	const struct llp_addrs all = {NULL, 0};

	udp_port = rig_free_port();
	for (unsigned i = 0; i < 2; i++) {
		struct llp_config cfg = rig_config(text[i], udp_port, &addr[i]);

		host[i] = rig_open(&cfg);
		cr_assert_eq(llp_listen_at(host[i], &all, sctp_port[i], &in[i], &listener[i]), 0);
	}
}

static void begin(void)
{
	begin_at("127.0.0.1", "127.0.0.2");
}

static void end(void)
{
	for (unsigned i = 0; i < 2; i++)
		host[i] = rig_close(host[i]);
}

static int connect_from(unsigned i, uint16_t own_port, struct rig_conn *rc)
{
	const struct llp_addrs to = {&addr[!i], 1}, from = {NULL, 0};

	return llp_connect_at(host[i], &to, sctp_port[!i], &from, own_port, rc, &rc->c);
}

static struct llp_info info_of(const struct rig_conn *c)
{
	struct llp_info info;

	llp_info(c->c, &info);
	return info;
}

/* An association between both listening ports, each end of which begins sessions on its own
 * streams. */
static void expect_both(const struct rig_conn *at_0, const struct rig_conn *at_1)
{
	struct llp_info info[2] = {info_of(at_0), info_of(at_1)};

	for (unsigned i = 0; i < 2; i++) {
		cr_expect_eq(addr_port(&info[i].local), sctp_port[i]);
		cr_expect_eq(addr_port(&info[i].remote), sctp_port[!i]);
		cr_expect(info[i].same_endpoint);
	}
	cr_expect_neq(info[0].even, info[1].even);
}

TestSuite(user_both, .fini = end);

Test(user_both, two_that_connect_to_each_other_at_once_have_one_association, .init = begin)
{
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(connect_from(i, sctp_port[i], &out[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		rig_until(&out[i].up, 1);
	expect_both(&out[0], &out[1]);
	for (unsigned i = 0; i < 2; i++) {
		rig_send(&out[i], 0, 100, (uint8_t)(5 + i));
		rig_until(&out[!i].msgs, 1);
		cr_expect(rig_last_is(&out[!i], 100, (uint8_t)(5 + i)));
	}
	cr_expect_eq(in[0].incoming + in[1].incoming, 0);
}

Test(user_both, one_that_came_in_is_from_the_port_of_its_opener, .init = begin)
{
	cr_assert_eq(connect_from(0, sctp_port[0], &out[0]), 0);
	rig_until(&in[1].incoming, 1);
	rig_until(&out[0].up, 1);
	expect_both(&out[0], &in[1]);
}

Test(user_both, a_second_one_between_the_same_ports_is_refused, .init = begin)
{
	struct llp_info info;

	cr_assert_eq(connect_from(0, sctp_port[0], &out[0]), 0);
	rig_until(&in[1].incoming, 1);
	cr_expect_eq(connect_from(0, sctp_port[0], &out[1]), -EADDRINUSE);
	cr_expect_eq(connect_from(1, sctp_port[1], &out[1]), -EADDRINUSE);
	cr_assert_eq(connect_from(0, 0, &out[1]), 0);
	rig_until(&out[1].up, 1);
	info = info_of(&out[1]);
	cr_expect_neq(addr_port(&info.local), sctp_port[0]);
	cr_expect(info.even, "the opener alone knows that it is the only one");
}

/* ---- another program at the peer's address ---- */

static int udp_at(const struct sockaddr_storage *a)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (const struct sockaddr *)a, sizeof(struct sockaddr_in)), 0);
	return fd;
}

static void pass_on(int from, int to, const struct sockaddr_storage *peer)
{
	static uint8_t packet[65536];
	ssize_t n;

	while ((n = recv(from, packet, sizeof(packet), 0)) > 0)
		(void)sendto(to, packet, (size_t)n, 0, (const struct sockaddr *)peer,
			     sizeof(struct sockaddr_in));
}

/* Any user of a host may send SCTP from any UDP port but the daemon's. */
Test(user_both, another_udp_port_is_another_endpoint)
{
	const struct llp_addrs from = {NULL, 0};
	struct sockaddr_storage front, back;
	struct llp_info info;
	int fd[2];

	begin_at("127.0.0.1", "127.0.0.3");
	rig_address("127.0.0.2", udp_port, &front);
	rig_address("127.0.0.2", 0, &back);
	fd[0] = udp_at(&front);
	fd[1] = udp_at(&back);
	for (unsigned i = 0; i < 2; i++)
		addr_set_port(&addr[i], udp_port);
	cr_assert_eq(llp_connect_at(host[0], &(struct llp_addrs){&front, 1}, sctp_port[1], &from,
				    sctp_port[0], &out[0], &out[0].c),
		     0);
	while (!out[0].up || !in[1].incoming) {
		cr_assert_eq(out[0].down, 0, "%s", out[0].reason);
		rig_turn();
		pass_on(fd[0], fd[1], &addr[1]);
		pass_on(fd[1], fd[0], &addr[0]);
	}
	cr_expect(info_of(&out[0]).same_endpoint);
	info = info_of(&in[1]);
	cr_expect_eq(addr_port(&info.remote), sctp_port[0]);
	cr_expect_not(info.same_endpoint);
	cr_expect_neq(info_of(&out[0]).even, info.even);
	close(fd[0]);
	close(fd[1]);
}

/* A sentence that names a rule, from either end. */
Test(user_both, the_longest_reason_of_an_abort_is_whole, .init = begin)
{
	char reason[LLP_ABORT_TEXT] = "", expected[256];

	memset(reason, 'r', sizeof(reason) - 1);
	for (unsigned i = 0; i < 2; i++) {
		struct rig_conn *ends[] = {&out[0], &in[1]};

		in[1].incoming = in[1].down = out[0].up = out[0].down = 0;
		cr_assert_eq(connect_from(0, 0, &out[0]), 0);
		rig_until(&in[1].incoming, 1);
		rig_until(&out[0].up, 1);
		llp_abort(ends[i]->c, reason);
		rig_until(&ends[!i]->down, 1);
		snprintf(expected, sizeof(expected), "127.0.0.%u aborted the association: %s",
			 i + 1, reason);
		cr_expect_str_eq(ends[!i]->reason, expected);
	}
}
