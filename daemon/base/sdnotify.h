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

enum {
	SDNOTIFY_E_OK,
	SDNOTIFY_E_NONE, /* no socket was passed: make one */
};

/*
 * The listening socket that the manager passed. Returns 0 and the descriptor, which is the
 * caller's, non-blocking and close-on-exec; SDNOTIFY_E_NONE; -EINVAL if it passed anything but one
 * listening UNIX socket of type SOCK_SEQPACKET; or -errno. To be called once.
 */
int sdnotify_socket(int *ret_fd);

#endif
