/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport as a whole: opening, driving and closing it. */
#include "llp/user.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "util/addr.h"
#include "util/crc32c.h"

enum {
	TICK_MS = 10,       /* granularity of usrsctp's timers */
	MAX_TICK_MS = 500,  /* the same when no packet comes or goes */
	PRECISION = 8,      /* timers are late by at most this part of their duration */
	MAX_REPLIES = 100,  /* to packets without an association, per tick */
	FINISH_MS = 5000,   /* of simulated time for usrsctp to free everything */
	MAX_CHUNKS = 16384, /* queued on an association; RFC 5043 allows 32767 a stream */
	INITIAL_CWND = 32,
};

/* There is one usrsctp per process, and its output callback has no argument that leads here. */
static struct user *the_user;
static bool stack_up;

static int output(void *addr, void *buffer, size_t len, uint8_t tos, uint8_t set_df)
{
	struct user_peer *p = the_user ? llp_user_peer_by_token(the_user, addr) : NULL;

	(void)tos;
	(void)set_df;
	if (!p || len < 12 || len > UDP_MAX_PACKET)
		return 0;
	the_user->active_ms = the_user->sctp.now_ms;
	crc32c_seal(buffer, len);
	udp_send(p->sock, &p->flow, buffer, len);
	return 0;
}

/* ---- open ---- */

static void set_sysctls(const struct user *t)
{
	/* RFC 5041 section 3 requires a reliable transport; there is one path per association. */
	usrsctp_sysctl_set_sctp_pr_enable(0);
	usrsctp_sysctl_set_sctp_auth_enable(0);
	usrsctp_sysctl_set_sctp_asconf_enable(0);
	usrsctp_sysctl_set_sctp_auto_asconf(0);
	usrsctp_sysctl_set_sctp_reconfig_enable(0);
	usrsctp_sysctl_set_sctp_nrsack_enable(0);
	usrsctp_sysctl_set_sctp_pktdrop_enable(0);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	usrsctp_sysctl_set_sctp_max_burst_default(0);
	usrsctp_sysctl_set_sctp_fr_max_burst_default(0);
	usrsctp_sysctl_set_sctp_initial_cwnd(INITIAL_CWND);
	usrsctp_sysctl_set_sctp_max_chunks_on_queue(MAX_CHUNKS);
	usrsctp_sysctl_set_sctp_sendspace(t->sctp.cfg.buffer);
	usrsctp_sysctl_set_sctp_recvspace(t->sctp.cfg.buffer);
}

/* usrsctp starts a thread that only waits; it must not receive our signals. */
static void start_stack(void)
{
	sigset_t all, old;

	if (stack_up)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	usrsctp_init_nothreads(0, output, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	usrsctp_enable_crc32c_offload();
	stack_up = true;
}

static int open_sock(struct user *t, const struct sockaddr_storage *a, char *ret_reason, size_t len)
{
	char text[ADDR_TEXT_MAX];
	int r;

	addr_host_text(a, text);
	r = udp_open(a, t->sctp.cfg.udp_port, 4 * t->sctp.cfg.buffer, &t->sock[t->nsocks]);
	if (r == -EADDRINUSE)
		snprintf(ret_reason, len, "UDP port %u of %s is in use", t->sctp.cfg.udp_port,
			 text);
	else if (r == -EADDRNOTAVAIL)
		snprintf(ret_reason, len, "%s is not an address of this host", text);
	else if (r < 0)
		snprintf(ret_reason, len, "UDP port %u of %s: %s", t->sctp.cfg.udp_port, text,
			 strerror(-r));
	else
		t->nsocks++;
	return r;
}

static int check_config(const struct llp_config *cfg, char *ret_reason, size_t len)
{
	if (cfg->udp_port == 0) {
		snprintf(ret_reason, len, "UDP port 0: the peers have to know the port");
		return -EINVAL;
	}
	if (cfg->mtu != 0 && cfg->mtu < USER_MIN_MTU) {
		snprintf(ret_reason, len, "mtu %u: at least %d bytes", cfg->mtu, USER_MIN_MTU);
		return -EINVAL;
	}
	return llp_sctp_check_config(cfg, ret_reason, len);
}

/* Data in flight to us has to fit into the sockets' receive buffers. */
static void clamp_buffer(struct user *t)
{
	uint32_t least = 8 * 65536;

	for (unsigned i = 0; i < t->nsocks; i++)
		if (udp_rcvbuf(t->sock[i]) / 2 < t->sctp.cfg.buffer)
			t->sctp.cfg.buffer = udp_rcvbuf(t->sock[i]) / 2;
	if (t->sctp.cfg.buffer < least)
		t->sctp.cfg.buffer = least;
}

static const struct llp_ops ops;

static void free_user(struct user *t)
{
	for (unsigned i = 0; i < t->nsocks; i++)
		udp_close(t->sock[i]);
	if (t->room >= 0)
		close(t->room);
	free(t->peer);
	free(t);
}

static struct user *alloc_user(const struct llp_config *cfg, const struct llp_events *ev)
{
	struct user *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->room = epoll_create1(EPOLL_CLOEXEC);
	t->peer = calloc(USER_MAX_PEERS, sizeof(t->peer[0]));
	if (t->room < 0 || !t->peer ||
	    getrandom(t->hash_key, sizeof(t->hash_key), 0) != sizeof(t->hash_key)) {
		free_user(t);
		return NULL;
	}
	llp_sctp_init(&t->sctp, &ops, &llp_user_io_ops, cfg, ev);
	t->replies_left = MAX_REPLIES;
	list_init(&t->idle);
	list_init(&t->ports);
	for (unsigned i = 0; i < USER_BUCKETS; i++)
		list_init(&t->bucket[i]);
	return t;
}

static uint32_t retransmits(void)
{
	struct sctpstat st;

	usrsctp_get_stat(&st);
	return st.sctps_sendretransdata;
}

int llp_user_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret,
		  char *ret_reason, size_t len)
{
	struct user *t;
	int r;

	*ret_reason = 0;
	if (the_user) {
		snprintf(ret_reason, len, "the user transport is already open in this process");
		return -EBUSY;
	}
	r = check_config(cfg, ret_reason, len);
	if (r < 0)
		return r;
	t = alloc_user(cfg, ev);
	if (!t) {
		snprintf(ret_reason, len, "no memory");
		return -ENOMEM;
	}
	for (unsigned i = 0; i < cfg->naddrs && r >= 0; i++)
		r = open_sock(t, &t->sctp.addrs[i], ret_reason, len);
	if (r < 0) {
		free_user(t);
		return r;
	}
	clamp_buffer(t);
	start_stack();
	set_sysctls(t);
	t->retransmits_base = retransmits();
	the_user = t;
	*ret = &t->sctp.base;
	return 0;
}

/* ---- close ---- */

static void close_all(struct user *t)
{
	while (!list_empty(&t->ports)) {
		struct user_port *p = list_entry(t->ports.next, struct user_port, all);

		/* Closing the last listener frees the port. */
		llp_user_unlisten(&list_entry(p->listeners.next, struct user_listener, all)->base);
	}
	list_foreach_safe (it, &t->sctp.conns) {
		llp_user_conn_free(&list_entry(it, struct user_conn, sctp.all)->sctp.base);
	}
}

static void user_close(struct llp *llp)
{
	struct user *t = (struct user *)llp;

	close_all(t);
	for (unsigned i = 0; i < t->nsocks; i++)
		udp_flush(t->sock[i]);
	/* Timers still hold sockets that were just closed. Nothing is sent from here on. */
	the_user = NULL;
	for (int ms = 0; stack_up && ms < FINISH_MS; ms += TICK_MS) {
		if (usrsctp_finish() == 0)
			stack_up = false;
		else
			usrsctp_handle_timers(TICK_MS);
	}
	llp_user_peer_free_all(t);
	free_user(t);
}

/* ---- drive ---- */

static unsigned user_fds(const struct llp *llp, int ret_fds[LLP_MAX_FDS])
{
	const struct user *t = (const struct user *)llp;

	for (unsigned i = 0; i < t->nsocks; i++)
		ret_fds[i] = udp_fd(t->sock[i]);
	ret_fds[t->nsocks] = t->room;
	return t->nsocks + 1;
}

static bool user_input(struct llp *llp, unsigned budget)
{
	struct user *t = (struct user *)llp;
	bool any = !list_empty(&t->sctp.ready);

	for (unsigned i = 0; i < t->nsocks; i++) {
		struct user_rx rx = {t, t->sock[i]};

		if (udp_recv(rx.sock, budget, llp_user_packet, &rx)) {
			t->active_ms = t->sctp.now_ms;
			any = true;
		}
		udp_errors(rx.sock, llp_user_icmp, &rx);
	}
	llp_sctp_dispatch(&t->sctp, NULL);
	return any;
}

static void advance(struct user *t)
{
	uint64_t ms = t->sctp.now_ms - t->tick_ms;

	if (ms < TICK_MS)
		return;
	t->tick_ms = t->sctp.now_ms;
	t->replies_left = MAX_REPLIES;
	usrsctp_handle_timers(ms > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)ms);
	llp_user_peer_expire(t);
	llp_user_conn_expire(t);
}

static void user_tick(struct llp *llp, uint64_t now_ms)
{
	struct user *t = (struct user *)llp;

	llp_sctp_set_time(&t->sctp, now_ms);
	advance(t);
	llp_sctp_dispatch(&t->sctp, NULL);
}

/* Timers that are still running were started when the last packet came or went, or before. The
 * longer that is ago, the longer they last, and the less precise they need to be. */
static uint64_t tick_interval(const struct user *t)
{
	uint64_t ms = (t->tick_ms - t->active_ms) / PRECISION;

	if (t->tick_ms < t->active_ms || ms < TICK_MS)
		return TICK_MS;
	return ms < MAX_TICK_MS ? ms : MAX_TICK_MS;
}

static uint64_t user_expiry(const struct llp *llp)
{
	const struct user *t = (const struct user *)llp;

	if (!list_empty(&t->sctp.ready))
		return t->sctp.base_ms + t->sctp.now_ms;
	if (t->sctp.nconns || t->nidle || t->sctp.now_ms < t->linger_ms)
		return t->sctp.base_ms + t->tick_ms + tick_interval(t);
	return UINT64_MAX;
}

/* Has the owner woken when a full socket has room. If that fails, the next tick flushes. */
static void watch_room(struct user *t, unsigned i)
{
	bool blocked = udp_blocked(t->sock[i]);
	struct epoll_event e = {.events = EPOLLOUT};

	if (blocked != t->watched[i] && epoll_ctl(t->room, blocked ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
						  udp_fd(t->sock[i]), &e) == 0)
		t->watched[i] = blocked;
}

static void user_flush(struct llp *llp)
{
	struct user *t = (struct user *)llp;

	for (unsigned i = 0; i < t->nsocks; i++) {
		udp_flush(t->sock[i]);
		watch_room(t, i);
	}
}

static void user_stats(const struct llp *llp, struct llp_stats *ret)
{
	const struct user *t = (const struct user *)llp;
	struct llp_stats st = {.bad_crc = t->bad_crc, .bad_packets = t->bad_packets};

	for (unsigned i = 0; i < t->nsocks; i++) {
		struct udp_stats u;

		udp_stats(t->sock[i], &u);
		st.tx_packets += u.tx_packets;
		st.tx_batches += u.tx_batches;
		st.tx_bytes += u.tx_bytes;
		st.tx_errors += u.tx_errors;
		st.rx_packets += u.rx_packets;
		st.rx_batches += u.rx_batches;
		st.rx_bytes += u.rx_bytes;
		st.bad_packets += u.rx_cut;
	}
	st.retransmits = retransmits() - t->retransmits_base;
	*ret = st;
}

static const struct llp_ops ops = {
	.name = "user",
	.close = user_close,
	.fds = user_fds,
	.input = user_input,
	.tick = user_tick,
	.expiry = user_expiry,
	.flush = user_flush,
	.listen = llp_user_listen,
	.unlisten = llp_user_unlisten,
	.connect = llp_user_connect,
	.send = llp_user_send,
	.recv = llp_user_recv,
	.info = llp_user_info,
	.stats = user_stats,
	.shutdown = llp_user_shutdown,
	.abort = llp_user_abort,
	.conn_free = llp_user_conn_free,
};
