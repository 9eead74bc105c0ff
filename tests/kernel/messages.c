/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the transport `kernel`: sizes, batches, limits, slow receivers. */
#include "tests/kernel/rig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct llp *a, *b;
static struct llp_listener *listener; /* of b, for `two` */
static struct rig_side one, two, three, four;

/* Two transports with an association between `one` and `two`. */
static void begin_with(void (*fn)(struct llp_config *cfg))
{
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	a = rig_open("127.0.0.2", fn);
	b = rig_open("127.0.0.3", fn);
	listener = rig_listen(b, NULL, &two);
	rig_pair(a, &one, "127.0.0.3", &two);
}

static void begin(void)
{
	begin_with(NULL);
}

static void end(const char *promise)
{
	printf("kept: %s\n", promise);
	rig_close_all();
}

static struct llp_info info(const struct rig_side *s)
{
	struct llp_info i;

	llp_info(s->c, &i);
	return i;
}

static uint64_t chunks_sent(const struct rig_side *s)
{
	struct sctp_assoc_stats st = {0};
	socklen_t len = sizeof(st);
	int fd = ((const struct kernel_conn *)s->c)->watch.fd;

	CHECK(getsockopt(fd, SOL_SCTP, SCTP_GET_ASSOC_STATS, &st, &len) == 0);
	return st.sas_ouodchunks + st.sas_oodchunks;
}

/* Until the peer's kernel has acknowledged all, which nobody has read yet. */
static void await_arrival(const struct rig_side *s)
{
	struct llp_info info;

	do {
		poll(NULL, 0, 1);
		llp_info(s->c, &info);
	} while (info.unacked > 0);
}

static void streams_are_equal_both_ways(void)
{
	begin();
	CHECK(info(&one).streams == 16 && info(&two).streams == 16);
	CHECK(strcmp(info(&one).backend, "kernel") == 0);
	CHECK(info(&one).remote_udp_port == 0 && info(&one).max_message > 60000);
	CHECK(rig_send(&one, 16, 10, 0) == -EINVAL);
	CHECK(rig_send(&one, 0, 0, 0) == -EINVAL);
	end("both directions have the same streams, and others are refused");
}

static void fewer(struct llp_config *cfg)
{
	cfg->streams = 5;
}

static void fewer_streams_of_one_side_hold_for_both(void)
{
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	a = rig_open("127.0.0.2", NULL);
	b = rig_open("127.0.0.3", fewer);
	rig_listen(b, NULL, &two);
	rig_pair(a, &one, "127.0.0.3", &two);
	CHECK(info(&one).streams == 5 && info(&two).streams == 5);
	end("the side with fewer streams sets the number for both");
}

/* Each message arrives unchanged, in one chunk of its own; one above the limit is refused. */
static void sizes(void)
{
	static const uint32_t some[] = {1, 2, 3, 4, 5, 15, 16, 17, 640, 1400, 1452, 9000, 65000};
	uint32_t max;
	unsigned n = 0;

	begin();
	max = info(&one).max_message;
	for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		rig_send_all(&one, (uint16_t)(i % 16), some[i], i);
		rig_until(&two.msgs, ++n);
		CHECK(rig_last_is(&two, some[i], i));
		CHECK(two.last.sid == i % 16 && two.last.ppid == RIG_PPID && !two.last.ordered);
	}
	for (uint32_t len = max - 4; len <= max; len++) {
		rig_send_all(&one, 0, len, len);
		rig_until(&two.msgs, ++n);
		CHECK(rig_last_is(&two, len, len));
	}
	CHECK(rig_send(&one, 0, max + 1, 0) == LLP_E_TOO_LONG);
	CHECK(chunks_sent(&one) == n);
	end("messages of every size arrive whole, each in one unordered chunk");
}

/* One system call sends 64 messages if so many are queued. */
static void batches(void)
{
	struct llp_stats before, after, there;

	begin();
	llp_stats(a, &before);
	two.numbered = true;
	for (unsigned i = 0; i < 640; i++)
		CHECK(rig_send(&one, 0, 100, i) == LLP_E_OK);
	llp_flush(a);
	llp_stats(a, &after);
	CHECK(after.tx_batches - before.tx_batches == 10);
	CHECK(after.tx_bytes - before.tx_bytes == 64000);
	await_arrival(&one);
	rig_until(&two.msgs, 640);
	llp_stats(b, &there);
	/* A call or two for the events of the setup, and one that finds none. */
	CHECK(there.rx_batches <= 10 + 4);
	CHECK(there.rx_bytes == 64000 && there.rx_packets > 0 && after.tx_packets > 0);
	end("640 messages take 10 system calls to send and hardly more to receive");
}

/* Once a second, associations with traffic are measured, and no others. */
static void idle(void)
{
	struct llp_stats used, unused;
	const struct kernel *k;

	begin();
	k = (const struct kernel *)a;
	rig_send_all(&one, 0, 100, 1);
	rig_until(&two.msgs, 1);
	rig_settle();
	CHECK(!list_empty(&k->used));
	llp_stats(a, &used);
	llp_tick(a, k->sctp.base_ms + k->sctp.now_ms + 2000);
	CHECK(list_empty(&k->used));
	llp_stats(a, &unused);
	CHECK(used.tx_packets > 0 && used.rx_packets > 0);
	CHECK(unused.tx_packets >= used.tx_packets && unused.tx_packets < 2 * used.tx_packets);
	CHECK(unused.rx_packets >= used.rx_packets && unused.rx_packets < 2 * used.rx_packets);
	end("an idle association is not measured, and its packets are counted once");
}

/* A receiver that does not read stops the sender, which learns when there is room. */
static void slow_reader(void)
{
	unsigned sent = 0;
	int r;

	begin();
	two.stopped = two.shuffled = true; /* chunks are unordered, and some are sent again */
	for (unsigned stuck = 0; stuck < 20;) {
		r = rig_send(&one, 0, 1000, sent);
		CHECK(r == LLP_E_OK || r == LLP_E_AGAIN);
		if (r == LLP_E_OK) {
			sent++;
			stuck = 0;
			CHECK(sent < RIG_MAX_SEEDS);
		} else {
			rig_turn();
			stuck++;
		}
	}
	CHECK(sent > 500 && two.msgs == 0);
	one.writable = 0;
	two.stopped = false;
	rig_until(&one.writable, 1);
	rig_until(&two.msgs, sent);
	rig_until(&one.acked, 1);
	CHECK(two.bytes == 1000u * sent && one.down == 0);
	end("a slow reader stops the sender, and nothing is lost");
}

/* Two associations of one transport; their owner takes 3 messages at a time. */
static void few_at_a_time(void)
{
	begin();
	memset(&three, 0, sizeof(three));
	memset(&four, 0, sizeof(four));
	two.takes = four.takes = 3;
	two.numbered = four.numbered = true;
	llp_unlisten(listener);
	rig_listen(b, "127.0.0.3", &four);
	rig_pair(a, &three, "127.0.0.3", &four);
	for (unsigned i = 0; i < 500; i++) {
		rig_send_all(&one, 0, 200 + i, i);
		rig_send_all(&three, 1, 300 + i, i);
	}
	rig_until(&two.msgs, 500);
	rig_until(&four.msgs, 500);
	end("an owner that takes few messages at a time gets all, in order");
}

static void lazy(struct llp_config *cfg)
{
	cfg->sack_packets = 16;
	cfg->sack_ms = 500;
}

/* The I bit: the peer does not delay its acknowledgment, as it does otherwise. */
static void urgent(void)
{
	begin_with(lazy);
	memset(&three, 0, sizeof(three));
	memset(&four, 0, sizeof(four));
	rig_pair(a, &three, "127.0.0.3", &two);
	/* The first message of an association is acknowledged at once in any case. */
	rig_send_all(&one, 0, 10, 0);
	rig_send_all(&three, 0, 10, 0);
	rig_until(&one.acked, 1);
	rig_until(&three.acked, 1);
	rig_send_all(&one, 0, 10, 1);
	rig_turn();
	CHECK(rig_send_urgent(&three, 10, 1) == LLP_E_OK);
	rig_until(&three.acked, 2);
	CHECK(one.acked == 1);
	rig_until(&one.acked, 2);
	end("an urgent message is acknowledged before one that was sent earlier");
}

/* ---- a raw peer ---- */

static int raw_to(struct rig_side *s, const char *local)
{
	int fd = rig_raw_connect(local, 0, "127.0.0.3", 1);

	rig_until(&s->incoming, 1);
	return fd;
}

static void raw_send(int fd, const uint8_t *p, uint32_t n, uint16_t flags)
{
	struct sctp_sndrcvinfo info = {.sinfo_ppid = htonl(RIG_PPID), .sinfo_flags = flags};

	CHECK(sctp_send(fd, p, n, &info, 0) == (int)n);
}

static void small_chunks(int fd)
{
	struct sctp_assoc_value v = {.assoc_value = 1000};

	CHECK(setsockopt(fd, SOL_SCTP, SCTP_MAXSEG, &v, sizeof(v)) == 0);
}

static void fragments(void)
{
	static uint8_t bytes[140000];
	int fd;

	memset(&two, 0, sizeof(two));
	b = rig_open("127.0.0.3", NULL);
	rig_listen(b, NULL, &two);
	fd = raw_to(&two, "127.0.0.2");
	small_chunks(fd);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t n = i == 4 ? LLP_SCTP_MAX_MESSAGE : 1500 + i * 30000;

		rig_fill(bytes, n, i);
		raw_send(fd, bytes, n, i & 1 ? SCTP_UNORDERED : 0);
		rig_until(&two.msgs, i + 1);
		CHECK(rig_last_is(&two, n, i) && two.last.ordered == !(i & 1));
	}
	raw_send(fd, bytes, LLP_SCTP_MAX_MESSAGE + 1, 0);
	rig_until(&two.down, 1);
	CHECK(two.err == EMSGSIZE && strstr(two.reason, "131072") && two.msgs == 5);
	close(fd);
	end("fragments are reassembled, up to a limit");
}

/* ---- changes of the path MTU ---- */

static void mtu(unsigned bytes)
{
	char text[64];

	snprintf(text, sizeof(text), "ip link set lo mtu %u", bytes);
	rig_shell(text);
}

static uint32_t limit(const struct rig_side *s)
{
	return info(s).max_message;
}

/* Sends messages of 1000 bytes until max_message is above or not above a length. */
static void until_limit(uint32_t len, bool above)
{
	for (unsigned i = 0; (limit(&one) > len) != above; i++) {
		CHECK(i < 2000);
		rig_send_all(&one, 0, 1000, two.msgs);
		rig_until(&two.msgs, two.msgs + 1);
		rig_settle();
	}
}

static void paths_change(void)
{
	begin();
	two.numbered = true;
	mtu(1500);
	until_limit(1500, false);
	CHECK(rig_send(&one, 0, limit(&one) + 1, two.msgs) == LLP_E_TOO_LONG);
	rig_send_all(&one, 0, limit(&one), two.msgs);
	rig_until(&two.msgs, two.msgs + 1);
	mtu(65536);
	until_limit(60000, true);
	rig_send_all(&one, 0, 60000, two.msgs);
	rig_until(&two.msgs, two.msgs + 1);
	CHECK(one.down == 0 && two.down == 0 && chunks_sent(&one) == two.msgs);
	end("the largest message follows the path MTU");
}

/* The path MTU shrinks while messages with DDP-SSNs are staged. */
static void staged_before_the_mtu_shrank(void)
{
	begin();
	two.numbered = true;
	for (unsigned i = 0; i < 4; i++)
		CHECK(rig_send(&one, 0, 60000, i) == LLP_E_OK);
	kernel_sock_force_mtu(((struct kernel_conn *)one.c)->watch.fd, 1400);
	llp_flush(a);
	rig_until(&two.msgs, 4);
	CHECK(one.down == 0 && two.down == 0 && chunks_sent(&one) == 4);
	end("messages staged before the path MTU shrank are not fragmented by SCTP");
}

int main(void)
{
	rig_shell("ip link set lo up");
	streams_are_equal_both_ways();
	fewer_streams_of_one_side_hold_for_both();
	sizes();
	batches();
	idle();
	slow_reader();
	few_at_a_time();
	urgent();
	fragments();
	paths_change();
	staged_before_the_mtu_shrank();
	printf("messages: all promises were kept\n");
	return 0;
}
