/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs (classic BPF, which needs no privilege) that the kernel runs on packets before they
 * enter the queue of a socket, in a flood.
 *
 * In clear text a program passes packets with the address, the UDP port and the tag of an
 * association, and a random part of INITs, of COOKIE ECHOs and of all others. In DTLS it passes
 * sealed records from the address and port of a link that is up, everything from those of a
 * handshake, and a random part of hellos, of other datagrams in clear text and of records of links
 * that we do not have. llp/dtls/dtls_input.c counts by the same bytes.
 */
#include <linux/filter.h>

#include "llp/user/user.h"
#include "util/addr.h"
#include "util/be.h"

enum {
	KEYS = 256,     /* peers that a program can hold (net.core.optmem_max) */
	BEGINNING = 64, /* of these, peers in a handshake of DTLS */
	MIX = 0x9e3779b1,
	UDP_HEAD = 8,
	TAG = UDP_HEAD + 4,
	CHUNK = UDP_HEAD + 12,
	INIT = 1,
	COOKIE_ECHO = 10,
	TYPE = UDP_HEAD, /* of a record */
	EPOCH = UDP_HEAD + 3,
	MESSAGE = UDP_HEAD + 13, /* type of the first message of a handshake */
	HANDSHAKE = 22,
	CLIENT_HELLO = 1,
	CHANCE = 4, /* instructions of put_chance() */
	PEER = 2,   /* and of put_peer() */
	REST = 64,  /* and of all that is not put_peer(): at most 50 */
	LENGTH = REST + PEER * KEYS,
};

#define ALL UINT32_MAX

struct program {
	struct sock_filter f[LENGTH];
	unsigned short n;
	unsigned keys;
};

static void put_insn(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	p->f[p->n++] = (struct sock_filter){code, jt, jf, k};
}

static void load(struct program *p, uint16_t size, uint32_t at)
{
	put_insn(p, (uint16_t)(BPF_LD | BPF_ABS | size), at, 0, 0);
}

/* ---- peers ---- */

static void put_mix(struct program *p, uint32_t at)
{
	put_insn(p, BPF_MISC | BPF_TAX, 0, 0, 0);
	load(p, BPF_W, at);
	put_insn(p, BPF_ALU | BPF_XOR | BPF_X, 0, 0, 0);
}

/* The source as one number: the words of the address and the port, mixed. */
static void put_source(struct program *p, bool v6)
{
	uint32_t at = (uint32_t)SKF_NET_OFF + (v6 ? 8 : 12);

	load(p, BPF_H, 0);
	put_insn(p, BPF_ALU | BPF_MUL | BPF_K, MIX, 0, 0);
	for (unsigned i = 0; i < (v6 ? 4 : 1); i++)
		put_mix(p, at + 4 * i);
}

static uint32_t source(const struct sctp_addr *peer, uint16_t udp_port)
{
	uint32_t key = udp_port * (uint32_t)MIX;

	for (unsigned i = sctp_addr_is_v4(peer) ? 12 : 0; i < 16; i += 4)
		key ^= be_get32(peer->ip + i);
	return key;
}

/* Passes packets with this key. False: no room. */
static bool put_peer(struct program *p, uint32_t k)
{
	if (p->keys == KEYS)
		return false;
	p->keys++;
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
	put_insn(p, BPF_RET | BPF_K, ALL, 0, 0);
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

/* ---- clear text ---- */

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
		for (unsigned i = 0; i < n; i++) {
			const struct sctp_flow *f = &path[i].flow;

			if (sctp_addr_is_v4(&f->peer) != v6 && !f->covered &&
			    !put_peer(p, source(&f->peer, f->udp_port) ^ info.tag))
				return false;
		}
	}
	return true;
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

static bool make_clear(struct program *p, const struct user *t, bool v6)
{
	const uint32_t *part = t->guard[USER_CLEAR].part;

	put_cookie_echos(p, part[USER_COOKIE_ECHO]);
	put_source(p, v6);
	put_mix(p, TAG);
	if (!put_peers(p, t, v6))
		return false;
	put_unknown(p, part);
	return true;
}

/* ---- DTLS ---- */

/* The links of a family. */
struct links {
	struct program *p;
	bool v6;
	unsigned room;
};

static bool put_link(void *arg, const struct sctp_addr *peer, uint16_t udp_port)
{
	struct links *l = arg;

	if (sctp_addr_is_v4(peer) == l->v6)
		return true;
	return l->room-- > 0 && put_peer(l->p, source(peer, udp_port));
}

/* Records that are sealed. One of an unknown link costs little: if there are too many links
 * for a program, all pass. */
static void put_sealed(struct program *p, const struct user *t, bool v6)
{
	struct links l = {p, v6, KEYS - BEGINNING};
	unsigned short before = p->n;

	put_source(p, v6);
	if (llp_user_cover_links(t, put_link, &l))
		return;
	p->n = before;
	p->keys = 0;
	put_insn(p, BPF_RET | BPF_K, ALL, 0, 0);
}

/* Peers without room here have to be lucky. The last message of a handshake is sealed. */
static void put_handshakes(struct program *p, const struct user *t, bool v6)
{
	struct links l = {p, v6, BEGINNING};

	put_source(p, v6);
	(void)llp_user_cover_handshakes(t, put_link, &l);
}

static void put_others(struct program *p, const uint32_t *part)
{
	load(p, BPF_H, EPOCH);
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, 0, CHANCE, 0);
	put_chance(p, part[USER_RECORD]);
	load(p, BPF_B, TYPE);
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, HANDSHAKE, 0, 2);
	load(p, BPF_B, MESSAGE);
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, CLIENT_HELLO, CHANCE, 0);
	put_chance(p, part[USER_FLIGHT]);
	put_chance(p, part[USER_HELLO]);
}

static bool make_covered(struct program *p, const struct user *t, bool v6)
{
	unsigned short jump;

	load(p, BPF_H, EPOCH);
	put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
	jump = p->n;
	put_insn(p, BPF_JMP | BPF_JA, 0, 0, 0);
	put_sealed(p, t, v6);
	p->f[jump].k = (uint32_t)(p->n - jump - 1);
	put_handshakes(p, t, v6);
	put_others(p, t->guard[USER_COVERED].part);
	return true;
}

/* ---- both ---- */

void llp_user_filter(const struct user *t, unsigned cover, unsigned i)
{
	static bool (*const make[])(struct program * p, const struct user *t, bool v6) = {
		[USER_CLEAR] = make_clear, [USER_COVERED] = make_covered};
	struct udp *u = t->sock[cover][i].udp;
	struct program p;

	p.n = 0;
	p.keys = 0;
	if (t->guard[cover].on && make[cover](&p, t, udp_local(u)->ss_family == AF_INET6))
		udp_filter(u, p.f, p.n);
	else
		udp_filter(u, NULL, 0);
}
