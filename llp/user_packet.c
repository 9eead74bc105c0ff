/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets and ICMP messages that arrive. */
#include "llp/user.h"

#include <errno.h>
#include <string.h>

#include "util/addr.h"
#include "util/be.h"
#include "util/crc32c.h"

enum {
	HEADER = 12,    /* common header: ports, verification tag, checksum */
	CHUNK = HEADER, /* type, flags, length */
	MIN_PACKET = HEADER + 4,
	INIT_TAG = CHUNK + 4,
	MIN_INIT = 20, /* length of the chunk without options */
	PARAMETER = 4, /* shortest option: type, length */
	FLAG_T = 1,    /* the tag is the one of the packet that is answered */
};

/* ---- packets ---- */

/* Replies to a packet without an association: one chunk without a body. */
static void answer(struct user *t, struct udp *sock, const struct sockaddr_storage *to,
		   const uint8_t *pkt, uint32_t tag, uint8_t type, uint8_t flags)
{
	struct udp_flow f = {.to = *to, .tolen = addr_len(to)};
	uint8_t out[MIN_PACKET] = {0};

	if (!t->replies_left)
		return;
	t->replies_left--;
	memcpy(out, pkt + 2, 2);
	memcpy(out + 2, pkt, 2);
	be_put32(out + 4, tag);
	out[CHUNK] = type;
	out[CHUNK + 1] = flags;
	be_put16(out + CHUNK + 2, 4);
	crc32c_seal(out, sizeof(out));
	udp_send(sock, &f, out, sizeof(out));
	udp_forget(sock, &f);
}

/* RFC 9260 section 8.4: a peer whose association did not survive our restart gets an ABORT. */
static void out_of_the_blue(struct user *t, struct udp *sock, const struct sockaddr_storage *from,
			    const uint8_t *p)
{
	uint32_t tag = be_get32(p + 4);

	switch (p[CHUNK]) {
	case SCTP_ABORT_ASSOCIATION:
	case SCTP_SHUTDOWN_COMPLETE:
	case SCTP_COOKIE_ECHO: /* its cookie has expired: the peer has to send a new INIT */
	case SCTP_COOKIE_ACK:
	case SCTP_OPERATION_ERROR:
		return;
	case SCTP_SHUTDOWN_ACK:
		answer(t, sock, from, p, tag, SCTP_SHUTDOWN_COMPLETE, FLAG_T);
		return;
	default:
		answer(t, sock, from, p, tag, SCTP_ABORT_ASSOCIATION, FLAG_T);
	}
}

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* usrsctp loops forever over the parameters of a second INIT if one has length 0. */
static bool parameters_ok(const uint8_t *p, size_t len)
{
	while (len >= PARAMETER) {
		size_t n = be_get16(p + 2);

		if (n < PARAMETER || n > len)
			return false;
		if (padded(n) >= len)
			return true;
		p += padded(n);
		len -= padded(n);
	}
	return len == 0;
}

static bool is_init(const uint8_t *p, size_t len)
{
	size_t chunk = be_get16(p + CHUNK + 2);

	/* An INIT is the only chunk, with tag 0 in the header and the new tag in the chunk. */
	return p[CHUNK] == SCTP_INITIATION && be_get32(p + 4) == 0 && chunk >= MIN_INIT &&
	       chunk <= len - HEADER && padded(chunk) >= len - HEADER &&
	       be_get32(p + INIT_TAG) != 0 && parameters_ok(p + CHUNK + MIN_INIT, chunk - MIN_INIT);
}

/* The peer that a valid packet came from, or NULL if the packet is done with. A new address is
 * added only for a packet that can start an association with a listener. */
static struct user_peer *sender(struct user_rx *rx, const struct sockaddr_storage *from,
				const uint8_t *p, size_t len)
{
	struct user *t = rx->user;
	struct user_peer *peer = llp_user_peer_find(t, rx->sock, from);

	if (p[CHUNK] == SCTP_INITIATION) {
		if (!is_init(p, len)) {
			t->bad_packets++;
			return NULL;
		}
		if (!llp_user_listener_find(t, rx->sock, be_get16(p + 2))) {
			answer(t, rx->sock, from, p, be_get32(p + INIT_TAG), SCTP_ABORT_ASSOCIATION,
			       0);
			return NULL;
		}
		if (!peer && llp_user_peer_get(t, rx->sock, from, &peer) < 0)
			return NULL;
		return peer;
	}
	if (!peer)
		out_of_the_blue(t, rx->sock, from, p);
	return peer;
}

void llp_user_packet(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len)
{
	struct user_rx *rx = arg;
	struct user *t = rx->user;
	struct user_peer *peer;

	if (len < MIN_PACKET || be_get16(p) == 0 || be_get16(p + 2) == 0) {
		t->bad_packets++;
		return;
	}
	if (!crc32c_check(p, len)) {
		t->bad_crc++;
		return;
	}
	peer = sender(rx, from, p, len);
	if (!peer)
		return;
	usrsctp_conninput(llp_user_peer_token(peer), p, len, 0);
	/* Before the next packet, which may have the association's first data. */
	if (t->accepting)
		llp_user_listener_accept(t);
}

/* ---- ICMP ---- */

static void shrink(struct user *t, struct user_peer *p, uint32_t mtu)
{
	if (mtu < USER_MIN_MTU)
		mtu = USER_MIN_MTU;
	if (mtu >= p->mtu)
		return;
	p->mtu = mtu;
	list_foreach (it, &t->sctp.conns) {
		struct user_conn *c = list_entry(it, struct user_conn, sctp.all);

		if (c->peer != p || !c->so)
			continue;
		llp_user_sock_limit(c->so, llp_user_peer_packet(p));
		llp_user_conn_measure(c);
	}
}

/* Ends only associations that are not up: later the message may be forged, or the failure pass. */
static void unreachable(struct user *t, const struct user_peer *p, int err)
{
	char text[ADDR_TEXT_MAX];

	addr_host_text(&p->flow.to, text);
	list_foreach (it, &t->sctp.conns) {
		struct user_conn *c = list_entry(it, struct user_conn, sctp.all);

		if (c->peer != p || c->sctp.state != LLP_SCTP_CONNECTING)
			continue;
		if (err == ECONNREFUSED)
			llp_sctp_end(&c->sctp, err, "nothing listens on UDP port %u of %s",
				     addr_port(&p->flow.to), text);
		else
			llp_sctp_end(&c->sctp, err, "%s: %s", text, strerror(err));
	}
}

void llp_user_icmp(void *arg, const struct sockaddr_storage *to, int err, uint32_t mtu)
{
	struct user_rx *rx = arg;
	struct user_peer *p = llp_user_peer_find(rx->user, rx->sock, to);

	if (!p || !p->conns)
		return;
	if (err == EMSGSIZE)
		shrink(rx->user, p, mtu);
	else
		unreachable(rx->user, p, err);
}
