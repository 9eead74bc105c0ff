/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs that watches a port. Promise: ibv_query_port() says what its last event
 * said, and the state at the beginning.
 *
 *   verbs_port EVENTS      prints "ready", the state, and each of so many events with the state
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/system/verbs_rig.h"

static struct side s;

static const char *state(void)
{
	struct ibv_port_attr port;

	VERB(ibv_query_port(s.ctx, 1, &port) == 0);
	VERB((port.state == IBV_PORT_ACTIVE) == (port.phys_state == 5));
	return port.state == IBV_PORT_ACTIVE ? "ACTIVE"
	       : port.state == IBV_PORT_DOWN ? "DOWN"
					     : "?";
}

static void take_event(void)
{
	struct ibv_async_event ev;

	VERB(ibv_get_async_event(s.ctx, &ev) == 0);
	VERB(ev.event_type == IBV_EVENT_PORT_ERR || ev.event_type == IBV_EVENT_PORT_ACTIVE);
	printf("%s %s\n", ev.event_type == IBV_EVENT_PORT_ERR ? "PORT_ERR" : "PORT_ACTIVE",
	       state());
	ibv_ack_async_event(&ev);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	VERB(argc == 2);
	side_open(&s, 0);
	printf("ready\n%s\n", state());
	for (int i = atoi(argv[1]); i > 0; i--)
		take_event();
	side_close(&s);
	return 0;
}
