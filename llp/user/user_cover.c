/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets in DTLS (RFC 8261): the links to peers, by llp/dtls, between the covered sockets and the
 * core. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llp/dtls/dtls.h"
#include "llp/dtls/dtls_memory.h"
#include "llp/user/user.h"
#include "llp/user/user_paid.h"
#include "util/addr.h"
#include "util/minmax.h"
#include "util/siphash.h"

enum {
	MS = 1000, /* microseconds */
	SECOND = 1000 * MS,
	JOBS = 256,
	RESEND_MS = 500,
	TAKEOVER_S = 600,
	IDLE_S = 300,
	/* A peer that was silent for so long may have begun again: a new association asks it. */
	FRESH_S = 2,
	SEALED = 65536, /* bytes of a batch: the core counts those of the cover */
	BUCKETS = 4096,
};

struct user_cover {
	struct llp_cover cfg;
	struct dtls *dtls;
	uint64_t files_us;  /* when the files of its identity were read */
	uint64_t datagrams; /* that have arrived */
	uint64_t key[2];    /* of the hash */
	struct list conns[BUCKETS];
	struct user_paid paid;
	struct span span[SCTP_BATCH_PACKETS];
	uint8_t sealed[SEALED];
};

bool llp_user_hide_keys(void)
{
	return dtls_memory_hide();
}

/* ---- flows ---- */

static struct dtls_flow to_dtls(const struct sctp_flow *f)
{
	struct dtls_flow ret = {.scope = f->peer.scope, .port = f->udp_port, .local = f->local};

	memcpy(ret.ip, f->peer.ip, sizeof(ret.ip));
	return ret;
}

static struct sctp_addr addr_of(const struct dtls_flow *f)
{
	struct sctp_addr a = {.scope = f->scope};

	memcpy(a.ip, f->ip, sizeof(a.ip));
	return a;
}

static void peer_of(const struct dtls_flow *f, struct sockaddr_storage *ret)
{
	struct sctp_addr a = addr_of(f);

	llp_user_sockaddr(&a, f->port, ret);
}

/* Of an association here the port of peers is ours; one that a peer began has another one if that
 * is behind a translator. */
static struct sctp_flow sctp_flow_of(const struct user_conn *c)
{
	struct sctp_info info;

	if (!c->assoc)
		return (struct sctp_flow){.peer = llp_user_addr(&c->remote),
					  .udp_port = llp_user_port(llp_user_of(c), USER_COVERED),
					  .local = c->local,
					  .covered = true};
	sctp_assoc_info(c->assoc, &info);
	return info.primary;
}

static struct dtls_flow flow_of_conn(const struct user_conn *c)
{
	const struct sctp_flow f = sctp_flow_of(c);

	return to_dtls(&f);
}

/* ---- opening ---- */

_Static_assert((int)LLP_FILES == (int)DTLS_FILES, "files of all rules");

static struct dtls_files files_of(const struct llp_cover_files *f)
{
	struct dtls_files ret = {.ncas = f->ncas, .npsks = f->npsks};

	if (f->cert && *f->cert) {
		ret.cert = f->cert;
		ret.key = f->key;
	}
	memcpy(ret.ca, f->ca, sizeof(ret.ca));
	memcpy(ret.psk, f->psk, sizeof(ret.psk));
	return ret;
}

static struct llp_identity identity_of(const struct dtls_peer *p)
{
	struct llp_identity id = {
		.has_fingerprint = p->has_cert,
		.untimely = p->untimely,
		.names = p->names,
		.psk = p->psk ? p->psk->path : NULL,
		.ncas = p->has_cert ? p->by->ncas : 0,
	};

	_Static_assert(sizeof(id.fingerprint) == DTLS_FINGERPRINT, "both are SHA-256");
	memcpy(id.fingerprint, p->fingerprint, sizeof(id.fingerprint));
	for (unsigned i = 0; i < id.ncas; i++) {
		id.ca[i].file = p->by->ca[i].path;
		id.ca[i].fault = p->fault[i];
	}
	return id;
}

static bool accept_peer(void *user, const struct dtls_flow *flow, const struct dtls_peer *peer,
			bool we_began, char *ret_reason, size_t len)
{
	const struct user_cover *v = user;
	const struct llp_identity id = identity_of(peer);
	struct sockaddr_storage a;

	peer_of(flow, &a);
	return v->cfg.accept(v->cfg.arg, &a, &id, we_began, ret_reason, len);
}

static const char *find_psk(void *user, const struct dtls_flow *flow)
{
	const struct user_cover *v = user;
	struct sockaddr_storage a;

	peer_of(flow, &a);
	return v->cfg.psk ? v->cfg.psk(v->cfg.arg, &a) : NULL;
}

static void drop_link(void *user, void *payment)
{
	struct user_cover *v = user;

	llp_user_paid_drop(&v->paid, &v->cfg, payment);
}

static int open_dtls(struct user *t, struct user_cover *v, user_random_fn *random,
		     struct dtls_identity *id)
{
	const struct dtls_config cfg = {
		.random = random,
		.accept = accept_peer,
		.psk = find_psk,
		.dropped = drop_link,
		.user = v,
		.jobs = JOBS,
		.max_links = USER_LINKS,
		.max_handshakes = USER_HANDSHAKES,
		.resend_us = RESEND_MS * MS,
		.handshake_us = USER_HANDSHAKE_S * (uint64_t)SECOND,
		.takeover_us = TAKEOVER_S * (uint64_t)SECOND,
		.linger_us = 2 * (uint64_t)t->sctp.cfg.rto_max_ms * MS,
		.idle_us = IDLE_S * (uint64_t)SECOND,
	};

	return dtls_open(&cfg, id, t->now_us, &v->dtls);
}

int llp_user_cover_open(struct user *t, user_random_fn *random, char *ret_reason, size_t len)
{
	const struct llp_cover *cfg = t->sctp.cfg.cover;
	const struct dtls_files files = files_of(cfg->files);
	struct dtls_identity *id;
	struct user_cover *v;
	int r = dtls_identity_load(&files, ret_reason, len, &id);

	if (r < 0)
		return r;
	v = calloc(1, sizeof(*v));
	r = v ? 0 : -ENOMEM;
	if (r == 0) {
		v->cfg = *cfg;
		v->cfg.files = NULL;
		random(NULL, v->key, sizeof(v->key));
		for (unsigned i = 0; i < BUCKETS; i++)
			list_init(&v->conns[i]);
		r = open_dtls(t, v, random, id);
	}
	dtls_identity_drop(id);
	if (r < 0) {
		free(v);
		return r;
	}
	t->cover = v;
	t->sctp.cfg.cover = &v->cfg;
	t->ncovers = USER_COVERS;
	return 0;
}

static bool end_link(void *arg, const struct dtls_flow *flow)
{
	struct user *t = arg;

	dtls_disconnect(t->cover->dtls, flow);
	llp_user_cover_write(t);
	return true;
}

void llp_user_cover_end(struct user *t)
{
	if (t->cover)
		(void)dtls_flows(t->cover->dtls, end_link, t);
}

void llp_user_cover_close(struct user *t)
{
	if (!t->cover)
		return;
	dtls_close(t->cover->dtls);
	llp_user_paid_end_all(&t->cover->paid, &t->cover->cfg);
	free(t->cover);
	t->cover = NULL;
}

int llp_user_cover_set_files(struct llp *llp, const struct llp_cover_files *cfg, char *ret_reason,
			     size_t len)
{
	const struct dtls_files files = files_of(cfg);
	struct user *t = (struct user *)llp;
	struct dtls_identity *id;
	int r;

	if (!t->cover)
		return 0;
	r = dtls_identity_load(&files, ret_reason, len, &id);
	if (r < 0)
		return r;
	dtls_set_identity(t->cover->dtls, id);
	dtls_identity_drop(id);
	t->cover->files_us = t->now_us;
	return 0;
}

int llp_user_cover_fd(const struct user *t)
{
	return t->cover ? dtls_fd(t->cover->dtls) : -1;
}

/* ---- who is on a link ---- */

/* By address: a translator may give the peer of an association another port. */
static struct list *conns_of(struct user_cover *v, const struct sctp_flow *flow)
{
	struct dtls_flow f = to_dtls(flow);

	f.port = 0;
	return &v->conns[siphash64(v->key, &f, sizeof(f)) % BUCKETS];
}

void llp_user_cover_join(struct user_conn *c)
{
	struct sctp_flow f = sctp_flow_of(c);

	if (!list_linked(&c->on_link))
		list_add_tail(conns_of(llp_user_of(c)->cover, &f), &c->on_link);
}

void llp_user_cover_each(struct user *t, const struct sctp_flow *flow, void *arg,
			 void (*fn)(struct user_conn *c, void *arg))
{
	list_foreach_safe (it, conns_of(t->cover, flow)) {
		struct user_conn *c = list_entry(it, struct user_conn, on_link);
		struct sctp_flow its = sctp_flow_of(c);

		if (sctp_flow_equal(&its, flow))
			fn(c, arg);
	}
}

/* ---- connecting ---- */

bool llp_user_cover_wanted(const struct user *t, const struct llp_addrs *peer)
{
	for (unsigned i = 0; t->cover && i < peer->n; i++)
		if (t->cover->cfg.wanted(t->cover->cfg.arg, &peer->a[i]))
			return true;
	return false;
}

/* A link is used again unless its peer may have lost the keys, our certificate is another one since
 * then, or its peer is not accepted any more. Else it is renewed, and associations that are up keep
 * it in any case. */
static bool is_current(struct user *t, const struct dtls_flow *f)
{
	struct user_cover *v = t->cover;
	const struct dtls_peer *peer = dtls_peer_of(v->dtls, f);
	struct sockaddr_storage a;
	struct llp_identity id;

	if (t->now_us - dtls_heard_us(v->dtls, f) >= FRESH_S * (uint64_t)SECOND ||
	    dtls_begun_us(v->dtls, f) <= v->files_us || !peer)
		return false;
	peer_of(f, &a);
	id = identity_of(peer);
	return v->cfg.accept(v->cfg.arg, &a, &id, true, NULL, 0);
}

int llp_user_cover_connect(struct user_conn *c)
{
	struct user *t = llp_user_of(c);
	struct dtls *d = t->cover->dtls;
	struct dtls_flow f = flow_of_conn(c);

	if (dtls_is_up(d, &f) && is_current(t, &f))
		return 1;
	return llp_user_paid_begin(&t->cover->paid, &t->cover->cfg, d, &f, c->sctp.base.user,
				   t->now_us);
}

const char *llp_user_cover_alert(const struct user_conn *c)
{
	enum { HANDSHAKE_FAILURE = 40, PROTOCOL_VERSION = 70, UNKNOWN_PSK = 115 };
	struct dtls_flow f = flow_of_conn(c);

	switch (dtls_alert_of(llp_user_of(c)->cover->dtls, &f)) {
	case 0:
		return NULL;
	case HANDSHAKE_FAILURE:
		return ": it says that it has none of our suites: one end wants certificates, and "
		       "the other one a pre-shared key, or something older";
	case PROTOCOL_VERSION:
		return ": it says that it has no DTLS 1.2";
	case UNKNOWN_PSK:
		return ": it says that it has another pre-shared key";
	default:
		return ": it says that it refuses the handshake";
	}
}

bool llp_user_cover_doubt(const struct user_conn *c, uint64_t silent_us)
{
	struct user *t = llp_user_of(c);
	struct dtls *d = t->cover->dtls;
	struct dtls_flow f = flow_of_conn(c);

	if (!dtls_is_up(d, &f) || t->now_us - dtls_heard_us(d, &f) < silent_us)
		return false;
	return dtls_renew(d, &f, t->now_us) == 0;
}

bool llp_user_cover_unreachable(const struct user_conn *c)
{
	struct dtls_flow f = flow_of_conn(c);

	return dtls_is_unreachable(llp_user_of(c)->cover->dtls, &f);
}

bool llp_user_cover_identity(const struct user *t, const struct sctp_flow *flow,
			     struct llp_identity *ret)
{
	struct dtls_flow f = to_dtls(flow);
	const struct dtls_peer *peer = flow->covered ? dtls_peer_of(t->cover->dtls, &f) : NULL;

	if (peer)
		*ret = identity_of(peer);
	return peer;
}

/* ---- in ---- */

/* Packets of equal length, one behind the other, the last of which may be shorter. */
struct run {
	uint8_t *p;
	size_t len, segment;
	bool whole; /* the last one is shorter */
};

static void deliver_run(struct user *t, const struct sctp_flow *flow, struct run *r,
			user_deliver_fn *deliver)
{
	if (r->len)
		deliver(t, flow, r->p, r->len, r->segment);
	*r = (struct run){NULL, 0, 0, false};
}

/* Moves the packet behind the others: there is room, because records are longer than packets.
 * False: it begins another run. */
static bool add_packet(struct run *r, const struct span *packet)
{
	if (!r->len) {
		*r = (struct run){packet->p, packet->len, packet->len, false};
		return true;
	}
	if (r->whole || packet->len > r->segment)
		return false;
	memmove(r->p + r->len, packet->p, packet->len);
	r->len += packet->len;
	r->whole = packet->len < r->segment;
	return true;
}

void llp_user_cover_input(struct user *t, const struct sctp_flow *flow, uint8_t *p, size_t len,
			  size_t segment, user_deliver_fn *deliver)
{
	struct dtls_flow f = to_dtls(flow);
	struct run r = {NULL, 0, 0, false};

	do {
		struct span at = {p, len < segment ? len : segment}, packet;

		p += at.len;
		len -= at.len;
		t->cover->datagrams++;
		while (dtls_input(t->cover->dtls, &f, &at, t->now_us, &packet)) {
			if (add_packet(&r, &packet))
				continue;
			deliver_run(t, flow, &r, deliver);
			(void)add_packet(&r, &packet);
		}
	} while (len);
	deliver_run(t, flow, &r, deliver);
	if (!t->full_us && dtls_wants_output(t->cover->dtls))
		llp_user_cover_write(t);
}

void llp_user_cover_icmp(struct user *t, const struct sctp_flow *flow, enum sctp_icmp what,
			 const struct udp_error *e)
{
	struct dtls *d = t->cover->dtls;
	struct dtls_flow f = to_dtls(flow);
	bool no_port = what == SCTP_ICMP_PORT_UNREACHABLE;
	uint8_t packet[UDP_QUOTE];
	size_t len;

	if (no_port && !dtls_is_gone(d, &f, t->now_us))
		what = SCTP_ICMP_UNREACHABLE;
	for (unsigned i = 0; i < DTLS_KEYS_OF_LINK; i++) {
		len = dtls_quoted(d, &f, i, e->quoted, e->len, packet);
		if (len > 0)
			sctp_icmp(t->core, flow, what, e->mtu, packet, len, t->now_us);
	}
	if (what != SCTP_ICMP_TOO_BIG)
		dtls_unreachable(d, &f, no_port, e->quoted, e->len);
}

/* ---- floods ---- */

struct user_seen llp_user_cover_seen(const struct user *t)
{
	struct dtls_stats s;

	dtls_stats(t->cover->dtls, &s);
	return (struct user_seen){
		.all = t->cover->datagrams,
		.unknown = {[USER_HELLO] = s.unwanted[DTLS_BEGINS_HELLO],
			    [USER_FLIGHT] = s.unwanted[DTLS_BEGINS_CLEAR],
			    [USER_RECORD] = s.unwanted[DTLS_BEGINS_SEALED]},
		.begun = s.begun + s.up,
	};
}

struct each_link {
	const struct dtls *dtls;
	user_link_fn *fn;
	void *arg;
};

static bool tell_flow(void *arg, const struct dtls_flow *flow)
{
	const struct each_link *e = arg;
	struct sctp_addr peer = addr_of(flow);

	return e->fn(e->arg, &peer, flow->port);
}

static bool tell_link(void *arg, const struct dtls_flow *flow)
{
	const struct each_link *e = arg;

	return !dtls_is_up(e->dtls, flow) || tell_flow(arg, flow);
}

bool llp_user_cover_links(const struct user *t, user_link_fn *fn, void *arg)
{
	struct each_link e = {t->cover->dtls, fn, arg};

	return dtls_flows(e.dtls, tell_link, &e);
}

bool llp_user_cover_handshakes(const struct user *t, user_link_fn *fn, void *arg)
{
	struct each_link e = {t->cover->dtls, fn, arg};

	return dtls_flows_beginning(e.dtls, tell_flow, &e);
}

/* ---- out ---- */

void llp_user_cover_end_without_identity(struct user_conn *c, void *arg)
{
	const struct llp_cover *cfg = &llp_user_of(c)->cover->cfg;
	char reason[LLP_ABORT_TEXT], text[ADDR_TEXT_MAX];

	(void)arg;
	if (c->sctp.ended)
		return;
	cfg->lacks(cfg->arg, &c->remote, reason, sizeof(reason));
	llp_sctp_end(&c->sctp, EACCES, "no DTLS with %s: %s", addr_host_text(&c->remote, text),
		     reason);
}

bool llp_user_cover_seal(struct user *t, const struct sctp_batch *out, struct udp_batch *ret)
{
	struct user_cover *v = t->cover;
	struct dtls_flow f = to_dtls(&out->to);
	uint32_t n = 0, segment = out->segment + DTLS_OVERHEAD;
	size_t len = dtls_seal(v->dtls, &f, out->span, out->nspans, out->segment, v->sealed);

	if (len == 0) {
		/* The link has ended: the association repeats packets that are lost. */
		if (dtls_connect(v->dtls, &f, t->now_us) == -EACCES)
			llp_user_cover_each(t, &out->to, NULL, llp_user_cover_end_without_identity);
		return false;
	}
	for (size_t at = 0; at < len; at += segment)
		v->span[n++] = (struct span){v->sealed + at, min_u64(segment, len - at)};
	ret->span = v->span;
	ret->nspans = n;
	ret->segment = segment;
	ret->len = (uint32_t)len;
	return true;
}

void llp_user_cover_write(struct user *t)
{
	struct user_cover *v = t->cover;
	struct dtls_flow f;
	size_t len;

	while (v && dtls_output(v->dtls, &f, v->sealed, sizeof(v->sealed), &len)) {
		const struct span one = {v->sealed, len};
		struct udp_batch b = {
			.span = &one, .nspans = 1, .segment = (uint32_t)len, .len = (uint32_t)len};

		peer_of(&f, &b.to);
		(void)udp_send(t->sock[USER_COVERED][f.local].udp, &b);
	}
}

/* ---- time ---- */

uint64_t llp_user_cover_expiry(const struct user *t)
{
	return t->cover ? dtls_expiry(t->cover->dtls) : UINT64_MAX;
}

void llp_user_cover_run(struct user *t)
{
	struct user_cover *v = t->cover;

	if (v && (dtls_is_busy(v->dtls) || dtls_expiry(v->dtls) <= t->now_us))
		dtls_run(v->dtls, t->now_us);
}

static void tell_refusal(const struct user_cover *v, const struct dtls_event *e)
{
	struct sockaddr_storage peer;

	peer_of(&e->flow, &peer);
	if (v->cfg.refused)
		v->cfg.refused(v->cfg.arg, &peer, e->reason);
}

bool llp_user_cover_event(struct user *t, struct user_link_event *ret)
{
	struct dtls_event e;

	if (!t->cover || !dtls_event(t->cover->dtls, &e))
		return false;
	llp_user_paid_end(&t->cover->paid, &t->cover->cfg, &e.flow);
	if (e.refused)
		tell_refusal(t->cover, &e);
	*ret = (struct user_link_event){
		.flow = {addr_of(&e.flow), e.flow.port, (uint8_t)e.flow.local, true},
		.up = e.up,
		.closed = e.closed};
	snprintf(ret->reason, sizeof(ret->reason), "%s", e.reason);
	return true;
}
