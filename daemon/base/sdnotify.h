/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service manager's protocol, by libsystemd (HAVE_LIBSYSTEMD). Without that library the calls
 * have no effect.
 */
#ifndef DAEMON_BASE_SDNOTIFY_H
#define DAEMON_BASE_SDNOTIFY_H

#include <stdint.h>

/* The socket accepts clients. */
void sdnotify_ready(void);

/* The configuration is being read again. sdnotify_ready() ends the reload. */
void sdnotify_reloading(void);

/* The daemon is about to end. */
void sdnotify_stopping(void);

/* One line for `systemctl status`. */
void sdnotify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * How often to call sdnotify_alive(), in milliseconds: half of the manager's time limit. 0: it does
 * not watch this process.
 */
uint64_t sdnotify_watchdog_ms(void);

/* The event loop is running. */
void sdnotify_alive(void);

/* ---- descriptors that the manager passes ---- */

enum {
	SDNOTIFY_E_OK,
	SDNOTIFY_E_NONE, /* no socket was passed: make one */
	SDNOTIFY_NAME_MAX = 128,
	SDNOTIFY_STORED_MAX = 64, /* FileDescriptorStoreMax= of the unit */
};

struct sdnotify_stored {
	int fd;
	char name[SDNOTIFY_NAME_MAX];
};

struct sdnotify_fds {
	int err;    /* -errno: they could not be taken */
	int others; /* that are not from the store */
	int other;  /* the last of them */
	unsigned nstored;
	struct sdnotify_stored stored[SDNOTIFY_STORED_MAX]; /* by sdnotify_store() */
};

/* Takes them: they are the caller's, and close-on-exec. To be called once, before others open or
 * close descriptors. */
void sdnotify_fds(struct sdnotify_fds *ret);

/*
 * The socket of the programs among them. Returns 0 and the descriptor, non-blocking;
 * SDNOTIFY_E_NONE; -EINVAL if others were passed, besides those of the store, than one listening
 * UNIX socket of type SOCK_SEQPACKET; or -errno.
 */
int sdnotify_socket(const struct sdnotify_fds *fds, int *ret_fd);

/* Stores a copy of the descriptor for the next process of the service, if the unit permits. Names
 * have no colon; store no second descriptor under one. */
void sdnotify_store(int fd, const char *name);

/* Removes that of the name. */
void sdnotify_unstore(const char *name);

#endif
