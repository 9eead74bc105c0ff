/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/listening.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/state.h"
#include "daemon/net/fd_store.h"
#include "daemon/net/resolver.h"
#include "daemon/net/transports.h"
#include "llp/common/host_addrs.h"
#include "util/addr.h"

enum {
	AGAIN_MS = 2000,    /* while something is waited for */
	ASK_MS = 10000,     /* a name that has no address here is looked up again */
	START_MS = 1000,    /* that the start waits for names */
	PRIVATE_LAST = 254, /* 127.0.0.254 */
	REASON = 192,
	WAITS = 512,
	LOOPBACK = -1, /* the word of an address that no word names */
};

/* An item of `listen`. */
struct word {
	const char *text;
	struct listen_word w;
	struct resolver_answer host; /* of its name; n 0: none yet */
	uint64_t ask_ms;             /* when it may be looked up again */
	bool asked;                  /* it is being looked up */
	char why[REASON];            /* it has no address; "": it has */
	char logged[REASON];         /* the same, as it was logged last */
};

struct wanted {
	struct sockaddr_storage a;
	int word;
};

/* The addresses for the words on the host as it is. */
struct plan {
	struct host_addrs host;
	struct wanted at[LLP_MAX_OWN];
	unsigned n;
	bool names_loopback;
};

struct listening {
	struct worker *worker;
	struct word word[CONFIG_MAX_LISTEN];
	unsigned nwords;
	struct timer again;
	struct resolver *resolver; /* NULL: no name was looked up */
	struct event_loop_watch *answers;
	bool open;  /* else the start */
	bool polls; /* the system does not report changes */
	char waits[WAITS];
};

/* ---- the addresses of a word ---- */

static void want(struct plan *p, const struct sockaddr_storage *a, int word)
{
	for (unsigned i = 0; i < p->n; i++)
		if (addr_same_host(&p->at[i].a, a))
			return;
	if (p->n < LLP_MAX_OWN)
		p->at[p->n++] = (struct wanted){*a, word};
}

static bool is_link_local(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

/* Link-local addresses serve one link: its interface has to be named. */
static void plan_any(struct word *w, int i, struct plan *p)
{
	for (unsigned k = 0; k < p->host.naddrs; k++) {
		const struct host_addr *a = &p->host.addr[k];
		const struct host_link *l = host_addrs_link(&p->host, a->index);

		if (l && !l->loopback && !a->tentative && !is_link_local(&a->a))
			want(p, &a->a, i);
	}
	if (p->n == 0)
		snprintf(w->why, sizeof(w->why), "no interface has an address");
}

static void plan_link(struct word *w, int i, const struct host_link *l, struct plan *p)
{
	unsigned before = p->n;

	for (unsigned k = 0; k < p->host.naddrs; k++)
		if (p->host.addr[k].index == l->index && !p->host.addr[k].tentative)
			want(p, &p->host.addr[k].a, i);
	p->names_loopback |= l->loopback;
	if (p->n == before)
		snprintf(w->why, sizeof(w->why), "the interface has no address");
}

static void plan_addr(struct word *w, int i, struct plan *p)
{
	struct sockaddr_storage a = w->w.addr;
	const struct host_link *l = host_addrs_named(&p->host, w->w.scope);

	if (*w->w.scope && !l)
		l = host_addrs_link(&p->host, (unsigned)strtoul(w->w.scope, NULL, 10));
	if (*w->w.scope && !l) {
		snprintf(w->why, sizeof(w->why), "its interface does not exist");
		return;
	}
	if (l)
		((struct sockaddr_in6 *)&a)->sin6_scope_id = l->index;
	p->names_loopback |= addr_loopback(&a);
	if (host_has_addr(&a))
		want(p, &a, i);
	else
		snprintf(w->why, sizeof(w->why), "this host does not have the address");
}

static void plan_host(struct word *w, int i, struct plan *p)
{
	unsigned before = p->n;
	char text[ADDR_TEXT_MAX];

	for (unsigned k = 0; k < w->host.n; k++)
		if (host_has_addr(&w->host.a[k]))
			want(p, &w->host.a[k], i);
	if (w->host.n == 0)
		snprintf(w->why, sizeof(w->why), "no such interface, and no host of this name%s",
			 w->host.err ? "" : " yet");
	else if (p->n == before)
		snprintf(w->why, sizeof(w->why), "%s, which this host does not have",
			 addr_host_text(&w->host.a[0], text));
}

static void plan_word(struct listening *l, int i, struct plan *p)
{
	struct word *w = &l->word[i];
	const struct host_link *link = host_addrs_named(&p->host, w->text);

	w->why[0] = '\0';
	if (w->w.kind == LISTEN_ANY)
		plan_any(w, i, p);
	else if (w->w.kind == LISTEN_ADDR)
		plan_addr(w, i, p);
	else if (link)
		plan_link(w, i, link, p);
	else
		plan_host(w, i, p);
}

static void plan_loopback(struct plan *p)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_storage a;

	if (addr_copy(&a, (const struct sockaddr *)&v4) == 0 && host_has_addr(&a))
		want(p, &a, LOOPBACK);
	if (addr_copy(&a, (const struct sockaddr *)&v6) == 0 && host_has_addr(&a))
		want(p, &a, LOOPBACK);
}

static void make_plan(struct listening *l, struct plan *ret)
{
	*ret = (struct plan){.n = 0};
	if (host_addrs_read(&ret->host))
		log_debug("listen: the system does not list its addresses");
	for (unsigned i = 0; i < l->nwords; i++)
		plan_word(l, (int)i, ret);
	if (l->worker->daemon->cfg.loopback == CONFIG_ON && !ret->names_loopback)
		plan_loopback(ret);
	host_addrs_free(&ret->host);
}

/* ---- names of hosts ---- */

static void ask_names(struct listening *l)
{
	struct host_addrs host;
	uint64_t now_ms = l->worker->now_ms;

	if (host_addrs_read(&host))
		host = (struct host_addrs){0};
	for (unsigned i = 0; i < l->nwords; i++) {
		struct word *w = &l->word[i];

		if (w->w.kind != LISTEN_NAME || host_addrs_named(&host, w->text) || w->asked ||
		    (w->ask_ms && (!*w->why || now_ms < w->ask_ms)))
			continue;
		w->asked = resolver_ask(l->resolver, w->text) == 0;
		w->ask_ms = now_ms + ASK_MS;
	}
	host_addrs_free(&host);
}

/* False: there is no answer. */
static bool take_answer(struct listening *l, int timeout_ms)
{
	struct resolver_answer a;

	if (!resolver_next(l->resolver, timeout_ms, &a))
		return false;
	for (unsigned i = 0; i < l->nwords; i++)
		if (strcmp(l->word[i].text, a.name) == 0) {
			l->word[i].host = a;
			l->word[i].asked = false;
		}
	return true;
}

static void on_answer(void *user, unsigned what)
{
	struct listening *l = user;

	(void)what;
	while (take_answer(l, 0))
		;
	listening_update(l->worker);
}

static bool has_names(const struct listening *l)
{
	for (unsigned i = 0; i < l->nwords; i++)
		if (l->word[i].w.kind == LISTEN_NAME)
			return true;
	return false;
}

/* Most are in /etc/hosts: the start waits for them, so that programs find the address. */
static void wait_for_names(struct listening *l)
{
	ask_names(l);
	for (unsigned i = 0; i < l->nwords; i++)
		while (l->word[i].asked && take_answer(l, START_MS))
			;
}

static int open_resolver(struct listening *l)
{
	if (!has_names(l))
		return 0;
	l->resolver = resolver_new();
	if (!l->resolver)
		return -ENOMEM;
	wait_for_names(l);
	return event_loop_watch(l->worker->loop, resolver_fd(l->resolver), EVENT_LOOP_READ,
				on_answer, l, &l->answers);
}

/* ---- taking and leaving addresses ---- */

static bool is_wanted(const struct plan *p, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < p->n; i++)
		if (addr_same_host(&p->at[i].a, a))
			return true;
	return false;
}

bool listening_has(const struct own_addrs *own, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < own->n; i++)
		if (addr_same_host(&own->a[i], a))
			return true;
	return false;
}

static void drop_unwanted(struct worker *w, const struct plan *p)
{
	char text[ADDR_TEXT_MAX];

	for (unsigned i = w->own.n; i-- > 0;) {
		struct sockaddr_storage a = w->own.a[i];

		if (is_wanted(p, &a))
			continue;
		llp_drop_addr(w->net, &a);
		llp_drop_addr(w->self, &a);
		w->own.a[i] = w->own.a[--w->own.n];
		log_info("listen: %s is gone: no new associations there", addr_host_text(&a, text));
	}
}

/* -errno: the transport refused it, with a reason. */
static int take_addr(struct listening *l, const struct wanted *at, char reason[REASON])
{
	struct worker *w = l->worker;
	char text[ADDR_TEXT_MAX], ignored[REASON];
	int r;

	if (listening_has(&w->own, &at->a))
		return 0;
	r = llp_add_addr(w->net, &at->a, reason, REASON);
	if (r)
		return r;
	(void)llp_add_addr(w->self, &at->a, ignored, sizeof(ignored));
	w->own.a[w->own.n++] = at->a;
	if (l->open)
		log_info("listen: %s was added%s%s", addr_host_text(&at->a, text),
			 at->word == LOOPBACK ? "" : " for ",
			 at->word == LOOPBACK ? "" : l->word[at->word].text);
	return 0;
}

/* In the order of the plan, without those that were refused. */
static void sort_own(struct own_addrs *own, const struct plan *p)
{
	struct own_addrs sorted = {.n = 0};

	for (unsigned i = 0; i < p->n; i++)
		if (listening_has(own, &p->at[i].a))
			sorted.a[sorted.n++] = p->at[i].a;
	*own = sorted;
}

static bool must_be_there(const struct listening *l, const struct wanted *at, int err)
{
	return !l->open && at->word != LOOPBACK && err != -EADDRNOTAVAIL && err != -ENOBUFS;
}

/* 0, or -errno of the first address that is refused when the daemon starts, with the reason. */
static int take_wanted(struct listening *l, const struct plan *p, char reason[REASON])
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct wanted *at = &p->at[i];
		int r = take_addr(l, at, reason);

		if (r == 0)
			continue;
		if (must_be_there(l, at, r))
			return r;
		if (at->word != LOOPBACK)
			snprintf(l->word[at->word].why, REASON, "%s", reason);
		else if (!l->open)
			log_info("listen: %s: not at this loopback address", reason);
	}
	sort_own(&l->worker->own, p);
	return 0;
}

/* ---- telling ---- */

static void log_wait(struct word *w, uint64_t now_ms)
{
	if (w->asked && now_ms + ASK_MS < w->ask_ms + START_MS)
		return; /* the answer may be on its way */
	if (*w->why && strcmp(w->why, w->logged) != 0) {
		if (w->w.kind == LISTEN_ADDR && addr_loopback(&w->w.addr))
			log_info("listen: %s: %s", w->text, w->why);
		else
			log_warn("listen: %s: %s: waiting for it", w->text, w->why);
	}
	memcpy(w->logged, w->why, sizeof(w->logged));
}

/* Associations need the address, but other hosts do not reach it: usual for the name of a host in
 * its own /etc/hosts. */
static void warn_of_loopback(const struct word *w)
{
	char text[ADDR_TEXT_MAX];

	if (w->host.n && addr_loopback(&w->host.a[0]) && strcmp(w->text, "localhost") != 0)
		log_warn("listen: %s is %s, which other hosts do not reach: see /etc/hosts",
			 w->text, addr_host_text(&w->host.a[0], text));
}

static bool log_waits(struct listening *l)
{
	size_t at = 0;

	l->waits[0] = '\0';
	for (unsigned i = 0; i < l->nwords; i++) {
		struct word *w = &l->word[i];

		log_wait(w, l->worker->now_ms);
		if (*w->why && at < sizeof(l->waits))
			at += (size_t)snprintf(l->waits + at, sizeof(l->waits) - at, "%s%s (%s)",
					       at ? ", " : "", w->text, w->why);
	}
	return at > 0;
}

/* ---- following ---- */

static bool is_as_planned(const struct own_addrs *own, const struct plan *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!listening_has(own, &p->at[i].a))
			return false;
	return own->n == p->n;
}

static int change_addrs(struct listening *l, const struct plan *p, char reason[REASON])
{
	struct worker *w = l->worker;
	int r;

	transports_unwatch(w);
	drop_unwanted(w, p);
	r = take_wanted(l, p, reason);
	return r == 0 && transports_watch(w) < 0 ? -ENOMEM : r;
}

static int apply(struct listening *l, char reason[REASON])
{
	struct worker *w = l->worker;
	struct plan p;
	bool waits;
	int r = 0;

	make_plan(l, &p);
	if (!l->open || !is_as_planned(&w->own, &p))
		r = change_addrs(l, &p, reason);
	waits = r == 0 && log_waits(l);
	if (r == 0 && !waits)
		fd_store_drop_rest(w->fd_store); /* while something is missing it may be for that */
	if (waits || (r == 0 && l->polls))
		timer_set(&w->timers, &l->again, w->now_ms + AGAIN_MS);
	return r;
}

void listening_update(struct worker *w)
{
	char reason[REASON];

	if (w->listening->resolver)
		ask_names(w->listening);
	(void)apply(w->listening, reason);
}

static void look_again(struct timer *t)
{
	listening_update(list_entry(t, struct listening, again)->worker);
}

void listening_poll(struct worker *w)
{
	w->listening->polls = true;
}

/* --private: the addresses of this host's loopback interface are tried one after the other. */
static bool next_private(struct listening *l, int err)
{
	struct sockaddr_in *a = (struct sockaddr_in *)&l->word[0].w.addr;
	uint32_t host = ntohl(a->sin_addr.s_addr);

	if (err != -EADDRINUSE || !l->worker->daemon->cfg.private || (host & 0xff) == PRIVATE_LAST)
		return false;
	a->sin_addr.s_addr = htonl(host + 1);
	return true;
}

/* The configuration shows the address and the port that were found. */
static void keep_private(struct daemon *d)
{
	char text[ADDR_TEXT_MAX];

	if (!d->cfg.private)
		return;
	addr_host_text(&d->worker.own.a[0], text);
	snprintf(d->cfg.listen[0], sizeof(d->cfg.listen[0]), "%s", text);
	d->cfg.user.udp_port = d->udp_port;
}

static int begin(struct listening *l)
{
	struct worker *w = l->worker;
	char reason[REASON] = "out of memory";
	int r = open_resolver(l);

	if (r == 0) {
		do
			r = apply(l, reason);
		while (r && next_private(l, r));
	}
	for (unsigned i = 0; i < l->nwords; i++)
		warn_of_loopback(&l->word[i]);
	if (r)
		log_err("transport %s: %s", w->daemon->transport, reason);
	else
		keep_private(w->daemon);
	l->open = true;
	return r ? -1 : 0;
}

int listening_open(struct worker *w)
{
	const struct config *cfg = &w->daemon->cfg;
	struct listening *l = calloc(1, sizeof(*l));

	if (!l) {
		log_err("out of memory at start");
		return -1;
	}
	w->listening = l;
	l->worker = w;
	l->nwords = cfg->nlisten;
	timer_init(&l->again, look_again);
	for (unsigned i = 0; i < l->nwords; i++) {
		l->word[i].text = w->daemon->cfg.listen[i];
		(void)listen_word_parse(l->word[i].text, &l->word[i].w);
	}
	return begin(l);
}

void listening_close(struct worker *w)
{
	struct listening *l = w->listening;

	if (!l)
		return;
	timer_cancel(&w->timers, &l->again);
	event_loop_unwatch(l->answers);
	resolver_free(l->resolver);
	free(l);
	w->listening = NULL;
}

/* ---- showing ---- */

static void add_named(struct own_addrs *ret, const struct sockaddr_storage *a)
{
	if (ret->n < LLP_MAX_OWN)
		ret->a[ret->n++] = *a;
}

void listening_named(const struct worker *w, struct own_addrs *ret)
{
	const struct listening *l = w->listening;
	const struct sockaddr_storage any = {.ss_family = AF_INET};

	*ret = (struct own_addrs){.n = 0};
	for (unsigned i = 0; i < w->own.n; i++)
		if (!addr_loopback(&w->own.a[i]))
			add_named(ret, &w->own.a[i]);
	for (unsigned i = 0; i < l->nwords; i++) {
		if (l->word[i].w.kind == LISTEN_ANY)
			add_named(ret, &any);
		else if (l->word[i].w.kind == LISTEN_ADDR)
			add_named(ret, &l->word[i].w.addr);
		else if (l->word[i].host.n)
			add_named(ret, &l->word[i].host.a[0]);
		else if (strcmp(l->word[i].text, "lo") == 0)
			add_named(ret, &w->own.a[0]);
	}
}

void listening_text(const struct worker *w, char *ret, size_t len)
{
	char text[ADDR_TEXT_MAX];
	size_t at = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < w->own.n && at < len; i++)
		at += (size_t)snprintf(ret + at, len - at, "%s%s", i ? ", " : "",
				       addr_host_text(&w->own.a[i], text));
}

const char *listening_waits(const struct worker *w)
{
	return w->listening ? w->listening->waits : "";
}
