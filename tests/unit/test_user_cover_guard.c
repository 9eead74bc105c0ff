/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: in a flood the kernel drops most datagrams that belong to no link before they use up the
 * queue of the socket of DTLS, whatever is wrong with them, and pieces of handshakes in the name of
 * a peer as well. It passes those of links, old and new, and kinds that do not flood, and passes
 * everything again afterwards. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llp/user/user.h"
#include "tests/lib/llp_one.h"
#include "tests/unit/cover_rig.h"
#include "util/be.h"

enum {
	BURST = 2000,
	BURST_US = 4000,
	DATAGRAM = 100,
	HANDSHAKE = 22,
	DATA = 23,
	CLIENT_HELLO = 1,
	CERTIFICATE = 11,
};

static struct rig_conn out;
static struct udp *unknown_peer;
static struct sockaddr_storage to;

static void setup(void)
{
	struct sockaddr_storage from;

	cover_begin();
	rig_connect(cover_host[1].t, "127.0.0.1", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	rig_address("127.0.0.1", cover_port, &to);
	rig_address("127.0.0.3", 0, &from);
	cr_assert_eq(udp_open(&from, 0, 1 << 20, &unknown_peer), 0);
}

static void teardown(void)
{
	udp_close(unknown_peer);
	cover_end();
}

TestSuite(user_cover_guard, .init = setup, .fini = teardown);

/* ---- datagrams ---- */

/* A record of this type and epoch; in a handshake with a message that is whole. */
static void put_datagram(uint8_t *p, uint8_t type, uint16_t epoch, uint8_t message, unsigned number)
{
	memset(p, 0, DATAGRAM);
	p[0] = type;
	be_put16(p + 1, 0xfefd);
	be_put16(p + 3, epoch);
	be_put32(p + 7, number);
	be_put16(p + 11, DATAGRAM - 13);
	if (type != HANDSHAKE)
		return;
	p[13] = message;
	be_put16(p + 15, DATAGRAM - 25);
	be_put16(p + 23, DATAGRAM - 25);
	be_put32(p + 27, number); /* the random */
}

/* The last four are no record, a hello whose length is wrong, a HelloRequest, and empty. */
enum kind { HELLOS, FLIGHTS, RECORDS, ZEROS, BROKEN_HELLOS, REQUESTS, EMPTY, KINDS };

static size_t put_kind(uint8_t *p, enum kind k, unsigned number)
{
	static const size_t len[KINDS] = {[ZEROS] = 20, [REQUESTS] = 25};

	if (k == RECORDS)
		put_datagram(p, DATA, 1, 0, number);
	else if (k == HELLOS || k == BROKEN_HELLOS)
		put_datagram(p, HANDSHAKE, 0, CLIENT_HELLO, number);
	else
		put_datagram(p, HANDSHAKE, 0, CERTIFICATE, number);
	if (k == ZEROS)
		memset(p, 0, DATAGRAM);
	else if (k == BROKEN_HELLOS)
		p[14] = 1;
	else if (k == REQUESTS)
		memset(p + 3, 0, 22), p[12] = 12;
	return k == EMPTY || len[k] ? len[k] : DATAGRAM;
}

typedef void send_fn(uint8_t *p, size_t len);

static void send_unknown(uint8_t *p, size_t len)
{
	(void)sendto(udp_fd(unknown_peer), p, len, MSG_DONTWAIT, (struct sockaddr *)&to,
		     sizeof(struct sockaddr_in));
}

/* With the address and the UDP port of the peer. */
static void send_forged(uint8_t *p, size_t len)
{
	int fd[LLP_MAX_FDS];

	cr_assert_geq(llp_fds(cover_host[1].t, fd), 2);
	(void)sendto(fd[1], p, len, MSG_DONTWAIT, (struct sockaddr *)&to,
		     sizeof(struct sockaddr_in));
}

static uint64_t received(void)
{
	struct llp_stats st;

	llp_stats(cover_host[0].t, &st);
	return st.rx_packets;
}

/* How many of n get to us. They come within BURST_US on any machine. */
static uint64_t pass(send_fn *send_one, enum kind k, unsigned n)
{
	uint64_t before = received(), last;
	uint8_t p[DATAGRAM];

	rig_hold_clock();
	for (unsigned i = 0; i < n; i++)
		send_one(p, put_kind(p, k, i));
	do {
		last = received();
		rig_turn();
	} while (received() > last);
	rig_release_clock(BURST_US);
	return received() - before;
}

static void flood_until_filtered(send_fn *send_one, enum kind k)
{
	unsigned sent = 0;

	while (pass(send_one, k, BURST) > BURST / 4)
		cr_assert_lt(sent++, 50, "the flood %d still gets through", k);
}

/* ---- promises ---- */

Test(user_cover_guard, a_flood_does_not_get_through_but_associations_do)
{
	for (enum kind k = HELLOS; k < KINDS; k++) {
		unsigned before = out.msgs, passed = 0, turns = 0;

		cr_assert_gt(pass(send_unknown, k, BURST), BURST / 2);
		flood_until_filtered(send_unknown, k);
		for (unsigned i = 1; i <= 20; i++) {
			pass(send_unknown, k, BURST);
			rig_send(&out, 1, 1000, (uint8_t)i);
			rig_until(&out.msgs, before + i);
		}
		/* It is over. */
		while (passed < 20) {
			cr_assert_lt(turns++, 1000, "datagrams are dropped after the flood");
			rig_turn();
			passed = pass(send_unknown, k, 1) ? passed + 1 : 0;
		}
	}
	cr_assert_eq(out.down + cover_host[0].in.down, 0);
}

Test(user_cover_guard, pieces_of_handshakes_in_the_name_of_a_peer_do_not_get_through_either)
{
	for (enum kind k = HELLOS; k <= FLIGHTS; k++) {
		unsigned before = out.msgs;

		flood_until_filtered(send_forged, k);
		for (unsigned i = 1; i <= 20; i++) {
			pass(send_forged, k, BURST);
			rig_send(&out, 1, 1000, (uint8_t)i);
			rig_until(&out.msgs, before + i);
		}
	}
	cr_assert_eq(out.down + cover_host[0].in.down, 0);
}

Test(user_cover_guard, a_flood_of_one_kind_does_not_keep_out_the_others)
{
	enum { N = 50 };

	flood_until_filtered(send_unknown, FLIGHTS);
	for (unsigned i = 0; i < 5; i++) {
		cr_assert_geq(pass(send_unknown, HELLOS, N), N);
		cr_assert_geq(pass(send_unknown, RECORDS, N), N);
		pass(send_unknown, FLIGHTS, BURST);
	}
}

static void turn_until(const unsigned *counter, unsigned want)
{
	for (unsigned i = 0; *counter < want; i++) {
		cr_assert_lt(i, 1000, "a datagram of a new link was lost");
		rig_turn();
	}
}

/* The clock stands: no lost datagram is sent again. Each link has new keys. */
Test(user_cover_guard, links_begin_in_a_flood)
{
	for (unsigned i = 1; i <= 10; i++) {
		static struct rig_conn from[2];
		unsigned who = i % 2;
		struct sockaddr_storage a;

		flood_until_filtered(send_unknown, i % 3 ? FLIGHTS : RECORDS);
		rig_hold_clock();
		rig_release_clock(3000000); /* so a handshake is needed */
		rig_hold_clock();
		from[who].up = 0;
		rig_address(who ? "127.0.0.1" : "127.0.0.2", RIG_SCTP_PORT, &a);
		cr_assert_eq(llp_connect(cover_host[who].t, (struct sockaddr *)&a, &from[who],
					 &from[who].c),
			     0);
		turn_until(&from[who].up, 1);
		rig_release_clock(BURST_US);
		llp_conn_free(from[who].c);
	}
}

/* A socket that is never read: no ICMP message ends handshakes with it, at any address. */
static uint16_t open_silent_port(int *ret_fd)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);

	*ret_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(*ret_fd, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_assert_eq(getsockname(*ret_fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

/* They may be those of peers that do not go on: no record of these is expected. */
Test(user_cover_guard, handshakes_do_not_let_a_flood_of_records_through)
{
	enum { MANY = 250 };
	struct dtls *d = cover_host[0].dtls;
	struct dtls_flow f = {.ip = {[10] = 0xff, [11] = 0xff, 127, 0, 1}};
	unsigned before = out.msgs;
	struct dtls_stats s;
	int fd;

	f.port = open_silent_port(&fd);
	for (f.ip[15] = 1; f.ip[15] <= MANY; f.ip[15]++)
		cr_assert_eq(dtls_connect(d, &f, ((struct user *)cover_host[0].t)->now_us), 0);
	for (unsigned i = 1; i <= 20; i++) {
		flood_until_filtered(send_unknown, RECORDS);
		rig_send(&out, 1, 1000, (uint8_t)i);
		rig_until(&out.msgs, before + i);
	}
	dtls_stats(d, &s);
	cr_assert_eq(s.handshakes, MANY);
	close(fd);
}
