/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A foreign peer at the port for datagrams of a daemon, for tests/system/datagrams.sh. A queue pair
 * of datagrams keeps that port open.
 *
 *   carriers foreign OWN-ADDRESS ADDRESS PORT    sends what is no datagram; the daemon goes on
 *   carriers crowd OWN-ADDRESS ADDRESS PORT      begins sessions until one is refused; keeps them
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/raw/link.h"
#include "tests/raw/stage.h"

enum {
	LIFE_S = 300,
	SESSIONS = 40,
	MESSAGES = 4, /* of a session */
	SEGMENT = 1300,
	ON_A_LINK = 250,
	CROWD = 1500,
};

static const char hello[8] = "ddpdgm\0\1";
static const char *address;
static uint16_t port;

/* True if the daemon accepts the session. */
static bool begins(struct link *l, uint16_t sid, size_t len)
{
	struct raw_msg m = raw_control(RAW_INITIATE, hello, len);

	link_send(l, sid, &m);
	m = link_take(l, sid);
	EXPECT(raw_is(&m, RAW_CONTROL), "stream %u: a segment came in answer to an Initiate", sid);
	return raw_code(&m) == RAW_ACCEPT;
}

/* ---- what is no datagram ---- */

/* A Send of this length, whose bytes depend on the seed. */
static void send_message(struct link *l, uint16_t sid, uint32_t msn, uint32_t len, unsigned seed)
{
	uint8_t bytes[SEGMENT];
	uint32_t at = 0, n;

	do {
		struct raw_queue q = {.msn = msn, .mo = at};
		struct raw_msg m;

		n = len - at < SEGMENT ? len - at : SEGMENT;
		for (uint32_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)(at + i == 0 ? seed % 2 : seed * 31 + (at + i) * 7);
		m = raw_untagged(at + n < len ? RAW_U : RAW_UL, RAW_SEND, q, bytes, n);
		link_send(l, sid, &m);
		at += n;
	} while (at < len);
}

static void send_write(struct link *l, uint16_t sid, unsigned seed)
{
	struct raw_msg m = raw_write(seed, 0x100ULL * seed, "not yours", 9);

	link_send(l, sid, &m);
}

/* Messages of any length, and in some sessions a Write to memory that is not the peer's. */
static void send_anything(struct link *l, uint16_t sid)
{
	static const uint32_t lengths[] = {0, 1, 23, 24, 25, 100, 4120, 4121, 20000};

	for (unsigned n = 0; n < MESSAGES; n++) {
		if ((sid + n) % 8 == 7)
			send_write(l, sid, sid + n);
		else
			send_message(l, sid, n + 1, lengths[sid % 9], sid + n);
	}
}

static int send_foreign(void)
{
	struct link *l = link_to(address, port);
	unsigned accepted = 0;

	EXPECT(!begins(l, SESSIONS, sizeof(hello) - 1), "a foreign program was accepted");
	for (uint16_t sid = 0; sid < SESSIONS; sid++) {
		EXPECT(begins(l, sid, sizeof(hello)), "session %u was refused", sid);
		accepted++;
		send_anything(l, sid);
	}
	link_wait_acked(l);
	EXPECT(!link_down(l), "the association has ended");
	printf("foreign %u\n", accepted);
	link_close_all();
	return 0;
}

/* ---- many sessions ---- */

static volatile sig_atomic_t over;

static void end_crowd(int signal)
{
	(void)signal;
	over = 1;
}

static int be_a_crowd(void)
{
	struct link *l = NULL;
	unsigned n = 0;

	do {
		if (n % ON_A_LINK == 0)
			l = link_to(address, port);
		if (!begins(l, (uint16_t)(n % ON_A_LINK), sizeof(hello)))
			break;
		n++;
	} while (n < CROWD);
	printf("crowd %u\n", n);
	fflush(stdout);
	while (!over)
		link_turn(-1);
	link_close_all(); /* the daemon hears of it */
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: carriers foreign|crowd OWN-ADDRESS ADDRESS PORT\n");
		return 2;
	}
	alarm(LIFE_S);
	stage.name = argv[1];
	stage.addr = argv[2];
	address = argv[3];
	port = (uint16_t)atoi(argv[4]);
	signal(SIGTERM, end_crowd);
	return strcmp(argv[1], "crowd") == 0 ? be_a_crowd() : send_foreign();
}
