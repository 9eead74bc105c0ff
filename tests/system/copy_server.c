/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server of ddpcp that wants to write where its client did not ask it to. The name in a GET says
 * how. Usage: copy_server SOCKET PORT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/server.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp_link.h"

enum { MOST = 6, SESSIONS = 4 };

struct served {
	struct ddpcp_link link;
};

static const struct {
	const char *ask; /* the name in the GET */
	struct ddpcp_rec say[MOST];
} attacks[] = {
	{"up", {{.kind = DDPCP_DIR}, {.kind = DDPCP_PUT, .name = "../outside/new"}}},
	{"above", {{.kind = DDPCP_DIR, .name = "../../above"}}},
	{"dots", {{.kind = DDPCP_DIR}, {.kind = DDPCP_PUT, .name = "x/../../outside/new"}}},
	{"absolute", {{.kind = DDPCP_PUT, .name = "/outside/new"}}},
	{"part", {{.kind = DDPCP_DIR}, {.kind = DDPCP_PUT, .name = ".ddpcp-new"}}},
	/* there is a link of the name here, which leads outside */
	{"way", {{.kind = DDPCP_DIR}, {.kind = DDPCP_PUT, .name = "new"}}},
	{"deep", {{.kind = DDPCP_DIR}, {.kind = DDPCP_PUT, .name = "way/new"}}},
	{"leave", {{.kind = DDPCP_DIR, .name = "way", .flags = DDPCP_LEAVE | DDPCP_PRESERVE}}},
	{"nothing", {{.kind = 0}}},
	/* asked for without -r */
	{"tree", {{.kind = DDPCP_DIR}}},
	{"child", {{.kind = DDPCP_PUT, .name = "new"}}},
	{"second", {{.kind = DDPCP_PUT}, {.kind = DDPCP_START}, {.kind = DDPCP_PUT}}},
	/* what no file and no window is */
	{"chunk",
	 {{.kind = DDPCP_PUT, .meta.size = 8192},
	  {.kind = DDPCP_START},
	  {.kind = DDPCP_CHUNK, .seq = 7, .len = 4096}}},
	{"resumed",
	 {{.kind = DDPCP_PUT, .meta.size = 8192}, {.kind = DDPCP_START, .offset = 4096}}},
	{"sum", {{.kind = DDPCP_PUT}, {.kind = DDPCP_START}, {.kind = DDPCP_DONE}}},
	{"huge", {{.kind = DDPCP_PUT, .meta.size = INT64_MAX}, {.kind = DDPCP_START}}},
	{"window", {{.kind = DDPCP_WINDOW, .window.slots = 1}}},
	/* entries of a tree, and data for them */
	{"offered-up",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_DATA, .name = "../outside/new"}}},
	{"offered-way",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_OFFER},
	  {.kind = DDPCP_DATA, .id = 1, .name = "way/new"}}},
	{"offered-left",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_LEFT, .name = "way", .flags = DDPCP_PRESERVE},
	  {.kind = DDPCP_OFFER, .type = DDPCP_FLUSH, .id = 1}}},
	{"absolute-link",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_OFFER, .type = DDPCP_SYMLINK, .name = "l", .target = "/"}}},
	{"upward-link",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_OFFER, .type = DDPCP_SYMLINK, .name = "l", .target = "../../outside"}}},
	/* through links that are good ones themselves */
	{"chained-link",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_OFFER, .type = DDPCP_SYMLINK, .name = "d", .target = "."},
	  {.kind = DDPCP_OFFER, .type = DDPCP_SYMLINK, .name = "l", .target = "d/../../outside"}}},
	{"written-link",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_OFFER, .type = DDPCP_SYMLINK, .name = "d", .target = "."},
	  {.kind = DDPCP_OFFER},
	  {.kind = DDPCP_DATA, .name = "d/new"}}},
	{"hard-link",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_OFFER, .type = DDPCP_HARDLINK, .name = "l", .target = "way/file"},
	  {.kind = DDPCP_OFFER, .type = DDPCP_FLUSH, .id = 1}}},
	{"hard-up",
	 {{.kind = DDPCP_OFFER, .type = DDPCP_FOLDER},
	  {.kind = DDPCP_OFFER,
	   .type = DDPCP_HARDLINK,
	   .name = "l",
	   .target = "../../outside/file"}}},
	{"links", {{.kind = DDPCP_OFFER, .type = DDPCP_SYMLINK, .target = "x"}}},
	{"beyond",
	 {{.kind = DDPCP_OFFER}, {.kind = DDPCP_DATA, .offset = DDPCP_RING, .meta.size = 4096}}},
	{"unasked", {{.kind = DDPCP_DATA, .meta.size = 4096}}},
	{"other-sum", {{.kind = DDPCP_OFFER}, {.kind = DDPCP_DATA, .meta.size = 4096}}},
	{"hole",
	 {{.kind = DDPCP_PUT, .meta.size = 4096},
	  {.kind = DDPCP_START},
	  {.kind = DDPCP_CHUNK, .len = 4096, .hole = true}}},
	/* words for a terminal */
	{"absent",
	 {{.kind = DDPCP_OFFER,
	   .type = DDPCP_ABSENT,
	   .flags = DDPCP_FAILED,
	   .target = "\033[2Jx\r\n"}}},
	{"words",
	 {{.kind = DDPCP_RESULT, .status = DDPCP_FAILED, .text = "\033[2Jall is well\r\n"}}},
	{"skipped",
	 {{.kind = DDPCP_RESULT, .status = DDPCP_SKIPPED, .text = "\033[2Jx\033]0;y\a"}}},
	{"named", {{.kind = DDPCP_DIR}, {.kind = DDPCP_PUT, .name = "\033[2J\nx/y"}}},
};

static int on_request(struct session *s, const void *hello, size_t len, struct server_answer *a)
{
	struct served *p = s->state;
	int r = session_make_qp(s, &ddpcp_link_need);

	(void)hello, (void)len;
	ddpcp_hello_put(a->data, DDPCP_LEVEL);
	a->len = DDPCP_HELLO_LEN;
	return r == 0 ? ddpcp_link_init(&p->link, s) : r;
}

static int attack(struct ddpcp_link *l, const struct ddpcp_rec *say)
{
	const struct ddpcp_rec end = {.kind = DDPCP_END};
	int r = 0;

	for (int i = 0; r == 0 && i < MOST && say[i].kind; i++)
		r = ddpcp_link_send(l, &say[i]);
	return r == 0 ? ddpcp_link_send(l, &end) : r;
}

/* One GET, and what the client thinks of the answer is of no interest. */
static int serve(struct session *s)
{
	struct served *p = s->state;
	struct ddpcp_rec get;
	int r = ddpcp_link_recv(&p->link, DDPCP_LINK_KIND(DDPCP_GET), DDPCP_WAIT_MS, &get);

	for (size_t i = 0; r == 0 && i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (!strcmp(attacks[i].ask, get.name))
			r = attack(&p->link, attacks[i].say);
	ddpcp_link_linger(&p->link);
	return TOOL_OK;
}

int main(int argc, char **argv)
{
	const struct server_conf conf = {
		.socket = argv[argc > 1],
		.port = argc == 3 ? (uint16_t)atoi(argv[2]) : 0,
		.max_sessions = SESSIONS,
		.state_size = sizeof(struct served),
		.request = on_request,
		.run = serve,
	};

	if (argc != 3)
		return 2;
	tool_start("copy_server");
	return server_run(&conf);
}
