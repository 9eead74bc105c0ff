/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulated network provides SCTP's service, and the same run for the same seed. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "tests/lib/llp_one.h"
#include "tests/lib/sim.h"
#include "util/be.h"

enum { PORT = 5000, STREAMS = 8, COUNT = 400 };

struct end {
	struct llp_conn *conn;
	unsigned up, down, writable, acked;
	int err;
	unsigned got;          /* messages */
	unsigned times[COUNT]; /* how often each arrived */
	unsigned overtaken;    /* arrived after a later one */
	unsigned latest;
	unsigned sent;
	unsigned acked_early; /* acked() with messages not yet at the other end */
	unsigned busy;        /* LLP_E_AGAIN was seen */
	unsigned too_long;
	bool many_spans;
};

static struct sim_world *world;
static struct llp *a, *b;
static struct llp_listener *listener;
static struct end client, server;
static unsigned arrived;

static void push(struct end *e, unsigned upto)
{
	while (e->sent < upto) {
		uint8_t head[16] = {0}, body[900];
		struct llp_msg m = {
			.sid = 1, .ppid = 16, .len = sizeof(head) + sizeof(body), .n = 2};
		int r;

		be_put32(head, e->sent);
		memset(body, (uint8_t)e->sent, sizeof(body));
		m.part[0] = (struct span){head, sizeof(head)};
		m.part[1] = (struct span){body, sizeof(body)};
		r = llp_send(e->conn, &m);
		e->busy += r == LLP_E_AGAIN;
		e->too_long += r == LLP_E_TOO_LONG;
		if (r == LLP_E_AGAIN || r == LLP_E_DOWN)
			return;
		e->sent += r == LLP_E_OK;
	}
}

static void *on_incoming(void *user, struct llp_conn *c)
{
	struct end *e = user;

	e->conn = c;
	e->up++;
	return e;
}

static void on_up(void *user)
{
	((struct end *)user)->up++;
}

static void on_down(void *user, int err, const char *reason)
{
	struct end *e = user;

	cr_assert_not_null(reason);
	e->down++;
	e->err = err;
}

static void count(struct end *e, const struct llp_msg *m)
{
	uint32_t i = be_get32(m->part[0].p);

	cr_assert_lt(i, COUNT);
	cr_assert_eq(span_total(m->part, m->n), m->len);
	cr_assert_geq(m->part[0].len, 16);
	for (unsigned k = 1; k < m->n; k++)
		for (size_t j = 0; j < m->part[k].len; j++)
			cr_assert_eq(m->part[k].p[j], (uint8_t)i);
	e->many_spans |= m->n > 2;
	e->times[i]++;
	e->got++;
	e->overtaken += i < e->latest;
	e->latest = i > e->latest ? i : e->latest;
}

static bool on_readable(void *user)
{
	struct end *e = user;
	struct llp_msg m;

	for (int i = 0; i < 4; i++) {
		if (llp_recv(e->conn, &m) != LLP_E_OK)
			return false;
		count(e, &m);
	}
	return true;
}

static void on_writable(void *user)
{
	struct end *e = user;

	e->writable++;
	push(e, COUNT);
}

static void on_acked(void *user)
{
	struct end *e = user;

	e->acked++;
	e->acked_early += arrived < e->sent;
}

static const struct llp_events events = {
	.incoming = on_incoming,
	.up = on_up,
	.down = on_down,
	.readable = on_readable,
	.writable = on_writable,
	.acked = on_acked,
};

static void observe(void *user, enum sim_what what, const struct llp_conn *c,
		    const struct llp_msg *m)
{
	(void)user;
	(void)m;
	arrived += what == SIM_ARRIVED && c == server.conn;
}

static struct sockaddr_storage address(uint32_t host, uint16_t port)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	in->sin_addr.s_addr = htonl(host);
	return ss;
}

static struct llp *node(uint32_t host)
{
	struct sockaddr_storage ss = address(host, 0);
	struct llp_config cfg = {.addrs = &ss, .naddrs = 1, .streams = STREAMS};
	struct llp *t = NULL;

	cr_assert_eq(llp_sim_open(world, &cfg, &events, &t), 0);
	return t;
}

static void begin(uint64_t seed, const struct sim_faults *f)
{
	struct sockaddr_storage peer = address(2, PORT);

	memset(&client, 0, sizeof(client));
	memset(&server, 0, sizeof(server));
	arrived = 0;
	world = sim_world_new(seed, f);
	cr_assert_not_null(world);
	sim_observe(world, observe, NULL);
	a = node(1);
	b = node(2);
	cr_assert_eq(llp_listen(b, NULL, PORT, &server, &listener), 0);
	cr_assert_eq(llp_connect(a, (struct sockaddr *)&peer, &client, &client.conn), 0);
}

static void run(void)
{
	while (sim_step(world))
		;
}

static void end(void)
{
	llp_close(a);
	llp_close(b);
	world = sim_world_free(world);
}

static const struct sim_faults all_faults = {
	.delay_us = 100,
	.jitter_us = 400,
	.lose = 500,
	.rto_us = 5000,
	.ack_us = 2000,
	.read_us = 50,
	.window = 40,
	.again = 300,
	.resize = 200,
	.message_min = 930,
	.message_max = 2000,
};

static void transfer(uint64_t seed, const struct sim_faults *f)
{
	begin(seed, f);
	while (client.up == 0)
		cr_assert(sim_step(world));
	push(&client, COUNT);
	run();
}

Test(sim, the_same_seed_gives_the_same_run)
{
	uint64_t first, same, other;

	transfer(7, &all_faults);
	first = sim_hash(world);
	end();
	transfer(7, &all_faults);
	same = sim_hash(world);
	end();
	transfer(8, &all_faults);
	other = sim_hash(world);
	end();
	cr_assert_eq(first, same);
	cr_assert_neq(first, other);
}

Test(sim, every_message_arrives_once_and_whole)
{
	transfer(1, &all_faults);
	cr_assert_eq(client.sent, COUNT);
	cr_assert_eq(server.got, COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_eq(server.times[i], 1, "message %u", i);
	cr_assert(server.many_spans, "no message had more than two spans");
	end();
}

Test(sim, messages_overtake_each_other)
{
	transfer(1, &all_faults);
	cr_assert_gt(server.overtaken, 10);
	end();
}

Test(sim, nothing_overtakes_without_faults)
{
	transfer(1, &(struct sim_faults){.delay_us = 100});
	cr_assert_eq(server.got, COUNT);
	cr_assert_eq(server.overtaken, 0);
	cr_assert_eq(client.busy, 0);
	end();
}

Test(sim, a_full_window_refuses_and_reports_room)
{
	transfer(1, &all_faults);
	cr_assert_gt(client.busy, 5);
	cr_assert_gt(client.writable, 5);
	end();
}

Test(sim, acked_means_that_everything_is_acknowledged)
{
	transfer(1, &all_faults);
	cr_assert_gt(client.acked, 0);
	cr_assert_eq(client.acked_early, 0);
	end();
}

Test(sim, the_limit_on_messages_changes)
{
	struct sim_faults f = all_faults;

	f.message_min = 700;
	transfer(1, &f);
	cr_assert_gt(client.too_long, 0);
	end();
}

Test(sim, connects_can_be_refused)
{
	begin(1, &(struct sim_faults){.refuse = 10000});
	run();
	cr_assert_eq(client.down, 1);
	cr_assert_eq(client.err, ECONNREFUSED);
	cr_assert_eq(client.up + server.up, 0);
	end();
}

Test(sim, a_broken_association_goes_down_at_both_ends)
{
	begin(1, &all_faults);
	while (client.up == 0)
		cr_assert(sim_step(world));
	push(&client, COUNT);
	simconn_break(client.conn, false);
	run();
	cr_assert_eq(client.down, 1);
	cr_assert_eq(server.down, 1);
	cr_assert_neq(client.err, 0);
	cr_assert_eq(server.got, 0);
	end();
}

Test(sim, an_end_that_restarts_reports_it_first)
{
	begin(1, &all_faults);
	while (client.up == 0)
		cr_assert(sim_step(world));
	simconn_break(client.conn, true);
	cr_assert(sim_step(world));
	cr_assert_eq(client.down, 1);
	cr_assert_eq(server.down, 0);
	run();
	cr_assert_eq(server.down, 1);
	end();
}

Test(sim, associations_break_at_random)
{
	struct sim_faults f = all_faults;

	f.breaks = 10000;
	f.break_us = 3000;
	begin(1, &f);
	run();
	cr_assert_eq(client.down, 1);
	cr_assert_eq(server.down, 1);
	end();
}

Test(sim, an_abort_is_reported_to_the_peer_only)
{
	begin(1, &all_faults);
	while (client.up == 0)
		cr_assert(sim_step(world));
	llp_abort(client.conn, "enough");
	run();
	cr_assert_eq(client.down, 0);
	cr_assert_eq(server.down, 1);
	cr_assert_eq(server.err, ECONNRESET);
	end();
}

Test(sim, shutdown_waits_for_everything_that_was_sent)
{
	struct sim_faults f = all_faults;

	f.window = 0;
	f.again = 0;
	begin(1, &f);
	while (client.up == 0)
		cr_assert(sim_step(world));
	push(&client, COUNT);
	llp_shutdown(client.conn);
	run();
	cr_assert_eq(server.got, COUNT);
	cr_assert_eq(client.down, 1);
	cr_assert_eq(server.down, 1);
	cr_assert_eq(client.err, 0);
	cr_assert_eq(server.err, 0);
	end();
}

Test(sim, a_freed_conn_gets_no_upcall)
{
	begin(1, &all_faults);
	while (client.up == 0)
		cr_assert(sim_step(world));
	push(&client, COUNT);
	client.conn = llp_conn_free(client.conn);
	run();
	cr_assert_eq(client.down + client.acked, 0);
	cr_assert_eq(server.down, 1);
	end();
}

static void ring(void *obj, void *arg)
{
	unsigned *order = obj;

	*order = *order * 10 + (unsigned)(uintptr_t)arg;
}

Test(sim, scheduled_calls_run_in_the_order_of_their_times)
{
	struct simclock *k = simclock_new(1);
	unsigned order = 0;

	simclock_after(k, 30, ring, &order, (void *)3);
	simclock_after(k, 10, ring, &order, (void *)1);
	simclock_after(k, 20, ring, &order, (void *)2);
	simclock_after(k, 30, ring, &order, (void *)4);
	while (simclock_step(k))
		;
	cr_assert_eq(order, 1234);
	cr_assert_eq(simclock_now(k), 30);
	simclock_free(k);
}
