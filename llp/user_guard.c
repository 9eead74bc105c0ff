/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel does for us in a flood. A socket has one queue: packets that we would refuse fill
 * it, and those of associations find no room. So while many are refused, a filter (classic BPF,
 * which needs no privilege) runs before the queue. It passes packets that come from the addresses
 * and UDP ports of associations and are no handshake, and a part of all others, chosen at random.
 * The part follows from how many are still refused. The filter goes when few are.
 */
#include "llp/user.h"

#include <linux/filter.h>

#include "util/addr.h"
#include "util/be.h"

enum {
	WINDOW_US = 20000,
	MANY = 1000, /* refused packets of a window: so many are affordable */
	FEW = MANY / 8,
	STEP = 4,
	KEYS = 256, /* peers that a filter can hold (net.core.optmem_max) */
	MIX = 0x9e3779b1,
	UDP_HEAD = 8,
	TAG = UDP_HEAD + 4,
	CHUNK = UDP_HEAD + 12,
	COOKIE_ECHO = 10,
	LENGTH = 32 + 2 * KEYS,
};

struct program {
	struct sock_filter f[LENGTH];
	unsigned short n;
};

/* What came since it was opened. */
static struct user_seen seen(const struct user *t)
{
	struct sctp_stats st;
	uint64_t refused;

	sctp_stats(t->core, &st);
	refused = st.over_budget + st.over_share + st.bad_crc + st.bad_packets;
	return (struct user_seen){st.rx_packets, refused, refused + st.admitted};
}

/* ---- the program ---- */

static void put(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	p->f[p->n++] = (struct sock_filter){code, jt, jf, k};
}

static void load(struct program *p, uint16_t size, uint32_t at)
{
	put(p, (uint16_t)(BPF_LD | BPF_ABS | size), at, 0, 0);
}

/* The source as one number, into M[0]: the words of the address and the port, mixed. */
static void put_source(struct program *p, bool v6)
{
	uint32_t at = (uint32_t)SKF_NET_OFF + (v6 ? 8 : 12);

	load(p, BPF_H, 0);
	put(p, BPF_ALU | BPF_MUL | BPF_K, MIX, 0, 0);
	for (unsigned i = 0; i < (v6 ? 4 : 1); i++) {
		put(p, BPF_MISC | BPF_TAX, 0, 0, 0);
		load(p, BPF_W, at + 4 * i);
		put(p, BPF_ALU | BPF_XOR | BPF_X, 0, 0, 0);
	}
	put(p, BPF_ST, 0, 0, 0);
}

static uint32_t source(const struct sctp_flow *f)
{
	uint32_t key = f->udp_port * (uint32_t)MIX;

	for (unsigned i = sctp_addr_is_v4(&f->peer) ? 12 : 0; i < 16; i += 4)
		key ^= be_get32(f->peer.ip + i);
	return key;
}

/* Passes a part of what gets here, of 2^32. */
static void put_chance(struct program *p, uint32_t part)
{
	load(p, BPF_W, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM));
	put(p, BPF_JMP | BPF_JGE | BPF_K, part, 0, 1);
	put(p, BPF_RET | BPF_K, 0, 0, 0);
	put(p, BPF_RET | BPF_K, UINT32_MAX, 0, 0);
}

/* Jumps over the next four instructions unless it is a handshake. */
static void put_is_handshake(struct program *p)
{
	load(p, BPF_W, TAG);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
	load(p, BPF_B, CHUNK);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, COOKIE_ECHO, 0, 4);
}

/* Passes the peers of all associations of the family. False: too many. */
static bool put_peers(struct program *p, const struct user *t, bool v6)
{
	put(p, BPF_LD | BPF_MEM, 0, 0, 0);
	list_foreach (it, &t->sctp.conns) {
		const struct user_conn *c = list_entry(it, struct user_conn, sctp.all);
		struct sctp_path_info path[SCTP_MAX_PATHS];
		unsigned n = c->assoc ? sctp_assoc_paths(c->assoc, path) : 0;

		for (unsigned i = 0; i < n; i++) {
			if (sctp_addr_is_v4(&path[i].flow.peer) == v6)
				continue;
			if (p->n + 8 > LENGTH)
				return false;
			put(p, BPF_JMP | BPF_JEQ | BPF_K, source(&path[i].flow), 0, 1);
			put(p, BPF_RET | BPF_K, UINT32_MAX, 0, 0);
		}
	}
	return true;
}

static bool make(struct program *p, const struct user *t, bool v6)
{
	p->n = 0;
	put_source(p, v6);
	put_is_handshake(p);
	put_chance(p, t->guard_part);
	if (!put_peers(p, t, v6))
		return false;
	put_chance(p, t->guard_part);
	return true;
}

/* ---- when ---- */

static void apply(struct user *t)
{
	struct program p;

	for (unsigned i = 0; i < t->nsocks; i++) {
		bool v6 = udp_local(t->sock[i])->ss_family == AF_INET6;

		if (t->guard_part != USER_GUARD_OFF && make(&p, t, v6))
			udp_filter(t->sock[i], p.f, p.n);
		else
			udp_filter(t->sock[i], NULL, 0);
	}
}

static bool crowded(const struct user *t)
{
	for (unsigned i = 0; i < t->nsocks; i++)
		if (udp_crowded(t->sock[i]))
			return true;
	return false;
}

/* The part to pass, after a window in which `n` came. When we get no time to read, few are refused,
 * but the queue is crowded, and most of what is in it is of unknown peers. */
static uint32_t next_part(const struct user *t, const struct user_seen *n)
{
	uint32_t part = t->guard_part, least = USER_GUARD_OFF >> 10;
	bool full = n->unknown > n->all / 4 && crowded(t);

	if (n->refused > MANY)
		part = (uint32_t)(part * (uint64_t)MANY / n->refused);
	else if (full)
		part /= STEP;
	else if (n->refused < FEW)
		part = part > USER_GUARD_OFF / STEP ? USER_GUARD_OFF : STEP * part;
	return part > least ? part : least;
}

void llp_user_guard(struct user *t)
{
	bool was_on = t->guard_part != USER_GUARD_OFF;
	struct user_seen now, n;

	if (t->now_us < t->guard_us)
		return;
	now = n = seen(t);
	n.all -= t->guard_seen.all;
	n.unknown -= t->guard_seen.unknown;
	n.refused -= t->guard_seen.refused;
	n.refused = n.refused * WINDOW_US / (t->now_us - t->guard_us + WINDOW_US);
	t->guard_us = t->now_us + WINDOW_US;
	t->guard_seen = now;
	t->guard_part = next_part(t, &n);
	if (was_on || t->guard_part != USER_GUARD_OFF)
		apply(t);
}
