/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines with fields for journald, over its native protocol. Private to log.c. Not
 * sd_journal_send(): that blocks when journald does not read.
 */
#ifndef DAEMON_BASE_JOURNALD_H
#define DAEMON_BASE_JOURNALD_H

#define JOURNALD_SOCKET "/run/systemd/journal/socket"

/* Uses the datagram socket at this path from now on. Without such a socket the call has no effect.
 */
void journald_open(const char *path);

/*
 * Sends a line with its priority (syslog(3)) and more fields, each "NAME=value" and a newline. No
 * value has control characters. 0; -EAGAIN: journald does not read; -ENOTCONN: there is no socket;
 * or another -errno. Never blocks.
 */
int journald_send(int priority, const char *text, const char *fields);

#endif
