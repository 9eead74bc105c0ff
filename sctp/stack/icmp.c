/* SPDX-License-Identifier: BSD-2-Clause */
/* ICMP messages (RFC 9260 section 10, RFC 6951 5.5): believed only if the quoted packet is ours. */
#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/path_state.h"
#include "sctp/base/lookup.h"
#include "sctp/base/path_select.h"
#include "sctp/transfer/loss.h"
#include "util/be.h"

enum { INIT_TAG = SCTP_HEAD + SCTP_CHUNK_HEAD }; /* where INIT has its Initiate Tag */

/* The quoted tag is the peer's; before it is known, the quoted INIT has ours. */
static bool is_genuine(const struct sctp_assoc *a, const uint8_t *quoted, size_t len)
{
	uint32_t tag = sctp_head_get(quoted).tag;

	if (tag != 0)
		return tag == a->id.peer_tag;
	return a->state == SCTP_COOKIE_WAIT && len >= INIT_TAG + 4 &&
	       quoted[SCTP_HEAD] == SCTP_INIT && be_get32(quoted + INIT_TAG) == a->id.own_tag;
}

static bool others_work(const struct sctp_path *p)
{
	const struct sctp_assoc *a = p->assoc;

	for (unsigned i = 0; i < a->paths.n; i++)
		if (i != p->index && (a->paths.at[i].state == SCTP_PATH_ACTIVE ||
				      a->paths.at[i].state == SCTP_PATH_FAILING))
			return true;
	return false;
}

/* The peer's UDP port is closed (ICMP5..7). */
static void port_unreachable(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	if (others_work(p)) {
		p->errors = a->s->cfg.path_max_retrans + 1;
		if (p->state != SCTP_PATH_UNCONFIRMED)
			sctp_path_set_state(p, SCTP_PATH_INACTIVE);
		sctp_path_rest(p);
		if (p->flight.bytes)
			sctp_loss_t3(p);
	} else {
		sctp_assoc_end(a, SCTP_END_UNREACHABLE, 0, NULL, 0);
	}
}

/* The largest packet of ours in an IP packet of that size. */
static uint32_t packet_size(const struct sctp_path *p, uint32_t mtu)
{
	uint32_t head = sctp_path_overhead(p);

	return mtu > head ? (mtu - head) & ~3u : 0;
}

static void lower_pmtu(struct sctp_path *p, uint32_t mtu)
{
	if (sctp_pmtu_icmp(&p->pmtu, packet_size(p, mtu), p->assoc->s->now))
		sctp_path_resized(p);
}

void sctp_icmp(struct sctp *s, const struct sctp_flow *to, enum sctp_icmp what, uint32_t mtu,
	       const uint8_t *quoted, size_t len, uint64_t now_us)
{
	struct sctp_path *p = NULL;
	struct sctp_head head;

	if (now_us > s->now)
		s->now = now_us;
	if (len >= SCTP_HEAD) {
		head = sctp_head_get(quoted);
		p = sctp_lookup(s, to, head.src, head.dst);
	}
	if (!p || !is_genuine(p->assoc, quoted, len)) {
		s->st.icmp_ignored++;
		return;
	}
	if (what == SCTP_ICMP_PORT_UNREACHABLE)
		port_unreachable(p);
	else if (what == SCTP_ICMP_TOO_BIG)
		lower_pmtu(p, mtu);
	else
		p->unreachable = true;
	sctp_assoc_arm(p->assoc);
}

/* The MTU of the route is unknown, but less than the probe. */
static bool probe_refused(struct sctp_path *p, uint64_t now_us)
{
	return p->pmtu.sent && sctp_pmtu_refused(&p->pmtu, p->pmtu.probe, now_us);
}

void sctp_too_big(struct sctp *s, const struct sctp_flow *to, uint32_t mtu, uint64_t now_us)
{
	if (now_us > s->now)
		s->now = now_us;
	/* All paths to this address leave through the same route. */
	list_foreach (it, &s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);
		struct sctp_path *p = sctp_assoc_find_path(a, &to->peer);

		if (!p || p->flow.local != to->local || a->state == SCTP_CLOSED)
			continue;
		if (mtu ? sctp_pmtu_limit(&p->pmtu, packet_size(p, mtu), now_us)
			: probe_refused(p, now_us))
			sctp_path_resized(p);
		sctp_assoc_arm(a);
	}
}
