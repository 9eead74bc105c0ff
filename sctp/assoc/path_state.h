/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of a path (RFC 9260 8.2, RFC 7829), and when it is probed. */
#ifndef SCTP_PATH_STATE_H
#define SCTP_PATH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/path.h"

/* Between heartbeats of an inactive path, if there are no others. */
enum { SCTP_INACTIVE_US = 30000000 };

/* A path that is not confirmed. packet: the largest that its route takes, 0: not known. */
void sctp_path_init(struct sctp_path *p, uint32_t packet);
/* Takes another state; an event is due if it changed. */
void sctp_path_set_state(struct sctp_path *p, enum sctp_path_state state);
/* A packet was not answered in time. False if the association ended. */
bool sctp_path_failed(struct sctp_path *p);
/* It was answered. */
void sctp_path_answered(struct sctp_path *p);
/* HB.interval (8.3), with heartbeats on. */
uint64_t sctp_heartbeat_interval(const struct sctp *s);

/* When heartbeats go on, after something was sent. */
void sctp_path_rest(struct sctp_path *p);
/* The peer began the association and listed this address, which did not answer: it may be another
 * host's, and is not probed any more. */
bool sctp_path_given_up(const struct sctp_path *p);
/* A packet with the right tag came from there: a path that was given up is probed again, by one
 * heartbeat. */
void sctp_path_heard(struct sctp_path *p);
/* Its packet size changed. */
void sctp_path_resized(struct sctp_path *p);

#endif
