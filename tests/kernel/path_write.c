/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes continuously from one host to another over an association with several paths, while a
 * script cuts and restores paths. Every byte is compared where it arrives. One process is the
 * client of both daemons.
 *
 *   path_write SOCKET SOCKET HERE[,HERE...] THERE[,THERE...]
 *
 * Prints "at N" when N MiB have arrived intact, "path SIDE: ..." for each path event, and at the
 * end "lost SIDE: ..." if the session was lost (exit status 3). Reads commands: "primary ADDRESS"
 * chooses the path, "end" ends the session in order.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum {
	ADDRS = 8,
	PORT = 5043,
	MIB = 1 << 20,
	STEP = 16,       /* MiB */
	TIMEOUT_S = 120, /* much longer than any configured timeout */
	LOST = 3,
};

struct addrs {
	struct sockaddr_storage a[ADDRS];
	unsigned n;
};

static struct end side[2];
static struct session s;
static uint64_t completed_ms; /* time of the last completion */
static bool over[2];          /* this side got the event that the session is lost */

/* ---- addresses ---- */

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage ss = {.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
	void *host = ss.ss_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)&ss)->sin6_addr
					      : &((struct sockaddr_in *)&ss)->sin_addr;

	if (inet_pton(ss.ss_family, text, host) != 1)
		fail("%s is no address", text);
	return ss;
}

static struct addrs list(char *text)
{
	struct addrs l = {.n = 0};

	for (char *at = strtok(text, ","); at && l.n < ADDRS; at = strtok(NULL, ","))
		l.a[l.n++] = address(at);
	return l;
}

/* ---- the session ---- */

static void open_session(char *here, char *there)
{
	struct ddp_conn_param request = DDP_INIT(ddp_conn_param);
	char *first = strdup(there);
	struct addrs from = list(here), to = list(there);
	const struct how how = {.request = &request};

	first[strcspn(first, ",")] = '\0';
	request.peer_addrs = to.a + 1;
	request.num_peer_addrs = to.n - 1;
	request.local_addrs = from.a;
	request.num_local_addrs = from.n;
	side[1].port = PORT;
	MUST(ddp_create_id(side[1].ctx, NULL, &side[1].listener));
	MUST(ddp_listen_addrs(side[1].listener, to.a, to.n, PORT, 0));
	session_open(&s, &side[0], &side[1], first, &how);
	free(first);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Handles events: of paths, or the end of the session. */
static void take_events(void)
{
	struct ddp_cm_event *ev;

	for (int i = 0; i < 2; i++) {
		while (ddp_get_cm_event(side[i].ctx, &ev, 0) == 0) {
			bool end = ev->type == DDP_CM_DISCONNECTED;

			printf("%s %s: %s: %s\n", end ? "lost" : "path", side[i].name,
			       end ? strerror(-ev->err) : ddp_path_state_str(ev->path.state),
			       ev->reason);
			if (end)
				printf("%s: %llu ms after the last completion\n", side[i].name,
				       (unsigned long long)(now_ms() - completed_ms));
			ddp_ack_cm_event(ev);
			over[i] |= end;
		}
	}
	fflush(stdout);
}

/* A completion; false if the session is lost. */
static bool done(struct end *e)
{
	struct ddp_wc wc;
	int n = 0;

	for (int i = 0; i < TIMEOUT_S && n == 0; i++) {
		n = MUST(ddp_wait_cq(e->cq, 1, &wc, 1000));
		take_events();
	}
	if (n == 0)
		fail("%s: nothing completed in %d s", e->name, TIMEOUT_S);
	if (wc.status == DDP_WC_FLUSH_ERR)
		return false;
	if (wc.status != DDP_WC_SUCCESS)
		fail("%s: %s: %s", e->name, ddp_wc_opcode_str(wc.opcode),
		     ddp_wc_status_str(wc.status));
	completed_ms = now_ms();
	return true;
}

/* Writes half of the memory and compares it at the other end. Always the same STag. */
static bool write_block(unsigned seq)
{
	size_t at = seq % 2 * (size_t)RIG_HALF;
	const struct ddp_send_wr write = {
		.opcode = DDP_WR_RDMA_WRITE,
		.rdma = {side[1].mr->iova + at, side[1].mr->rkey},
	};

	end_fill(&side[0], at, RIG_HALF, seq);
	session_recv(&s, 1, at, 0);
	session_send(&s, 0, write, at, RIG_HALF);
	session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, at, 0);
	if (!done(&side[0]) || !done(&side[0]) || !done(&side[1]))
		return false;
	if (memcmp(end_at(&side[1], at), end_at(&side[0], at), RIG_HALF) != 0)
		fail("block %u arrived with other bytes", seq);
	return true;
}

/* ---- commands ---- */

/* False at the end of the commands. */
static bool command(void)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	struct sockaddr_storage to;
	char line[64];

	if (poll(&p, 1, 0) == 0)
		return true;
	if (!fgets(line, sizeof(line), stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "primary ", 8) != 0)
		return strcmp(line, "end") != 0;
	to = address(line + 8);
	MUST(ddp_set_primary(s.id[0], (struct sockaddr *)&to));
	ok("%s", line);
	return true;
}

/* False: the session is lost. */
static bool run(void)
{
	const unsigned blocks = MIB / RIG_HALF;

	for (unsigned seq = 0; command(); seq++) {
		if (!write_block(seq))
			return false;
		if ((seq + 1) % (STEP * blocks) == 0)
			printf("at %u\n", (seq + 1) / blocks);
		fflush(stdout);
	}
	return true;
}

/* Both sides get the event, at different times. */
static int wait_for_end(void)
{
	struct pollfd p[2] = {{.events = POLLIN}, {.events = POLLIN}};

	for (int i = 0; i < TIMEOUT_S && !(over[0] && over[1]); i++) {
		for (int k = 0; k < 2; k++)
			p[k].fd = ddp_fd(side[k].ctx);
		poll(p, 2, 1000);
		take_events();
	}
	return over[0] && over[1] ? LOST : 1;
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: path_write SOCKET SOCKET HERE[,HERE...] "
				"THERE[,THERE...]\n");
		return 2;
	}
	setvbuf(stdin, NULL, _IONBF, 0); /* so that poll() sees all input */
	end_open(&side[0], "a", argv[1]);
	end_open(&side[1], "b", argv[2]);
	open_session(argv[3], argv[4]);
	printf("at 0\n");
	if (!run())
		return wait_for_end();
	session_close(&s, 0);
	for (int i = 0; i < 2; i++)
		end_close(&side[i]);
	return 0;
}
