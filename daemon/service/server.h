/* SPDX-License-Identifier: BSD-2-Clause */
/* The UNIX socket that clients attach to. */
#ifndef DAEMON_SERVICE_SERVER_H
#define DAEMON_SERVICE_SERVER_H

struct daemon;
struct server;

/* Makes and watches the socket, or takes the one that systemd passed. 0, or -1 after a line of log.
 */
int server_open(struct daemon *d, struct server **ret);

/*
 * Gives the socket to the group and the mode that daemon.cfg has by now. That of the service
 * manager is left alone, with a line of log. 0, or -1 after a line of log.
 */
int server_set_access(struct server *s);

/*
 * For a daemon that cannot start: closes the connections that wait at the socket of the service
 * manager. Without such a socket it has no effect.
 */
void server_refuse_pending(void);

/* Stops accepting. Existing clients stay connected. */
void server_stop(struct server *s);

/* Closes and removes the socket. NULL is fine; returns NULL. */
struct server *server_close(struct server *s);

#endif
