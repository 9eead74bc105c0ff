/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that arrive: which association they belong to, their tags (RFC 9260 8.5), packets out of
 * the blue (8.4), and their chunks. */
#include "sctp/assoc.h"
#include "util/be.h"
#include "util/crc32c.h"

/* ---- out of the blue ---- */

static bool contains(const uint8_t *pkt, size_t len, uint8_t type)
{
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk chunk;

	while (sctp_chunk_next(&c, &chunk) == SCTP_NEXT_OK)
		if (chunk.type == type)
			return true;
	return false;
}

static void reply_shutdown_complete(struct sctp *s, const struct sctp_flow *from,
				    const struct sctp_head *got)
{
	const struct sctp_head head = {got->dst, got->src, got->tag};
	struct sctp_writer w = sctp_reply_to_unknown(s, from, &head);

	sctp_put_plain(&w, SCTP_SHUTDOWN_COMPLETE, SCTP_FLAG_T);
	sctp_reply_end(s, &w);
}

static bool is_stale_cookie(const struct sctp_chunk *c)
{
	struct sctp_cursor at = sctp_errors(c);
	struct sctp_error e;

	return sctp_error_next(&at, &e) && e.cause == SCTP_CAUSE_STALE_COOKIE;
}

static void out_of_the_blue(struct sctp *s, const struct sctp_flow *from,
			    const struct sctp_head *head, const struct sctp_chunk *first,
			    const uint8_t *pkt, size_t len)
{
	s->st.unknown++;
	if (contains(pkt, len, SCTP_ABORT))
		return;
	switch (first->type) {
	case SCTP_SHUTDOWN_ACK:
		reply_shutdown_complete(s, from, head);
		return;
	case SCTP_SHUTDOWN_COMPLETE:
	case SCTP_COOKIE_ACK:
	case SCTP_COOKIE_ECHO:
	case SCTP_INIT:
		return;
	case SCTP_ERROR:
		if (is_stale_cookie(first))
			return;
		break;
	}
	sctp_reply_abort(s, from, head, head->tag, true, SCTP_CAUSE_NONE, NULL, 0);
}

/* ---- verification tags ---- */

/* An ABORT or SHUTDOWN COMPLETE of a peer that has no association reflects our tag for it. */
static bool tag_fits(const struct sctp_assoc *a, const struct sctp_head *head,
		     const struct sctp_chunk *first)
{
	bool may_reflect = first->type == SCTP_ABORT || first->type == SCTP_SHUTDOWN_COMPLETE;

	if (may_reflect && (first->flags & SCTP_FLAG_T))
		return head->tag == a->peer_tag && a->peer_tag != 0;
	return head->tag == a->own_tag;
}

/* The peer has forgotten to finish an earlier association (8.5.1 (E), 9.2). */
static bool is_old_shutdown(const struct sctp_assoc *a, const struct sctp_chunk *first)
{
	return first->type == SCTP_SHUTDOWN_ACK &&
	       (a->state == SCTP_COOKIE_WAIT || a->state == SCTP_COOKIE_ECHOED);
}

static bool is_alone(const struct sctp_chunk *c, const uint8_t *pkt, size_t len)
{
	return pkt + len - c->p <= (ptrdiff_t)((c->len + 3u) & ~3u);
}

/* ---- chunks ---- */

static void report_unknown(struct sctp_path *p, const struct sctp_chunk *c)
{
	struct sctp_writer w = sctp_reply_to(p);
	uint32_t most = sctp_path_pmdcs(p) - 64, at;

	at = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	sctp_put_cause(&w, SCTP_CAUSE_CHUNK, c->p, c->len < most ? c->len : most);
	sctp_end_chunk(&w, at);
	sctp_reply_end(p->assoc->s, &w);
}

/* True if the chunks after it are to be read, too. */
static bool unknown(struct sctp_path *p, const struct sctp_chunk *c)
{
	if (sctp_unknown_reports(c->type >> 6))
		report_unknown(p, c);
	return sctp_unknown_skips(c->type >> 6);
}

/* ABORT with a reflected tag comes first, and SHUTDOWN COMPLETE alone: tag_fits() looks at the
 * first chunk. */
static bool is_misplaced(const struct sctp_chunk *c, bool first)
{
	return !first && (c->type == SCTP_SHUTDOWN_COMPLETE ||
			  (c->type == SCTP_ABORT && (c->flags & SCTP_FLAG_T)));
}

/* 5.1: until COOKIE ACK comes nothing but COOKIE ECHO may be sent, and HEARTBEAT ACK (8.3). */
static bool is_early(const struct sctp_assoc *a, const struct sctp_chunk *c)
{
	if (a->state >= SCTP_ESTABLISHED)
		return false;
	return c->type != SCTP_ABORT && c->type != SCTP_ERROR && c->type != SCTP_COOKIE_ACK &&
	       c->type != SCTP_HEARTBEAT;
}

/* What may come at any time. False: stop reading. */
static bool control(struct sctp_path *p, const struct sctp_chunk *c)
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
	case SCTP_SHUTDOWN_COMPLETE:
		sctp_assoc_step(p->assoc, SCTP_EV_SHUTDOWN_COMPLETE);
		return true;
	case SCTP_INIT:
	case SCTP_INIT_ACK:
		p->assoc->s->st.bad_packets++; /* they come alone */
		return false;
	case SCTP_COOKIE_ECHO: /* it comes first */
	case SCTP_ECNE:
	case SCTP_CWR:
	case SCTP_PAD:
		return true;
	default:
		return unknown(p, c);
	}
}

/* Handles the chunks from c on. first: the next one is the first of the packet. */
static void read_chunks(struct sctp_path *p, struct sctp_cursor c, bool first)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp_chunk chunk;
	bool any = false, prompt = false;
	enum sctp_next r = SCTP_NEXT_OK;

	while (a->state != SCTP_CLOSED && (r = sctp_chunk_next(&c, &chunk)) == SCTP_NEXT_OK) {
		if (is_early(a, &chunk) || is_misplaced(&chunk, first)) {
			a->s->st.bad_packets++;
			break;
		}
		first = false;
		if (chunk.type == SCTP_DATA) {
			any |= sctp_takes_data(a);
			prompt |= (chunk.flags & SCTP_DATA_I) != 0;
			sctp_got_data(p, &chunk);
		} else if (!control(p, &chunk)) {
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

static void for_association(struct sctp_path *p, const struct sctp_flow *from,
			    const struct sctp_head *head, const struct sctp_chunk *first,
			    const uint8_t *pkt, size_t len)
{
	struct sctp_assoc *a = p->assoc;

	if (is_old_shutdown(a, first)) {
		reply_shutdown_complete(a->s, from, head);
		return;
	}
	if (!tag_fits(a, head, first) ||
	    (first->type == SCTP_SHUTDOWN_COMPLETE && !is_alone(first, pkt, len))) {
		a->s->st.bad_packets++;
		return;
	}
	sctp_learn(p, from);
	if (first->type == SCTP_INIT_ACK) {
		if (is_alone(first, pkt, len))
			sctp_got_init_ack(p, from, head, first);
		sctp_assoc_arm(a);
		return;
	}
	/* Before INIT ACK the peer has no right to send anything but these two. */
	if (a->state == SCTP_COOKIE_WAIT && first->type != SCTP_ABORT)
		return;
	read_chunks(p, sctp_chunks(pkt, len), true);
}

static void got_cookie_echo(struct sctp *s, const struct sctp_flow *from,
			    const struct sctp_head *head, const struct sctp_chunk *first,
			    struct sctp_cursor rest, struct sctp_path *p)
{
	p = sctp_got_cookie_echo(s, from, head, first, p);
	if (!p)
		return;
	sctp_learn(p, from);
	read_chunks(p, rest, false);
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

static void dispatch(struct sctp *s, const struct sctp_flow *from, const uint8_t *pkt, size_t len,
		     struct sctp_path *p)
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
		out_of_the_blue(s, from, &head, &first, pkt, len);
	}
}

static bool is_packet(const struct sctp_flow *from, const uint8_t *pkt, size_t len)
{
	return len >= SCTP_HEAD + SCTP_CHUNK_HEAD && len <= SCTP_MAX_PACKET && be_get16(pkt) &&
	       be_get16(pkt + 2) && sctp_addr_unicast(&from->peer);
}

static void count(struct sctp *s, const struct sctp_path *p, const struct sctp_head *head,
		  uint8_t type)
{
	if (type == SCTP_COOKIE_ECHO)
		s->st.cookie_echos++;
	else if (p && head->tag == p->assoc->own_tag)
		return;
	else if (type == SCTP_INIT && head->tag == 0)
		s->st.inits++;
	else
		s->st.strays++;
}

static void input(struct sctp *s, const struct sctp_flow *from, uint8_t *pkt, size_t len)
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
	count(s, p, &head, pkt[SCTP_HEAD]);
	if (!may_work(s, p, from, pkt[SCTP_HEAD]))
		return;
	if (!crc32c_check(pkt, len)) {
		s->st.bad_crc++;
		return;
	}
	s->answering = true;
	s->answered = false;
	dispatch(s, from, pkt, len, p);
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
	input(s, from, pkt, len);
}

/* Ports and tag are those of the packet before: the messages of both have one receiver. */
static bool continues(const uint8_t *pkt, size_t segment, size_t len)
{
	return len >= SCTP_HEAD && segment >= SCTP_HEAD && memcmp(pkt, pkt - segment, 8) == 0;
}

size_t sctp_input_run(struct sctp *s, const struct sctp_flow *from, uint8_t *pkt, size_t len,
		      size_t segment, uint64_t now_us)
{
	size_t n = len < segment ? len : segment, done = 0;

	begin_input(s, now_us);
	do {
		input(s, from, pkt + done, n);
		done += n;
		n = len - done < n ? len - done : n;
	} while (n && done + n <= SCTP_RUN && list_empty(&s->eventful) && !s->rx_queued &&
		 !sctp_wants_output(s) && continues(pkt + done, segment, n));
	return done;
}
