/* SPDX-License-Identifier: BSD-2-Clause */
/* The only file that knows libsystemd. */
#include "daemon/base/sdnotify.h"

#ifdef HAVE_LIBSYSTEMD

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void sdnotify_ready(void)
{
	sd_notify(0, "READY=1");
}

/* The manager tells this reload from an earlier one by the time. */
void sdnotify_reloading(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000);
}

void sdnotify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void sdnotify_status(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sd_notifyf(0, "STATUS=%s", text);
}

uint64_t sdnotify_watchdog_ms(void)
{
	uint64_t usec;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return 0;
	return usec >= 2000 ? usec / 2000 : 1;
}

void sdnotify_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}

int sdnotify_socket(int *ret_fd)
{
	int n = sd_listen_fds(1);
	int flags;

	if (n <= 0)
		return n < 0 ? n : SDNOTIFY_E_NONE;
	if (n > 1 || sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1, NULL, 0) <= 0)
		return -EINVAL;
	flags = fcntl(SD_LISTEN_FDS_START, F_GETFL);
	if (flags < 0 || fcntl(SD_LISTEN_FDS_START, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	*ret_fd = SD_LISTEN_FDS_START;
	return SDNOTIFY_E_OK;
}

#else

void sdnotify_ready(void)
{
}

void sdnotify_reloading(void)
{
}

void sdnotify_stopping(void)
{
}

void sdnotify_status(const char *fmt, ...)
{
	(void)fmt;
}

uint64_t sdnotify_watchdog_ms(void)
{
	return 0;
}

void sdnotify_alive(void)
{
}

int sdnotify_socket(int *ret_fd)
{
	(void)ret_fd;
	return SDNOTIFY_E_NONE;
}

#endif
