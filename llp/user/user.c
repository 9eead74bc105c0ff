/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport as a whole: opening, driving and closing it. */
#include "llp/user/user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "llp/dtls/dtls.h"
#include "util/addr.h"
#include "util/crc32c.h"
#include "util/minmax.h"
#include "util/undumped.h"

enum {
	MS = 1000, /* microseconds */
	SECOND = 1000 * MS,
	INIT_TRIES = 100, /* our own timer ends the attempt */
	INIT_RTO_MS = 1000,
	COOKIE_MS = 60000,
	HANDSHAKES = 4000, /* a second */
	DISTANT_US = MS,   /* round trips from there on: as where the core paces */
	PATIENCE = 20,     /* the part of a round trip that packets may wait */
	MOST_PATIENCE_US = MS,
	MAPPED_BYTES = 64 << 10,
};

/* ---- time ---- */

/* An owner with another clock (a test) may let it jump: our time follows. Usually both clocks are
 * the same. */
static void set_time(struct user *t, uint64_t now_ms)
{
	uint64_t ahead;

	llp_sctp_set_time(&t->sctp, now_ms);
	llp_user_read_clock(t);
	if (!t->ticked && t->now_us - now_ms * MS > SECOND)
		t->owner_us = t->now_us - now_ms * MS;
	t->ticked = true;
	ahead = now_ms * MS + t->owner_us - t->now_us;
	if (ahead < UINT64_MAX / 2) {
		t->skew_us += ahead;
		t->now_us += ahead;
	}
}

/* ---- open ---- */

static int check_config(const struct llp_config *cfg, char *ret_reason, size_t len)
{
	if (cfg->udp_port == 0 && !cfg->ret_free_port) {
		snprintf(ret_reason, len,
			 "UDP port 0: peers have to know the port, so it cannot be a free one");
		return -EINVAL;
	}
	if (cfg->cover && cfg->cover->udp_port == cfg->udp_port) {
		snprintf(ret_reason, len,
			 "UDP port %u is for packets in clear text: DTLS needs another one",
			 cfg->udp_port);
		return -EINVAL;
	}
	if (cfg->mtu != 0 && cfg->mtu < USER_MIN_MTU) {
		snprintf(ret_reason, len, "mtu %u: the minimum is %d bytes", cfg->mtu,
			 USER_MIN_MTU);
		return -EINVAL;
	}
	return llp_sctp_check_config(cfg, ret_reason, len);
}

/* The core's callbacks. Large parts are mapped: in the heap those of a burst would stay behind what
 * other objects hold. */
static void *get_memory(void *arg, size_t len)
{
	(void)arg;
	return len < MAPPED_BYTES ? malloc(len) : undumped_map(len, 0);
}

static void put_memory(void *arg, void *p, size_t len)
{
	(void)arg;
	if (len < MAPPED_BYTES)
		free(p);
	else
		undumped_unmap(p, len);
}

/* Cookies and tags must not be guessed. */
static void get_random(void *arg, void *ret, size_t len)
{
	(void)arg;
	if (getrandom(ret, len, 0) != (ssize_t)len)
		abort();
}

static void set_limits(const struct llp_config *cfg, struct sctp_config *ret)
{
	uint32_t first = cfg->rto_max_ms < INIT_RTO_MS ? cfg->rto_max_ms : INIT_RTO_MS;

	ret->rto_initial_us = max_u32(first, cfg->rto_min_ms) * MS;
	ret->rto_min_us = cfg->rto_min_ms * MS;
	ret->rto_max_us = cfg->rto_max_ms * MS;
	ret->sack_packets = cfg->sack_packets;
	ret->sack_us = cfg->sack_ms * MS;
	ret->heartbeat_us = cfg->heartbeat_ms * MS;
	ret->path_max_retrans = cfg->path_max_retrans;
	ret->assoc_max_retrans = cfg->assoc_max_retrans;
	ret->init_max_retrans = INIT_TRIES;
	ret->cookie_us = COOKIE_MS * MS;
	ret->handshakes_per_s = HANDSHAKES;
	ret->max_assocs = LLP_SCTP_MAX_CONNS;
	ret->max_memory = LLP_USER_MEMORY;
	ret->max_windows = LLP_USER_WINDOWS;
}

static void user_set_cc(struct llp *llp, enum llp_cc cc, const struct llp_cc_rule *rules,
			unsigned n)
{
	struct user *t = (struct user *)llp;
	struct sctp_cc_rule rule[SCTP_MAX_CC_RULES];

	_Static_assert((int)LLP_MAX_CC_RULES == (int)SCTP_MAX_CC_RULES, "the core takes them all");
	_Static_assert((int)LLP_CC_RFC9260 == (int)SCTP_CC_RFC9260 &&
			       (int)LLP_CC_CUBIC == (int)SCTP_CC_CUBIC &&
			       (int)LLP_CC_BBR == (int)SCTP_CC_BBR,
		       "the core knows them by the same numbers");
	for (unsigned i = 0; i < n; i++)
		rule[i] = (struct sctp_cc_rule){.prefix = llp_user_addr(&rules[i].prefix),
						.bits = (uint8_t)rules[i].bits,
						.algo = (enum sctp_cc_algo)rules[i].cc};
	sctp_set_cc(t->core, (enum sctp_cc_algo)cc, rule, n);
}

static int open_core(struct user *t)
{
	const struct llp_config *cfg = &t->sctp.cfg;
	struct sctp_config c = {
		.udp_port = cfg->udp_port,
		.streams = cfg->streams,
		.adaptation = cfg->adaptation,
		.send_buffer = cfg->buffer,
		.recv_buffer = cfg->buffer,
		.mtu = cfg->mtu,
		.networks = cfg->networks,
		.cover_bytes = DTLS_OVERHEAD,
		.cover_packet = DTLS_MAX_PLAIN,
		.mem = {get_memory, put_memory, NULL},
		.random = get_random,
	};

	set_limits(cfg, &c);
	llp_user_read_clock(t);
	if (sctp_open(&c, t->now_us, &t->core) != SCTP_E_OK)
		return -ENOMEM;
	user_set_cc(&t->sctp.base, cfg->cc, cfg->cc_rules, cfg->ncc_rules);
	return 0;
}

static const struct llp_ops ops;

static void free_user(struct user *t)
{
	sctp_close(t->core);
	llp_user_cover_close(t);
	for (unsigned i = 0; i < t->naddrs; i++)
		llp_user_close_socks(t, i);
	if (t->room >= 0)
		close(t->room);
	free(t);
}

static struct user *alloc_user(const struct llp_config *cfg, const struct llp_events *ev)
{
	struct user *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->room = epoll_create1(EPOLL_CLOEXEC);
	if (t->room < 0) {
		free_user(t);
		return NULL;
	}
	get_random(NULL, &t->route_key, sizeof(t->route_key));
	llp_sctp_init(&t->sctp, &ops, NULL, cfg, ev);
	t->sctp.cfg.naddrs = 0;
	t->ncovers = 1;
	list_init(&t->listeners);
	llp_user_guard_init(t);
	return t;
}

int llp_user_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret,
		  char *ret_reason, size_t len)
{
	struct user *t;
	int r;

	*ret_reason = 0;
	r = check_config(cfg, ret_reason, len);
	if (r < 0)
		return r;
	t = alloc_user(cfg, ev);
	r = t ? 0 : -ENOMEM;
	if (r >= 0)
		r = open_core(t);
	if (r >= 0 && cfg->cover)
		r = llp_user_cover_open(t, get_random, ret_reason, len);
	for (unsigned i = 0; i < cfg->naddrs && r >= 0; i++)
		r = llp_user_add_addr(&t->sctp.base, &cfg->addrs[i], ret_reason, len);
	if (r == -ENOMEM)
		snprintf(ret_reason, len, "no memory");
	if (r < 0) {
		if (t)
			free_user(t);
		return r;
	}
	*ret = &t->sctp.base;
	return 0;
}

/* ---- close ---- */

static void user_close(struct llp *llp)
{
	struct user *t = (struct user *)llp;

	while (!list_empty(&t->listeners))
		llp_user_unlisten(&list_entry(t->listeners.next, struct user_listener, all)->base);
	list_foreach_safe (it, &t->sctp.conns) {
		llp_user_conn_free(&list_entry(it, struct user_conn, sctp.all)->sctp.base);
	}
	llp_user_read_clock(t);
	llp_user_write(t);
	llp_user_cover_end(t);
	free_user(t);
}

/* ---- drive ---- */

static unsigned user_fds(const struct llp *llp, int ret_fds[LLP_MAX_FDS])
{
	const struct user *t = (const struct user *)llp;

	unsigned n = 0;

	for (unsigned k = 0; k < t->ncovers; k++)
		for (unsigned i = 0; i < t->naddrs; i++)
			ret_fds[n++] = udp_fd(t->sock[k][i].udp);
	ret_fds[n++] = t->room;
	if (t->cover)
		ret_fds[n++] = llp_user_cover_fd(t);
	return n;
}

/* Timers of the core are finer than the owner's ticks. */
static void run_core(struct user *t)
{
	if (sctp_expiry(t->core) <= t->now_us)
		sctp_run(t->core, t->now_us);
}

static uint32_t patience(uint32_t rtt_us)
{
	if (rtt_us == UINT32_MAX || rtt_us < DISTANT_US)
		return 0;
	return min_u32(rtt_us / PATIENCE, MOST_PATIENCE_US);
}

static bool user_input(struct llp *llp, unsigned budget)
{
	struct user *t = (struct user *)llp;
	bool near = !list_empty(&t->sctp.ready), any = near;
	uint32_t rtt_us;

	llp_user_read_clock(t);
	any |= llp_user_read(t, budget);
	llp_user_cover_run(t);
	rtt_us = sctp_input_rtt(t->core);
	t->patience_us = near ? 0 : patience(rtt_us);
	llp_user_guard(t);
	run_core(t);
	llp_user_events(t);
	return any;
}

static uint32_t user_patience_us(const struct llp *llp)
{
	return ((const struct user *)llp)->patience_us;
}

static void user_tick(struct llp *llp, uint64_t now_ms)
{
	struct user *t = (struct user *)llp;

	set_time(t, now_ms);
	llp_user_guard(t);
	llp_user_cover_run(t);
	run_core(t);
	llp_user_expire(t);
	llp_user_events(t);
}

static uint64_t user_expiry_us(const struct llp *llp)
{
	const struct user *t = (const struct user *)llp;
	uint64_t core = min_u64(sctp_expiry(t->core), llp_user_cover_expiry(t));
	uint64_t next = llp_sctp_expiry_us(&t->sctp);

	core = min_u64(core, llp_user_guard_due(t));
	if (!list_empty(&t->sctp.ready) || core <= t->now_us)
		return llp_sctp_now_us(&t->sctp);
	if (core == UINT64_MAX)
		return next;
	return min_u64(core - t->owner_us, next);
}

/* Makes sure that the owner is woken when a full socket has room. If that fails, the next tick
 * flushes. */
static void watch_room(struct user *t, struct user_sock *s)
{
	bool blocked = udp_blocked(s->udp);
	struct epoll_event e = {.events = EPOLLOUT};

	if (blocked != s->watched &&
	    epoll_ctl(t->room, blocked ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, udp_fd(s->udp), &e) == 0)
		s->watched = blocked;
}

static void user_flush(struct llp *llp)
{
	struct user *t = (struct user *)llp;

	llp_user_read_clock(t);
	llp_user_write(t);
	llp_user_events(t);
	for (unsigned k = 0; k < t->ncovers; k++)
		for (unsigned i = 0; i < t->naddrs; i++)
			watch_room(t, &t->sock[k][i]);
}

static void user_stats(const struct llp *llp, struct llp_stats *ret)
{
	const struct user *t = (const struct user *)llp;
	struct sctp_stats core;
	struct udp_stats u;
	struct llp_stats st;

	sctp_stats(t->core, &core);
	st = (struct llp_stats){.bad_crc = core.bad_crc,
				.bad_packets = core.bad_packets,
				.retransmits = core.retransmits,
				.spurious = core.spurious,
				.unknown = core.unknown,
				.over_budget = core.over_budget,
				.over_share = core.over_share,
				.refused = core.refused_handshakes,
				.unanswered = core.dropped_replies,
				.memory = sctp_memory(t->core)};

	llp_user_udp_stats(t, &u);
	st.tx_packets = u.tx_packets;
	st.tx_batches = u.tx_batches;
	st.tx_bytes = u.tx_bytes;
	st.tx_errors = u.tx_errors;
	st.rx_packets = u.rx_packets;
	st.rx_batches = u.rx_batches;
	st.rx_bytes = u.rx_bytes;
	st.bad_packets += u.rx_cut;
	st.kernel_dropped = u.rx_dropped;
	*ret = st;
}

static const struct llp_ops ops = {
	.name = "user",
	.close = user_close,
	.add_addr = llp_user_add_addr,
	.drop_addr = llp_user_drop_addr,
	.fds = user_fds,
	.input = user_input,
	.patience_us = user_patience_us,
	.tick = user_tick,
	.expiry_us = user_expiry_us,
	.flush = user_flush,
	.listen = llp_user_listen,
	.unlisten = llp_user_unlisten,
	.connect = llp_user_connect,
	.send = llp_user_send,
	.room = llp_user_room,
	.recv = llp_user_recv,
	.report_acks = llp_user_report_acks,
	.unacked = llp_user_unacked,
	.info = llp_user_info,
	.identity = llp_user_identity,
	.paths = llp_user_paths,
	.set_primary = llp_user_set_primary,
	.stats = user_stats,
	.set_cc = user_set_cc,
	.set_cover_files = llp_user_cover_set_files,
	.set_tap = llp_user_set_tap,
	.shutdown = llp_user_shutdown,
	.abort = llp_user_abort,
	.conn_free = llp_user_conn_free,
};
