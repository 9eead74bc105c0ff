/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter in the kernel against floods. A socket has one queue: packets that we would refuse fill
 * it, and there is no room left for those of associations. So while many packets arrive without the
 * right tag of an association, a filter (classic BPF, which needs no privilege) runs before the
 * queue. It passes packets with the address, the UDP port and the tag of an association, and a
 * random part of INITs, of COOKIE ECHOs and of all others. Each part depends on the number of
 * packets of its kind that still pass, so a flood of one kind does not keep out the others. The
 * filter is removed when few arrive.
 */
#include "llp/user/user.h"

#include <linux/filter.h>
#include <string.h>

#include "util/addr.h"
#include "util/be.h"
#include "util/minmax.h"

enum {
	WINDOW_US = 20000,
	AGAIN_US = 200000,
	STEP = 4,
	KEYS = 256, /* associations' paths that a filter can hold (net.core.optmem_max) */
	MIX = 0x9e3779b1,
	UDP_HEAD = 8,
	TAG = UDP_HEAD + 4,
	CHUNK = UDP_HEAD + 12,
	INIT = 1,
	COOKIE_ECHO = 10,
	CHANCE = 4, /* instructions of put_chance() */
	LENGTH = 32 + 2 * KEYS,
};

#define ALL UINT32_MAX

/* Packets of a kind in a window: a filter begins above `many`, and lets about `goal` pass. Each
 * costs 2 to 10 microseconds. INITs and COOKIE ECHOs below `many` are a burst of programs that
 * begin. */
static const struct limit {
	uint32_t many, goal;
} limits[USER_UNKNOWN] = {
	[USER_INIT] = {400, 100},
	[USER_COOKIE_ECHO] = {400, 100},
	[USER_STRAY] = {400, 40},
};

struct program {
	struct sock_filter f[LENGTH];
	unsigned short n;
};

/* Packets received since the transport was opened. */
static struct user_seen seen(const struct user *t)
{
	struct sctp_stats st;

	sctp_stats(t->core, &st);
	return (struct user_seen){st.rx_packets, {st.inits, st.cookie_echos, st.strays}};
}

/* ---- the program ---- */

static void put_insn(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	p->f[p->n++] = (struct sock_filter){code, jt, jf, k};
}

static void load(struct program *p, uint16_t size, uint32_t at)
{
	put_insn(p, (uint16_t)(BPF_LD | BPF_ABS | size), at, 0, 0);
}

static void put_mix(struct program *p, uint32_t at)
{
	put_insn(p, BPF_MISC | BPF_TAX, 0, 0, 0);
	load(p, BPF_W, at);
	put_insn(p, BPF_ALU | BPF_XOR | BPF_X, 0, 0, 0);
}

/* Source and tag as one number: the words of the address, the port and the tag, mixed. */
static void put_key(struct program *p, bool v6)
{
	uint32_t at = (uint32_t)SKF_NET_OFF + (v6 ? 8 : 12);

	load(p, BPF_H, 0);
	put_insn(p, BPF_ALU | BPF_MUL | BPF_K, MIX, 0, 0);
	for (unsigned i = 0; i < (v6 ? 4 : 1); i++)
		put_mix(p, at + 4 * i);
	put_mix(p, TAG);
}

static uint32_t key(const struct sctp_flow *f, uint32_t tag)
{
	uint32_t key = f->udp_port * (uint32_t)MIX ^ tag;

	for (unsigned i = sctp_addr_is_v4(&f->peer) ? 12 : 0; i < 16; i += 4)
		key ^= be_get32(f->peer.ip + i);
	return key;
}

/* Passes packets with this key. False: no room. */
static bool put_peer(struct program *p, uint32_t k)
{
	if (p->n + 32U > LENGTH)
		return false;
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
	put_insn(p, BPF_RET | BPF_K, ALL, 0, 0);
	return true;
}

/* Passes the peers of all associations of the family. False: too many. */
static bool put_peers(struct program *p, const struct user *t, bool v6)
{
	list_foreach (it, &t->sctp.conns) {
		const struct user_conn *c = list_entry(it, struct user_conn, sctp.all);
		struct sctp_path_info path[SCTP_MAX_PATHS];
		unsigned n = c->assoc ? sctp_assoc_paths(c->assoc, path) : 0;
		struct sctp_info info;

		if (n)
			sctp_assoc_info(c->assoc, &info);
		for (unsigned i = 0; i < n; i++)
			if (sctp_addr_is_v4(&path[i].flow.peer) != v6 && !path[i].flow.covered &&
			    !put_peer(p, key(&path[i].flow, info.tag)))
				return false;
	}
	return true;
}

/* Passes a random part, of 2^32, of the packets that reach this instruction. */
static void put_chance(struct program *p, uint32_t part)
{
	load(p, BPF_W, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM));
	put_insn(p, BPF_JMP | BPF_JGE | BPF_K, part, 0, 1);
	put_insn(p, BPF_RET | BPF_K, 0, 0, 0);
	put_insn(p, BPF_RET | BPF_K, ALL, 0, 0);
}

/* A repeated or replayed COOKIE ECHO has the right tag. */
static void put_cookie_echos(struct program *p, uint32_t part)
{
	load(p, BPF_B, CHUNK);
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, COOKIE_ECHO, 0, CHANCE);
	put_chance(p, part);
}

static void put_unknown(struct program *p, const uint32_t part[USER_UNKNOWN])
{
	load(p, BPF_B, CHUNK);
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, INIT, 0, 2);
	load(p, BPF_W, TAG);
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, 0, CHANCE, 0);
	put_chance(p, part[USER_STRAY]);
	put_chance(p, part[USER_INIT]);
}

static bool make_filter(struct program *p, const struct user *t, bool v6)
{
	p->n = 0;
	put_cookie_echos(p, t->guard.part[USER_COOKIE_ECHO]);
	put_key(p, v6);
	if (!put_peers(p, t, v6))
		return false;
	put_unknown(p, t->guard.part);
	return true;
}

/* ---- when ---- */

static void attach_filters(struct user *t)
{
	struct program p;

	t->guard.stale = false;
	t->guard.again_us = t->now_us + AGAIN_US;
	memcpy(t->guard.applied, t->guard.part, sizeof(t->guard.part));
	for (unsigned i = 0; i < t->naddrs; i++) {
		struct udp *u = t->sock[USER_CLEAR][i].udp;
		bool v6 = udp_local(u)->ss_family == AF_INET6;

		if (t->guard.on && make_filter(&p, t, v6))
			udp_filter(u, p.f, p.n);
		else
			udp_filter(u, NULL, 0);
	}
}

/* To attach a filter costs as much as a hundred packets, and the parts change a little in each
 * window. */
static bool outdated(const struct user *t)
{
	const struct user_guard *g = &t->guard;

	if (g->stale)
		return true;
	for (unsigned i = 0; i < USER_UNKNOWN; i++)
		if (g->part[i] / 2 > g->applied[i] || g->applied[i] / 2 > g->part[i])
			return true;
	return t->now_us >= g->again_us && memcmp(g->part, g->applied, sizeof(g->part)) != 0;
}

static bool crowded(const struct user *t)
{
	for (unsigned i = 0; i < t->naddrs; i++)
		if (udp_crowded(t->sock[USER_CLEAR][i].udp))
			return true;
	return false;
}

/* The part to pass, after a window in which n packets were read. When we get no time to read, n is
 * small, but the queue is crowded, and many of its packets are from unknown peers. */
static uint32_t next_part(uint32_t part, const struct limit *l, uint64_t n, bool many_in_queue)
{
	uint32_t least = ALL >> 10, most = part == ALL ? l->many : 2 * l->goal;

	if (n > most)
		part = (uint32_t)(part * (uint64_t)l->goal / n);
	else if (many_in_queue)
		part /= STEP;
	else if (n < l->goal / 2)
		part = part > ALL / STEP ? ALL : STEP * part;
	return max_u32(part, least);
}

void llp_user_guard_init(struct user *t)
{
	for (unsigned i = 0; i < USER_UNKNOWN; i++)
		t->guard.part[i] = ALL;
}

/* Sets the parts after a window that lasted that long. */
static void judge_window(struct user *t, uint64_t us)
{
	struct user_guard *g = &t->guard;
	struct user_seen now = seen(t);

	g->on = false;
	for (unsigned i = 0; i < USER_UNKNOWN; i++) {
		uint64_t n = now.unknown[i] - g->seen.unknown[i];
		bool in_queue = n > (now.all - g->seen.all) / 8 && crowded(t);

		g->part[i] = next_part(g->part[i], &limits[i], n * WINDOW_US / us, in_queue);
		g->on |= g->part[i] != ALL;
	}
	g->seen = now;
}

void llp_user_guard(struct user *t)
{
	struct user_guard *g = &t->guard;
	bool was_on = g->on;

	if (t->now_us >= g->due_us) {
		judge_window(t, t->now_us - g->due_us + WINDOW_US);
		g->due_us = t->now_us + WINDOW_US;
	}
	if (was_on != g->on || (g->on && outdated(t)))
		attach_filters(t);
}
