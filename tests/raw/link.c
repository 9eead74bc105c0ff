/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llp/common/llp.h"
#include "tests/lib/llp_one.h"
#include "tests/raw/stage.h"
#include "util/be.h"

enum { UDP_PORT = 9899, MTU = 1500, BUFFER = 1 << 20, LINKS = 8 };

struct got {
	struct got *next;
	uint16_t sid;
	struct raw_msg m;
};

struct link {
	struct llp_conn *c;
	bool up, down, paused, fresh, busy;
	char reason[256];
	uint16_t tx[LINK_STREAMS], rx[LINK_STREAMS];
	bool terminated[LINK_STREAMS];
	struct got *first, **last;
};

static struct llp *llp;
static struct link *links[LINKS];
static unsigned nlinks;

/* ---- upcalls ---- */

static struct link *link_new(void)
{
	struct link *l = calloc(1, sizeof(*l));

	EXPECT(l && nlinks < LINKS, "too many associations");
	l->last = &l->first;
	links[nlinks++] = l;
	return l;
}

static void *on_incoming(void *user, struct llp_conn *c)
{
	struct link *l = link_new();

	(void)user;
	l->c = c;
	l->up = l->fresh = true;
	return l;
}

static void on_up(void *user)
{
	((struct link *)user)->up = true;
}

static void on_down(void *user, int err, const char *reason)
{
	struct link *l = user;

	l->down = true;
	snprintf(l->reason, sizeof(l->reason), "%d: %s", err, reason);
}

static void keep(struct link *l, const struct llp_msg *m)
{
	struct got *g = malloc(sizeof(*g));

	EXPECT(g && m->len <= RAW_MAX, "a message of %u bytes came", m->len);
	EXPECT(!m->ordered, "stream %u: a message without the U bit came", m->sid);
	*g = (struct got){.sid = m->sid, .m.ppid = m->ppid};
	for (unsigned i = 0; i < m->n; i++)
		raw_put(&g->m, m->part[i].p, m->part[i].len);
	*l->last = g;
	l->last = &g->next;
}

static bool on_readable(void *user)
{
	struct link *l = user;
	struct llp_msg m;

	while (!l->paused && llp_recv(l->c, &m) == LLP_E_OK)
		keep(l, &m);
	return l->paused;
}

static void on_writable(void *user)
{
	(void)user;
}

static void on_acked(void *user)
{
	((struct link *)user)->busy = false;
}

static const struct llp_events events = {on_incoming, on_up, on_down, on_readable, on_writable,
					 on_acked,    NULL,  NULL,    NULL};

/* ---- the transport ---- */

static void address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *a = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	a->sin_family = AF_INET;
	a->sin_port = htons(port);
	EXPECT(inet_pton(AF_INET, text, &a->sin_addr) == 1, "%s is not an address", text);
}

static void open_llp(void)
{
	struct sockaddr_storage a;
	char reason[256] = "";
	struct llp_config cfg = {
		.addrs = &a,
		.naddrs = 1,
		.udp_port = UDP_PORT,
		.streams = LINK_STREAMS,
		.adaptation = 1,
		.buffer = BUFFER,
		.mtu = MTU,
		.gso = LLP_GSO_OFF,
		.sack_packets = 1,
		.sack_ms = 10,
		.rto_min_ms = 200,
		.rto_max_ms = 1000,
		.path_max_retrans = 5,
		.init_ms = STAGE_WAIT_MS,
	};

	if (llp)
		return;
	address(stage.addr, 0, &a);
	EXPECT(llp_user_open(&cfg, &events, &llp, reason, sizeof(reason)) == 0, "transport: %s",
	       reason);
	llp_tick(llp, stage_now_ms());
}

void link_turn(int fd)
{
	struct pollfd p[LLP_MAX_FDS + 1];
	int fds[LLP_MAX_FDS];
	unsigned n = 0;
	uint64_t now = stage_now_ms(), next = now + 20, expiry;

	if (llp) {
		llp_flush(llp);
		n = llp_fds(llp, fds);
		expiry = llp_expiry_us(llp);
		next = expiry / 1000 < next ? (expiry + 999) / 1000 : next;
	}
	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	p[n] = (struct pollfd){.fd = fd, .events = POLLIN};
	(void)poll(p, n + 1, next <= now ? 0 : (int)(next - now));
	if (llp) {
		llp_input(llp, 256);
		llp_tick(llp, stage_now_ms());
		llp_flush(llp);
	}
}

struct link *link_to(const char *addr, uint16_t port)
{
	struct sockaddr_storage a;
	struct link *l;

	open_llp();
	l = link_new();
	address(addr, port, &a);
	EXPECT(llp_connect(llp, (struct sockaddr *)&a, l, &l->c) == 0, "connect to %s", addr);
	UNTIL(l->up || l->down, -1, "the association");
	EXPECT(l->up, "no association: %s", l->reason);
	return l;
}

void link_listen(uint16_t port)
{
	static struct llp_listener *listener;

	open_llp();
	EXPECT(llp_listen(llp, NULL, port, NULL, &listener) == 0, "listen at port %u", port);
}

static struct link *fresh(void)
{
	for (unsigned i = 0; i < nlinks; i++) {
		if (links[i]->fresh) {
			links[i]->fresh = false;
			return links[i];
		}
	}
	return NULL;
}

struct link *link_from(void)
{
	struct link *l = NULL;

	UNTIL((l = fresh()) != NULL, -1, "an association of the daemon");
	return l;
}

void link_shutdown(struct link *l)
{
	llp_shutdown(l->c);
}

void link_abort(struct link *l)
{
	llp_abort(l->c, "a test");
	l->down = true;
}

bool link_down(const struct link *l)
{
	return l->down;
}

void link_close_all(void)
{
	llp = llp_close(llp);
}

void link_wait_acked(struct link *l)
{
	UNTIL(!l->busy || l->down, -1, "acknowledgments");
}

void link_pause(struct link *l, bool paused)
{
	l->paused = paused;
}

/* ---- sending ---- */

void link_send_bytes(struct link *l, uint16_t sid, uint32_t ppid, const void *p, uint32_t n)
{
	struct llp_msg m = {.sid = sid, .ppid = ppid, .len = n, .urgent = true, .n = 1};
	int r;

	m.part[0] = (struct span){(uint8_t *)(uintptr_t)p, n};
	l->busy = true;
	UNTIL((r = llp_send(l->c, &m)) != LLP_E_AGAIN, -1, "room to send");
	EXPECT(r == LLP_E_OK, "stream %u: sending %u bytes: %d: %s", sid, n, r, l->reason);
}

void link_send_as(struct link *l, uint16_t sid, uint16_t ssn, const struct raw_msg *m)
{
	struct raw_msg out = *m;

	be_put16(out.b, ssn);
	link_send_bytes(l, sid, out.ppid, out.b, out.len);
}

void link_send(struct link *l, uint16_t sid, const struct raw_msg *m)
{
	link_send_as(l, sid, l->tx[sid]++, m);
}

uint16_t link_next(const struct link *l, uint16_t sid)
{
	return l->tx[sid];
}

void link_skip(struct link *l, uint16_t sid, uint16_t n)
{
	l->tx[sid] = (uint16_t)(l->tx[sid] + n);
}

/* ---- receiving ---- */

static bool find(struct link *l, uint16_t sid, uint16_t ssn, struct raw_msg *ret)
{
	for (struct got **p = &l->first; *p; p = &(*p)->next) {
		struct got *g = *p;

		if (g->sid != sid || g->m.len < RAW_HOP || be_get16(g->m.b) != ssn)
			continue;
		*ret = g->m;
		*p = g->next;
		if (!*p)
			l->last = p;
		free(g);
		return true;
	}
	return false;
}

struct raw_msg link_take(struct link *l, uint16_t sid)
{
	char what[64];
	struct raw_msg m;

	snprintf(what, sizeof(what), "DDP-SSN %u of stream %u", l->rx[sid], sid);
	UNTIL(find(l, sid, l->rx[sid], &m), -1, what);
	l->rx[sid]++;
	EXPECT(m.ppid == RAW_SEGMENT || m.ppid == RAW_CONTROL, "PPID %u", m.ppid);
	if (m.ppid == RAW_SEGMENT) {
		EXPECT(!l->terminated[sid], "stream %u: a segment after the Terminate", sid);
		l->terminated[sid] = raw_opcode(&m) == 7;
	}
	return m;
}

void link_expect(struct link *l, uint16_t sid, const struct raw_msg *want, const char *what)
{
	uint16_t ssn = l->rx[sid];
	struct raw_msg m = link_take(l, sid), w = *want;

	if (raw_same(&m, want))
		return;
	be_put16(w.b, ssn);
	printf("stream %u: expected %s, PPID %u:\n", sid, what, w.ppid);
	stage_hex("expected", w.b, w.len);
	printf("  PPID %u came:\n", m.ppid);
	stage_hex("came", m.b, m.len);
	stage_fail("not %s", what);
}

uint16_t link_new_stream(struct link *l)
{
	UNTIL(l->first, -1, "a message of the daemon");
	return l->first->sid;
}

unsigned link_waiting(const struct link *l, uint16_t sid)
{
	unsigned n = 0;

	for (const struct got *g = l->first; g; g = g->next)
		n += g->sid == sid;
	return n;
}

void link_begin(struct link *l, uint16_t sid, bool by_peer)
{
	EXPECT(link_waiting(l, sid) == by_peer, "stream %u: messages left of the last session",
	       sid);
	l->tx[sid] = l->rx[sid] = 0;
	l->terminated[sid] = false;
}

void link_nothing_left(const struct link *l)
{
	EXPECT(!l->first, "unexpected messages");
}

void link_dump(void)
{
	char title[64];

	for (unsigned i = 0; i < nlinks; i++) {
		if (links[i]->down)
			printf("  association %u is down: %s\n", i, links[i]->reason);
		for (const struct got *g = links[i]->first; g; g = g->next) {
			snprintf(title, sizeof(title), "left: stream %u, PPID %u", g->sid,
				 g->m.ppid);
			stage_hex(title, g->m.b, g->m.len);
		}
	}
}
