/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/common/llp_sctp.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "llp/common/route.h"
#include "util/addr.h"

enum {
	MAX_BUFFER = 1 << 28,
	CAUSE_USER_ABORT = 12, /* RFC 9260 section 3.3.10.12: its information is a text */
};

/* ---- the transport ---- */

int llp_sctp_check_addr(const struct sockaddr_storage *a, char *ret_reason, size_t len)
{
	char text[ADDR_TEXT_MAX];

	if (a->ss_family != AF_INET && a->ss_family != AF_INET6) {
		snprintf(ret_reason, len, "address family %d is neither IPv4 nor IPv6",
			 a->ss_family);
		return -EAFNOSUPPORT;
	}
	if (addr_any(a)) {
		/* Replies have to leave from the address that was called, and an association would
		 * announce every address of the host. */
		snprintf(ret_reason, len, "address %s is a wildcard: name the address itself",
			 addr_host_text(a, text));
		return -EINVAL;
	}
	return 0;
}

int llp_sctp_check_config(const struct llp_config *cfg, char *ret_reason, size_t len)
{
	int r = 0;

	if (cfg->naddrs > LLP_MAX_OWN) {
		snprintf(ret_reason, len, "%u local addresses: at most %d", cfg->naddrs,
			 LLP_MAX_OWN);
		return -EINVAL;
	}
	if (cfg->streams == 0) {
		snprintf(ret_reason, len, "an association needs at least one stream");
		return -EINVAL;
	}
	if (cfg->rto_min_ms > cfg->rto_max_ms) {
		snprintf(ret_reason, len, "rto_min %u ms is above rto_max %u ms", cfg->rto_min_ms,
			 cfg->rto_max_ms);
		return -EINVAL;
	}
	for (unsigned i = 0; i < cfg->naddrs && r == 0; i++)
		r = llp_sctp_check_addr(&cfg->addrs[i], ret_reason, len);
	return r;
}

void llp_sctp_init(struct llp_sctp *t, const struct llp_ops *base, const struct llp_sctp_ops *ops,
		   const struct llp_config *cfg, const struct llp_events *ev)
{
	t->base.ops = base;
	t->base.ev = ev;
	t->ops = ops;
	t->cfg = *cfg;
	if (cfg->naddrs)
		memcpy(t->addrs, cfg->addrs, cfg->naddrs * sizeof(t->addrs[0]));
	t->cfg.addrs = t->addrs;
	if (t->cfg.buffer > MAX_BUFFER)
		t->cfg.buffer = MAX_BUFFER;
	list_init(&t->conns);
	list_init(&t->ready);
	list_init(&t->connecting);
}

void llp_sctp_set_time(struct llp_sctp *t, uint64_t now_ms)
{
	if (!t->ticked) {
		t->ticked = true;
		t->base_ms = now_ms;
	}
	if (now_ms - t->base_ms > t->now_ms)
		t->now_ms = now_ms - t->base_ms;
}

int llp_sctp_find_addr(const struct llp_sctp *t, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < t->cfg.naddrs; i++)
		if (!t->dropped[i] && addr_same_host(&t->addrs[i], a))
			return (int)i;
	return -1;
}

int llp_sctp_check_addrs(const struct llp_sctp *t, const struct llp_addrs *at)
{
	for (unsigned i = 0; i < at->n; i++)
		if (llp_sctp_find_addr(t, &at->a[i]) < 0)
			return -EADDRNOTAVAIL;
	return 0;
}

static int first_addr(const struct llp_sctp *t, sa_family_t family, bool loopback)
{
	for (unsigned k = 0; k < t->cfg.naddrs; k++)
		if (!t->dropped[k] && t->addrs[k].ss_family == family &&
		    addr_loopback(&t->addrs[k]) == loopback)
			return (int)k;
	return -1;
}

int llp_sctp_choose_addr(const struct llp_sctp *t, const struct sockaddr_storage *to)
{
	struct route way;
	int i = route_find(NULL, to, &way) == 0 ? llp_sctp_find_addr(t, &way.src) : -1;

	if (i < 0)
		i = first_addr(t, to->ss_family, false);
	return i < 0 ? first_addr(t, to->ss_family, true) : i;
}

/* ---- associations ---- */

void llp_sctp_add(struct llp_sctp *t, struct llp_sctp_conn *c)
{
	c->base.llp = &t->base;
	list_init(&c->ready);
	list_init(&c->connecting);
	list_add_tail(&t->conns, &c->all);
	t->nconns++;
}

void llp_sctp_remove(struct llp_sctp_conn *c)
{
	struct llp_sctp *t = llp_sctp_of(c);

	list_del(&c->connecting);
	list_del(&c->ready);
	list_del(&c->all);
	t->nconns--;
	if (t->current == c)
		t->current = NULL;
	free(c->part);
}

void llp_sctp_connecting(struct llp_sctp_conn *c)
{
	struct llp_sctp *t = llp_sctp_of(c);

	c->deadline_ms = t->now_ms + t->cfg.init_ms;
	list_add_tail(&t->connecting, &c->connecting);
}

static struct llp_sctp_conn *first_connecting(const struct llp_sctp *t)
{
	return list_empty(&t->connecting)
		       ? NULL
		       : list_entry(t->connecting.next, struct llp_sctp_conn, connecting);
}

struct llp_sctp_conn *llp_sctp_expired(struct llp_sctp *t)
{
	struct llp_sctp_conn *c = first_connecting(t);

	if (!c || t->now_ms < c->deadline_ms)
		return NULL;
	list_del(&c->connecting);
	return c;
}

uint64_t llp_sctp_expiry_us(const struct llp_sctp *t)
{
	const struct llp_sctp_conn *c = first_connecting(t);

	return c ? (t->base_ms + c->deadline_ms) * 1000 : UINT64_MAX;
}

void llp_sctp_touch(struct llp_sctp_conn *c)
{
	if (!list_linked(&c->ready))
		list_add_tail(&llp_sctp_of(c)->ready, &c->ready);
}

void llp_sctp_end(struct llp_sctp_conn *c, int err, const char *reason, ...)
{
	va_list ap;

	llp_sctp_touch(c);
	if (c->ended)
		return;
	c->ended = true;
	c->err = err;
	va_start(ap, reason);
	vsnprintf(c->reason, sizeof(c->reason), reason, ap);
	va_end(ap);
}

void llp_sctp_end_aborted(struct llp_sctp_conn *c, const struct sockaddr_storage *peer,
			  unsigned cause, const void *event, size_t head, size_t len)
{
	const uint8_t *p = event;
	char text[LLP_ABORT_TEXT], addr[ADDR_TEXT_MAX];
	size_t n = 0;

	addr_host_text(peer, addr);
	if (cause == CAUSE_USER_ABORT)
		for (; head < len && n < sizeof(text) - 1; n++, head++)
			text[n] = isprint(p[head]) ? (char)p[head] : '?';
	text[n] = 0;
	if (n > 0)
		llp_sctp_end(c, ECONNRESET, "%s aborted the association: %s", addr, text);
	else
		llp_sctp_end(c, ECONNRESET, "%s aborted the association (cause %u)", addr, cause);
}

void llp_sctp_indication(struct llp_sctp_conn *c, uint32_t got)
{
	uint32_t want = llp_sctp_of(c)->cfg.adaptation;

	if (c->state != LLP_SCTP_VERIFYING)
		return;
	if (got == want)
		c->state = LLP_SCTP_UP;
	else
		llp_sctp_end(c, EPROTONOSUPPORT,
			     "the peer does not speak DDP: adaptation indication 0x%x, expected "
			     "0x%x",
			     got, want);
}

/* ---- upcalls ---- */

/* False if the owner freed the association or does not want it. */
static bool report_up(struct llp_sctp *t, struct llp_sctp_conn *c)
{
	struct llp_listener *l;
	void *owner;

	if (!c->passive) {
		t->base.ev->up(c->base.user);
		return t->current == c;
	}
	l = t->ops->listener(c);
	owner = l ? t->base.ev->incoming(l->user, &c->base) : NULL;
	if (t->current != c)
		return false;
	c->base.user = owner;
	if (owner)
		return true;
	t->base.ops->abort(&c->base, "ddpsctpd is stopping, or has no memory");
	t->base.ops->conn_free(&c->base);
	return false;
}

static void report_end(struct llp_sctp *t, struct llp_sctp_conn *c)
{
	bool unannounced = c->passive && !c->base.user;

	if (c->err)
		t->base.ops->abort(&c->base, c->reason);
	t->ops->release(c);
	list_del(&c->ready);
	if (unannounced)
		t->base.ops->conn_free(&c->base);
	else
		t->base.ev->down(c->base.user, c->err, c->reason);
}

static void dispatch_conn(struct llp_sctp *t, struct llp_sctp_conn *c)
{
	bool fresh = c->state < LLP_SCTP_UP;

	t->current = c;
	if (fresh)
		t->ops->verify(c);
	if (fresh && c->state == LLP_SCTP_UP) {
		list_del(&c->connecting);
		if (!c->ended)
			t->ops->prepare(c);
		if (!c->ended && !report_up(t, c))
			return;
	}
	if ((c->state == LLP_SCTP_UP || c->state == LLP_SCTP_CLOSING) && !c->ended) {
		t->ops->serve(c);
		if (!llp_sctp_usable(t, c))
			return;
	}
	if (c->ended && c->state != LLP_SCTP_DOWN)
		report_end(t, c);
}

void llp_sctp_dispatch(struct llp_sctp *t, bool (*more)(const struct llp_sctp *t))
{
	struct list now;

	/* Associations that become ready during this call wait for the next one; those that are
	 * left over are the first in it. */
	list_init(&now);
	list_splice_tail(&now, &t->ready);
	while (!list_empty(&now) && (!more || more(t))) {
		struct list *link = list_pop(&now);

		dispatch_conn(t, list_entry(link, struct llp_sctp_conn, ready));
	}
	t->current = NULL;
	list_splice_tail(&now, &t->ready);
	list_splice_tail(&t->ready, &now);
}

/* ---- messages ---- */

int llp_sctp_check_send(const struct llp_sctp_conn *c, const struct llp_msg *m)
{
	if (c->state != LLP_SCTP_UP || c->ended)
		return LLP_E_DOWN;
	if (m->len > c->max_message)
		return LLP_E_TOO_LONG;
	if (m->sid >= c->streams || m->len == 0 || m->len != span_total(m->part, m->n))
		return -EINVAL;
	return LLP_E_OK;
}

enum llp_sctp_pulled llp_sctp_add_part(struct llp_sctp_conn *c, const uint8_t *p, uint32_t len,
				       bool last, struct span *ret)
{
	if (!c->part)
		c->part = malloc(LLP_SCTP_MAX_MESSAGE);
	if (!c->part) {
		llp_sctp_end(c, ENOMEM, "no memory for a fragmented message");
		return LLP_SCTP_NOTHING;
	}
	if (len > LLP_SCTP_MAX_MESSAGE - c->part_len) {
		llp_sctp_end(c, EMSGSIZE, "the peer sent a message of more than %d bytes",
			     LLP_SCTP_MAX_MESSAGE);
		return LLP_SCTP_NOTHING;
	}
	memcpy(c->part + c->part_len, p, len);
	c->part_len += len;
	c->part_whole = last;
	*ret = (struct span){c->part, c->part_len};
	return last ? LLP_SCTP_DATA : LLP_SCTP_EVENT;
}

void llp_sctp_drop_part(struct llp_sctp_conn *c)
{
	free(c->part);
	c->part = NULL;
	c->part_len = 0;
	c->part_whole = false;
}
