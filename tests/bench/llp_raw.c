/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Throughput of a transport alone, between two processes: the figure that the datapath is
 * measured against. The parent sends, a forked child receives. A message above the largest
 * chunk travels as several of nearly equal size.
 *
 * The work per byte is that of the daemon's data path: the same send buffer by default, payload
 * read from a buffer of one message, and placed (copied) at its offset in a buffer of one message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "llp/common/llp.h"
#include "tests/lib/llp_one.h"
#include "util/span.h"

enum {
	SCTP_PORT = 5043,
	HEAD = 16, /* first span of each chunk, as a segment's header would be */
	STREAMS = 16,
	SEND_BUDGET = 256,
	RECV_BUDGET = 256,
	SETTLE_US = 50000,
};

struct side {
	struct llp *llp;
	struct llp_conn *conn;
	bool up, down, full;
	uint64_t bytes, chunks;
	uint8_t *memory; /* of one message: read from or placed into */
	uint32_t at;     /* where in it the next chunk goes */
};

static struct {
	uint32_t size, mtu, buffer;
	unsigned sack_packets, sack_ms, port;
	double seconds;
	const char *from, *to; /* addresses of sender and receiver */
	const char *netns;     /* file of the receiver's network namespace; NULL: the sender's */
	enum llp_gso gso;
	bool kernel, json, verbose;
} opt = {.size = 65536,
	 .buffer = 2 << 20,
	 .seconds = 3,
	 .from = "127.0.0.1",
	 .to = "127.0.0.2",
	 .sack_packets = 2,
	 .sack_ms = 20,
	 .port = 19899,
	 .gso = LLP_GSO_AUTO};

static struct side me;

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void *incoming(void *user, struct llp_conn *c)
{
	(void)user;
	me.conn = c;
	me.up = true;
	return &me;
}

static void up(void *user)
{
	(void)user;
	me.up = true;
}

static void down(void *user, int err, const char *reason)
{
	(void)user;
	if (err)
		fprintf(stderr, "llp_raw: %s\n", reason);
	me.down = true;
	me.up = false;
}

/* The body of a chunk goes to the next part of the message, with the daemon's own copy. */
static void place(const struct llp_msg *m)
{
	size_t n = m->len > HEAD ? m->len - HEAD : 0;
	struct span dst;

	if (n > opt.size - me.at)
		me.at = 0;
	dst = (struct span){me.memory + me.at, opt.size - me.at};
	me.at += (uint32_t)span_copy(&dst, 1, m->part, m->n, HEAD, n);
}

static bool readable(void *user)
{
	struct llp_msg m;

	(void)user;
	for (int i = 0; i < RECV_BUDGET; i++) {
		if (llp_recv(me.conn, &m) != LLP_E_OK)
			return false;
		place(&m);
		me.bytes += m.len;
		me.chunks++;
	}
	return true;
}

static void writable(void *user)
{
	(void)user;
	me.full = false;
}

static void acked(void *user)
{
	(void)user;
}

static const struct llp_events events = {incoming, up,   down, readable, writable,
					 acked,    NULL, NULL, NULL};

static void address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *v6 = (void *)ret;
	struct sockaddr_in *v4 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	} else {
		fprintf(stderr, "llp_raw: %s is not an address\n", text);
		exit(2);
	}
}

static int open_transport(const struct llp_config *cfg, char *reason, size_t len)
{
#ifdef HAVE_LIBSCTP
	if (opt.kernel)
		return llp_kernel_open(cfg, &events, &me.llp, reason, len);
#endif
	return llp_user_open(cfg, &events, &me.llp, reason, len);
}

static void open_side(const char *addr)
{
	struct sockaddr_storage a;
	struct llp_config cfg = {
		.addrs = &a,
		.naddrs = 1,
		.udp_port = opt.kernel ? 0 : (uint16_t)opt.port,
		.streams = STREAMS,
		.adaptation = 1,
		.buffer = opt.buffer,
		.mtu = opt.mtu,
		.gso = opt.gso,
		.sack_packets = opt.sack_packets,
		.sack_ms = opt.sack_ms,
		.rto_min_ms = 100,
		.rto_max_ms = 5000,
		.path_max_retrans = 5,
		.init_ms = 5000,
	};
	char reason[256];

	address(addr, 0, &a);
	me.memory = calloc(1, opt.size);
	if (!me.memory || open_transport(&cfg, reason, sizeof(reason)) < 0) {
		fprintf(stderr, "llp_raw: %s\n", reason);
		exit(1);
	}
}

/* One chunk of n bytes, built of a head and a body like a segment; the next part of the message. */
static int send_chunk(uint32_t n, uint16_t sid)
{
	static const uint8_t head[HEAD];
	struct llp_msg m = {.sid = sid, .ppid = 16, .len = n, .n = 1};
	uint32_t h = n < HEAD ? n : HEAD;
	int r;

	m.part[0] = (struct span){(uint8_t *)(uintptr_t)head, h};
	if (n > h) {
		if (n - h > opt.size - me.at)
			me.at = 0;
		m.part[1] = (struct span){me.memory + me.at, n - h};
		m.n = 2;
	}
	r = llp_send(me.conn, &m);
	if (r == LLP_E_OK)
		me.at += n - h;
	return r;
}

static void send_some(uint32_t chunk, uint64_t *total)
{
	for (int i = 0; i < SEND_BUDGET && !me.full; i++) {
		int r = send_chunk(chunk, (uint16_t)(i % STREAMS));

		if (r == LLP_E_AGAIN) {
			me.full = true;
		} else if (r != LLP_E_OK) {
			fprintf(stderr, "llp_raw: send: %d\n", r);
			exit(1);
		} else {
			(*total)++;
		}
	}
}

static bool turn(void)
{
	bool any = llp_input(me.llp, 256);

	llp_tick(me.llp, now_us() / 1000);
	return any;
}

/* The kernel works on while we wait, our SCTP only when it is called. */
static void idle(void)
{
	struct pollfd p[LLP_MAX_FDS];
	int fds[LLP_MAX_FDS];
	unsigned n;

	if (!opt.kernel) {
		sched_yield();
		return;
	}
	n = llp_fds(me.llp, fds);
	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	(void)poll(p, n, 10);
}

static void print_stats(const char *who)
{
	struct llp_stats s;
	struct llp_info i;

	llp_stats(me.llp, &s);
	llp_info(me.conn, &i);
	fprintf(stderr,
		"%s: tx %llu packets %llu batches, rx %llu packets %llu batches, %llu again, "
		"%llu errors, bad crc %llu, max_message %u, gso %d, srtt %u us, rto %u, cwnd %u, "
		"rwnd "
		"%u\n",
		who, (unsigned long long)s.tx_packets, (unsigned long long)s.tx_batches,
		(unsigned long long)s.rx_packets, (unsigned long long)s.rx_batches,
		(unsigned long long)s.retransmits, (unsigned long long)s.tx_errors,
		(unsigned long long)s.bad_crc, i.max_message, i.gso, i.srtt_us, i.rto_ms, i.cwnd,
		i.peer_rwnd);
}

static void enter_netns(void)
{
	int fd;

	if (!opt.netns)
		return;
	fd = open(opt.netns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0) {
		fprintf(stderr, "llp_raw: %s: %s\n", opt.netns, strerror(errno));
		exit(1);
	}
	close(fd);
}

/* The receiver writes its counters to the pipe when the sender has gone. */
static void receive(int out)
{
	struct llp_listener *l;
	uint64_t count[2];

	alarm((unsigned)opt.seconds + 20); /* the parent may have failed */
	enter_netns();
	open_side(opt.to);
	if (llp_listen(me.llp, NULL, SCTP_PORT, &me, &l) < 0)
		exit(1);
	if (write(out, "r", 1) != 1)
		exit(1);
	while (!me.down) {
		if (!turn())
			idle();
		llp_flush(me.llp);
	}
	count[0] = me.bytes;
	count[1] = me.chunks;
	if (opt.verbose)
		print_stats("receiver");
	if (write(out, count, sizeof(count)) != sizeof(count))
		exit(1);
	llp_close(me.llp);
	exit(0);
}

/* Time from the first chunk to the end of the orderly shutdown, which waits for the last one. */
static double send_for(uint32_t *ret_chunk)
{
	struct llp_info info;
	uint64_t total = 0, start, end;
	uint32_t n;

	while (!me.up && !me.down) {
		turn();
		llp_flush(me.llp);
		idle();
	}
	/* The path MTU is found before the clock starts. */
	for (start = now_us(); now_us() - start < SETTLE_US && !me.down;) {
		turn();
		llp_flush(me.llp);
		idle();
	}
	if (me.down)
		exit(1);
	llp_info(me.conn, &info);
	n = (opt.size + info.max_message - 1) / info.max_message;
	*ret_chunk = (opt.size / n + 3) & ~3u;
	if (*ret_chunk > info.max_message || opt.size < 4)
		*ret_chunk = opt.size / n;
	start = now_us();
	end = start + (uint64_t)(opt.seconds * 1e6);
	while (now_us() < end && !me.down) {
		bool any = turn();

		send_some(*ret_chunk, &total);
		llp_flush(me.llp);
		if (!any && me.full)
			idle();
	}
	if (opt.verbose)
		print_stats("sender");
	llp_shutdown(me.conn);
	while (!me.down) {
		if (!turn())
			idle();
		llp_flush(me.llp);
	}
	return (double)(now_us() - start) / 1e6;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: llp_raw [-K] [-s bytes] [-m mtu] [-t seconds] [-b buffer] [-k packets] "
		"[-d ms] [-p udp port] [-g auto|on|off] [-f address] [-T address] [-N netns] "
		"[-v] [-j]\n"
		"-f and -T are the addresses of sender and receiver, -N the network namespace of "
		"the receiver.\n");
	exit(2);
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "Ks:m:t:b:k:d:p:g:f:T:N:vj")) != -1) {
		unsigned long v = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (c) {
		case 'K':
			opt.kernel = true;
			break;
		case 's':
			opt.size = (uint32_t)v;
			break;
		case 'm':
			opt.mtu = (uint32_t)v;
			break;
		case 't':
			opt.seconds = strtod(optarg, NULL);
			break;
		case 'b':
			opt.buffer = (uint32_t)v;
			break;
		case 'k':
			opt.sack_packets = (unsigned)v;
			break;
		case 'd':
			opt.sack_ms = (unsigned)v;
			break;
		case 'p':
			opt.port = (unsigned)v;
			break;
		case 'f':
			opt.from = optarg;
			break;
		case 'T':
			opt.to = optarg;
			break;
		case 'N':
			opt.netns = optarg;
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'j':
			opt.json = true;
			break;
		case 'g':
			opt.gso = strcmp(optarg, "on") == 0    ? LLP_GSO_ON
				  : strcmp(optarg, "off") == 0 ? LLP_GSO_OFF
							       : LLP_GSO_AUTO;
			break;
		default:
			usage();
		}
	}
	if (opt.size == 0 || opt.seconds <= 0 || optind != argc)
		usage();
}

int main(int argc, char **argv)
{
	int fds[2], status;
	uint64_t count[2] = {0};
	uint32_t chunk;
	double s, mb, msgs;
	char ready;
	pid_t pid;
	struct sockaddr_storage to;

	options(argc, argv);
	if (pipe(fds))
		return 1;
	pid = fork();
	if (pid == 0)
		receive(fds[1]);
	close(fds[1]);
	if (pid < 0 || read(fds[0], &ready, 1) != 1)
		return 1;
	open_side(opt.from);
	address(opt.to, SCTP_PORT, &to);
	if (llp_connect(me.llp, (struct sockaddr *)&to, &me, &me.conn) < 0)
		return 1;
	s = send_for(&chunk);
	if (read(fds[0], count, sizeof(count)) != sizeof(count))
		return 1;
	waitpid(pid, &status, 0);
	mb = (double)count[0] / s / 1e6;
	msgs = (double)count[0] / opt.size / s;
	if (opt.json)
		printf("{\"bench\":\"raw\",\"size\":%u,\"mtu\":%u,\"chunk\":%u,\"mb_per_s\":%.1f,"
		       "\"msgs_per_s\":%.0f}\n",
		       opt.size, opt.mtu, chunk, mb, msgs);
	else
		printf("%u bytes in chunks of %u, mtu %u: %.1f MB/s, %.0f messages/s\n", opt.size,
		       chunk, opt.mtu, mb, msgs);
	llp_close(me.llp);
	return status != 0;
}
