/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/dtls_fake.h"

#include <errno.h>

#include "llp/dtls/dtls_memory.h"
#include "tests/fuzz/fuzz.h"
#include "util/be.h"

enum { EVENTS = 64 };

struct dtls {
	struct dtls_config cfg;
	uint64_t now_us;
	struct dtls_event event[EVENTS];
	unsigned first, n;
	struct dtls_flow hello; /* that dtls_output() writes */
	bool has_hello;
	struct dtls_stats stats;
};

struct dtls_fake dtls_fake;

static struct dtls *the;
static struct dtls_identity nobody;
static struct dtls_peer peer = {.by = &nobody};

/* ---- what the target does ---- */

static struct dtls_fake_link *find_link(const struct dtls_flow *flow)
{
	for (unsigned i = 0; i < DTLS_FAKE_LINKS; i++) {
		struct dtls_fake_link *l = &dtls_fake.link[i];

		if (l->used && memcmp(&l->flow, flow, sizeof(*flow)) == 0)
			return l;
	}
	return NULL;
}

static struct dtls_fake_link *add_link(const struct dtls_flow *flow)
{
	for (unsigned i = 0; i < DTLS_FAKE_LINKS; i++) {
		struct dtls_fake_link *l = &dtls_fake.link[i];

		if (l->used)
			continue;
		*l = (struct dtls_fake_link){.flow = *flow, .used = true};
		return l;
	}
	return NULL;
}

static void end_link(struct dtls_fake_link *l)
{
	if (l->kept)
		the->cfg.dropped(the->cfg.user, l->kept);
	*l = (struct dtls_fake_link){.used = false};
}

static void begin_handshake(struct dtls_fake_link *l)
{
	l->beginning = true;
	l->alert = 0;
	l->unreachable = false;
	the->stats.begun++;
	the->hello = l->flow;
	the->has_hello = true;
}

static struct dtls_event *add_event(const struct dtls_fake_link *l)
{
	struct dtls_event *e = &the->event[(the->first + the->n) % EVENTS];

	must(the->n < EVENTS);
	the->n++;
	*e = (struct dtls_event){.flow = l->flow};
	return e;
}

bool dtls_fake_incoming(const struct dtls_flow *flow)
{
	struct dtls_fake_link *l = find_link(flow) ? NULL : add_link(flow);

	if (l)
		l->beginning = true;
	return l;
}

bool dtls_fake_succeed(struct dtls_fake_link *l)
{
	if (!l->used || !l->beginning || the->n == EVENTS)
		return false;
	l->beginning = false;
	l->up = true;
	l->heard_us = the->now_us;
	l->begun_us = the->now_us;
	the->stats.up++;
	add_event(l)->up = true;
	return true;
}

bool dtls_fake_fail(struct dtls_fake_link *l, enum dtls_fake_end why)
{
	struct dtls_event *e;

	if (!l->used || the->n == EVENTS)
		return false;
	e = add_event(l);
	e->closed = why == DTLS_FAKE_CLOSED;
	e->refused = why == DTLS_FAKE_REFUSED;
	strcpy(e->reason, "the fake has said so");
	/* A handshake beside keys that work leaves these. */
	if (why != DTLS_FAKE_REFUSED && l->up && l->beginning)
		l->beginning = false;
	else
		end_link(l);
	return true;
}

/* ---- llp/dtls ---- */

bool dtls_memory_hide(void)
{
	return true;
}

int dtls_identity_load(const struct dtls_files *f, char *ret_reason, size_t len,
		       struct dtls_identity **ret)
{
	(void)f;
	must(len > 0);
	*ret_reason = 0;
	*ret = &nobody;
	return 0;
}

void dtls_identity_drop(struct dtls_identity *id)
{
	must(id == &nobody);
}

int dtls_open(const struct dtls_config *cfg, struct dtls_identity *id, uint64_t now_us,
	      struct dtls **ret)
{
	must(!the && id == &nobody);
	the = calloc(1, sizeof(*the));
	must(the);
	the->cfg = *cfg;
	the->now_us = now_us;
	*ret = the;
	return 0;
}

void dtls_close(struct dtls *d)
{
	free(d);
	the = NULL;
}

void dtls_set_identity(struct dtls *d, struct dtls_identity *id)
{
	must(d == the && id == &nobody);
}

int dtls_connect(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us)
{
	struct dtls_fake_link *l;

	d->now_us = now_us;
	if (find_link(flow))
		return 0;
	l = add_link(flow);
	if (!l)
		return -EAGAIN;
	begin_handshake(l);
	return 0;
}

int dtls_renew(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us)
{
	struct dtls_fake_link *l = find_link(flow);

	d->now_us = now_us;
	if (!l)
		return dtls_connect(d, flow, now_us);
	if (!l->beginning)
		begin_handshake(l);
	return 0;
}

void dtls_disconnect(struct dtls *d, const struct dtls_flow *flow)
{
	struct dtls_fake_link *l = find_link(flow);

	must(d == the);
	if (l)
		end_link(l);
}

bool dtls_has_link(const struct dtls *d, const struct dtls_flow *flow)
{
	must(d == the);
	return find_link(flow);
}

void dtls_keep(struct dtls *d, const struct dtls_flow *flow, void *what)
{
	struct dtls_fake_link *l = find_link(flow);

	must(d == the && l && !l->kept && what);
	l->kept = what;
}

bool dtls_flows(const struct dtls *d, dtls_flow_fn *fn, void *arg)
{
	must(d == the);
	for (unsigned i = 0; i < DTLS_FAKE_LINKS; i++) {
		const struct dtls_flow flow = dtls_fake.link[i].flow;

		if (dtls_fake.link[i].used && !fn(arg, &flow))
			return false;
	}
	return true;
}

bool dtls_flows_beginning(const struct dtls *d, dtls_flow_fn *fn, void *arg)
{
	must(d == the);
	for (unsigned i = 0; i < DTLS_FAKE_LINKS; i++)
		if (dtls_fake.link[i].beginning && !fn(arg, &dtls_fake.link[i].flow))
			return false;
	return true;
}

bool dtls_is_up(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_fake_link *l = find_link(flow);

	must(d == the);
	return l && l->up;
}

const struct dtls_peer *dtls_peer_of(const struct dtls *d, const struct dtls_flow *flow)
{
	return dtls_is_up(d, flow) ? &peer : NULL;
}

uint64_t dtls_heard_us(const struct dtls *d, const struct dtls_flow *flow)
{
	return dtls_is_up(d, flow) ? find_link(flow)->heard_us : 0;
}

uint64_t dtls_begun_us(const struct dtls *d, const struct dtls_flow *flow)
{
	return dtls_is_up(d, flow) ? find_link(flow)->begun_us : 0;
}

unsigned dtls_alert_of(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_fake_link *l = find_link(flow);

	must(d == the);
	return l && l->beginning ? l->alert : 0;
}

bool dtls_input(struct dtls *d, const struct dtls_flow *flow, struct span *at, uint64_t now_us,
		struct span *ret)
{
	struct dtls_fake_link *l = find_link(flow);
	size_t len;

	d->now_us = now_us;
	if (!l || !l->up || at->len < DTLS_OVERHEAD) {
		d->stats.unwanted[DTLS_BEGINS_HELLO] += at->len > 0;
		return false;
	}
	len = be_get16(at->p);
	if (len == 0 || len > at->len - DTLS_OVERHEAD)
		return false;
	*ret = (struct span){at->p + DTLS_OVERHEAD, len};
	at->p += DTLS_OVERHEAD + len;
	at->len -= DTLS_OVERHEAD + len;
	l->heard_us = now_us;
	return true;
}

/* All spans, joined, and cut into packets again. */
size_t dtls_seal(struct dtls *d, const struct dtls_flow *flow, const struct span *part, unsigned n,
		 uint32_t segment, uint8_t *to)
{
	static uint8_t plain[65536];
	size_t len = 0, at = 0;

	must(segment > 0 && segment <= DTLS_MAX_PLAIN);
	for (unsigned i = 0; i < n; i++) {
		must(part[i].len <= sizeof(plain) - len);
		memcpy(plain + len, part[i].p, part[i].len);
		len += part[i].len;
	}
	if (!dtls_is_up(d, flow))
		return 0;
	for (size_t done = 0, one; done < len; done += one, at += DTLS_OVERHEAD + one) {
		one = len - done < segment ? len - done : segment;
		memset(to + at, 0, DTLS_OVERHEAD);
		be_put16(to + at, (uint16_t)one);
		memcpy(to + at + DTLS_OVERHEAD, plain + done, one);
	}
	return at;
}

bool dtls_output(struct dtls *d, struct dtls_flow *ret_flow, uint8_t *to, size_t size,
		 size_t *ret_len)
{
	must(size >= DTLS_MAX_DATAGRAM);
	if (!d->has_hello)
		return false;
	d->has_hello = false;
	*ret_flow = d->hello;
	memset(to, 0, DTLS_OVERHEAD);
	*ret_len = DTLS_OVERHEAD;
	return true;
}

bool dtls_wants_output(const struct dtls *d)
{
	return d->has_hello;
}

int dtls_fd(const struct dtls *d)
{
	must(d == the);
	return -1;
}

bool dtls_is_busy(const struct dtls *d)
{
	return d->n > 0;
}

uint64_t dtls_expiry(const struct dtls *d)
{
	must(d == the);
	return UINT64_MAX;
}

void dtls_run(struct dtls *d, uint64_t now_us)
{
	d->now_us = now_us;
}

/* One key of the three is that of the record. */
size_t dtls_quoted(struct dtls *d, const struct dtls_flow *flow, unsigned i, const uint8_t *quoted,
		   size_t n, uint8_t *to)
{
	if (!dtls_is_up(d, flow) || n <= DTLS_OVERHEAD || i != n % DTLS_KEYS_OF_LINK)
		return 0;
	memcpy(to, quoted + DTLS_OVERHEAD, n - DTLS_OVERHEAD);
	return n - DTLS_OVERHEAD;
}

bool dtls_is_gone(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us)
{
	d->now_us = now_us;
	return dtls_fake.gone && dtls_is_up(d, flow);
}

void dtls_unreachable(struct dtls *d, const struct dtls_flow *flow, bool no_port,
		      const uint8_t *quoted, size_t n)
{
	struct dtls_fake_link *l = find_link(flow);

	must(d == the && (quoted || n == 0));
	if (!l || !l->beginning)
		return;
	l->unreachable = true;
	if (no_port)
		dtls_fake_fail(l, DTLS_FAKE_FAILED);
}

bool dtls_is_unreachable(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_fake_link *l = find_link(flow);

	must(d == the);
	return l && l->beginning && l->unreachable;
}

bool dtls_event(struct dtls *d, struct dtls_event *ret)
{
	if (d->n == 0)
		return false;
	*ret = d->event[d->first];
	d->first = (d->first + 1) % EVENTS;
	d->n--;
	return true;
}

void dtls_stats(const struct dtls *d, struct dtls_stats *ret)
{
	*ret = d->stats;
	for (unsigned i = 0; i < DTLS_FAKE_LINKS; i++) {
		ret->links += dtls_fake.link[i].used;
		ret->handshakes += dtls_fake.link[i].beginning;
	}
}
