/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where ddpmetrics listens: a loopback address or a UNIX socket. HTTP is neither encrypted nor
 * authenticated, so it accepts no other address.
 */
#ifndef CTL_HTTP_LISTEN_H
#define CTL_HTTP_LISTEN_H

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum {
	HTTP_LISTEN_PORT = 9899,  /* where the text names none */
	HTTP_LISTEN_ERROR = 320,  /* bytes that hold any message */
	HTTP_LISTEN_NAME = 128,   /* bytes that hold any name */
	HTTP_LISTEN_BACKLOG = 16, /* connections that wait */
};

struct http_listen {
	int fd;
	char name[HTTP_LISTEN_NAME]; /* "127.0.0.1:9899", with the port that it got; or the path */
	struct stat file;            /* of a UNIX socket, to know it again */
	int unix_socket;
};

/* text: "127.0.0.1:9899", "[::1]:9899", either without a port, or the path of a UNIX socket, with a
 * slash at its start. Port 0: any free one. A UNIX socket gets mode 0660; one without a listening
 * program is replaced. Returns 0, or -1 with a sentence in ret_error. The caller closes it. */
int http_listen_open(struct http_listen *l, const char *text, char ret_error[HTTP_LISTEN_ERROR]);

/* Closes it, and removes its UNIX socket unless another one has taken the place. */
void http_listen_close(struct http_listen *l);

#endif
