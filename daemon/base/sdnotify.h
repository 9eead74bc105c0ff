/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Talking with the service manager. Built with libsystemd (HAVE_LIBSYSTEMD); without it every call
 * does nothing, and the daemon runs as under a manager that asks for nothing.
 */
#ifndef DAEMON_BASE_SDNOTIFY_H
#define DAEMON_BASE_SDNOTIFY_H

#include <stdint.h>

/* The socket accepts clients. */
void sdnotify_ready(void);

/* The configuration is being read anew; sdnotify_ready() tells the end of it. */
void sdnotify_reloading(void);

/* The daemon is about to end. */
void sdnotify_stopping(void);

/* One line for `systemctl status`. */
void sdnotify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * How often to call sdnotify_alive(), in milliseconds: half of what the manager waits for.
 * 0: it does not watch this process.
 */
uint64_t sdnotify_watchdog_ms(void);

/* The loop still turns. */
void sdnotify_alive(void);

enum {
	SDNOTIFY_E_OK,
	SDNOTIFY_E_NONE, /* no socket was passed: make one */
};

/*
 * The socket that the manager listens on for us. Returns 0 and the descriptor, which is the
 * caller's, does not block and is closed on exec; SDNOTIFY_E_NONE; -EINVAL if it passed anything
 * but one listening UNIX socket of type SOCK_SEQPACKET; or -errno. To be called once.
 */
int sdnotify_socket(int *ret_fd);

#endif
