/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's events, and the upcalls that follow from them. */
#include "llp/user/user.h"

#include <errno.h>

#include "llp/common/host_addrs.h"
#include "util/addr.h"

enum {
	CAUSE_RESOURCE = 4, /* RFC 9260 3.3.10.4 */
	DOUBT_MS = 1000,    /* without an answer of a peer whose link is up */
	DOUBT_EACH_MS = 250,
};

static bool is_up(const struct user_conn *c)
{
	return c->sctp.state == LLP_SCTP_UP || c->sctp.state == LLP_SCTP_CLOSING;
}

/* ---- set-up ---- */

static void set_route_mtu(struct user_conn *c, const struct sctp_flow *f)
{
	struct user *t = llp_user_of(c);
	const struct user_route *r;

	if (llp_user_route(t, f->local, &f->peer, &r) == 0)
		sctp_assoc_set_route_mtu(c->assoc, &f->peer, r->mtu, t->now_us);
}

/* The routes to the peer's addresses, and how many streams there are. */
static void note_paths(struct user_conn *c)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];
	unsigned n = sctp_assoc_paths(c->assoc, path);
	struct sctp_info info;

	for (unsigned i = 0; i < n; i++) {
		set_route_mtu(c, &path[i].flow);
		c->reported[c->nreported++] = (struct user_path){
			.peer = path[i].flow.peer,
			.state = path[i].state,
			.confirmed = path[i].state == SCTP_PATH_ACTIVE,
		};
	}
	sctp_assoc_info(c->assoc, &info);
	c->sctp.streams = info.streams;
	c->remote_port = info.peer_port;
	c->covered = info.primary.covered;
	llp_user_sockaddr(&info.primary.peer, info.peer_port, &c->remote);
	if (c->covered)
		llp_user_cover_join(c);
}

/* False if the upcall closed it. */
static bool is_listener(const struct user *t, const struct user_listener *l)
{
	list_foreach (it, &t->listeners) {
		if (it == &l->all)
			return true;
	}
	return false;
}

static void on_incoming(struct user *t, const struct sctp_event *ev)
{
	struct user_listener *l = ev->user;
	struct user_conn *c = is_listener(t, l) ? llp_user_conn_new(t, ev->assoc) : NULL;
	void *owner;

	if (!c) {
		sctp_assoc_abort(ev->assoc, "ddpsctpd is stopping, or has no memory");
		sctp_assoc_free(ev->assoc);
		return;
	}
	c->sctp.passive = true;
	c->sctp.state = LLP_SCTP_UP;
	sctp_assoc_set_user(c->assoc, c);
	note_paths(c);
	if (!c->covered)
		llp_user_guard_renew(t, USER_CLEAR);
	t->sctp.current = &c->sctp;
	owner = t->sctp.base.ev->incoming(l->base.user, &c->sctp.base);
	if (t->sctp.current != &c->sctp)
		return;
	c->sctp.base.user = owner;
	if (!owner) {
		llp_user_abort(&c->sctp.base, "ddpsctpd is stopping, or has no memory for more");
		llp_user_conn_free(&c->sctp.base);
	}
}

static void on_up(struct user *t, struct user_conn *c)
{
	if (c->sctp.state != LLP_SCTP_CONNECTING || c->sctp.ended)
		return;
	c->sctp.state = LLP_SCTP_UP;
	list_del(&c->sctp.connecting);
	note_paths(c);
	t->sctp.base.ev->up(c->sctp.base.user);
}

/* ---- the end ---- */

static unsigned udp_port(const struct user_conn *c)
{
	return llp_user_port(llp_user_of(c), c->covered);
}

static const char *const unreachable =
	": ICMP reports that it is unreachable (a firewall, or a missing route)";

/* Why a handshake has no end, as the end of a sentence. */
static const char *no_handshake(const struct user_conn *c)
{
	const char *alert;

	if (c->covered && llp_user_cover_unreachable(c))
		return unreachable;
	alert = c->covered ? llp_user_cover_alert(c) : NULL;
	return alert ? alert
		     : ": no DTLS handshake: a firewall drops UDP, or its ddpsctpd has no "
		       "security.udp_port, or another one";
}

/* The end of a sentence about a peer that does not answer: why, if an ICMP message says so. */
static const char *silence(const struct user_conn *c)
{
	struct sctp_info info;

	if (!c->assoc)
		return no_handshake(c);
	sctp_assoc_info(c->assoc, &info);
	return info.unreachable
		       ? unreachable
		       : ": the host is down, a firewall drops UDP, or its ddpsctpd has another "
			 "port "
			 "or the transport kernel (ddpctl status there)";
}

/* The end of a sentence about an address where no daemon listens. */
static const char *absence(const struct user_conn *c)
{
	return host_has_addr(&c->remote)
		       ? ", an address of this host: the daemons here have others in 'listen' "
			 "(ddpctl status)"
		       : ": ddpsctpd does not run there, or has another address in 'listen', "
			 "another port or the transport kernel (ddpctl status there)";
}

/* An association failed during set-up. */
static void end_setup(struct user_conn *c, const struct sctp_event *ev)
{
	char addr[ADDR_TEXT_MAX];

	addr_host_text(&c->remote, addr);
	if (ev->end == SCTP_END_UNREACHABLE)
		llp_sctp_end(&c->sctp, ECONNREFUSED, "nothing listens on UDP port %u of %s%s",
			     udp_port(c), addr, absence(c));
	else if (ev->end == SCTP_END_REFUSED && ev->cause == CAUSE_RESOURCE)
		llp_sctp_end(&c->sctp, ECONNREFUSED,
			     "%s refuses associations: it has no room for more, or not for this "
			     "network (ddpctl peer there)",
			     addr);
	else if (ev->end == SCTP_END_REFUSED)
		llp_sctp_end(&c->sctp, ECONNREFUSED,
			     "%s refuses associations to SCTP port %u: no program listens there",
			     addr, c->remote_port);
	else
		llp_sctp_end(&c->sctp, ETIMEDOUT, "%s does not answer on UDP port %u%s", addr,
			     udp_port(c), silence(c));
}

_Static_assert((int)LLP_ABORT_TEXT <= (int)SCTP_ABORT_TEXT, "an ABORT has room for a reason");

static void end_aborted(struct user_conn *c, const struct sctp_event *ev, const char *addr)
{
	if (ev->text[0])
		llp_sctp_end(&c->sctp, ECONNRESET, "%s aborted the association: %s", addr,
			     ev->text);
	else
		llp_sctp_end(&c->sctp, ECONNRESET, "%s aborted the association (cause %u)", addr,
			     ev->cause);
}

static void end_indication(struct user_conn *c, const struct sctp_event *ev)
{
	if (ev->text[0])
		llp_sctp_end(&c->sctp, EPROTONOSUPPORT, "the peer does not speak DDP: %s",
			     ev->text);
	else
		llp_sctp_end(&c->sctp, EPROTONOSUPPORT,
			     "the peer does not speak DDP: adaptation indication 0x%x, expected "
			     "0x%x",
			     ev->cause, llp_user_of(c)->sctp.cfg.adaptation);
}

/* Recorded here, and reported after the delivery of earlier messages. */
static void on_down(struct user_conn *c, const struct sctp_event *ev)
{
	char addr[ADDR_TEXT_MAX];

	addr_host_text(&c->remote, addr);
	switch (ev->end) {
	case SCTP_END_CLOSED:
		llp_sctp_end(&c->sctp, 0, "closed");
		break;
	case SCTP_END_ABORTED:
		end_aborted(c, ev, addr);
		break;
	case SCTP_END_REFUSED:
	case SCTP_END_NO_ANSWER:
		end_setup(c, ev);
		break;
	case SCTP_END_TIMEOUT:
		llp_sctp_end(&c->sctp, ETIMEDOUT, "%s does not answer any more%s", addr,
			     silence(c));
		break;
	case SCTP_END_STALLED:
		llp_sctp_end(&c->sctp, ETIMEDOUT,
			     "the MTU of the path to %s decreased, and fragments are dropped: %s",
			     addr, ev->text);
		break;
	case SCTP_END_UNREACHABLE:
		if (c->sctp.state == LLP_SCTP_CONNECTING)
			end_setup(c, ev);
		else
			llp_sctp_end(
				&c->sctp, ECONNRESET,
				"nothing listens on UDP port %u of %s any more: its ddpsctpd has "
				"ended",
				udp_port(c), addr);
		break;
	case SCTP_END_RESTART:
		llp_sctp_end(&c->sctp, ECONNRESET, "the peer restarted%s%s",
			     ev->text[0] ? ": " : "", ev->text);
		break;
	case SCTP_END_PROTOCOL:
		llp_sctp_end(&c->sctp, EPROTO, "%s violated the protocol: %s", addr, ev->text);
		break;
	case SCTP_END_INDICATION:
		end_indication(c, ev);
		break;
	case SCTP_END_MEMORY:
		llp_sctp_end(&c->sctp, ENOMEM, "no memory for the association with %s", addr);
		break;
	}
}

/* One that has waited for an answer for a while. False: it is to be looked at again, because it
 * waits for its link, or the peer was heard, or there is no room for another handshake. */
static bool doubt_link(const struct user_conn *c)
{
	return !c->covered || (!c->waits && llp_user_cover_doubt(c, DOUBT_MS * 1000));
}

/* The newest first: all before one whose link was doubted were as well, unless doubt_all is set. */
static void doubt_links(struct user *t)
{
	bool all = t->doubt_all;

	if (t->sctp.now_ms - t->doubted_ms < DOUBT_EACH_MS)
		return;
	t->doubted_ms = t->sctp.now_ms;
	t->doubt_all = false;
	for (struct list *it = t->sctp.connecting.prev; it != &t->sctp.connecting; it = it->prev) {
		struct user_conn *c = list_entry(it, struct user_conn, sctp.connecting);
		uint64_t begun_ms = c->sctp.deadline_ms - t->sctp.cfg.init_ms;

		if (c->doubted && !all)
			return;
		if (c->doubted || t->sctp.now_ms - begun_ms < DOUBT_MS)
			continue;
		c->doubted = doubt_link(c);
		t->doubt_all |= !c->doubted;
	}
}

void llp_user_expire(struct user *t)
{
	struct llp_sctp_conn *sc;

	if (t->cover)
		doubt_links(t);

	while ((sc = llp_sctp_expired(&t->sctp))) {
		const struct user_conn *c = (const struct user_conn *)sc;
		char text[ADDR_TEXT_MAX];

		llp_sctp_end(sc, ETIMEDOUT, "%s does not answer on UDP port %u within %u ms%s",
			     addr_host_text(&c->remote, text), udp_port(c), t->sctp.cfg.init_ms,
			     silence(c));
	}
}

static void report_ends(struct user *t)
{
	struct list *it;

	while ((it = list_pop(&t->sctp.ready))) {
		struct user_conn *c = list_entry(it, struct user_conn, sctp.ready);

		if (c->sctp.state == LLP_SCTP_DOWN)
			continue;
		llp_user_conn_release(c);
		t->sctp.base.ev->down(c->sctp.base.user, c->sctp.err, c->sctp.reason);
	}
}

/* ---- paths ---- */

static struct user_path *find_path(struct user_conn *c, const struct sctp_addr *a)
{
	for (unsigned i = 0; i < c->nreported; i++)
		if (sctp_addr_equal(&c->reported[i].peer, a))
			return &c->reported[i];
	return NULL;
}

/* NULL: no change to report. */
static const char *path_text(struct user_conn *c, const struct sctp_event *ev)
{
	struct user_path *p = find_path(c, &ev->addr);
	bool again;

	if (ev->became_primary)
		return "is the primary path now";
	if (!p || p->state == ev->state)
		return NULL;
	p->state = ev->state;
	again = p->confirmed;
	p->confirmed |= ev->state == SCTP_PATH_ACTIVE;
	switch (ev->state) {
	case SCTP_PATH_ACTIVE:
		return again ? "answers again" : "was confirmed";
	case SCTP_PATH_FAILING:
		return "may have failed";
	case SCTP_PATH_INACTIVE:
		return "does not answer any more";
	default:
		return NULL;
	}
}

static void on_path(struct user *t, struct user_conn *c, const struct sctp_event *ev)
{
	const char *what = path_text(c, ev);
	struct llp_path path[LLP_MAX_PATHS];
	unsigned n = llp_user_paths(&c->sctp.base, path);
	struct sockaddr_storage a;

	if (n < 2 || !what || !t->sctp.base.ev->path)
		return;
	llp_user_sockaddr(&ev->addr, 0, &a);
	for (unsigned i = 0; i < n; i++) {
		if (!addr_same_host(&path[i].remote, &a))
			continue;
		t->sctp.base.ev->path(c->sctp.base.user, &path[i], what);
		return;
	}
}

/* ---- messages ---- */

/* The packet's buffer is reused after this: an owner that does not take a message loses it. */
static void deliver_to(struct user *t, struct user_conn *c)
{
	uint64_t before = t->taken;

	t->sctp.current = &c->sctp;
	t->sctp.base.ev->readable(c->sctp.base.user);
	if (t->sctp.current != &c->sctp || !is_up(c) || t->taken > before)
		return;
	llp_sctp_end(&c->sctp, ENOBUFS, "a message was not read");
	sctp_assoc_abort(c->assoc, c->sctp.reason);
	t->held = false;
}

static void deliver_messages(struct user *t)
{
	while (t->held || sctp_recv(t->core, &t->msg)) {
		struct user_conn *c = t->msg.user;

		t->held = c && is_up(c);
		if (t->held)
			deliver_to(t, c);
	}
}

/* ---- links ---- */

/* Both ends may want the same ports at once, and the association of the peer may be up before our
 * link: then ours has another port, as the owner would choose. */
static int begin_or_move(struct user_conn *c)
{
	int r = llp_user_begin(c);

	if (r != -EADDRINUSE || c->own_port == 0)
		return r;
	c->own_port = 0;
	c->even = true;
	return llp_user_begin(c);
}

static void on_link_up(struct user_conn *c)
{
	char text[ADDR_TEXT_MAX];
	int r = c->waits ? begin_or_move(c) : 0;

	if (r < 0)
		llp_sctp_end(&c->sctp, -r, "no association with %s: %s",
			     addr_host_text(&c->remote, text), strerror(-r));
}

/* Also of an association that has begun: we may have accepted the peer before it refuses us. If it
 * only closed the link, that begins again with the next packet. */
static void on_link_down(struct user_conn *c, bool closed, const char *reason)
{
	char text[ADDR_TEXT_MAX];
	int r;

	addr_host_text(&c->remote, text);
	if (!closed) {
		llp_sctp_end(&c->sctp, ECONNREFUSED, "no DTLS with %s: %s", text, reason);
		return;
	}
	r = c->waits ? llp_user_cover_connect(c) : 0;
	if (r == 1)
		on_link_up(c);
	else if (r == -EACCES)
		llp_user_cover_end_without_identity(c, NULL);
	else if (r < 0)
		llp_sctp_end(&c->sctp, -r, "no DTLS with %s: %s", text, strerror(-r));
}

static void on_link(struct user_conn *c, void *arg)
{
	const struct user_link_event *e = arg;

	if (c->sctp.ended)
		return;
	if (c->sctp.state == LLP_SCTP_CONNECTING && e->up)
		on_link_up(c);
	else if (c->sctp.state == LLP_SCTP_CONNECTING)
		on_link_down(c, e->closed, e->reason);
	else if (e->up && c->assoc && is_up(c))
		/* The peer may have lost the keys by a restart: it aborts those that it does not
		 * know. */
		sctp_assoc_ask(c->assoc, llp_user_of(c)->now_us);
}

/* ---- dispatch ---- */

/* The event may be older than the last message; another event follows then. */
static void on_acked(struct user *t, struct user_conn *c)
{
	struct sctp_info info;

	sctp_assoc_info(c->assoc, &info);
	if (c->report_acks && t->sctp.base.ev->progress)
		t->sctp.base.ev->progress(c->sctp.base.user, info.unacked);
	if (info.unacked == 0)
		t->sctp.base.ev->acked(c->sctp.base.user);
}

static void on_resized(struct user *t, struct user_conn *c)
{
	if (t->sctp.base.ev->resized)
		t->sctp.base.ev->resized(c->sctp.base.user);
}

static void on_core_event(struct user *t, const struct sctp_event *ev)
{
	struct user_conn *c = ev->user;

	if (ev->type == SCTP_INCOMING) {
		on_incoming(t, ev);
		return;
	}
	if (!c)
		return; /* an association that was not accepted */
	if (ev->type == SCTP_DOWN)
		on_down(c, ev);
	else if (ev->type == SCTP_UP)
		on_up(t, c);
	else if (!is_up(c))
		return;
	else if (ev->type == SCTP_ACKED)
		on_acked(t, c);
	else if (ev->type == SCTP_PATH)
		on_path(t, c, ev);
	else if (ev->type == SCTP_RESIZED)
		on_resized(t, c);
	else if (c->sctp.state == LLP_SCTP_UP)
		t->sctp.base.ev->writable(c->sctp.base.user);
}

void llp_user_events(struct user *t)
{
	struct user_link_event link;
	struct sctp_event ev;

	while (llp_user_cover_event(t, &link))
		llp_user_cover_each(t, &link.flow, &link, on_link);
	while (sctp_event(t->core, &ev))
		on_core_event(t, &ev);
	deliver_messages(t);
	report_ends(t);
	t->sctp.current = NULL;
}
