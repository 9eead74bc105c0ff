/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl capture`: a client gets copies of the packets that the transport sends and receives. */
#ifndef DAEMON_SERVICE_CAPTURE_H
#define DAEMON_SERVICE_CAPTURE_H

struct client;
struct ctl_capture;
struct msg_capture;
struct reply;

/*
 * Copies packets into a ring (ipc/packet_ring.h) that the client reads, until the client goes.
 * Packets that it reads too late are left out and counted. 0, with the ring's memory, or a refusal:
 * another version (EPROTONOSUPPORT); not the administrator (EPERM); no such object (ENOENT); the
 * object has no association that is up (ENOTCONN); the transport sees no packets (EOPNOTSUPP);
 * another client captures (EBUSY).
 */
int capture_begin(struct client *c, const struct ctl_capture *req, struct msg_capture *ret,
		  struct reply *rep);

/* The client goes. */
void capture_end(struct client *c);

#endif
