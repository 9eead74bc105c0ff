/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshakes by hand, and states to begin a test in. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

/* ---- handshakes ---- */

void peer_learn(struct peer *p, const struct sctp_chunk *c)
{
	uint32_t len;
	const uint8_t *cookie = peer_param(c, SCTP_PARAM_COOKIE, 0, &len);

	cr_assert_geq(c->len, 20);
	p->stack_tag = be_get32(c->p + 4);
	p->stack_rwnd = be_get32(c->p + 8);
	p->stack_out = be_get16(c->p + 12);
	p->stack_in = be_get16(c->p + 14);
	p->stack_tsn = be_get32(c->p + 16);
	if (cookie) {
		p->cookie_len = len - 4;
		memcpy(p->cookie, cookie + 4, p->cookie_len);
	}
}

void peer_stack_connects(struct peer *p, unsigned naddrs)
{
	struct sctp_addr addr[SCTP_MAX_PATHS];
	uint8_t local[SCTP_MAX_LOCAL] = {0, 1, 2, 3, 4, 5, 6, 7};
	bool covered = p->from.covered;
	const struct sctp_connect to = {.peer = addr,
					.npeer = naddrs,
					.port = p->port,
					.local = local,
					.nlocal = covered ? 1 : p->cfg.nlocal,
					.covered_port = covered ? PEER_UDP : 0};

	for (unsigned i = 0; i < naddrs; i++)
		addr[i] = peer_addr(i);
	cr_assert_eq(sctp_assoc_connect(p->s, &to, &p->assoc), SCTP_E_OK);
	peer_poll(p);
	peer_learn(p, peer_expect(p, SCTP_INIT));
	p->stack_port = p->head.src;
}

void peer_accept(struct peer *p)
{
	peer_stack_connects(p, 1);
	peer_send_init_ack(p);
	peer_expect(p, SCTP_COOKIE_ECHO);
	peer_send_plain(p, SCTP_COOKIE_ACK);
	cr_assert_eq(p->up, 1);
	peer_expect_nothing(p);
}

void peer_connect(struct peer *p)
{
	peer_send_init(p);
	peer_learn(p, peer_expect(p, SCTP_INIT_ACK));
	peer_send_cookie_echo(p);
	peer_expect(p, SCTP_COOKIE_ACK);
	cr_assert_eq(p->incoming, 1);
	peer_expect_nothing(p);
}

static void send_shutdown(struct peer *p)
{
	uint8_t cum[4];

	be_put32(cum, p->stack_tsn - 1);
	peer_send_chunk(p, SCTP_SHUTDOWN, 0, cum, sizeof(cum));
}

static void bring_to_shutdown(struct peer *p, enum sctp_state state)
{
	bool busy = state == SCTP_SHUTDOWN_PENDING || state == SCTP_SHUTDOWN_RECEIVED;

	if (busy) {
		peer_stack_sends(p, 0, 8);
		peer_expect(p, SCTP_DATA);
	}
	if (state == SCTP_SHUTDOWN_PENDING || state == SCTP_SHUTDOWN_SENT) {
		sctp_assoc_shutdown(p->assoc, p->now);
		peer_poll(p);
	} else {
		send_shutdown(p);
	}
	if (!busy)
		peer_expect(p, state == SCTP_SHUTDOWN_SENT ? SCTP_SHUTDOWN : SCTP_SHUTDOWN_ACK);
}

void peer_bring_to(struct peer *p, enum sctp_state state)
{
	p->tsn = PEER_TSN;
	p->tag = PEER_TAG;
	p->up = p->incoming = p->down = 0;
	if (state < SCTP_ESTABLISHED) {
		peer_stack_connects(p, 1);
		if (state == SCTP_COOKIE_WAIT)
			return;
		peer_send_init_ack(p);
		peer_expect(p, SCTP_COOKIE_ECHO);
		return;
	}
	p->stack_port = PEER_STACK;
	peer_connect(p);
	if (state != SCTP_ESTABLISHED)
		bring_to_shutdown(p, state);
	peer_expect_nothing(p);
}

void peer_forget(struct peer *p)
{
	p->assoc = sctp_assoc_free(p->assoc);
	peer_poll(p);
	while (peer_next(p))
		;
}

void peer_answer_heartbeat(struct peer *p)
{
	const struct sctp_chunk *c = peer_expect(p, SCTP_HEARTBEAT);
	struct sctp_flow before = p->from;

	p->from = p->pkt->to;
	peer_send_chunk(p, SCTP_HEARTBEAT_ACK, 0, c->p + 4, c->len - 4);
	p->from = before;
}

int peer_stack_sends(struct peer *p, uint16_t sid, uint32_t len)
{
	static const uint8_t data[SCTP_MAX_PACKET];
	struct span s = {(uint8_t *)(uintptr_t)data, len};
	int r = sctp_assoc_send(p->assoc, sid, 16, false, &s, 1);

	peer_poll(p);
	return r;
}

struct sctp_info peer_info(const struct peer *p)
{
	struct sctp_info i;

	sctp_assoc_info(p->assoc, &i);
	return i;
}

enum sctp_path_state peer_path_state(const struct peer *p, unsigned addr)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];
	unsigned n = sctp_assoc_paths(p->assoc, path);
	struct sctp_addr a = peer_addr(addr);

	for (unsigned i = 0; i < n; i++)
		if (sctp_addr_equal(&path[i].flow.peer, &a))
			return path[i].state;
	cr_assert_fail("the association has no such path");
	return SCTP_PATH_INACTIVE;
}
