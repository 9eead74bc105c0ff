/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/kernel/rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/llp_one.h"
#include "util/addr.h"

enum { MAX_TRANSPORTS = 4, QUIET_TURNS = 5, QUIET_MS = 20 };

static struct llp *transports[MAX_TRANSPORTS];

void rig_check(bool ok, const char *file, int line, const char *cond)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: FAILED: %s (errno %d: %s)\n", file, line, cond, errno,
		strerror(errno));
	exit(1);
}

/* ---- upcalls ---- */

static void *incoming(void *listener_user, struct llp_conn *c)
{
	struct rig_side *s = listener_user;

	s->incoming++;
	if (s->refuse)
		return NULL;
	s->c = c;
	return s;
}

static void up(void *user)
{
	((struct rig_side *)user)->up++;
}

static void down(void *user, int err, const char *reason)
{
	struct rig_side *s = user;

	s->down++;
	s->err = err;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
}

/* When a path fails, messages may overtake each other; none may arrive twice. */
static void take_any(struct rig_side *s)
{
	uint32_t seed;

	memcpy(&seed, s->data, sizeof(seed));
	CHECK(s->last.len >= sizeof(seed) && seed < RIG_MAX_SEEDS && !s->seen[seed]);
	CHECK(rig_last_is(s, s->last.len, seed));
	s->seen[seed] = true;
}

static void take(struct rig_side *s, const struct llp_msg *m)
{
	uint8_t *p = s->data;

	CHECK(m->len <= sizeof(s->data) && m->len == span_total(m->part, m->n));
	for (unsigned i = 0; i < m->n; i++) {
		memcpy(p, m->part[i].p, m->part[i].len);
		p += m->part[i].len;
	}
	s->last = *m;
	if (s->numbered)
		CHECK(rig_last_is(s, m->len, s->msgs));
	if (s->shuffled)
		take_any(s);
	s->msgs++;
	s->bytes += m->len;
}

static bool readable(void *user)
{
	struct rig_side *s = user;
	struct llp_msg m;

	for (unsigned n = 0; !s->stopped; n++) {
		if (s->takes && n == s->takes)
			return true;
		if (llp_recv(s->c, &m) != LLP_E_OK)
			return false;
		take(s, &m);
	}
	return true;
}

static void writable(void *user)
{
	((struct rig_side *)user)->writable++;
}

static void acked(void *user)
{
	((struct rig_side *)user)->acked++;
}

static void path(void *user, const struct llp_path *p, const char *what)
{
	struct rig_side *s = user;
	size_t n = strlen(s->path_log);
	char addr[ADDR_TEXT_MAX];

	s->paths++;
	snprintf(s->path_log + n, sizeof(s->path_log) - n, "%s %s%s\n",
		 addr_host_text(&p->remote, addr), what, p->primary ? ", primary" : "");
}

static const struct llp_events events = {incoming, up,   down, readable, writable,
					 acked,    path, NULL, NULL};

/* ---- transports ---- */

void rig_address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		v6->sin6_family = AF_INET6;
	else
		CHECK(!"an address");
	addr_set_port(ret, port);
}

struct llp *rig_open(const char *addrs, void (*fn)(struct llp_config *cfg))
{
	struct sockaddr_storage a[LLP_MAX_ADDRS];
	struct llp_config cfg = {
		.addrs = a,
		.streams = 16,
		.adaptation = 1,
		.buffer = 1 << 20,
		.sack_packets = 2,
		.sack_ms = 20,
		.rto_min_ms = 100,
		.rto_max_ms = 1000,
		.heartbeat_ms = 1000,
		.path_max_retrans = 3,
		.init_ms = 2000,
	};
	char words[256], reason[256], *save = NULL;
	unsigned i = 0;
	int r;

	snprintf(words, sizeof(words), "%s", addrs);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		rig_address(w, 0, &a[cfg.naddrs++]);
	if (fn)
		fn(&cfg);
	while (transports[i])
		i++;
	CHECK(i < MAX_TRANSPORTS);
	r = llp_kernel_open(&cfg, &events, &transports[i], reason, sizeof(reason));
	if (r)
		fprintf(stderr, "%s: %s\n", addrs, reason);
	CHECK(r == 0);
	return transports[i];
}

void rig_close_all(void)
{
	for (unsigned i = 0; i < MAX_TRANSPORTS; i++)
		transports[i] = llp_close(transports[i]);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool rig_turn(void)
{
	bool any = false;

	for (unsigned i = 0; i < MAX_TRANSPORTS; i++) {
		if (!transports[i])
			continue;
		llp_tick(transports[i], now_ms());
		any |= llp_input(transports[i], 512);
		llp_flush(transports[i]);
	}
	return any;
}

static void wait_briefly(void)
{
	struct pollfd p[MAX_TRANSPORTS * LLP_MAX_FDS];
	int fds[LLP_MAX_FDS];
	nfds_t n = 0;

	for (unsigned i = 0; i < MAX_TRANSPORTS; i++) {
		unsigned m = transports[i] ? llp_fds(transports[i], fds) : 0;

		for (unsigned k = 0; k < m; k++)
			p[n++] = (struct pollfd){.fd = fds[k], .events = POLLIN};
	}
	poll(p, n, QUIET_MS);
}

void rig_until(const unsigned *counter, unsigned want)
{
	uint64_t end = now_ms() + RIG_WAIT_MS;

	while (*counter < want) {
		if (!rig_turn())
			wait_briefly();
		CHECK(now_ms() < end);
	}
}

void rig_settle(void)
{
	for (unsigned quiet = 0; quiet < QUIET_TURNS; quiet++) {
		if (rig_turn())
			quiet = 0;
		wait_briefly();
	}
}

struct llp_listener *rig_listen(struct llp *t, const char *at, struct rig_side *s)
{
	struct sockaddr_storage a;
	struct llp_listener *l;

	if (at)
		rig_address(at, 0, &a);
	CHECK(llp_listen(t, at ? (struct sockaddr *)&a : NULL, RIG_PORT, s, &l) == 0);
	return l;
}

void rig_connect(struct llp *t, const char *to, struct rig_side *s)
{
	struct sockaddr_storage a;
	uint64_t end = now_ms() + RIG_WAIT_MS;

	rig_address(to, RIG_PORT, &a);
	CHECK(llp_connect(t, (struct sockaddr *)&a, s, &s->c) == 0);
	while (!s->up && !s->down) {
		if (!rig_turn())
			wait_briefly();
		CHECK(now_ms() < end);
	}
}

void rig_pair(struct llp *t, struct rig_side *a, const char *to, struct rig_side *b)
{
	unsigned n = b->incoming;

	rig_connect(t, to, a);
	if (!a->up)
		fprintf(stderr, "%s\n", a->reason);
	CHECK(a->up == 1);
	rig_until(&b->incoming, n + 1);
}

/* ---- messages ---- */

void rig_fill(uint8_t *p, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = (uint8_t)((seed + i) * 2654435761u >> 24);
	if (n >= sizeof(seed))
		memcpy(p, &seed, sizeof(seed));
}

static int send_one(struct rig_side *s, uint16_t sid, uint32_t n, uint32_t seed, bool urgent)
{
	static uint8_t bytes[1 << 17];
	uint32_t head = n < 16 ? 0 : 16;
	struct llp_msg m = {.sid = sid, .ppid = RIG_PPID, .len = n, .urgent = urgent, .n = 2};

	CHECK(n <= sizeof(bytes));
	rig_fill(bytes, n, seed);
	m.part[0] = (struct span){bytes, head};
	m.part[1] = (struct span){bytes + head, n - head};
	return llp_send(s->c, &m);
}

int rig_send(struct rig_side *s, uint16_t sid, uint32_t n, uint32_t seed)
{
	return send_one(s, sid, n, seed, false);
}

int rig_send_urgent(struct rig_side *s, uint32_t n, uint32_t seed)
{
	return send_one(s, 0, n, seed, true);
}

void rig_send_all(struct rig_side *s, uint16_t sid, uint32_t n, uint32_t seed)
{
	unsigned before = s->writable;
	int r;

	while ((r = rig_send(s, sid, n, seed)) == LLP_E_AGAIN) {
		rig_until(&s->writable, before + 1);
		before = s->writable;
	}
	CHECK(r == LLP_E_OK);
}

bool rig_last_is(const struct rig_side *s, uint32_t n, uint32_t seed)
{
	static uint8_t want[1 << 17];

	rig_fill(want, n, seed);
	return s->last.len == n && memcmp(s->data, want, n) == 0;
}

/* ---- raw sockets ---- */

int rig_raw(const char *local, uint16_t port, int type, uint32_t adaptation)
{
	struct sctp_setadaptation ind = {.ssb_adaptation_ind = adaptation};
	struct sctp_event e = {.se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
	struct sctp_initmsg init = {.sinit_num_ostreams = 16, .sinit_max_instreams = 16};
	struct timeval limit = {.tv_sec = RIG_WAIT_MS / 1000};
	struct sockaddr_storage a;
	int one = 1, fd;

	rig_address(local, port, &a);
	fd = socket(a.ss_family, type | SOCK_CLOEXEC, IPPROTO_SCTP);
	CHECK(fd >= 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0);
	CHECK(setsockopt(fd, SOL_SCTP, SCTP_INITMSG, &init, sizeof(init)) == 0);
	CHECK(setsockopt(fd, SOL_SCTP, SCTP_EVENT, &e, sizeof(e)) == 0);
	CHECK(setsockopt(fd, SOL_SCTP, SCTP_NODELAY, &one, sizeof(one)) == 0);
	if (adaptation)
		CHECK(setsockopt(fd, SOL_SCTP, SCTP_ADAPTATION_LAYER, &ind, sizeof(ind)) == 0);
	CHECK(bind(fd, (struct sockaddr *)&a, addr_len(&a)) == 0);
	return fd;
}

int rig_raw_connect(const char *local, uint16_t port, const char *to, uint32_t adaptation)
{
	int fd = rig_raw(local, port, SOCK_STREAM, adaptation);
	struct sockaddr_storage a;

	/* The kernel completes the setup; the transport accepts later. */
	rig_address(to, RIG_PORT, &a);
	CHECK(connect(fd, (struct sockaddr *)&a, addr_len(&a)) == 0);
	return fd;
}

void rig_shell(const char *command)
{
	int r = system(command);

	if (r)
		fprintf(stderr, "%s: %d\n", command, r);
	CHECK(r == 0);
}
