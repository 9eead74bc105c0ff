/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions that two programs begin with each other, over one association if the transport permits:
 * session 0 from A to B, session 1 from B to A.
 *
 *   directions SOCKET-A ADDRESS-A SOCKET-B ADDRESS-B
 *
 * Takes orders from standard input, a line each: "open N"; "goes N": it must carry a message; "ends
 * N a" or "ends N b": it must have ended, and the daemon of a or b says why; "over a" or "over b":
 * both must have. Prints the reasons, and the number of the order when it is done.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

static struct end side[2];
static const char *address[2];
static struct session session[2]; /* by who began */

static void open_session(unsigned n)
{
	session_open(&session[n], &side[n], &side[!n], address[!n], NULL);
}

static void must_go(struct session *s)
{
	session_recv(s, 1, 0, 64);
	session_send(s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, 64);
	end_done(s->end[0], DDP_WC_SEND, DDP_WC_SUCCESS);
	end_done(s->end[1], DDP_WC_RECV, DDP_WC_SUCCESS);
}

/* The next event of an end is the end of this session. s: NULL: of any. */
static void must_end_at(struct end *e, const struct session *s, const struct end *refuser)
{
	struct ddp_cm_event *ev = end_event(e, DDP_CM_DISCONNECTED);

	if (s && ev->id != s->id[e != s->end[0]])
		fail("%s: another session has ended: %s", e->name, ev->reason);
	if (e == refuser)
		printf("%d %s\n", ev->err, ev->reason);
	ddp_ack_cm_event(ev);
}

static void must_end(struct session *s, const struct end *refuser)
{
	for (int i = 0; i < 2; i++)
		must_end_at(s->end[i], s, refuser);
	session_free(s);
}

static void all_must_end(const struct end *refuser)
{
	for (int i = 0; i < 4; i++)
		must_end_at(&side[i % 2], NULL, refuser);
	for (int i = 0; i < 2; i++)
		session_free(&session[i]);
}

static void take_order(const char *line)
{
	unsigned n = 2;
	char who = 0;

	if (sscanf(line, "open %u", &n) == 1 && n < 2)
		open_session(n);
	else if (sscanf(line, "goes %u", &n) == 1 && n < 2)
		must_go(&session[n]);
	else if (sscanf(line, "ends %u %c", &n, &who) == 2 && n < 2)
		must_end(&session[n], &side[who == 'b']);
	else if (sscanf(line, "over %c", &who) == 1)
		all_must_end(&side[who == 'b']);
	else
		fail("what is %s", line);
}

int main(int argc, char **argv)
{
	unsigned orders = 0;
	char line[32];

	if (argc != 5) {
		fprintf(stderr, "usage: directions SOCKET-A ADDRESS-A SOCKET-B ADDRESS-B\n");
		return 2;
	}
	alarm(LIFE_S);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < 2; i++) {
		end_open(&side[i], i ? "b" : "a", argv[1 + 2 * i]);
		end_listen(&side[i]);
		address[i] = argv[2 + 2 * i];
	}
	while (fgets(line, sizeof(line), stdin)) {
		take_order(line);
		printf("order %u\n", ++orders);
	}
	for (unsigned i = 0; i < 2; i++)
		end_close(&side[i]);
	return 0;
}
