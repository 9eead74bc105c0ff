/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that arrive: which association they belong to, their tags (RFC 9260 8.5), packets out of
 * the blue (8.4), and their chunks. */
#include <string.h>

#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/heartbeat.h"
#include "sctp/assoc/moved.h"
#include "sctp/assoc/path_state.h"
#include "sctp/assoc/states.h"
#include "sctp/base/admission.h"
#include "sctp/base/lookup.h"
#include "sctp/base/reply.h"
#include "sctp/stack/cookie_echo.h"
#include "sctp/stack/init.h"
#include "sctp/stack/teardown.h"
#include "sctp/transfer/ack.h"
#include "sctp/transfer/got_data.h"
#include "util/be.h"
#include "util/crc32c.h"
#include "util/minmax.h"

enum { RUN = 16384 }; /* bytes of packets that are processed before messages are fetched */

/* ---- chunks in a packet ---- */

/* Rules that say "contains" ask for a chunk wherever it stands. */
static bool packet_contains(const uint8_t *pkt, size_t len, uint8_t type)
{
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk chunk;

	while (sctp_chunk_next(&c, &chunk) == SCTP_NEXT_OK)
		if (chunk.type == type)
			return true;
	return false;
}

static bool contains_stale_cookie(const uint8_t *pkt, size_t len)
{
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk chunk;
	struct sctp_error e;

	while (sctp_chunk_next(&c, &chunk) == SCTP_NEXT_OK)
		if (chunk.type == SCTP_ERROR &&
		    sctp_error_find(&chunk, SCTP_CAUSE_STALE_COOKIE, &e))
			return true;
	return false;
}

/* The chunk by which the peer ends the association: ABORT or SHUTDOWN COMPLETE. Control chunks
 * precede DATA (6.10), so packets of data are not walked. */
static bool find_end(const uint8_t *pkt, size_t len, struct sctp_chunk *ret)
{
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk chunk;

	while (sctp_chunk_next(&c, &chunk) == SCTP_NEXT_OK && chunk.type != SCTP_DATA) {
		if (chunk.type != SCTP_ABORT && chunk.type != SCTP_SHUTDOWN_COMPLETE)
			continue;
		*ret = chunk;
		return true;
	}
	return false;
}

static bool is_alone(const struct sctp_chunk *c, const uint8_t *pkt, size_t len)
{
	return c->p == pkt + SCTP_HEAD && pkt + len - c->p <= (ptrdiff_t)((c->len + 3u) & ~3u);
}

/* ---- out of the blue ---- */

static void reply_shutdown_complete(struct sctp *s, const struct sctp_flow *from,
				    const struct sctp_head *got)
{
	const struct sctp_head head = {got->dst, got->src, got->tag};
	struct sctp_writer w = sctp_reply_to_unknown(s, from, &head);

	sctp_put_plain(&w, SCTP_SHUTDOWN_COMPLETE, SCTP_FLAG_T);
	sctp_reply_end(s, &w);
}

/* The rules of 8.4 in their order. INIT with tag 0 (3) and COOKIE ECHO as the first chunk (4) are
 * handled before; any other INIT is discarded (12.3). */
static void out_of_the_blue(struct sctp *s, const struct sctp_flow *from,
			    const struct sctp_head *head, const uint8_t *pkt, size_t len)
{
	s->st.unknown++;
	if (packet_contains(pkt, len, SCTP_ABORT) || packet_contains(pkt, len, SCTP_INIT))
		return;
	if (packet_contains(pkt, len, SCTP_SHUTDOWN_ACK)) {
		reply_shutdown_complete(s, from, head);
		return;
	}
	if (packet_contains(pkt, len, SCTP_SHUTDOWN_COMPLETE) ||
	    packet_contains(pkt, len, SCTP_COOKIE_ACK) || contains_stale_cookie(pkt, len))
		return;
	sctp_reply_abort(s, from, head, head->tag, true, SCTP_CAUSE_NONE, NULL, 0);
}

/* ---- verification tags ---- */

/* A peer that has no association reflects our tag for it, and says so (8.5.1 (B), (C)). */
static bool tag_fits(const struct sctp_assoc *a, const struct sctp_head *head, bool reflected)
{
	if (reflected)
		return head->tag == a->id.peer_tag && a->id.peer_tag != 0;
	return head->tag == a->id.own_tag;
}

/* The peer has forgotten to finish an earlier association (8.5.1 (E), 9.2). */
static bool has_old_shutdown(const struct sctp_assoc *a, const uint8_t *pkt, size_t len)
{
	return (a->state == SCTP_COOKIE_WAIT || a->state == SCTP_COOKIE_ECHOED) &&
	       packet_contains(pkt, len, SCTP_SHUTDOWN_ACK);
}

/* ---- chunks ---- */

static void report_unknown_chunk(struct sctp_path *p, const struct sctp_chunk *c)
{
	struct sctp_writer w = sctp_reply_to(p);
	uint32_t most = sctp_path_pmdcs(p) - 64, at;

	at = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	sctp_put_cause(&w, SCTP_CAUSE_CHUNK, c->p, c->len < most ? c->len : most);
	sctp_end_chunk(&w, at);
	sctp_reply_end(p->assoc->s, &w);
}

/* True if the chunks after it are to be read, too. */
static bool read_unknown(struct sctp_path *p, const struct sctp_chunk *c)
{
	if (sctp_unknown_reports(c->type >> 6))
		report_unknown_chunk(p, c);
	return sctp_unknown_skips(c->type >> 6);
}

/* Valid ones precede DATA, and end_of_peer() has handled them. */
static bool is_misplaced(const struct sctp_chunk *c)
{
	return c->type == SCTP_SHUTDOWN_COMPLETE ||
	       (c->type == SCTP_ABORT && (c->flags & SCTP_FLAG_T));
}

/* 5.1: until COOKIE ACK arrives only COOKIE ECHO and HEARTBEAT ACK (8.3) may be sent. */
static bool is_early(const struct sctp_assoc *a, const struct sctp_chunk *c)
{
	if (a->state >= SCTP_ESTABLISHED)
		return false;
	return c->type != SCTP_ABORT && c->type != SCTP_ERROR && c->type != SCTP_COOKIE_ACK &&
	       c->type != SCTP_HEARTBEAT;
}

/* Handles a chunk that is not DATA. False: stop reading. */
static bool read_control(struct sctp_path *p, const struct sctp_chunk *c)
{
	switch (c->type) {
	case SCTP_SACK:
		sctp_got_sack(p, c);
		return true;
	case SCTP_HEARTBEAT:
		sctp_got_heartbeat(p, c);
		return true;
	case SCTP_HEARTBEAT_ACK:
		sctp_got_heartbeat_ack(p, c);
		return true;
	case SCTP_ABORT:
		sctp_got_abort(p, c);
		return false;
	case SCTP_ERROR:
		sctp_got_error(p, c);
		return true;
	case SCTP_COOKIE_ACK:
		sctp_got_cookie_ack(p);
		return true;
	case SCTP_SHUTDOWN:
		sctp_got_shutdown(p, c);
		return true;
	case SCTP_SHUTDOWN_ACK:
		sctp_assoc_step(p->assoc, SCTP_EV_SHUTDOWN_ACK);
		return true;
	case SCTP_INIT:
	case SCTP_INIT_ACK:
		p->assoc->s->st.bad_packets++; /* they must be alone in a packet */
		return false;
	case SCTP_COOKIE_ECHO: /* handled as the first chunk */
	case SCTP_ECNE:
	case SCTP_CWR:
	case SCTP_PAD:
		return true;
	default:
		return read_unknown(p, c);
	}
}

/* Handles the chunks from c on. */
static void read_chunks(struct sctp_path *p, struct sctp_cursor c)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp_chunk chunk;
	bool any = false, prompt = false;
	enum sctp_next r = SCTP_NEXT_OK;

	while (a->state != SCTP_CLOSED && (r = sctp_chunk_next(&c, &chunk)) == SCTP_NEXT_OK) {
		if (is_early(a, &chunk) || is_misplaced(&chunk)) {
			a->s->st.bad_packets++;
			break;
		}
		if (chunk.type == SCTP_DATA) {
			any |= sctp_takes_data(a);
			prompt |= (chunk.flags & SCTP_DATA_I) != 0;
			sctp_got_data(p, &chunk);
		} else if (!read_control(p, &chunk)) {
			break;
		}
	}
	if (r == SCTP_NEXT_BAD)
		a->s->st.bad_packets++;
	if (a->state != SCTP_CLOSED)
		sctp_data_end(p, any, prompt);
	sctp_assoc_arm(a);
}

/* ---- packets ---- */

/* The rest of the packet is ignored: it is not answered (9.1), and a reflected tag is wrong for
 * it. */
static void end_of_peer(struct sctp_path *p, const struct sctp_chunk *c)
{
	if (c->type == SCTP_ABORT)
		sctp_got_abort(p, c);
	else
		sctp_assoc_step(p->assoc, SCTP_EV_SHUTDOWN_COMPLETE);
	sctp_assoc_arm(p->assoc);
}

static void for_association(struct sctp_path *p, const struct sctp_flow *from,
			    const struct sctp_head *head, const struct sctp_chunk *first,
			    const uint8_t *pkt, size_t len)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp_chunk end = {0};
	bool ends = find_end(pkt, len, &end), completes = end.type == SCTP_SHUTDOWN_COMPLETE;

	if (has_old_shutdown(a, pkt, len) && (!ends || completes)) {
		out_of_the_blue(a->s, from, head, pkt, len);
		return;
	}
	if (!tag_fits(a, head, end.flags & SCTP_FLAG_T) ||
	    (completes && !is_alone(&end, pkt, len))) {
		a->s->st.bad_packets++;
		a->id.wrong_tags++;
		return;
	}
	sctp_learn(p, from);
	sctp_path_heard(p);
	sctp_moved_answered(a);
	if (ends) {
		end_of_peer(p, &end);
	} else if (first->type == SCTP_INIT_ACK) {
		if (is_alone(first, pkt, len))
			sctp_got_init_ack(p, from, head, first);
		sctp_assoc_arm(a);
	} else if (a->state != SCTP_COOKIE_WAIT) {
		/* Before INIT ACK the peer has no right to send anything else. */
		read_chunks(p, sctp_chunks(pkt, len));
	}
}

static void got_cookie_echo(struct sctp *s, const struct sctp_flow *from,
			    const struct sctp_head *head, const struct sctp_chunk *first,
			    struct sctp_cursor rest, struct sctp_path *p)
{
	p = sctp_got_cookie_echo(s, from, head, first, p);
	if (!p)
		return;
	sctp_learn(p, from);
	sctp_moved_answered(p->assoc);
	read_chunks(p, rest);
}

/* Handshakes, and work for peers that are not known, are limited. Other packets of associations are
 * not. */
static bool may_work(struct sctp *s, const struct sctp_path *p, const struct sctp_flow *from,
		     uint8_t type)
{
	enum sctp_work work = p                          ? SCTP_WORK_KNOWN
			      : type == SCTP_INIT        ? SCTP_WORK_INIT
			      : type == SCTP_COOKIE_ECHO ? SCTP_WORK_COOKIE
							 : SCTP_WORK_BLUE;

	if (p && type != SCTP_INIT && type != SCTP_COOKIE_ECHO)
		return true;
	return sctp_may_work(s, work, &from->peer);
}

static void dispatch_packet(struct sctp *s, const struct sctp_flow *from, const uint8_t *pkt,
			    size_t len, struct sctp_path *p)
{
	const struct sctp_head head = sctp_head_get(pkt);
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk first;

	if (sctp_chunk_next(&c, &first) != SCTP_NEXT_OK) {
		s->st.bad_packets++;
		return;
	}
	if (first.type == SCTP_INIT) {
		if (head.tag == 0 && is_alone(&first, pkt, len))
			sctp_got_init(s, from, &head, &first, p);
		else
			s->st.bad_packets++;
	} else if (head.tag == 0 && first.type != SCTP_ABORT) {
		s->st.bad_packets++;
	} else if (first.type == SCTP_COOKIE_ECHO) {
		got_cookie_echo(s, from, &head, &first, c, p);
	} else if (p || (first.type == SCTP_INIT_ACK &&
			 (p = sctp_init_ack_path(s, from, &head, &first)))) {
		for_association(p, from, &head, &first, pkt, len);
	} else {
		out_of_the_blue(s, from, &head, pkt, len);
	}
}

static bool is_packet(const struct sctp_flow *from, const uint8_t *pkt, size_t len)
{
	return len >= SCTP_HEAD + SCTP_CHUNK_HEAD && len <= SCTP_MAX_PACKET && be_get16(pkt) &&
	       be_get16(pkt + 2) && sctp_addr_unicast(&from->peer);
}

static void count_packet(struct sctp *s, const struct sctp_path *p, const struct sctp_head *head,
			 uint8_t type)
{
	if (type == SCTP_COOKIE_ECHO)
		s->st.cookie_echos++;
	else if (p && head->tag == p->assoc->id.own_tag)
		return;
	else if (type == SCTP_INIT && head->tag == 0)
		s->st.inits++;
	else
		s->st.strays++;
}

/* RFC 9653 5.3: we take covered packets without checksum, and say so in INIT and INIT ACK. The
 * sender of an INIT has not heard that. */
static bool is_intact(const struct sctp_flow *from, uint8_t *pkt, size_t len)
{
	bool needs_none = from->covered && pkt[SCTP_HEAD] != SCTP_INIT;

	return (needs_none && be_get32(pkt + SCTP_CHECKSUM) == 0) || crc32c_check(pkt, len);
}

static void input_packet(struct sctp *s, const struct sctp_flow *from, uint8_t *pkt, size_t len)
{
	struct sctp_path *p;
	struct sctp_head head;

	s->st.rx_packets++;
	if (!is_packet(from, pkt, len)) {
		s->st.bad_packets++;
		s->st.strays++;
		return;
	}
	head = sctp_head_get(pkt);
	p = sctp_lookup(s, from, head.dst, head.src);
	count_packet(s, p, &head, pkt[SCTP_HEAD]);
	if (!may_work(s, p, from, pkt[SCTP_HEAD]))
		return;
	if (!is_intact(from, pkt, len)) {
		s->st.bad_crc++;
		return;
	}
	s->input_rtt_us = min_u32(s->input_rtt_us, p && p->rto.srtt_us ? p->rto.min_rtt_us : 0);
	s->answering = true;
	s->answered = false;
	dispatch_packet(s, from, pkt, len, p);
	s->answering = s->answered = false;
}

static void begin_input(struct sctp *s, uint64_t now_us)
{
	if (now_us > s->now)
		s->now = now_us;
	s->rx_assoc = NULL;
	s->nrx = s->rx_pos = 0;
	s->rx_queued = false;
}

void sctp_input(struct sctp *s, const struct sctp_flow *from, uint8_t *pkt, size_t len,
		uint64_t now_us)
{
	begin_input(s, now_us);
	input_packet(s, from, pkt, len);
}

/* Ports and tag are those of the packet before: the messages of both have one receiver. */
static bool continues(const uint8_t *pkt, size_t segment, size_t len)
{
	return len >= SCTP_HEAD && segment >= SCTP_HEAD && memcmp(pkt, pkt - segment, 8) == 0;
}

uint32_t sctp_input_rtt(struct sctp *s)
{
	uint32_t rtt_us = s->input_rtt_us;

	s->input_rtt_us = UINT32_MAX;
	return rtt_us;
}

size_t sctp_input_run(struct sctp *s, const struct sctp_flow *from, uint8_t *pkt, size_t len,
		      size_t segment, uint64_t now_us)
{
	size_t n = len < segment ? len : segment, done = 0;

	begin_input(s, now_us);
	do {
		input_packet(s, from, pkt + done, n);
		done += n;
		n = len - done < n ? len - done : n;
	} while (n && done + n <= RUN && list_empty(&s->eventful) && !s->rx_queued &&
		 !sctp_wants_output(s) && continues(pkt + done, segment, n));
	return done;
}
