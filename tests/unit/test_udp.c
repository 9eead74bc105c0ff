/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets on loopback that send to each other. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "full_socket.h"
#include "llp/user/udp.h"
#include "llp/user/udp_holder.h"
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

static void note(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len,
		 size_t segment)
{
	struct seen *s = arg;

	cr_assert_gt(len, 0);
	for (size_t n; len; p += n, len -= n) {
		n = len < segment ? len : segment;
		cr_assert_lt(s->n, MAX_SEEN);
		s->len[s->n] = n;
		s->first[s->n++] = p[0];
	}
	s->from = *from;
}

/* Loopback delivers within the send call: no packet arrives later. */
static void collect(struct udp *u, struct seen *ret)
{
	memset(ret, 0, sizeof(*ret));
	while (udp_recv(u, 64, note, ret))
		;
}

/* Packets of one batch: all of the first size but the last. Each is two spans, and begins with its
 * number, counted from `first`. */
static struct udp_batch make(const struct udp *to, const size_t *sizes, unsigned n, uint8_t first)
{
	static uint8_t bytes[UDP_MAX_PACKET * 2];
	static struct span span[2 * MAX_SEEN];
	struct udp_batch b = {.to = *udp_local(to), .span = span, .segment = (uint32_t)sizes[0]};

	for (unsigned i = 0; i < n; i++) {
		uint8_t *p = bytes + b.len;
		size_t head = sizes[i] > 12 ? 12 : 1;

		cr_assert(sizes[i] == sizes[0] || (i == n - 1 && sizes[i] < sizes[0]));
		p[0] = (uint8_t)(first + i);
		span[b.nspans++] = (struct span){p, head};
		if (sizes[i] > head)
			span[b.nspans++] = (struct span){p + head, sizes[i] - head};
		b.len += (uint32_t)sizes[i];
	}
	return b;
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
static struct seen seen;

static void pair(const char *from, const char *to)
{
	tx = open_at(from, 0);
	rx = open_at(to, 0);
}

static void unpair(void)
{
	udp_close(tx);
	udp_close(rx);
}

static uint64_t errors(const struct udp *u)
{
	struct udp_stats st;

	udp_stats(u, &st);
	return st.tx_errors;
}

static bool send_sizes(const size_t *sizes, unsigned n, bool gso)
{
	struct udp_batch b = make(rx, sizes, n, 0);

	b.gso = gso;
	cr_assert_eq(udp_send(tx, &b), 0);
	return b.gso;
}

static void exchange(const size_t *sizes, unsigned n, bool gso)
{
	cr_assert_eq(send_sizes(sizes, n, gso), gso);
	collect(rx, &seen);
	expect_all(&seen, sizes, n);
	cr_assert_eq(errors(tx), 0);
}

static uint64_t system_calls(const size_t *sizes, unsigned n, bool gso)
{
	full_socket_fd = udp_fd(tx);
	full_socket_room = 1000;
	exchange(sizes, n, gso);
	return 1000 - full_socket_room;
}

Test(udp, equal_packets_leave_with_one_call)
{
	const size_t sizes[] = {1400, 1400, 1400, 1400, 700};

	pair("127.0.0.1", "127.0.0.2");
	cr_assert_eq(system_calls(sizes, 5, true), 1);
	cr_assert_eq(batches(tx), 1);
	unpair();
}

Test(udp, without_gso_the_same_packets_arrive)
{
	const size_t sizes[] = {1400, 1400, 1400, 1400, 700};

	pair("127.0.0.1", "127.0.0.2");
	exchange(sizes, 5, false);
	unpair();
}

/* More than one call takes: 64 segments, or 65507 bytes. */
Test(udp, long_batches_arrive_whole)
{
	size_t sizes[150];

	pair("127.0.0.1", "127.0.0.2");
	for (unsigned i = 0; i < 150; i++)
		sizes[i] = 100;
	exchange(sizes, 150, true);
	exchange(sizes, 150, false);
	for (unsigned i = 0; i < 10; i++)
		sizes[i] = 9000;
	exchange(sizes, 10, true);
	exchange(sizes, 10, false);
	unpair();
}

Test(udp, packets_of_any_size_arrive)
{
	pair("127.0.0.1", "127.0.0.2");
	for (size_t size = 1; size <= UDP_MAX_PACKET; size += 1 + size / 3)
		exchange(&size, 1, true);
	exchange(&(size_t){UDP_MAX_PACKET}, 1, true);
	unpair();
}

Test(udp, works_over_ipv6)
{
	const size_t sizes[] = {1400, 1400, 700};

	pair("::1", "::1");
	exchange(sizes, 3, true);
	cr_assert(addr_same_host(&seen.from, udp_local(tx)));
	cr_assert_eq(addr_port(&seen.from), addr_port(udp_local(tx)));
	exchange(&(size_t){60000}, 1, true);
	unpair();
}

Test(udp, a_batch_that_the_kernel_refuses_is_sent_packet_by_packet)
{
	const size_t sizes[] = {1000, 1000, 10};
	int one = 1;

	pair("127.0.0.1", "127.0.0.2");
	/* Without checksums there is no segmentation: EINVAL or EIO, by kernel version. */
	cr_assert_eq(setsockopt(udp_fd(tx), SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one)), 0);
	cr_assert_not(send_sizes(sizes, 3, true), "the next batch would be refused again");
	collect(rx, &seen);
	expect_all(&seen, sizes, 3);
	cr_assert_eq(errors(tx), 0);
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

/* ---- sockets of an earlier process ---- */

/* A socket that is bound to a free port of the address, with one option. */
static int bound(const char *text, int level, int name, uint16_t *ret_port)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	int fd, one = 1;

	address(text, &a);
	fd = socket(a.ss_family, SOCK_DGRAM, 0);
	cr_assert_geq(fd, 0);
	if (name)
		cr_assert_eq(setsockopt(fd, level, name, &one, sizeof(one)), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&a, addr_len(&a)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*ret_port = addr_port(&a);
	return fd;
}

static int adopt(int fd, const char *text, uint16_t port)
{
	struct sockaddr_storage a;
	struct udp *u;
	int r;

	address(text, &a);
	r = udp_adopt(fd, &a, port, BUFFER, &u);
	if (r == 0)
		udp_close(u);
	cr_expect_eq(fcntl(fd, F_GETFD), -1, "it is closed in any case");
	return r;
}

Test(udp, a_socket_of_an_earlier_process_is_used_like_a_new_one)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};
	struct sock_filter none = {.code = BPF_RET, .k = 0};
	struct sock_fprog filter = {1, &none};

	for (int i = 0; i < 2; i++) {
		struct udp *from = open_at(hosts[i], 0), *u;
		struct seen got = {0};
		uint16_t port;
		int fd = i ? bound(hosts[i], IPPROTO_IPV6, IPV6_V6ONLY, &port)
			   : bound(hosts[i], 0, 0, &port);
		struct sockaddr_storage a;

		/* As it is left in a flood. */
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
		address(hosts[i], &a);
		cr_assert_eq(udp_adopt(fd, &a, port, BUFFER, &u), 0);
		cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
		cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		addr_set_port(&a, port);
		cr_assert_eq(sendto(udp_fd(from), "x", 1, 0, (struct sockaddr *)&a, addr_len(&a)),
			     1);
		cr_expect_eq(udp_recv(u, 8, note, &got), 1);
		udp_close(u);
		udp_close(from);
	}
}

/* Of this library, as the next process finds it. */
Test(udp, a_socket_is_left_as_it_may_be_taken_over)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};

	for (int i = 0; i < 2; i++) {
		struct udp *u = open_at(hosts[i], 0);
		struct sockaddr_storage a;
		socklen_t len = sizeof(a);
		int fd = dup(udp_fd(u));

		cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
		udp_close(u);
		cr_expect_eq(adopt(fd, hosts[i], addr_port(&a)), 0, "%s", hosts[i]);
	}
}

Test(udp, any_other_socket_of_an_earlier_process_is_closed)
{
	uint16_t port;
	int fd = bound("127.0.0.1", 0, 0, &port);
	struct sockaddr_storage a;

	cr_expect_eq(adopt(fd, "127.0.0.2", port), -EINVAL);
	fd = bound("127.0.0.1", 0, 0, &port);
	cr_expect_eq(adopt(fd, "127.0.0.1", (uint16_t)(port ^ 1)), -EINVAL);
	fd = bound("0.0.0.0", 0, 0, &port);
	cr_expect_eq(adopt(fd, "127.0.0.1", port), -EINVAL);
	fd = bound("127.0.0.1", SOL_SOCKET, SO_REUSEPORT, &port);
	cr_expect_eq(adopt(fd, "127.0.0.1", port), -EINVAL, "others may have the port, too");
	fd = bound("127.0.0.1", SOL_SOCKET, SO_REUSEADDR, &port);
	cr_expect_eq(adopt(fd, "127.0.0.1", port), -EINVAL, "others may have the port, too");
	fd = bound("127.0.0.1", 0, 0, &port);
	address("127.0.0.1", &a);
	addr_set_port(&a, 9);
	cr_assert_eq(connect(fd, (struct sockaddr *)&a, addr_len(&a)), 0);
	cr_expect_eq(adopt(fd, "127.0.0.1", port), -EINVAL, "it is connected");
	fd = open("/dev/null", O_RDONLY);
	cr_expect_eq(adopt(fd, "127.0.0.1", port), -EINVAL);
}

Test(udp, the_holder_of_a_port_is_named)
{
	char text[UDP_HOLDER_MAX], expected[UDP_HOLDER_MAX];
	struct sockaddr_storage a;
	uint16_t port;
	int fd = bound("127.0.0.1", 0, 0, &port), fd6;

	address("127.0.0.1", &a);
	udp_holder_text(&a, port, text);
	snprintf(expected, sizeof(expected), " by process %d (", (int)getpid());
	cr_expect_eq(strncmp(text, expected, strlen(expected)), 0, "%s", text);
	address("127.0.0.2", &a);
	cr_expect_str_eq(udp_holder_text(&a, port, text), "");
	close(fd);
	address("127.0.0.1", &a);
	cr_expect_str_eq(udp_holder_text(&a, port, text), "");
	fd6 = bound("::", 0, 0, &port); /* of both */
	cr_expect_eq(strncmp(udp_holder_text(&a, port, text), expected, strlen(expected)), 0, "%s",
		     text);
	close(fd6);
}

/* ---- errors ---- */

struct icmp {
	unsigned n;
	enum udp_error_kind kind;
	uint32_t mtu;
	uint16_t port;
	size_t len;
	uint8_t quoted[64];
};

static void note_error(void *arg, const struct udp_error *e)
{
	struct icmp *i = arg;

	i->n++;
	i->kind = e->kind;
	i->mtu = e->mtu;
	i->port = addr_port(&e->to);
	i->len = e->len < sizeof(i->quoted) ? e->len : sizeof(i->quoted);
	memcpy(i->quoted, e->quoted, i->len);
}

static void reports_dead_port(const char *from, const char *to)
{
	const size_t sizes[] = {100};
	struct icmp got = {0};
	struct udp_batch b;

	pair(from, to);
	b = make(rx, sizes, 1, 77);
	rx = udp_close(rx);
	cr_assert_eq(udp_send(tx, &b), 0);
	cr_assert_eq(udp_recv(tx, 64, note, &seen), 0);
	udp_errors(tx, note_error, &got);
	cr_assert_eq(got.n, 1);
	cr_assert_eq(got.kind, UDP_PORT_UNREACHABLE);
	cr_assert_eq(got.port, addr_port(&b.to));
	cr_assert_geq(got.len, 12, "the tag is needed: %zu bytes", got.len);
	cr_assert_eq(got.quoted[0], 77);
	unpair();
}

Test(udp, reports_the_address_where_nothing_listens_and_quotes_the_packet)
{
	reports_dead_port("127.0.0.1", "127.0.0.2");
	reports_dead_port("::1", "::1");
}

Test(udp, an_error_of_one_packet_does_not_lose_another)
{
	const size_t sizes[] = {100, 100, 100};
	struct udp *gone = open_at("127.0.0.3", 0);
	struct udp_batch b = make(gone, sizes, 1, 0);

	udp_close(gone);
	pair("127.0.0.1", "127.0.0.2");
	for (int gso = 0; gso < 2; gso++) {
		cr_assert_eq(udp_send(tx, &b), 0);
		exchange(sizes, 3, gso);
	}
	unpair();
}

Test(udp, a_packet_that_the_route_does_not_take_is_reported_with_the_mtu)
{
	struct udp_batch b;
	/* IPv6 over loopback takes 65536 bytes with the headers. */
	const size_t sizes[] = {65507};
	struct icmp got = {0};

	pair("::1", "::1");
	b = make(rx, sizes, 1, 0);
	cr_assert_eq(udp_send(tx, &b), -EMSGSIZE);
	udp_errors(tx, note_error, &got);
	cr_assert_geq(got.n, 1);
	cr_assert_eq(got.kind, UDP_TOO_BIG_LOCAL);
	cr_assert_eq(got.mtu, 65536);
	cr_assert_eq(errors(tx), 1);
	/* With permission to fragment it arrives, and the next one needs it again. */
	b.fragment = true;
	cr_assert_eq(udp_send(tx, &b), 0);
	collect(rx, &seen);
	expect_all(&seen, sizes, 1);
	b.fragment = false;
	cr_assert_eq(udp_send(tx, &b), -EMSGSIZE);
	unpair();
}

/* ---- a full socket ---- */

/* From now on the sender's socket takes this many messages. */
static void limit(unsigned room)
{
	full_socket_fd = udp_fd(tx);
	full_socket_room = room;
}

/* Sends to a socket that takes `room` messages now, and all others later. */
static void exchange_in_two(const size_t *sizes, unsigned n, bool gso, unsigned room)
{
	limit(room);
	send_sizes(sizes, n, gso);
	cr_assert(udp_blocked(tx));
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
	const size_t sizes[] = {1400, 1400, 1400, 1400, 700};

	pair("127.0.0.1", "127.0.0.2");
	exchange_in_two(sizes, 5, true, 0);
	for (unsigned room = 0; room < 5; room++)
		exchange_in_two(sizes, 5, false, room);
	exchange_in_two(&(size_t){UDP_MAX_PACKET}, 1, true, 0);
	unpair();
}

Test(udp, packets_that_wait_do_not_refer_to_the_memory_of_the_caller)
{
	const size_t sizes[] = {1400, 1400, 700};
	struct udp_batch b;

	pair("127.0.0.1", "127.0.0.2");
	limit(0);
	send_sizes(sizes, 3, true);
	b = make(rx, sizes, 3, 100);
	limit(1000);
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, 3);
	cr_assert_eq(udp_send(tx, &b), 0);
	unpair();
}

Test(udp, drops_further_batches_while_packets_wait)
{
	const size_t sizes[] = {1400, 1400, 700};

	pair("127.0.0.1", "127.0.0.2");
	limit(0);
	for (unsigned i = 0; i < 10; i++)
		send_sizes(sizes, 3, true);
	cr_assert_eq(errors(tx), 27);
	cr_assert_eq(full_socket_refused, 1, "%u system calls for nothing", full_socket_refused);
	limit(1000);
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, 3);
	unpair();
}

/* Only what fits into the buffer waits. */
Test(udp, drops_what_exceeds_its_bound_while_the_socket_is_full)
{
	size_t sizes[10];

	for (unsigned i = 0; i < 10; i++)
		sizes[i] = 9000;
	pair("127.0.0.1", "127.0.0.2");
	limit(0);
	send_sizes(sizes, 10, true);
	cr_assert_eq(errors(tx), 3);
	limit(1000);
	udp_flush(tx);
	collect(rx, &seen);
	expect_all(&seen, sizes, 7);
	unpair();
}

/* A turn that reads packets of 64 KiB is as long as one that reads as many bytes of short ones. */
Test(udp, a_budget_counts_long_packets_as_several)
{
	static const uint8_t bytes[16 * UDP_PACKET];
	struct udp *from = open_at("127.0.0.1", 0), *u = open_at("127.0.0.1", 0);
	struct sockaddr_storage to = *udp_local(u);
	struct seen got = {0};

	for (unsigned i = 0; i < 16; i++)
		cr_assert_eq(sendto(udp_fd(from), bytes, i < 12 ? sizeof(bytes) : 1, 0,
				    (struct sockaddr *)&to, addr_len(&to)),
			     i < 12 ? sizeof(bytes) : 1);
	cr_expect_eq(udp_recv(u, 64, note, &got), 8,
		     "64 of 2 KiB are 4 of them; 8 are read at once");
	cr_expect_eq(udp_recv(u, 64, note, &got), 8);
	cr_expect_eq(udp_recv(u, 64, note, &got), 0);
	udp_close(u);
	udp_close(from);
}

static void count_empty(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len,
			size_t segment)
{
	(void)from, (void)p;
	*(unsigned *)arg += len == 0 && segment == 0;
}

Test(udp, a_budget_counts_empty_packets)
{
	struct udp *from = open_at("127.0.0.1", 0), *u = open_at("127.0.0.1", 0);
	struct sockaddr_storage to = *udp_local(u);
	unsigned got = 0;

	for (unsigned i = 0; i < 16; i++)
		cr_assert_eq(sendto(udp_fd(from), "", 0, 0, (struct sockaddr *)&to, addr_len(&to)),
			     0);
	cr_expect_eq(udp_recv(u, 8, count_empty, &got), 8);
	cr_expect_eq(udp_recv(u, 64, count_empty, &got), 8);
	cr_expect_eq(got, 16);
	udp_close(u);
	udp_close(from);
}
