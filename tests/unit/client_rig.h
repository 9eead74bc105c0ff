/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon without its socket, and clients of it, whose sessions use the transport `loop`. */
#ifndef TESTS_UNIT_CLIENT_RIG_H
#define TESTS_UNIT_CLIENT_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base/event_loop.h"
#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "ipc/msg.h"

struct rig_program {
	struct client *c;
	int fd, event_fd;
	int bell; /* the ringing end */
	uint32_t pd, cq;
	_Alignas(8) uint8_t rec[MSG_MAX]; /* the last reply */
};

extern struct daemon rig;

/* The clock of its loop; NULL: the system's. Set before rig_start(). */
extern uint64_t (*rig_clock_us)(void *user);

/* The hooks of its loop; NULL: those of rig_read_events(). Set before rig_start(). */
extern const struct event_loop_hooks *rig_hooks;

/* Starts the daemon, with its default configuration. limits.events: 16. */
void rig_start(void);

/* A client that has said hello. */
void rig_attach(struct rig_program *p);

/* A record that must succeed. Returns the handle in its reply. */
uint32_t rig_call(struct rig_program *p, const void *req, size_t len);

/* Its handle, also of its PD and CQ, which all its queue pairs share. */
uint32_t rig_make_qp(struct rig_program *p);
void rig_destroy_qp(struct rig_program *p, uint32_t qp);

/* At the one port; backlog 0: the default. Returns the handle. */
uint32_t rig_listen(struct rig_program *p, uint32_t backlog);

/* Connects the queue pair to that port. */
void rig_begin_connect(struct rig_program *p, uint32_t qp);

/* The same, and has turns until the request has arrived. */
void rig_connect(struct rig_program *p, uint32_t qp);

void rig_turns(void);

/* Has the program read its events until it has read all. Returns how many; stores the first ones.
 */
unsigned rig_read_events(struct rig_program *p, struct msg_event *ret, unsigned max);

#endif
