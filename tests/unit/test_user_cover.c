/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the transport `user` carries associations in DTLS with peers that have shown who they
 * are, and says why not with others. */
#include <criterion/criterion.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llp/user/user.h"
#include "tests/unit/cover_rig.h"
#include "util/addr.h"

TestSuite(user_cover, .init = cover_begin, .fini = cover_end);

static struct llp_info info_of(const struct rig_conn *c)
{
	struct llp_info info;

	llp_info(c->c, &info);
	return info;
}

static void expect_peer(const struct rig_conn *c, const struct cover_host *h)
{
	struct llp_identity id;
	struct llp_info info = info_of(c);

	cr_assert(info.covered);
	cr_assert_eq(info.remote_udp_port, cover_port);
	cr_assert(info.same_endpoint);
	cr_assert(llp_identity_of(c->c, &id));
	cr_assert(id.has_fingerprint);
	cr_assert_arr_eq(id.fingerprint, h->fingerprint, 32);
}

/* ---- associations ---- */

static struct rig_conn out;

Test(user_cover, both_ends_know_who_the_other_one_is)
{
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	rig_until(&cover_host[1].in.incoming, 1);
	expect_peer(&out, &cover_host[1]);
	expect_peer(&cover_host[1].in, &cover_host[0]);
	cr_assert_arr_eq(cover_host[0].asked_for, cover_host[1].fingerprint, 32);
	cr_assert_arr_eq(cover_host[1].asked_for, cover_host[0].fingerprint, 32);
}

Test(user_cover, messages_of_all_lengths_arrive)
{
	static const uint32_t len[] = {1, 100, 1000, 1100};
	unsigned n = 0;

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	for (unsigned k = 0; k < 300; k++)
		for (unsigned i = 0; i < 4; i++) {
			rig_send(&out, 0, len[i], (uint8_t)k);
			n++;
			if (n % 32 == 0)
				rig_until(&out.msgs, n);
		}
	rig_until(&out.msgs, n);
	cr_assert(rig_last_is(&out, 1100, 43));
}

/* The route of loopback takes 65,535 bytes: a record is the limit. */
Test(user_cover, packet_grows_to_a_record)
{
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	rig_until_max(&out, 16384 - 12 - 16);
	cr_assert_eq(info_of(&out).mtu, 16384 + 37 + 28);
	rig_send(&out, 0, 16384 - 12 - 16, 7);
	rig_until(&out.msgs, 1);
	cr_assert(rig_last_is(&out, 16384 - 12 - 16, 7));
}

Test(user_cover, second_association_uses_the_link_of_the_first)
{
	static struct rig_conn second;

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	rig_connect(cover_host[0].t, "127.0.0.2", &second);
	cr_assert_eq(second.up, 1, "%s", second.reason);
	cr_assert_eq(cover_host[0].asked, 1);
	expect_peer(&second, &cover_host[1]);
}

Test(user_cover, ends_that_begin_at_once_are_both_served)
{
	static struct rig_conn from[2];
	const struct llp_addrs all = {NULL, 0};

	for (unsigned i = 0; i < 2; i++) {
		const struct llp_addrs peer = {&cover_host[!i].addr, 1};

		cr_assert_eq(llp_connect_at(cover_host[i].t, &peer, RIG_SCTP_PORT, &all, 0,
					    &from[i], &from[i].c),
			     0);
	}
	for (unsigned i = 0; i < 2; i++) {
		rig_until(&from[i].up, 1);
		expect_peer(&from[i], &cover_host[!i]);
		rig_send(&from[i], 0, 100, 1);
		rig_until(&from[i].msgs, 1);
	}
}

Test(user_cover, clear_text_stays_for_whom_it_is_wanted)
{
	struct llp_identity id;

	cover_host[0].clear = true;
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	cr_assert_not(info_of(&out).covered);
	cr_assert_not(llp_identity_of(out.c, &id));
	cr_assert_eq(cover_host[0].asked + cover_host[1].asked, 0);
}

static void begin_to_connect(struct rig_conn *c)
{
	const struct llp_addrs all = {NULL, 0}, peer = {&cover_host[1].addr, 1};

	cr_assert_eq(llp_connect_at(cover_host[0].t, &peer, RIG_SCTP_PORT, &all, 0, c, &c->c), 0);
}

/* ---- refusals ---- */

static void expect_end(int err, const char *text)
{
	cr_assert_eq(out.down, 1);
	cr_assert_eq(out.err, err, "%s", out.reason);
	cr_assert(strstr(out.reason, text), "%s", out.reason);
	cr_assert_eq(cover_host[1].in.incoming, 0);
}

Test(user_cover, peer_whom_we_refuse_ends_the_connect_with_our_sentence)
{
	cover_host[0].refuses = "this is somebody else";
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	expect_end(ECONNREFUSED, "this is somebody else");
}

Test(user_cover, peer_that_refuses_us_says_so)
{
	cover_host[1].refuses = "this is somebody else";
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	expect_end(ECONNREFUSED, "access denied");
	cr_assert_eq(cover_host[0].refused, 1, "also if nobody had waited for it");
	cr_assert_eq(cover_host[1].refused, 0);
}

static void open_without_dtls(void)
{
	for (unsigned i = 0; i < 2; i++) {
		rig_close(cover_host[i].t);
		cover_open(i, i == 0, 300);
	}
}

Test(user_cover, peer_without_dtls_is_named)
{
	open_without_dtls();
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	expect_end(ECONNREFUSED, "nothing listens on UDP port");
}

Test(user_cover, peer_that_drops_dtls_is_named)
{
	struct udp *silent;

	open_without_dtls();
	cr_assert_eq(udp_open(&cover_host[1].addr, cover_port, 1 << 16, &silent), 0);
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	expect_end(ETIMEDOUT, "no DTLS handshake");
	udp_close(silent);
}

Test(user_cover, association_that_waits_can_be_left)
{
	struct sockaddr_storage to;
	const struct llp_addrs all = {NULL, 0}, peer = {&to, 1};

	rig_address("127.0.0.2", 0, &to);
	for (int abort = 0; abort < 3; abort++) {
		struct llp_conn *c;

		cr_assert_eq(
			llp_connect_at(cover_host[0].t, &peer, RIG_SCTP_PORT, &all, 0, &out, &c),
			0);
		if (abort == 1)
			llp_abort(c, "no more");
		else if (abort == 2)
			llp_shutdown(c);
		llp_conn_free(c);
	}
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
}

/* ---- a host without a certificate ---- */

static void write_psk(const char *path)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	fputs("000102030405060708090a0b0c0d0e0f", f);
	fclose(f);
	cr_assert_eq(chmod(path, 0600), 0);
}

/* From now on it has a key for others alone. */
static void take_certificate(unsigned i)
{
	char path[] = "/tmp/user_cover.psk.XXXXXX", reason[256];
	const struct llp_cover_files files = {.npsks = 1, .psk = {path}};
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
	write_psk(path);
	cr_assert_eq(llp_set_cover_files(cover_host[i].t, &files, reason, sizeof(reason)), 0, "%s",
		     reason);
	unlink(path);
}

Test(user_cover, association_whose_link_cannot_begin_again_ends_with_the_reason)
{
	const struct llp_addrs all = {NULL, 0}, peer = {&cover_host[1].addr, 1};
	static struct rig_conn more;

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	take_certificate(0);
	cover_host[1].clear = true; /* it does not begin the link itself */
	cover_crash(1);
	rig_hold_clock();
	rig_release_clock(301000000); /* the link has been idle for too long */
	rig_until(&out.down, 1);
	cr_assert_eq(out.err, EACCES, "%s", out.reason);
	cr_assert_str_eq(out.reason, "no DTLS with 127.0.0.2: " COVER_LACK);
	cr_assert_eq(llp_connect_at(cover_host[0].t, &peer, RIG_SCTP_PORT, &all, 0, &more, &more.c),
		     -EACCES);
}

Test(user_cover, several_addresses_are_refused)
{
	struct sockaddr_storage to[2];
	const struct llp_addrs all = {NULL, 0}, peer = {to, 2};
	struct llp_conn *c;

	rig_address("127.0.0.2", 0, &to[0]);
	rig_address("127.0.0.3", 0, &to[1]);
	cr_assert_eq(llp_connect_at(cover_host[0].t, &peer, RIG_SCTP_PORT, &all, 0, &out, &c),
		     -EOPNOTSUPP);
}

/* ---- who pays ---- */

static unsigned of_others; /* handshakes that go on beside those of the test */

void __real_dtls_stats(const struct dtls *d, struct dtls_stats *ret);
void __wrap_dtls_stats(const struct dtls *d, struct dtls_stats *ret);

void __wrap_dtls_stats(const struct dtls *d, struct dtls_stats *ret)
{
	__real_dtls_stats(d, ret);
	ret->handshakes += of_others;
}

static int begin_with(const char *text, struct rig_conn *rc)
{
	struct sockaddr_storage to;
	const struct llp_addrs all = {NULL, 0}, peer = {&to, 1};

	rig_address(text, 0, &to);
	return llp_connect_at(cover_host[0].t, &peer, RIG_SCTP_PORT, &all, 0, rc, &rc->c);
}

Test(user_cover, a_handshake_is_paid_once_until_it_has_ended)
{
	static struct rig_conn second, third;

	cr_assert_eq(begin_with("127.0.0.2", &out), 0);
	cr_assert_eq(begin_with("127.0.0.2", &second), 0);
	cr_assert_eq(cover_bank.held, 1);
	rig_until(&out.up, 1);
	rig_until(&second.up, 1);
	cr_assert_eq(begin_with("127.0.0.2", &third), 0);
	rig_until(&third.up, 1);
	cr_assert_eq(cover_bank.begun, 1);
	cr_assert_eq(cover_bank.held, 0);
}

Test(user_cover, a_handshake_that_nobody_pays_does_not_begin)
{
	cover_bank.empty = true;
	cr_assert_eq(begin_with("127.0.0.2", &out), -EDQUOT);
	cover_bank.empty = false;
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	cr_assert_eq(cover_host[1].asked, 1);
	cover_bank.empty = true;
	cr_assert_eq(begin_with("127.0.0.2", &out), 0, "it uses the link");
}

Test(user_cover, who_leaves_pays_until_the_handshake_has_ended)
{
	cr_assert_eq(begin_with("127.0.0.2", &out), 0);
	llp_conn_free(out.c);
	cr_assert_eq(cover_bank.held, 1);
	rig_until(&cover_bank.ended, 1);
	cr_assert_eq(cover_host[0].asked, 1, "it has ended well");
}

Test(user_cover, a_handshake_that_fails_is_not_paid_any_more)
{
	cover_host[0].refuses = "this is somebody else";
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.down, 1);
	cr_assert_eq(cover_bank.begun, 1);
	cr_assert_eq(cover_bank.held, 0);
}

/* Somebody is there who says nothing. */
Test(user_cover, a_handshake_without_an_answer_is_paid_for_its_time)
{
	struct sockaddr_storage there;
	struct udp *silent;

	rig_address("127.0.0.3", 0, &there);
	cr_assert_eq(udp_open(&there, cover_port, 1 << 16, &silent), 0);
	cr_assert_eq(begin_with("127.0.0.3", &out), 0);
	llp_conn_free(out.c);
	rig_hold_clock();
	rig_release_clock(9000000);
	rig_turn();
	cr_assert_eq(cover_bank.held, 1);
	rig_hold_clock();
	rig_release_clock(2000000);
	rig_until(&cover_bank.ended, 1);
	udp_close(silent);
}

static unsigned most_beside(unsigned others)
{
	of_others = others;
	cr_assert_eq(begin_with("127.0.0.2", &out), 0);
	llp_conn_free(out.c);
	return cover_bank.most;
}

Test(user_cover, programs_leave_an_eighth_of_the_handshakes_to_peers)
{
	cr_assert_eq(most_beside(0), 224);
}

Test(user_cover, handshakes_of_peers_are_not_for_programs)
{
	cr_assert_eq(most_beside(33), 223);
}

Test(user_cover, a_link_is_paid_by_who_has_caused_it_until_it_is_gone)
{
	static struct rig_conn second;

	cr_assert_eq(begin_with("127.0.0.2", &out), 0);
	cr_assert_eq(cover_bank.most_links, 12288, "peers have a quarter");
	cr_assert_eq(begin_with("127.0.0.2", &second), 0);
	rig_until(&out.up, 1);
	rig_until(&second.up, 1);
	cr_assert_eq(cover_bank.links, 1);
	llp_conn_free(out.c);
	llp_conn_free(second.c);
	rig_turn();
	cr_assert_eq(cover_bank.links, 1, "it stays for a while");
	rig_hold_clock();
	rig_release_clock(301000000);
	for (unsigned i = 0; cover_bank.links > 0; i++) {
		cr_assert_lt(i, 1000);
		rig_turn();
	}
}

Test(user_cover, a_link_that_nobody_pays_does_not_begin)
{
	cover_bank.no_links = true;
	cr_assert_eq(begin_with("127.0.0.2", &out), -EDQUOT);
	cr_assert_eq(cover_bank.begun, 0);
	cover_bank.no_links = false;
	cover_bank.empty = true;
	cr_assert_eq(begin_with("127.0.0.2", &out), -EDQUOT);
	cr_assert_eq(cover_bank.links, 0, "nor is one paid for without a handshake");
}

/* ---- a peer that begins again ---- */

/* It has lost the keys of a link that seems fine here. */
Test(user_cover, peer_that_restarted_at_once_is_reached_again)
{
	static struct rig_conn again;

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1);
	cover_crash(1);
	rig_connect(cover_host[0].t, "127.0.0.2", &again);
	cr_assert_eq(again.up, 1, "%s", again.reason);
	expect_peer(&again, &cover_host[1]);
	rig_until(&out.down, 1);
}

Test(user_cover, peer_that_restarted_is_reached_again)
{
	static struct rig_conn again;

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1);
	cover_crash(1);
	rig_hold_clock();
	rig_release_clock(3000000);
	rig_connect(cover_host[0].t, "127.0.0.2", &again);
	cr_assert_eq(again.up, 1, "%s", again.reason);
	expect_peer(&again, &cover_host[1]);
}

/* The end that has not restarted has the old keys, and hears of it as soon as it sends something.
 */
Test(user_cover, association_with_a_peer_that_restarted_is_aborted_by_it)
{
	for (unsigned who = 0; who < 2; who++) {
		struct rig_conn *left = who == 0 ? &cover_host[1].in : &out;

		memset(&out, 0, sizeof(out));
		cover_host[1].in.up = cover_host[1].in.down = cover_host[1].in.incoming = 0;
		rig_connect(cover_host[0].t, "127.0.0.2", &out);
		cr_assert_eq(out.up, 1, "%s", out.reason);
		rig_until(&cover_host[1].in.incoming, 1);
		cover_crash(who);
		rig_until(&left->down, 1);
		cr_assert_eq(left->err, ECONNRESET, "%s", left->reason);
		cr_assert(strstr(left->reason, "aborted"), "%s", left->reason);
	}
}

/* The peer has an association between the ports that ours wants, and we know that only when the
 * link is up again. */
Test(user_cover, connect_whose_port_is_taken_while_it_waits_has_another_one)
{
	static struct rig_conn from[2];
	const struct llp_addrs all = {NULL, 0};

	for (unsigned i = 2; i-- > 0;) {
		const struct llp_addrs peer = {&cover_host[!i].addr, 1};

		cr_assert_eq(llp_connect_at(cover_host[i].t, &peer, RIG_SCTP_PORT, &all,
					    RIG_SCTP_PORT, &from[i], &from[i].c),
			     0);
		while (!from[i].up && !from[i].down)
			rig_turn();
		cr_assert_eq(from[i].up, 1, "%s", from[i].reason);
		rig_hold_clock();
		rig_release_clock(3000000); /* so the link is asked */
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct llp_info info = info_of(&from[i]);

		cr_assert_eq(addr_port(&info.local) == RIG_SCTP_PORT, i == 1);
		cr_assert_eq(from[i].down, 0);
	}
}

/* It says so before: the link begins again with the next packet. */
Test(user_cover, association_that_begins_outlives_a_link_that_the_peer_closes)
{
	static struct rig_conn again;
	unsigned asked;

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	asked = cover_host[0].asked;
	rig_pause(cover_host[1].t);
	begin_to_connect(&again);
	for (unsigned i = 0; i < 3; i++)
		rig_turn(); /* INIT has left */
	rig_resume(cover_host[1].t);
	rig_close(cover_host[1].t);
	cover_open(1, true, 10000);
	rig_until(&again.up, 1);
	cr_assert_eq(cover_host[0].asked, asked + 1);
	expect_peer(&again, &cover_host[1]);
	rig_until(&out.down, 1);
}

/* ---- ICMP ---- */

/* The host answers packets to a port where nobody listens. Associations that were up hear of it. */
Test(user_cover, association_ends_when_nothing_listens_any_more)
{
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	cover_lose(100);
	rig_close(cover_host[1].t);
	cover_lose(0);
	rig_until(&out.down, 1);
	cr_assert_eq(out.err, ECONNRESET);
	cr_assert(strstr(out.reason, "nothing listens"), "%s", out.reason);
	cover_open(1, true, 10000);
}

/* Returns the path MTU after a router has quoted this datagram as too long for 1400 bytes. */
static uint32_t mtu_after(const struct cover_datagram *quoted)
{
	struct user *t = (struct user *)cover_host[0].t;
	const struct sctp_flow to = {.peer = llp_user_addr(&cover_host[1].addr),
				     .udp_port = cover_port,
				     .covered = true};
	const struct udp_error e = {
		.kind = UDP_TOO_BIG, .mtu = 1400, .quoted = quoted->p, .len = quoted->len};

	llp_user_cover_icmp(t, &to, SCTP_ICMP_TOO_BIG, &e);
	return info_of(&out).mtu;
}

Test(user_cover, message_about_a_long_record_is_believed_if_it_quotes_one_of_ours)
{
	enum { TAG = 13 + 8 + 4, SHORT = 13 + 8 + 12 };
	struct cover_datagram quoted;
	uint32_t before;

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	rig_until_max(&out, 16384 - 12 - 16);
	rig_pause(cover_host[1].t);
	rig_send(&out, 0, 16384 - 12 - 16, 7);
	rig_turn();
	quoted = cover_sent;
	cr_assert_eq(quoted.p[0], 23);
	before = info_of(&out).mtu;
	cr_assert_gt(before, 16384);
	quoted.p[TAG] ^= 1; /* it is encrypted, so nobody can choose it */
	cr_assert_eq(mtu_after(&quoted), before);
	quoted.p[TAG] ^= 1;
	quoted.len = SHORT - 1;
	cr_assert_eq(mtu_after(&quoted), before);
	quoted.len = SHORT;
	cr_assert_leq(mtu_after(&quoted), 1400);
	rig_resume(cover_host[1].t);
	rig_until(&out.msgs, 1);
}
