/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw peer: sends hand-made SCTP user messages to a daemon and is at the same time a client of
 * that daemon, so it sees both the wire and the events of a program. Promise: whatever a peer
 * sends, the daemon does what RFC 5043, 5041, 5040, 7306 and 6581 say, byte by byte.
 *
 *   raw_peer -l
 *   raw_peer OWN-ADDRESS SOCKET ADDRESS SOCKET2 ADDRESS2 SOCKET3 ADDRESS3 [CASE...]
 *
 * SOCKET and ADDRESS: of the daemon under test, of one with all options switched off, and of one
 * with a short session.answer_ms, all with the settings of raw-peer.sh. Prints "ok CASE" and "row
 * ID ID...: CASE" for each case that held. Exit status 0 if all did.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/raw/case.h"
#include "tests/raw/link.h"
#include "tests/raw/stage.h"

enum { FIRST_PORT = 6000, CASE_SECONDS = 300, ARGS = 2 + 2 * STAGE_DAEMONS };

static const struct raw_case *const tables[] = {
	case_bytes,  case_packet, case_session, case_pattern, case_order,       case_ddp,
	case_place,  case_opcode, case_read,    case_request, case_term,        case_sender,
	case_unread, case_bare,   case_atomic,  case_imm,     case_enh_passive, case_enh_active,
};

static int list(void)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct raw_case *c = tables[t]; c->name; c++)
			printf("%s: %s\n", c->name, c->rows);
	return 0;
}

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* In a process of its own, which has the case's association and client to itself. */
static bool run(const struct raw_case *c)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(CASE_SECONDS);
		stage.name = c->name;
		c->run();
		link_close_all();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("raw_peer");
		exit(2);
	}
	if (status == 0) {
		printf("ok %s\n", c->name);
		if (c->rows[0])
			printf("row %s: %s\n", c->rows, c->name);
	} else if (!WIFEXITED(status)) {
		printf("FAIL %s: signal %d\n", c->name, WTERMSIG(status));
	}
	return status == 0;
}

int main(int argc, char **argv)
{
	unsigned ran = 0, failed = 0;

	if (argc == 2 && strcmp(argv[1], "-l") == 0)
		return list();
	if (argc < ARGS) {
		fprintf(stderr, "usage: raw_peer -l\n       raw_peer OWN-ADDRESS SOCKET ADDRESS "
				"SOCKET2 ADDRESS2 SOCKET3 ADDRESS3 [CASE...]\n");
		return 2;
	}
	stage.addr = argv[1];
	for (unsigned i = 0; i < STAGE_DAEMONS; i++)
		stage.daemon[i] = (struct stage_daemon){argv[2 + 2 * i], argv[3 + 2 * i]};
	stage.port = FIRST_PORT;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct raw_case *c = tables[t]; c->name; c++) {
			if (!wanted(c->name, argv + ARGS))
				continue;
			stage.port++;
			ran++;
			failed += !run(c);
		}
	}
	printf("%u cases, %u failed\n", ran, failed);
	return failed || !ran;
}
