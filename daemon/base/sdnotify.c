/* SPDX-License-Identifier: BSD-2-Clause */
/* The only file of the daemon that knows libsystemd. */
#include "daemon/base/sdnotify.h"

#ifdef HAVE_LIBSYSTEMD

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

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

/* ---- descriptors ---- */

/* Names of descriptors in the store begin with this. Those of socket units do not. */
static const char prefix[] = "stored-";

/* FDPOLL=0: an ICMP error, which a peer can cause, does not remove the socket. */
void sdnotify_store(int fd, const char *name)
{
	char text[64 + SDNOTIFY_NAME_MAX];

	snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s%s", prefix, name);
	(void)sd_pid_notify_with_fds(0, 0, text, &fd, 1);
}

void sdnotify_unstore(const char *name)
{
	sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s%s", prefix, name);
}

static void free_names(char **names)
{
	for (char **p = names; p && *p; p++)
		free(*p);
	free(names);
}

static void sort_fd(struct sdnotify_fds *f, int fd, const char *name)
{
	const size_t len = sizeof(prefix) - 1;

	if (!name || strncmp(name, prefix, len) != 0) {
		f->others++;
		f->other = fd;
	} else if (f->nstored < SDNOTIFY_STORED_MAX) {
		f->stored[f->nstored].fd = fd;
		snprintf(f->stored[f->nstored++].name, SDNOTIFY_NAME_MAX, "%s", name + len);
	} else {
		close(fd);
	}
}

void sdnotify_fds(struct sdnotify_fds *ret)
{
	char **names = NULL;
	int n = sd_listen_fds_with_names(1, &names);

	*ret = (struct sdnotify_fds){.err = n < 0 ? n : 0};
	for (int i = 0; i < n; i++)
		sort_fd(ret, SD_LISTEN_FDS_START + i, names ? names[i] : NULL);
	free_names(names);
}

int sdnotify_socket(const struct sdnotify_fds *fds, int *ret_fd)
{
	int flags;

	if (fds->others == 0)
		return fds->err ? fds->err : SDNOTIFY_E_NONE;
	if (fds->others > 1 || sd_is_socket_unix(fds->other, SOCK_SEQPACKET, 1, NULL, 0) <= 0)
		return -EINVAL;
	flags = fcntl(fds->other, F_GETFL);
	if (flags < 0 || fcntl(fds->other, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	*ret_fd = fds->other;
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

void sdnotify_store(int fd, const char *name)
{
	(void)fd;
	(void)name;
}

void sdnotify_unstore(const char *name)
{
	(void)name;
}

void sdnotify_fds(struct sdnotify_fds *ret)
{
	*ret = (struct sdnotify_fds){.err = 0};
}

int sdnotify_socket(const struct sdnotify_fds *fds, int *ret_fd)
{
	(void)ret_fd;
	return fds->err ? fds->err : SDNOTIFY_E_NONE;
}

#endif
