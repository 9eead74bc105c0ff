/* SPDX-License-Identifier: BSD-2-Clause */
/* sctp/ with the times of RFC 9260 section 16 and a clock of its own: host.h. */
#include <stdlib.h>
#include <string.h>

#include "sctp/assoc/path_state.h"
#include "sctp/base/path.h"
#include "sctp/base/path_select.h"
#include "sctp/sctp.h"
#include "tests/interop/host.h"

static struct sctp *stack;
static struct sctp_assoc *assoc;
static uint64_t now = 1000000, seed = 1;

enum { SECOND = 1000000, BASE = 1200 /* bytes of an SCTP packet, RFC 8899 5.1.2 */ };

static void *take(void *user, size_t len)
{
	(void)user;
	return malloc(len);
}

static void give(void *user, void *p, size_t len)
{
	(void)user;
	(void)len;
	free(p);
}

/* The same in each run. */
static void fill(void *user, void *ret, size_t len)
{
	uint8_t *b = ret;

	(void)user;
	for (; len; len--) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		*b++ = (uint8_t)(seed >> 40);
	}
}

static struct sctp_addr address(uint8_t last)
{
	return sctp_addr_v4((const uint8_t[]){10, 0, 0, last});
}

static void open_stack(void)
{
	struct sctp_config c = {
		.local = {address(1)},
		.nlocal = 1,
		.udp_port = HOST_PEER_UDP,
		.streams = 10,
		.adaptation = 1,
		.send_buffer = 1 << 20,
		.recv_buffer = 1 << 20,
		.cc = SCTP_CC_RFC9260,
		.sack_packets = 2,
		.sack_us = SECOND / 5,
		.rto_initial_us = SECOND,
		.rto_min_us = SECOND,
		.rto_max_us = 60 * SECOND,
		.heartbeat_us = 30 * SECOND,
		.cookie_us = 60 * SECOND,
		.path_max_retrans = 5,
		.assoc_max_retrans = 10,
		.init_max_retrans = 8,
		.max_assocs = 100,
		.max_memory = 64 << 20,
		.handshakes_per_s = 100000,
		.mem = {take, give, NULL},
		.random = fill,
	};
	struct sctp_listener *l;

	if (sctp_open(&c, now, &stack) != SCTP_E_OK ||
	    sctp_listen(stack, (const uint8_t[]){0}, 1, false, HOST_PORT, NULL, &l) != SCTP_E_OK)
		host_die("the stack does not open");
}

static void take_events(void)
{
	struct sctp_event e;

	while (sctp_event(stack, &e)) {
		if (e.type == SCTP_INCOMING || e.type == SCTP_UP) {
			assoc = e.assoc;
			host_event("up", 0);
		} else if (e.type == SCTP_DOWN) {
			host_event("down", 0);
			if (assoc == e.assoc)
				assoc = NULL;
			sctp_assoc_free(e.assoc);
		}
	}
}

/* A batch is packets of `segment` bytes, one behind the other. */
static void cut(const struct sctp_batch *b)
{
	static uint8_t whole[1 << 22];
	uint32_t at = 0;

	for (unsigned i = 0; i < b->nspans; i++) {
		memcpy(whole + at, b->span[i].p, b->span[i].len);
		at += (uint32_t)b->span[i].len;
	}
	for (uint32_t from = 0; from < at; from += b->segment)
		host_put(whole + from, at - from < b->segment ? at - from : b->segment);
}

/* The path takes packets of that size, as if the probe was answered. */
static void pass_probe(const struct sctp_batch *b)
{
	struct sctp_path *path = assoc ? sctp_assoc_find_path(assoc, &b->to.peer) : NULL;

	if (path && sctp_pmtu_answered(&path->pmtu, BASE, now))
		sctp_path_resized(path);
}

/* Packets that look for the path MTU are not sent: those of BASE pass, larger ones are lost. */
static void poll_stack(void)
{
	static struct sctp_batch b;
	struct sctp_msg m;

	take_events();
	while (sctp_recv(stack, &m))
		host_event("data", m.len);
	sctp_run(stack, now);
	take_events();
	while (sctp_output(stack, &b, now))
		if (!b.probe)
			cut(&b);
		else if (b.len == BASE)
			pass_probe(&b);
	take_events();
}

static void packet(unsigned port, uint8_t *p, size_t n)
{
	const struct sctp_flow from = {address(2), port ? HOST_MOVED : HOST_PEER_UDP, 0, false};

	sctp_input(stack, &from, p, n, now);
	poll_stack();
}

static unsigned wait_ms(unsigned ms)
{
	const uint64_t began = now, end = now + (uint64_t)ms * 1000;
	const unsigned before = host_packets();

	while (host_packets() == before && sctp_expiry(stack) <= end) {
		now = sctp_expiry(stack) > now ? sctp_expiry(stack) : now;
		poll_stack();
	}
	if (host_packets() == before)
		now = end;
	return (unsigned)((now - began + 999) / 1000);
}

static void connect_peer(void)
{
	const struct sctp_addr peer = address(2);
	const struct sctp_connect to = {.peer = &peer,
					.npeer = 1,
					.port = HOST_PEER,
					.local = (const uint8_t[]){0},
					.nlocal = 1,
					.own_port = HOST_PORT};

	if (sctp_assoc_connect(stack, &to, &assoc) != SCTP_E_OK)
		host_die("it does not connect");
	poll_stack();
}

static void send_messages(unsigned n, unsigned len)
{
	static uint8_t data[1 << 16];
	struct span s = {data, len};

	while (n--)
		if (!assoc || sctp_assoc_send(assoc, 0, 16, false, &s, 1) != SCTP_E_OK)
			host_die("it does not send");
	poll_stack();
}

static void shutdown_assoc(void)
{
	if (assoc)
		sctp_assoc_shutdown(assoc, now);
	poll_stack();
}

static void abort_assoc(void)
{
	assoc = sctp_assoc_free(assoc);
	poll_stack();
}

int main(void)
{
	static const struct host_ops ops = {packet,        wait_ms,        connect_peer,
					    send_messages, shutdown_assoc, abort_assoc};

	open_stack();
	return host_run(&ops);
}
