/* SPDX-License-Identifier: BSD-2-Clause */
/* The tap: a function sees the packets that are received and sent. */
#include "llp/user/user.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "util/addr.h"

/* RFC 9260 section 3: the fields of a packet that the tap reads. */
enum {
	COMMON_HEADER = 12,
	CHUNK_HEADER = 4,
	CHUNK_DATA = 0,
	SID_OFFSET = 8, /* of the stream in a DATA chunk */
};

enum { TAP_SPANS = SCTP_BATCH_SPANS };

int llp_user_set_tap(struct llp *llp, const struct llp_tap *tap)
{
	struct user *t = (struct user *)llp;
	struct user_tap new = {0};
	struct sctp_info info;

	if (!tap) {
		t->tap = new;
		return 0;
	}
	new.tap = *tap;
	if (tap->only) {
		const struct user_conn *c = (const struct user_conn *)tap->only;

		if (!c->assoc)
			return -ENOTCONN;
		sctp_assoc_info(c->assoc, &info);
		if (!info.peer_tag)
			return -ENOTCONN;
		new.tag[0] = info.tag;
		new.tag[1] = info.peer_tag;
		new.tap.only = NULL; /* the association may end before the tap */
		new.one = true;
	}
	new.on = true;
	t->tap = new;
	return 0;
}

/* Some bytes of a packet. False: it is shorter. */
static bool bytes_at(const struct llp_packet *p, size_t at, void *ret, size_t len)
{
	struct span dst = {ret, len};

	return span_copy(&dst, 1, p->part, p->n, at, len) == len;
}

/* The packet has a DATA chunk of that stream. */
static bool has_stream(const struct llp_packet *p, uint16_t stream)
{
	uint8_t head[SID_OFFSET + 2];

	for (size_t at = COMMON_HEADER; bytes_at(p, at, head, CHUNK_HEADER);) {
		size_t len = (size_t)head[2] << 8 | head[3];

		if (len < CHUNK_HEADER)
			return false;
		if (head[0] == CHUNK_DATA && bytes_at(p, at, head, sizeof(head)) &&
		    (head[SID_OFFSET] << 8 | head[SID_OFFSET + 1]) == stream)
			return true;
		at += (len + 3) & ~(size_t)3;
	}
	return false;
}

/* Tags are random, so the tag identifies the association. An ABORT may have the other side's. */
static bool wanted(const struct user_tap *tap, const struct llp_packet *p)
{
	uint32_t tag;

	if (!tap->one)
		return true;
	if (!bytes_at(p, 4, &tag, sizeof(tag)))
		return false;
	tag = ntohl(tag);
	if (tag != tap->tag[0] && tag != tap->tag[1])
		return false;
	return !tap->tap.one_stream || has_stream(p, tap->tap.stream);
}

void llp_user_tap(struct user *t, const struct sctp_flow *flow, bool out, const struct span *part,
		  unsigned n, size_t segment)
{
	struct llp_packet p = {.local = *udp_local(llp_user_sock(t, flow)), .out = out};
	struct span own[TAP_SPANS];
	size_t done = 0; /* bytes of part[0] that earlier packets had */

	llp_user_sockaddr(&flow->peer, flow->udp_port, &p.remote);
	p.part = own;
	while (n > 0) {
		size_t len = 0;

		for (p.n = 0; n > 0 && len < segment && p.n < TAP_SPANS; p.n++) {
			size_t rest = part->len - done, take = segment - len;

			if (take > rest)
				take = rest;
			own[p.n] = (struct span){part->p + done, take};
			len += take;
			done = take < rest ? done + take : 0;
			part += take == rest;
			n -= take == rest;
		}
		if (wanted(&t->tap, &p))
			t->tap.tap.fn(t->tap.tap.arg, &p);
	}
}
