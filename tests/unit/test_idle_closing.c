/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions that begin while their association closes because it is idle. Two daemons without their
 * sockets run over the simulated network, under its clock: a message may take minutes. Each test
 * has the view of the program: its session is established in any case.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/net/association.h"
#include "daemon/net/association_index.h"
#include "daemon/objects/sessions/assoc_events.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "daemon/turn.h"
#include "ipc/conn.h"
#include "ipc/local_protocol.h"
#include "ipc/msg_addr.h"
#include "tests/lib/sim.h"
#include "util/be.h"

enum {
	PORT = 5043,
	IDLE_MS = 2000, /* the default of session.idle_ms */
	CONNECT_MS = 600000,
	RTT_US = 1000,
};

/* A daemon and the one program that uses it. */
struct side {
	struct daemon d;
	uint8_t host;
	uint64_t wakes_us; /* when the clock calls it next; 0: not at all */
	struct client *c;
	int fd, event_fd;
	uint32_t pd, cq, qp;
	_Alignas(8) uint8_t rec[MSG_MAX];
};

static struct side a, b;
static struct sim_world *world;

/* ---- the network ---- */

static uint64_t now_us(void)
{
	return simclock_now(sim_clock(world));
}

static uint64_t now_ms(void)
{
	return now_us() / 1000 + 1;
}

static const struct sim_faults quiet = {.delay_us = RTT_US / 2};

/* Delays the first control message with this function code. */
static uint8_t slow_func;
static uint32_t slow_ms;
/* Called when that message is sent. */
static void (*when_sent)(void);

static void observe(void *user, enum sim_what what, const struct llp_conn *conn,
		    const struct llp_msg *m)
{
	struct sim_faults slow = quiet;

	(void)user;
	(void)conn;
	if (what != SIM_SENT || m->ppid != WIRE_PPID_CONTROL || !slow_func)
		return;
	if (be_get16((const uint8_t *)m->part[0].p + WIRE_SSN_LEN) != slow_func)
		return;
	slow_func = 0;
	slow.delay_us = slow_ms * 1000;
	sim_set_faults(world, &slow);
	if (when_sent)
		when_sent();
}

/* The transport's upcalls come between turns here, so each sets the time. */
static void set_time(struct association *assoc)
{
	assoc->worker->now_ms = now_ms();
}

static void *incoming(void *user, struct llp_conn *c)
{
	((struct association_listener *)user)->worker->now_ms = now_ms();
	return association_llp_events.incoming(user, c);
}

static void up(void *user)
{
	set_time(user);
	association_llp_events.up(user);
}

static void down(void *user, int err, const char *reason)
{
	set_time(user);
	association_llp_events.down(user, err, reason);
}

static bool readable(void *user)
{
	set_time(user);
	return association_llp_events.readable(user);
}

static void writable(void *user)
{
	set_time(user);
	association_llp_events.writable(user);
}

static void acked(void *user)
{
	set_time(user);
	association_llp_events.acked(user);
}

static const struct llp_events events = {
	.incoming = incoming,
	.up = up,
	.down = down,
	.readable = readable,
	.writable = writable,
	.acked = acked,
};

/* ---- the clock ---- */

static void wake(void *obj, void *arg)
{
	(void)arg;
	((struct side *)obj)->wakes_us = 0;
}

/* Turns until only time is awaited. */
static void turns(struct side *s)
{
	struct worker *w = &s->d.worker;
	uint64_t at;

	while (turn_hooks.turn(w, now_ms()) || !list_empty(&w->active))
		;
	at = turn_hooks.expiry_us(w);
	if (at == UINT64_MAX)
		return;
	at = at > now_ms() * 1000 ? at - 1000 : now_ms() * 1000;
	if (s->wakes_us && s->wakes_us <= at)
		return;
	s->wakes_us = at;
	simclock_after(sim_clock(world), at - now_us(), wake, s, NULL);
}

static bool step(void)
{
	turns(&a);
	turns(&b);
	sim_set_faults(world, &quiet);
	return sim_step(world);
}

static void mark(void *obj, void *arg)
{
	(void)arg;
	*(bool *)obj = true;
}

static void pass_us(uint64_t us)
{
	bool over = false;

	simclock_after(sim_clock(world), us, mark, &over, NULL);
	while (!over)
		step();
}

/* ---- programs ---- */

static const void *answer(struct side *s)
{
	int fds[MSG_MAX_FDS];
	unsigned n = 0;
	size_t len;

	cr_assert_eq(conn_recv(s->fd, s->rec, sizeof(s->rec), &len, fds, &n), CONN_E_OK);
	if (n > 0 && ((struct msg_hdr *)s->rec)->op == MSG_HELLO)
		s->event_fd = fds[0];
	else if (n > 0)
		close(fds[0]);
	for (unsigned i = 1; i < n; i++)
		close(fds[i]);
	return s->rec;
}

/* A record that must succeed; returns the handle in the reply. */
static uint32_t call(struct side *s, const void *rec, size_t len)
{
	const struct msg_handle *h;

	s->d.worker.now_ms = now_ms();
	record_handle(s->c, rec, len, NULL, 0);
	h = answer(s);
	cr_assert_eq(h->hdr.op, ((const struct msg_hdr *)rec)->op, "%s",
		     ((const struct msg_error *)(const void *)h)->reason);
	return h->handle;
}

static uint32_t make_qp(struct side *s)
{
	struct msg_create_qp qp = {.hdr = {MSG_CREATE_QP, 1},
				   .pd = s->pd,
				   .send_cq = s->cq,
				   .recv_cq = s->cq,
				   .sq_entries = 8,
				   .rq_entries = 8,
				   .max_send_sge = 1,
				   .max_recv_sge = 1};

	return call(s, &qp, sizeof(qp));
}

static void drop_qp(struct side *s, uint32_t qp)
{
	const struct msg_handle m = {.hdr = {MSG_DESTROY_QP, 1}, .handle = qp};

	call(s, &m, sizeof(m));
}

static bool next_event(struct side *s, struct msg_event *ret)
{
	int fds[MSG_MAX_FDS];
	unsigned n;
	size_t len;

	return conn_recv(s->event_fd, ret, sizeof(*ret), &len, fds, &n) == CONN_E_OK;
}

/* Lets time pass until the program has an event, which must be of this type. */
static struct msg_event expect(struct side *s, enum msg_event_type type)
{
	struct msg_event ev;

	while (!next_event(s, &ev))
		cr_assert(step(), "nothing happens any more");
	cr_assert_eq(ev.type, type, "event %u, not %u: %s", ev.type, type, ev.reason);
	return ev;
}

static void connect_to(struct side *from, const struct side *to, uint32_t timeout_ms)
{
	struct msg_connect m = {.hdr = {MSG_CONNECT, 1}, .npeers = 1, .timeout_ms = timeout_ms};

	m.peers[0] =
		(struct msg_addr){.family = AF_INET, .port = PORT, .bytes = {127, 0, 0, to->host}};
	m.qp = from->qp = make_qp(from);
	call(from, &m, sizeof(m));
}

/* The program accepts the next request. */
static void accept_next(struct side *s)
{
	struct msg_accept m = {.hdr = {MSG_ACCEPT, 1}};

	m.request = expect(s, MSG_EV_REQUEST).request;
	m.qp = s->qp = make_qp(s);
	call(s, &m, sizeof(m));
}

static void establish(struct side *from, struct side *to)
{
	connect_to(from, to, CONNECT_MS);
	accept_next(to);
	expect(to, MSG_EV_ESTABLISHED);
	expect(from, MSG_EV_ESTABLISHED);
}

static void disconnect(struct side *from, struct side *to)
{
	const struct msg_handle m = {.hdr = {MSG_DISCONNECT, 1}, .handle = from->qp};

	call(from, &m, sizeof(m));
	expect(from, MSG_EV_DISCONNECTED);
	expect(to, MSG_EV_DISCONNECTED);
	drop_qp(from, from->qp);
	drop_qp(to, to->qp);
}

/* ---- set up ---- */

static void start_daemon(struct side *s, uint8_t host)
{
	const struct msg_addr own = {.family = AF_INET, .bytes = {127, 0, 0, host}};
	struct daemon *d = &s->d;
	struct llp_config net = {.streams = 8, .addrs = d->worker.own.a, .naddrs = 1};
	struct llp_config self = {.streams = 8};

	s->host = host;
	config_default(&d->cfg);
	cr_assert_eq(d->cfg.session.idle_ms, IDLE_MS);
	worker_init(&d->worker, d, 4096);
	cr_assert_eq(msg_addr_get(&own, &d->worker.own.a[d->worker.own.n++]), 0);
	d->worker.assoc_events = &assoc_events;
	cr_assert_eq(llp_sim_open(world, &net, &events, &d->worker.net), 0);
	cr_assert_eq(llp_loop_open(&self, &events, &d->worker.self), 0);
	cr_assert_eq(acct_new(&d->cfg.limits, &d->acct), 0);
	cr_assert_eq(event_loop_new(&turn_hooks, &d->worker, 0, &d->worker.loop), 0);
	cr_assert_eq(stags_new(64, getrandom, &d->stags), 0);
	idtab_init(&d->clients, 8);
	d->worker.now_ms = now_ms();
}

static void start_program(struct side *s)
{
	const struct msg_hello hello = {.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR};
	const struct msg_listen listening = {.hdr = {MSG_LISTEN, 1}, .port = PORT};
	const struct msg_hdr pd = {MSG_ALLOC_PD, 1};
	const struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 64};
	uint32_t pos = 0;
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(attach_client(&s->d.worker, pair[0]), 0);
	s->fd = pair[1];
	s->c = idtab_next(&s->d.clients, &pos);
	call(s, &hello, sizeof(hello));
	s->pd = call(s, &pd, sizeof(pd));
	s->cq = call(s, &cq, sizeof(cq));
	call(s, &listening, sizeof(listening));
}

static void start_with(uint64_t seed)
{
	log_set_level(LOG_LEVEL_ERR);
	world = sim_world_new(seed, &quiet);
	sim_observe(world, observe, NULL);
	start_daemon(&a, 1);
	start_daemon(&b, 2);
	start_program(&a);
	start_program(&b);
}

static void start(void)
{
	start_with(1);
}

static void finish_side(struct side *s)
{
	struct worker *w = &s->d.worker;
	struct association *assoc;
	uint32_t pos = 0;

	attach_free_all(&s->d);
	while ((assoc = idtab_next(&w->assocs, &pos)))
		association_free(assoc);
	close(s->fd);
	close(s->event_fd);
	llp_close(w->net);
	llp_close(w->self);
	event_loop_free(w->loop);
	acct_free(s->d.acct);
	stags_free(s->d.stags);
	idtab_deinit(&s->d.clients);
	worker_deinit(w);
	memset(s, 0, sizeof(*s));
}

static void finish(void)
{
	finish_side(&a);
	finish_side(&b);
	world = sim_world_free(world);
}

TestSuite(idle_closing, .init = start, .fini = finish);

/* ---- an acceptor that is idle while an Initiate or an Accept is on its way ---- */

static void slow_message(uint8_t func, uint32_t ms)
{
	slow_func = func;
	slow_ms = ms;
}

/* From the first association to the end of the session: no other association was opened. */
static void one_association_serves(void)
{
	establish(&a, &b);
	cr_assert_eq(a.d.last_assoc, 1);
	cr_assert_eq(b.d.last_assoc, 1);
	disconnect(&a, &b);
}

Test(idle_closing, an_initiate_that_takes_half_a_minute_finds_its_association)
{
	slow_message(WIRE_INITIATE, 30000);
	one_association_serves();
}

Test(idle_closing, an_initiate_may_take_as_long_as_the_longest_connect_ms)
{
	slow_message(WIRE_INITIATE, CONNECT_MS - 1000);
	one_association_serves();
}

Test(idle_closing, an_accept_may_take_as_long)
{
	slow_message(WIRE_ACCEPT, CONNECT_MS - 1000);
	one_association_serves();
}

/* ---- an acceptor that shuts down nevertheless ---- */

/* The daemon shuts its idle associations down, as one that is about to stop. */
static void shut_down(struct side *s)
{
	s->d.worker.now_ms = now_ms() - 1; /* so that the turn looks at its timers */
	s->d.stopping = true;
	association_stop_all(&s->d.worker);
	turns(s);
	s->d.stopping = false;
}

static void b_shuts_down(void *obj, void *arg)
{
	(void)obj;
	(void)arg;
	shut_down(&b);
}

/* The acceptor's end of its association. */
static enum association_state state_at_b(void)
{
	struct association *assoc = association_index_by_id(&b.d.worker, 1);

	return assoc ? assoc->state : ASSOCIATION_DOWN;
}

Test(idle_closing, a_shutdown_that_crosses_the_initiate_is_not_noticed)
{
	slow_message(WIRE_INITIATE, 30000);
	connect_to(&a, &b, CONNECT_MS);
	while (slow_func)
		step();
	shut_down(&b); /* the Initiate is on its way */
	cr_assert_eq(state_at_b(), ASSOCIATION_ENDING);
	accept_next(&b);
	expect(&b, MSG_EV_ESTABLISHED);
	expect(&a, MSG_EV_ESTABLISHED);
	cr_assert_eq(a.d.last_assoc, 2, "it began again on another association");
	disconnect(&a, &b);
}

Test(idle_closing, a_shutdown_that_comes_before_the_initiate_is_sent_is_not_noticed)
{
	establish(&a, &b);
	disconnect(&a, &b);
	pass_us(IDLE_MS * 500);
	shut_down(&b);
	pass_us(RTT_US / 2); /* its transport has detected it, the daemon of a has not */
	cr_assert_eq(association_index_by_id(&a.d.worker, 1)->state, ASSOCIATION_UP);
	establish(&a, &b);
	cr_assert_eq(a.d.last_assoc, 2);
	disconnect(&a, &b);
}

/* At each tenth of the round trip. */
Test(idle_closing, reuse_at_any_moment_of_the_acceptors_shutdown_is_not_noticed)
{
	for (uint64_t us = 0; us < 3 * RTT_US; us += RTT_US / 10) {
		establish(&a, &b);
		disconnect(&a, &b);
		pass_us(IDLE_MS * 500);
		simclock_after(sim_clock(world), RTT_US, b_shuts_down, NULL, NULL);
		pass_us(us);
		establish(&a, &b);
		disconnect(&a, &b);
	}
}

/* At each tenth of a millisecond around it. */
Test(idle_closing, reuse_at_the_moment_of_idle_closing_is_not_noticed)
{
	for (uint64_t us = 0; us < 10 * RTT_US; us += 100) {
		establish(&a, &b);
		disconnect(&a, &b);
		pass_us(IDLE_MS * 1000 - 5 * RTT_US + us);
		establish(&a, &b);
		disconnect(&a, &b);
	}
	cr_assert_gt(a.d.last_assoc, 10, "some met the closing");
	cr_assert_lt(a.d.last_assoc, 91, "some came before it");
}

/* ---- an unreachable peer ---- */

static void keep_shutting_down(void *obj, void *arg)
{
	shut_down(&b);
	simclock_after(sim_clock(world), RTT_US / 4, keep_shutting_down, obj, arg);
}

Test(idle_closing, a_request_that_meets_only_shutdowns_gets_the_reason)
{
	struct msg_event ev;

	simclock_after(sim_clock(world), 0, keep_shutting_down, NULL, NULL);
	connect_to(&a, &b, CONNECT_MS);
	ev = expect(&a, MSG_EV_FAILED);
	cr_assert_eq(ev.err, ECONNABORTED, "%s", ev.reason);
	cr_assert(strstr(ev.reason, "shut the association down"), "%s", ev.reason);
	cr_assert_leq(a.d.last_assoc, 32, "it does not retry without end");
}

Test(idle_closing, a_request_that_meets_a_slow_shutdown_ends_in_time)
{
	struct msg_event ev;

	slow_message(WIRE_INITIATE, 30000);
	connect_to(&a, &b, 10000);
	while (slow_func)
		step();
	shut_down(&b);
	ev = expect(&a, MSG_EV_FAILED);
	cr_assert_eq(ev.err, ETIMEDOUT, "%s", ev.reason);
	cr_assert_leq(now_us(), 10100 * 1000);
}

Test(idle_closing, a_daemon_that_stops_takes_no_association)
{
	struct msg_event ev;

	b.d.stopping = true;
	connect_to(&a, &b, CONNECT_MS);
	ev = expect(&a, MSG_EV_FAILED);
	cr_assert_neq(ev.err, 0);
	cr_assert_lt(now_us(), 1000 * 1000, "at once");
	cr_assert_eq(a.d.last_assoc, 1);
	cr_assert_eq(b.d.worker.assocs.used, 0);
}

/* ---- random networks ---- */

static void none_is_left(void)
{
	pass_us((uint64_t)(2 * CONNECT_MS) * 1000);
	cr_assert_eq(a.d.worker.assocs.used, 0);
	cr_assert_eq(b.d.worker.assocs.used, 0);
}

/* Sessions in both directions, with pauses of about the time after which associations close. */
static void sessions_of(uint64_t seed)
{
	struct simclock *k;

	start_with(seed);
	k = sim_clock(world);
	for (int i = 0; i < 20; i++) {
		bool turned = simclock_chance(k, 3000);
		struct side *from = turned ? &b : &a, *to = turned ? &a : &b;

		if (simclock_chance(k, 3000))
			slow_message(simclock_chance(k, 5000) ? WIRE_INITIATE : WIRE_ACCEPT,
				     (uint32_t)simclock_below(k, 100000));
		if (simclock_chance(k, 5000))
			simclock_after(k, simclock_below(k, 3 * RTT_US), b_shuts_down, NULL, NULL);
		establish(from, to);
		pass_us(simclock_below(k, RTT_US));
		disconnect(from, to);
		if (simclock_chance(k, 5000))
			pass_us((IDLE_MS - 5) * 1000 + simclock_below(k, 10 * RTT_US));
	}
	none_is_left();
}

Test(idle_closing, sessions_begin_on_any_seed)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		finish();
		sessions_of(seed);
	}
}
