/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/datapath.h"

#include <limits.h>
#include <string.h>

/* RFC 5043 9: room that is left in the packet, so that a SACK fits beside the DDP segment. */
enum { CONTROL_MARGIN = 16, RESERVED = WIRE_SSN_LEN + CONTROL_MARGIN };

/* Segments after which the windows of streams are compared with those that were acknowledged. */
enum { CHECK_EVERY = 4096 };

bool dp_update_mulpdu(struct datapath *dp)
{
	struct llp_info info;
	uint32_t max;

	llp_info(dp->conn, &info);
	max = info.max_message > RESERVED ? info.max_message - RESERVED : 0;
	if (max > WIRE_MULPDU_MAX)
		max = WIRE_MULPDU_MAX;
	if (max < WIRE_MULPDU_MIN)
		max = WIRE_MULPDU_MIN;
	if (max == dp->mulpdu)
		return false;
	dp->mulpdu = max;
	return true;
}

/* So that segments of long messages fill packets. */
static void tell_room(struct datapath *dp)
{
	uint32_t room = llp_room(dp->conn);

	if (room != LLP_ROOM_UNKNOWN)
		assoc_set_room(dp->ddp, room > RESERVED ? room - RESERVED : 0);
}

static void message_of(const struct assoc_seg *seg, struct llp_msg *ret)
{
	ret->sid = seg->sid;
	ret->ppid = seg->ppid;
	ret->len = seg->len;
	ret->urgent = seg->urgent;
	ret->part[0] = (struct span){(uint8_t *)seg->head, seg->head_len};
	span_copy_list(ret->part + 1, seg->body, seg->nbody);
	ret->n = 1 + seg->nbody;
}

static void check_windows(struct datapath *dp)
{
	uint32_t unacked = llp_unacked(dp->conn);

	if (unacked != LLP_UNACKED_UNKNOWN)
		assoc_tx_check(dp->ddp, unacked);
}

/* More is in flight than a stream may have: from now on each acknowledgment counts. */
static void follow_acks(struct datapath *dp)
{
	if (assoc_tx_full(dp->ddp))
		llp_report_acks(dp->conn);
}

/* share: whose segment; NULL: that of any stream. */
static inline enum dp_sent send_segment(struct datapath *dp, struct assoc_share *share,
					uint32_t *ret_len)
{
	struct assoc_seg seg;
	struct llp_msg msg;
	bool over;
	int r;

	/* 1. The next segment: streams take turns; a stream without current work takes some from
	 * its client's ring. The segment has headers and points to the payload. */
	tell_room(dp);
	if (!(share ? assoc_tx_next_of(share, dp->mulpdu, &seg)
		    : assoc_tx_next(dp->ddp, dp->mulpdu, &seg))) {
		follow_acks(dp);
		return DP_EMPTY;
	}

	/* 2. To the transport, as one unordered message. */
	message_of(&seg, &msg);
	*ret_len = seg.len;
	r = llp_send(dp->conn, &msg);
	if (r == LLP_E_TOO_LONG && dp_update_mulpdu(dp))
		return DP_SENT; /* no, but the next one fits */
	dp->broken = r < 0 || r == LLP_E_TOO_LONG;
	if (r != LLP_E_OK)
		return DP_FULL; /* writable() or down() follows */

	/* 3. The transport has it: the DDP-SSN is used up, and with its last segment the message is
	 * sent. */
	over = assoc_tx_accepted(dp->ddp);
	if (++dp->sent % CHECK_EVERY == 0)
		check_windows(dp);
	return over ? DP_OVER : DP_SENT;
}

bool dp_tx(struct datapath *dp, unsigned budget)
{
	uint32_t len;

	while (budget-- > 0)
		if (send_segment(dp, NULL, &len) > DP_OVER)
			return false;
	return true;
}

enum dp_sent dp_tx_turn(struct datapath *dp, struct assoc_share *share, int64_t *budget)
{
	enum dp_sent r = DP_SENT;

	while (r == DP_SENT && *budget > 0) {
		uint32_t len = 0;

		r = send_segment(dp, share, &len);
		*budget -= len + DP_EACH;
	}
	return r;
}

static void examine(struct datapath *dp, const struct assoc_msg *in, const struct span *src,
		    unsigned nsrc)
{
	struct assoc_place place;

	/* 2. Check window, headers, STag or queue, and bounds: the result is a placement target or
	 * none. */
	if (assoc_rx(dp->ddp, in, &place) == ASSOC_RX_PLACE) {
		/* 3. Placement: copy the bytes, in whatever order segments arrive. */
		span_copy(place.dst, place.ndst, src, nsrc, place.skip, place.len);
		if (dp->on_placed)
			dp->on_placed(dp->user, place.dst, place.ndst);
	}

	/* 4. Delivery of all messages that are now complete and in order. */
	assoc_rx_placed(dp->ddp);
}

/* 5. Messages that waited for their session's Accept, for a receive, or for their turn. */
static unsigned examine_early(struct datapath *dp, unsigned budget)
{
	struct assoc_msg in;

	while (budget > 0 && assoc_rx_early(dp->ddp, &in)) {
		struct span whole = {(uint8_t *)in.head, in.head_len};

		examine(dp, &in, &whole, 1);
		budget--;
	}
	return budget;
}

bool dp_rx(struct datapath *dp, unsigned budget)
{
	struct llp_msg msg;

	while (budget-- > 0) {
		struct assoc_msg in;

		/* 1. One message from the transport. */
		if (llp_recv(dp->conn, &msg) != LLP_E_OK)
			return false;
		in = (struct assoc_msg){
			.sid = msg.sid,
			.ppid = msg.ppid,
			.len = msg.len,
			.head = msg.part[0].p,
			.head_len = (uint32_t)msg.part[0].len,
		};
		examine(dp, &in, msg.part, msg.n);
		budget = examine_early(dp, budget);

		/* 6. Events of sessions that began or ended. */
		dp_events(dp);
	}
	return true;
}

bool dp_resume(struct datapath *dp, unsigned budget)
{
	budget = examine_early(dp, budget);
	dp_events(dp);
	return budget == 0;
}

void dp_events(struct datapath *dp)
{
	while (dp_some_events(dp, UINT_MAX))
		;
}

bool dp_some_events(struct datapath *dp, unsigned most)
{
	struct assoc_event ev;

	while (most-- > 0) {
		if (!assoc_event(dp->ddp, &ev))
			return false;
		dp->on_event(dp->user, &ev);
	}
	return true;
}
