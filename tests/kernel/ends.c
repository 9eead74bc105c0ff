/* SPDX-License-Identifier: BSD-2-Clause */
/* Associations of the transport `kernel`: how they begin, when they are refused, how they end. */
#include "tests/kernel/rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/addr.h"

static struct llp *a, *b;
static struct rig_side one, two;

static void begin(void)
{
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	a = rig_open("127.0.0.2", NULL);
	b = rig_open("127.0.0.3", NULL);
	rig_listen(b, NULL, &two);
}

static void begin_pair(void)
{
	begin();
	rig_pair(a, &one, "127.0.0.3", &two);
}

static void end(const char *promise)
{
	printf("kept: %s\n", promise);
	rig_close_all();
}

/* ---- beginnings ---- */

static void refused(void)
{
	begin();
	rig_connect(a, "127.0.0.4", &one);
	CHECK(one.up == 0 && one.down == 1 && one.err == ECONNREFUSED);
	CHECK(strstr(one.reason, "127.0.0.4 refuses associations to SCTP port 5043"));
	end("without a listener: refused at once");
}

static void unwanted(void)
{
	begin();
	two.refuse = true;
	rig_connect(a, "127.0.0.3", &one);
	rig_until(&one.down, 1);
	CHECK(one.err == ECONNRESET && two.incoming == 1 && two.down == 0);
	end("an association that the listener refuses is aborted");
}

static void no_answer(void)
{
	begin();
	rig_shell("ip link add hole type dummy && ip addr add 192.0.2.1/24 dev hole && "
		  "ip link set hole up");
	rig_close_all();
	a = rig_open("192.0.2.1", NULL);
	rig_connect(a, "192.0.2.2", &one);
	CHECK(one.up == 0 && one.err == ETIMEDOUT);
	CHECK(strstr(one.reason, "192.0.2.2 does not answer within 2000 ms: ") == one.reason);
	CHECK(strstr(one.reason, "let IP protocol 132 through") &&
	      strstr(one.reason, "transport user"));
	rig_shell("ip link del hole");
	end("no answer: fails after the timeout");
}

static void foreign_addresses(void)
{
	struct sockaddr_storage at[2];
	struct llp_listener *l;
	struct llp_conn *c;

	begin();
	rig_address("127.0.0.9", 0, &at[0]);
	rig_address("127.0.0.4", RIG_PORT, &at[1]);
	CHECK(llp_listen_at(b, &(struct llp_addrs){at, 1}, 6000, NULL, &l) == -EADDRNOTAVAIL);
	CHECK(llp_connect_at(a, &(struct llp_addrs){at + 1, 1}, RIG_PORT,
			     &(struct llp_addrs){at, 1}, 0, NULL, &c) == -EADDRNOTAVAIL);
	CHECK(llp_listen_at(b, &(struct llp_addrs){NULL, 0}, RIG_PORT, NULL, &l) == -EADDRINUSE);
	end("foreign addresses and a port in use are refused");
}

/* All descriptors are in use when an association arrives: it waits until one is free. */
static void no_descriptors(void)
{
	struct rlimit old, now;
	struct sockaddr_storage to;
	int fd, used[64];
	unsigned n = 0;

	begin();
	fd = rig_raw("127.0.0.4", 0, SOCK_STREAM, 1);
	rig_address("127.0.0.3", RIG_PORT, &to);
	CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	now = (struct rlimit){.rlim_cur = (rlim_t)fd + 1, .rlim_max = old.rlim_max};
	CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
	while (n < 64 && (used[n] = dup(0)) >= 0)
		n++;
	CHECK(connect(fd, (struct sockaddr *)&to, addr_len(&to)) == 0);
	rig_until(&((struct kernel *)b)->paused, 1);
	rig_settle();
	CHECK(two.incoming == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
	rig_until(&two.incoming, 1);
	CHECK(((struct kernel *)b)->paused == 0);
	while (n > 0)
		close(used[--n]);
	close(fd);
	end("without a free descriptor an association waits, and accepting pauses");
}

static void one_at_a_time(struct llp_config *cfg)
{
	cfg->max_conns = 1;
}

/* Each is a descriptor. */
static void bounded(void)
{
	struct sockaddr_storage from, to;
	struct llp_conn *c;
	int fd;

	begin();
	rig_close_all();
	a = rig_open("127.0.0.2", one_at_a_time);
	b = rig_open("127.0.0.3", one_at_a_time);
	rig_listen(b, NULL, &two);
	rig_pair(a, &one, "127.0.0.3", &two);
	fd = rig_raw_connect("127.0.0.4", 0, "127.0.0.3", 1);
	rig_settle();
	CHECK(two.incoming == 1 && two.down == 0 && one.down == 0);
	rig_address("127.0.0.2", 0, &from);
	rig_address("127.0.0.4", RIG_PORT, &to);
	CHECK(llp_connect_at(a, &(struct llp_addrs){&to, 1}, RIG_PORT,
			     &(struct llp_addrs){&from, 1}, 0, NULL, &c) == -EMFILE);
	close(fd);
	end("more associations than allowed are refused");
}

/* ---- the adaptation indication ---- */

static void indication(uint32_t value, const char *reason)
{
	int fd;

	/* A peer that connects: no upcall. */
	begin();
	fd = rig_raw_connect("127.0.0.4", 0, "127.0.0.3", value);
	rig_settle();
	CHECK(two.incoming == 0 && list_empty(&((struct kernel *)b)->sctp.conns));
	close(fd);
	/* A peer that listens. */
	fd = rig_raw("127.0.0.4", RIG_PORT, SOCK_STREAM, value);
	CHECK(listen(fd, 5) == 0);
	rig_connect(a, "127.0.0.4", &one);
	CHECK(one.up == 0 && one.err == EPROTONOSUPPORT && strcmp(one.reason, reason) == 0);
	close(fd);
	end(reason);
}

/* Data bundled with the COOKIE ECHO does not count as an indication. */
static void data_without_an_indication(void)
{
	int fd;

	begin();
	fd = rig_raw("127.0.0.4", 0, SOCK_SEQPACKET, 0);
	{
		struct sockaddr_storage to;

		rig_address("127.0.0.3", RIG_PORT, &to);
		CHECK(sctp_sendmsg(fd, "hello", 5, (struct sockaddr *)&to, addr_len(&to), 0, 0, 0,
				   0, 0) == 5);
	}
	rig_settle();
	CHECK(two.incoming == 0 && two.msgs == 0);
	CHECK(list_empty(&((struct kernel *)b)->sctp.conns));
	close(fd);
	end("data does not replace an indication");
}

static void indication_is_sent(void)
{
	struct sctp_adaptation_event e;
	struct sctp_event on = {.se_type = SCTP_ADAPTATION_INDICATION, .se_on = 1};
	struct sockaddr_storage to;
	int fd;

	begin();
	fd = rig_raw("127.0.0.4", 0, SOCK_STREAM, 1);
	CHECK(setsockopt(fd, SOL_SCTP, SCTP_EVENT, &on, sizeof(on)) == 0);
	rig_address("127.0.0.3", RIG_PORT, &to);
	CHECK(connect(fd, (struct sockaddr *)&to, addr_len(&to)) == 0);
	rig_until(&two.incoming, 1);
	for (;;) {
		union sctp_notification n;
		ssize_t r = recv(fd, &n, sizeof(n), 0);

		CHECK(r > 0);
		if (n.sn_header.sn_type != SCTP_ADAPTATION_INDICATION)
			continue;
		e = n.sn_adaptation_event;
		break;
	}
	CHECK(e.sai_adaptation_ind == 1);
	close(fd);
	end("both sides send their indication");
}

/* Associations that arrive faster than they are dispatched wait in the kernel. */
static void many_at_once(void)
{
	enum { PEERS = 200, MAX_HALF_OPEN = 64 };
	const struct kernel *t;
	int fd[PEERS];

	begin();
	t = (const struct kernel *)b;
	for (unsigned i = 0; i < PEERS; i++)
		fd[i] = rig_raw_connect("127.0.0.4", 0, "127.0.0.3", 1);
	for (unsigned turns = 0; two.incoming < PEERS; turns++) {
		rig_turn();
		CHECK(t->sctp.nconns - two.incoming <= MAX_HALF_OPEN && turns < 10 * PEERS);
	}
	for (unsigned i = 0; i < PEERS; i++)
		close(fd[i]);
	end("many associations at once: few are accepted at a time, all in the end");
}

/* All are counted, the first ones are listed, and they do not extend the timeout of a dead peer. */
static void many_addresses_of_a_peer(void)
{
	enum { ADDRESSES = 40, PATH_MAX_RETRANS = 3 };
	struct sctp_assocparams limits = {0};
	struct llp_path p[LLP_MAX_PATHS];
	socklen_t len = sizeof(limits);
	struct sockaddr_storage at;
	char text[16];
	int fd;

	begin();
	fd = rig_raw("127.0.5.1", 0, SOCK_STREAM, 1);
	for (unsigned i = 2; i <= ADDRESSES; i++) {
		snprintf(text, sizeof(text), "127.0.5.%u", i);
		rig_address(text, 0, &at);
		CHECK(sctp_bindx(fd, (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR) == 0);
	}
	rig_address("127.0.0.3", RIG_PORT, &at);
	CHECK(connect(fd, (struct sockaddr *)&at, addr_len(&at)) == 0);
	rig_until(&two.incoming, 1);
	CHECK(llp_paths(two.c, p) == ADDRESSES && p[0].primary);
	for (unsigned i = 1; i < LLP_MAX_PATHS; i++)
		CHECK(!p[i].primary && !addr_same_host(&p[i].remote, &p[i - 1].remote));
	CHECK(getsockopt(((struct kernel_conn *)two.c)->watch.fd, SOL_SCTP, SCTP_ASSOCINFO, &limits,
			 &len) == 0);
	CHECK(limits.sasoc_asocmaxrxt == LLP_MAX_PATHS * PATH_MAX_RETRANS);
	close(fd);
	end("a peer may have more addresses than are listed");
}

static void zero(struct llp_config *cfg)
{
	cfg->adaptation = 0;
}

static void indication_zero_is_refused(void)
{
	struct sockaddr_storage at;
	struct llp_config cfg = {
		.addrs = &at, .naddrs = 1, .streams = 1, .rto_min_ms = 1, .rto_max_ms = 1};
	struct llp *t;
	char reason[256];

	zero(&cfg);
	rig_address("127.0.0.2", 0, &at);
	CHECK(llp_kernel_open(&cfg, NULL, &t, reason, sizeof(reason)) == -EINVAL);
	CHECK(strstr(reason, "adaptation indication 0"));
	end("an adaptation indication of 0 is refused by open");
}

/* ---- ends ---- */

static void shutdown_of(struct rig_side *s, const char *promise)
{
	begin_pair();
	two.numbered = true;
	for (unsigned i = 0; i < 200; i++)
		rig_send_all(&one, 0, 1000, i);
	llp_shutdown(s->c);
	rig_until(&one.down, 1);
	rig_until(&two.down, 1);
	CHECK(one.err == 0 && two.err == 0);
	if (s == &one)
		CHECK(two.msgs == 200);
	CHECK(llp_send(one.c, &(struct llp_msg){.len = 1, .n = 0}) == LLP_E_DOWN);
	end(promise);
}

static void shutdown_of_both(void)
{
	begin_pair();
	llp_shutdown(one.c);
	llp_shutdown(two.c);
	rig_until(&one.down, 1);
	rig_until(&two.down, 1);
	CHECK(one.err == 0 && two.err == 0);
	end("both shut down at the same time: an orderly end");
}

static void aborted(void)
{
	begin_pair();
	llp_abort(one.c, "enough");
	rig_until(&two.down, 1);
	rig_settle();
	CHECK(one.down == 0 && two.down == 1 && two.err == ECONNRESET);
	CHECK(strcmp(two.reason, "127.0.0.2 aborted the association (cause 12)") == 0);
	CHECK(rig_send(&one, 0, 10, 0) == LLP_E_DOWN);
	end("an abort ends both sides and is reported to the peer");
}

/* A one-to-many socket may send a text with its ABORT. */
static void aborted_with_text(void)
{
	struct sctp_sndrcvinfo info = {.sinfo_flags = SCTP_ABORT};
	struct sctp_setadaptation ind = {.ssb_adaptation_ind = 1};
	union sctp_notification n;
	int fd;

	begin();
	fd = rig_raw("127.0.0.4", RIG_PORT, SOCK_SEQPACKET, 1);
	CHECK(setsockopt(fd, SOL_SCTP, SCTP_ADAPTATION_LAYER, &ind, sizeof(ind)) == 0);
	CHECK(listen(fd, 5) == 0);
	rig_connect(a, "127.0.0.4", &one);
	CHECK(one.up == 1);
	CHECK(recv(fd, &n, sizeof(n), 0) > 0);
	CHECK(n.sn_assoc_change.sac_state == SCTP_COMM_UP);
	info.sinfo_assoc_id = n.sn_assoc_change.sac_assoc_id;
	CHECK(sctp_send(fd, "no\x01more", 7, &info, 0) >= 0);
	rig_until(&one.down, 1);
	CHECK(one.err == ECONNRESET);
	CHECK(strcmp(one.reason, "127.0.0.4 aborted the association: no?more") == 0);
	close(fd);
	end("the text of an abort is reported in printable form");
}

/* The association is aborted with unacknowledged data. */
static void aborted_is_not_acknowledged(void)
{
	unsigned before;
	int fd;

	begin();
	fd = rig_raw_connect("127.0.0.4", 0, "127.0.0.3", 1);
	rig_until(&two.incoming, 1);
	rig_settle();
	before = two.acked;
	/* The first message is acknowledged at once, and an event for it is queued; the second is
	 * not. */
	for (unsigned i = 0; i < 2; i++) {
		CHECK(rig_send(&two, 0, 1000, i) == LLP_E_OK);
		llp_flush(b);
	}
	CHECK(!kernel_sock_acked(((struct kernel_conn *)two.c)->watch.fd));
	kernel_sock_abort(fd);
	rig_until(&two.down, 1);
	CHECK(two.err == ECONNRESET && two.acked == before);
	end("data that an abort discards is not reported as acknowledged");
}

static void freed(void)
{
	begin_pair();
	one.c = llp_conn_free(one.c);
	rig_until(&two.down, 1);
	CHECK(two.err == ECONNRESET && one.down == 0);
	end("an association that is freed is aborted");
}

/* As if the peer's host had crashed and rebooted: no ABORT, and a new INIT from the same port. */
static void restart(void)
{
	int fd;

	begin();
	fd = rig_raw_connect("127.0.0.4", 6000, "127.0.0.3", 1);
	rig_until(&two.incoming, 1);
	rig_shell("ip link set lo down");
	kernel_sock_abort(fd);
	rig_shell("ip link set lo up");
	CHECK(two.down == 0);
	fd = rig_raw_connect("127.0.0.4", 6000, "127.0.0.3", 1);
	rig_until(&two.down, 1);
	CHECK(two.err == ECONNRESET && strcmp(two.reason, "the peer restarted") == 0);
	close(fd);
	end("a restart of the peer ends the association");
}

/* The peer's host disappears: the configured retransmissions limit the time. */
static void disappeared(void)
{
	begin_pair();
	rig_send_all(&one, 0, 1000, 0);
	rig_until(&two.msgs, 1);
	rig_shell("ip link set lo down");
	rig_send_all(&one, 0, 1000, 1);
	rig_until(&one.down, 1);
	rig_shell("ip link set lo up");
	CHECK(one.err == ETIMEDOUT);
	CHECK(strcmp(one.reason, "127.0.0.3 does not answer any more") == 0);
	end("the association with a peer that disappeared ends");
}

int main(void)
{
	rig_shell("ip link set lo up");
	refused();
	unwanted();
	no_answer();
	foreign_addresses();
	no_descriptors();
	bounded();
	indication(0, "the peer does not speak DDP: no adaptation indication");
	indication(7, "the peer does not speak DDP: adaptation indication 0x7, expected 0x1");
	data_without_an_indication();
	indication_is_sent();
	many_at_once();
	many_addresses_of_a_peer();
	indication_zero_is_refused();
	shutdown_of(&one, "the sender shuts down: everything sent arrives first");
	shutdown_of(&two, "the receiver shuts down: an orderly end at both sides");
	shutdown_of_both();
	aborted();
	aborted_with_text();
	aborted_is_not_acknowledged();
	freed();
	restart();
	disappeared();
	printf("ends: all promises were kept\n");
	return 0;
}
