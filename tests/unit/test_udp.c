/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets on loopback that send to each other. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "full_socket.h"
#include "llp/udp.h"
#include "util/addr.h"

enum { MAX_SEEN = 512, BUFFER = 1 << 20 };

struct seen {
	unsigned n;
	size_t len[MAX_SEEN];
	uint8_t first[MAX_SEEN];
	struct sockaddr_storage from;
};

static void address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *a4 = (void *)ret;
	struct sockaddr_in6 *a6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &a4->sin_addr) == 1) {
		ret->ss_family = AF_INET;
	} else {
		cr_assert_eq(inet_pton(AF_INET6, text, &a6->sin6_addr), 1);
		ret->ss_family = AF_INET6;
	}
}

static struct udp *open_at(const char *text, uint16_t port)
{
	struct sockaddr_storage a;
	struct udp *u;

	address(text, &a);
	cr_assert_eq(udp_open(&a, port, BUFFER, &u), 0);
	return u;
}

static void aim(struct udp_flow *f, const struct udp *at, bool gso)
{
	memset(f, 0, sizeof(*f));
	f->to = *udp_local(at);
	f->tolen = addr_len(&f->to);
	f->gso = gso;
}

static void note(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len)
{
	struct seen *s = arg;

	cr_assert_lt(s->n, MAX_SEEN);
	s->len[s->n] = len;
	s->first[s->n++] = p[0];
	s->from = *from;
}

/* Loopback delivers within the send call: no packet arrives later. */
static void collect(struct udp *u, struct seen *ret)
{
	memset(ret, 0, sizeof(*ret));
	while (udp_recv(u, 64, note, ret))
		;
}

static void send_sizes(struct udp *u, struct udp_flow *f, const size_t *sizes, unsigned n)
{
	static uint8_t pkt[UDP_MAX_PACKET];

	for (unsigned i = 0; i < n; i++) {
		pkt[0] = (uint8_t)i;
		udp_send(u, f, pkt, sizes[i]);
	}
}

static void expect_all(const struct seen *s, const size_t *sizes, unsigned n)
{
	cr_assert_eq(s->n, n, "%u packets, expected %u", s->n, n);
	for (unsigned i = 0; i < n; i++) {
		cr_assert_eq(s->len[i], sizes[i], "packet %u has %zu bytes", i, s->len[i]);
		cr_assert_eq(s->first[i], (uint8_t)i, "packet %u arrived as number %u", s->first[i],
			     i);
	}
}

static uint64_t batches(const struct udp *u)
{
	struct udp_stats st;

	udp_stats(u, &st);
	return st.tx_batches;
}

static struct udp *tx, *rx;
static struct udp_flow flow;
static struct seen seen;

static void pair(const char *from, const char *to, bool gso)
{
	tx = open_at(from, 0);
	rx = open_at(to, 0);
	aim(&flow, rx, gso);
}

static void unpair(void)
{
	udp_close(tx);
	udp_close(rx);
}

static void exchange(const size_t *sizes, unsigned n, uint64_t want_batches)
{
	send_sizes(tx, &flow, sizes, n);
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, n);
	cr_assert_eq(batches(tx), want_batches, "%u batches", (unsigned)batches(tx));
}

Test(udp, equal_packets_share_a_batch)
{
	const size_t sizes[] = {1400, 1400, 1400, 1400};

	pair("127.0.0.1", "127.0.0.2", true);
	exchange(sizes, 4, 1);
	unpair();
}

Test(udp, a_shorter_packet_closes_its_batch)
{
	const size_t sizes[] = {1400, 1400, 700, 700, 1400};

	pair("127.0.0.1", "127.0.0.2", true);
	exchange(sizes, 5, 3);
	unpair();
}

Test(udp, a_longer_packet_begins_a_batch)
{
	const size_t sizes[] = {100, 100, 1400, 1400};

	pair("127.0.0.1", "127.0.0.2", true);
	exchange(sizes, 4, 2);
	unpair();
}

Test(udp, packets_of_any_sizes_keep_their_order)
{
	size_t sizes[200];

	for (unsigned i = 0; i < 200; i++)
		sizes[i] = 1 + i * 7919 % 1500;
	pair("127.0.0.1", "127.0.0.2", true);
	send_sizes(tx, &flow, sizes, 200);
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, 200);
	unpair();
}

Test(udp, packets_beyond_a_full_batch_go_into_the_next)
{
	size_t sizes[130];

	for (unsigned i = 0; i < 130; i++)
		sizes[i] = 100;
	pair("127.0.0.1", "127.0.0.2", true);
	exchange(sizes, 130, 3);
	unpair();
}

Test(udp, a_batch_never_exceeds_the_largest_datagram)
{
	size_t sizes[20];

	for (unsigned i = 0; i < 20; i++)
		sizes[i] = 8000; /* eight of them in 65507 bytes */
	pair("127.0.0.1", "127.0.0.2", true);
	exchange(sizes, 20, 3);
	unpair();
}

Test(udp, a_huge_packet_keeps_its_place)
{
	const size_t sizes[] = {1400, 1400, 60000, 1400, UDP_MAX_PACKET, 100};

	pair("127.0.0.1", "127.0.0.2", true);
	exchange(sizes, 6, 5);
	unpair();
}

Test(udp, without_gso_the_same_packets_arrive)
{
	const size_t sizes[] = {1400, 1400, 700, 100, 1400, 1400, 33000};

	pair("127.0.0.1", "127.0.0.2", false);
	send_sizes(tx, &flow, sizes, 7);
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, 7);
	unpair();
}

Test(udp, works_over_ipv6)
{
	const size_t sizes[] = {1400, 1400, 700, 60000};

	pair("::1", "::1", true);
	exchange(sizes, 4, 2);
	cr_assert(addr_same_host(&seen.from, udp_local(tx)));
	cr_assert_eq(addr_port(&seen.from), addr_port(udp_local(tx)));
	unpair();
}

Test(udp, flows_do_not_mix)
{
	struct udp *other = open_at("127.0.0.3", 0);
	const size_t sizes[] = {500, 500, 500};
	struct udp_flow f2;
	uint8_t pkt[500] = {0};

	pair("127.0.0.1", "127.0.0.2", true);
	aim(&f2, other, true);
	for (uint8_t i = 0; i < 3; i++) {
		pkt[0] = i;
		udp_send(tx, &flow, pkt, sizeof(pkt));
		udp_send(tx, &f2, pkt, sizeof(pkt));
	}
	udp_flush(tx);
	cr_assert_eq(batches(tx), 2);
	collect(rx, &seen);
	expect_all(&seen, sizes, 3);
	collect(other, &seen);
	expect_all(&seen, sizes, 3);
	udp_close(other);
	unpair();
}

Test(udp, a_forgotten_flow_may_be_freed_and_its_packets_still_leave)
{
	const size_t sizes[] = {200, 200};

	pair("127.0.0.1", "127.0.0.2", true);
	send_sizes(tx, &flow, sizes, 2);
	udp_forget(tx, &flow);
	memset(&flow, 0xff, sizeof(flow));
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, 2);
	unpair();
}

Test(udp, a_batch_that_the_kernel_refuses_is_sent_packet_by_packet)
{
	const size_t sizes[] = {1000, 1000, 10};
	struct udp_stats st;
	int one = 1;

	pair("127.0.0.1", "127.0.0.2", true);
	/* Without checksums there is no segmentation: EINVAL or EIO, by kernel version. */
	cr_assert_eq(setsockopt(udp_fd(tx), SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one)), 0);
	exchange(sizes, 3, 1);
	udp_stats(tx, &st);
	cr_assert_eq(st.tx_errors, 0);
	cr_assert_not(flow.gso, "the next batch would be refused again");
	unpair();
}

Test(udp, refuses_a_port_in_use_and_a_foreign_address)
{
	struct udp *u = open_at("127.0.0.1", 0), *v = NULL;
	struct sockaddr_storage a;

	address("127.0.0.1", &a);
	cr_assert_eq(udp_open(&a, addr_port(udp_local(u)), BUFFER, &v), -EADDRINUSE);
	address("203.0.113.77", &a);
	cr_assert_eq(udp_open(&a, 0, BUFFER, &v), -EADDRNOTAVAIL);
	cr_assert_null(v);
	udp_close(u);
}

struct icmp {
	unsigned n;
	int err;
	uint16_t port;
};

static void note_error(void *arg, const struct sockaddr_storage *to, int err, uint32_t mtu)
{
	struct icmp *i = arg;

	(void)mtu;
	i->n++;
	i->err = err;
	i->port = addr_port(to);
}

Test(udp, reports_the_address_where_nothing_listens)
{
	const size_t sizes[] = {100};
	struct icmp got = {0};
	uint16_t dead;

	pair("127.0.0.1", "127.0.0.2", true);
	dead = addr_port(udp_local(rx));
	rx = udp_close(rx);
	send_sizes(tx, &flow, sizes, 1);
	udp_flush(tx);
	cr_assert_eq(udp_recv(tx, 64, note, &seen), 0);
	udp_errors(tx, note_error, &got);
	cr_assert_eq(got.n, 1);
	cr_assert_eq(got.err, ECONNREFUSED);
	cr_assert_eq(got.port, dead);
	unpair();
}

Test(udp, an_error_of_one_packet_does_not_lose_another)
{
	const size_t sizes[] = {100};
	struct udp *gone = open_at("127.0.0.3", 0);
	struct udp_flow f2;

	pair("127.0.0.1", "127.0.0.2", true);
	aim(&f2, gone, true);
	udp_close(gone);
	send_sizes(tx, &f2, sizes, 1);
	udp_flush(tx);
	exchange(sizes, 1, 2);
	unpair();
}

/* ---- a full socket ---- */

static uint64_t errors(const struct udp *u)
{
	struct udp_stats st;

	udp_stats(u, &st);
	return st.tx_errors;
}

/* From now on the sender's socket takes this many messages. */
static void limit(unsigned room)
{
	full_socket_fd = udp_fd(tx);
	full_socket_room = room;
}

/* Sends to a socket that takes `room` messages now, and all others later. */
static void exchange_in_two(const size_t *sizes, unsigned n, unsigned room)
{
	limit(room);
	send_sizes(tx, &flow, sizes, n);
	udp_flush(tx);
	cr_assert(udp_blocked(tx));
	limit(1000);
	udp_flush(tx);
	cr_assert_not(udp_blocked(tx));
	collect(rx, &seen);
	expect_all(&seen, sizes, n);
	cr_assert_eq(errors(tx), 0);
}

Test(udp, packets_for_a_full_socket_wait_for_the_next_flush)
{
	const size_t sizes[] = {1400, 1400, 700, 60000, 100, 1400};

	pair("127.0.0.1", "127.0.0.2", true);
	exchange_in_two(sizes, 6, 0);
	exchange_in_two(sizes, 6, 1);
	exchange_in_two(sizes, 6, 2);
	unpair();
}

Test(udp, a_batch_that_left_in_part_continues_where_it_stopped)
{
	const size_t sizes[] = {1400, 1400, 1400, 1400, 700};

	pair("127.0.0.1", "127.0.0.2", false);
	for (unsigned room = 0; room < 5; room++)
		exchange_in_two(sizes, 5, room);
	unpair();
}

Test(udp, packets_sent_to_a_full_socket_join_those_that_wait)
{
	const size_t sizes[] = {1400, 1400, 1400, 1400};

	pair("127.0.0.1", "127.0.0.2", true);
	limit(0);
	for (unsigned i = 0; i < 4; i++) {
		uint8_t pkt[1400] = {(uint8_t)i};

		udp_send(tx, &flow, pkt, sizeof(pkt));
		udp_flush(tx);
	}
	limit(1);
	udp_flush(tx);
	cr_assert_not(udp_blocked(tx), "more than one batch");
	collect(rx, &seen);
	expect_all(&seen, sizes, 4);
	unpair();
}

/* Growing packets: each needs a batch of its own. */
Test(udp, drops_what_exceeds_its_bound_while_the_socket_is_full)
{
	size_t sizes[100];

	for (unsigned i = 0; i < 100; i++)
		sizes[i] = 100 + i;
	pair("127.0.0.1", "127.0.0.2", true);
	limit(0);
	send_sizes(tx, &flow, sizes, 100);
	udp_flush(tx);
	cr_assert_eq(errors(tx), 84);
	cr_assert_leq(full_socket_refused, 4, "%u system calls for nothing", full_socket_refused);
	limit(1000);
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, 16);
	unpair();
}

Test(udp, forgetting_a_flow_drops_its_packets_if_the_socket_is_full)
{
	const size_t sizes[] = {200, 200, 100};
	struct udp *other = open_at("127.0.0.3", 0);
	struct udp_flow f2;

	pair("127.0.0.1", "127.0.0.2", true);
	aim(&f2, other, true);
	limit(0);
	send_sizes(tx, &f2, sizes, 3);
	send_sizes(tx, &flow, sizes, 3);
	udp_forget(tx, &f2);
	memset(&f2, 0xff, sizeof(f2));
	cr_assert_eq(errors(tx), 3);
	limit(1000);
	udp_flush(tx);
	collect(other, &seen);
	cr_assert_eq(seen.n, 0);
	collect(rx, &seen);
	expect_all(&seen, sizes, 3);
	udp_close(other);
	unpair();
}
