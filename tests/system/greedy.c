/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A greedy peer.
 *
 *   greedy early OWN-ADDRESS DAEMON-ADDRESS PORT N   on each of N associations a session request,
 * and half a MiB of segments before its Accept greedy assocs OWN-ADDRESS DAEMON-ADDRESS PORT N
 * opens N associations greedy requests OWN-ADDRESS DAEMON-ADDRESS PORT N  N session requests on one
 * association greedy listen SOCKET                             a program that answers no session
 * request
 *
 * Prints "up N, sent N, ended N": associations that are up; messages that the daemon acknowledged;
 * sessions that it ended; or "port N" of the listener. Keeps all until SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "llp/common/llp.h"
#include "tests/lib/llp_one.h"
#include "tests/raw/raw.h"
#include "tests/system/rig.h"
#include "util/be.h"

enum { UDP_PORT = 9899, MTU = 1500, SEGMENT = 440, MIB = 1 << 20, STREAMS = 2048, BACKLOG = 1024 };

enum attack { EARLY, ASSOCS, REQUESTS };

struct target {
	struct llp_conn *c;
	enum { OPENING, SENDING, WAITING, DONE } state;
	bool up, ended;
	uint16_t ssn, sid, first;
	uint32_t sent, most, answers;
};

static struct llp *llp;
static struct target *all;
static unsigned nall, done;
static enum attack kind;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void finish(struct target *v)
{
	if (v->state != DONE)
		done++;
	v->state = DONE;
}

/* ---- sending ---- */

static struct raw_msg next_message(const struct target *v)
{
	static const uint8_t bytes[SEGMENT];

	if (kind == REQUESTS || v->ssn == 0)
		return raw_control(RAW_INITIATE, NULL, 0);
	return raw_send(1, bytes, sizeof(bytes));
}

static void push(struct target *v)
{
	while (v->state == SENDING && v->sent < v->most) {
		struct raw_msg m = next_message(v);
		struct llp_msg out = {.sid = v->sid, .ppid = m.ppid, .len = m.len, .n = 1};

		be_put16(m.b, v->ssn);
		out.part[0] = (struct span){m.b, m.len};
		if (llp_send(v->c, &out) != LLP_E_OK)
			return;
		v->sent++;
		if (kind == REQUESTS)
			v->sid += 2;
		else
			v->ssn++;
	}
	if (v->state == SENDING)
		v->state = WAITING;
}

/* ---- upcalls ---- */

static void on_up(void *user)
{
	struct target *v = user;
	struct llp_info info;

	llp_info(v->c, &info);
	v->up = true;
	v->first = v->sid = info.even ? 0 : 1;
	v->state = SENDING;
	if (kind == ASSOCS)
		finish(v);
	push(v);
}

static void on_down(void *user, int err, const char *reason)
{
	struct target *v = user;

	(void)err;
	(void)reason;
	v->up = false;
	finish(v);
}

/* The daemon ends a session. */
static bool on_readable(void *user)
{
	struct target *v = user;
	struct llp_msg m;

	while (llp_recv(v->c, &m) == LLP_E_OK) {
		v->ended = true;
		v->answers++;
		if (kind == EARLY)
			finish(v);
	}
	return false;
}

static void on_writable(void *user)
{
	push(user);
}

static void on_acked(void *user)
{
	struct target *v = user;

	if (v->state == WAITING)
		finish(v);
}

static const struct llp_events events = {.up = on_up,
					 .down = on_down,
					 .readable = on_readable,
					 .writable = on_writable,
					 .acked = on_acked};

/* ---- the transport ---- */

static struct sockaddr_storage address(const char *text, uint16_t port)
{
	struct sockaddr_storage ret = {.ss_family = AF_INET};
	struct sockaddr_in *a = (void *)&ret;

	a->sin_port = htons(port);
	if (inet_pton(AF_INET, text, &a->sin_addr) != 1)
		fail("%s is not an address", text);
	return ret;
}

static void open_llp(const char *own)
{
	struct sockaddr_storage a = address(own, 0);
	char reason[256] = "";
	struct llp_config cfg = {
		.addrs = &a,
		.naddrs = 1,
		.udp_port = UDP_PORT,
		.streams = STREAMS,
		.adaptation = 1,
		.buffer = MIB,
		.mtu = MTU,
		.gso = LLP_GSO_OFF,
		.sack_packets = 2,
		.sack_ms = 10,
		.rto_min_ms = 200,
		.rto_max_ms = 1000,
		.path_max_retrans = 20,
		.init_ms = RIG_WAIT_MS,
	};

	if (llp_user_open(&cfg, &events, &llp, reason, sizeof(reason)))
		fail("transport: %s", reason);
	llp_tick(llp, now_ms());
}

static void turn(void)
{
	struct pollfd p[LLP_MAX_FDS];
	int fds[LLP_MAX_FDS];
	unsigned n = llp_fds(llp, fds);

	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	(void)poll(p, n, 1);
	llp_input(llp, 256);
	llp_tick(llp, now_ms());
	llp_flush(llp);
}

static void attack(char **argv)
{
	struct sockaddr_storage to = address(argv[3], (uint16_t)atoi(argv[4]));
	unsigned n = (unsigned)atoi(argv[5]), up = 0, sent = 0, ended = 0;

	nall = kind == REQUESTS ? 1 : n;
	all = calloc(nall, sizeof(*all));
	if (!all)
		fail("no memory");
	open_llp(argv[2]);
	for (unsigned i = 0; i < nall; i++) {
		all[i].most = kind == REQUESTS ? n : 1 + MIB / 2 / SEGMENT;
		MUST(llp_connect(llp, (struct sockaddr *)&to, &all[i], &all[i].c));
		turn();
	}
	while (done < nall)
		turn();
	for (unsigned i = 0; i < nall; i++) {
		up += all[i].up;
		sent += all[i].sent;
		ended += kind == REQUESTS ? all[i].answers : all[i].ended;
	}
	printf("up %u, sent %u, ended %u\n", up, sent, ended);
	fflush(stdout);
}

/* ---- the program that does not answer ---- */

static void listen_only(const char *socket)
{
	uint16_t port = (uint16_t)(10000 + getpid() % 50000);
	struct ddp_id *id;
	struct end e;
	int r;

	end_open(&e, "the listener", socket);
	MUST(ddp_create_id(e.ctx, NULL, &id));
	while ((r = ddp_listen(id, NULL, port, BACKLOG)) == -EADDRINUSE)
		port++;
	MUST(r);
	printf("port %u\n", port);
	fflush(stdout);
}

static volatile sig_atomic_t stopped;

static void on_term(int sig)
{
	(void)sig;
	stopped = 1;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"early", "assocs", "requests"};

	signal(SIGTERM, on_term);
	if (argc == 3) {
		listen_only(argv[2]);
		while (!stopped)
			pause();
		return 0;
	}
	if (argc != 6)
		return 2;
	while (kind < REQUESTS && strcmp(argv[1], names[kind]) != 0)
		kind++;
	attack(argv);
	while (!stopped)
		turn();
	llp_close(llp);
	return 0;
}
