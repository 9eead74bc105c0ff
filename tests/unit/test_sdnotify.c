/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service manager passes its socket as descriptor 3, which the test framework may be using. So
 * each test runs in a child process, and the result is its exit status.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/sdnotify.h"

enum {
	USABLE, /* one descriptor, which neither blocks nor outlives an exec */
	NONE,
	REFUSED,
	OTHER,
};

static void setup(void)
{
#ifndef HAVE_LIBSYSTEMD
	cr_skip_test("built without libsystemd");
#endif
}

TestSuite(sdnotify, .init = setup, .timeout = 30);

static int call(void)
{
	struct sdnotify_fds passed;
	int fd = -1, r;

	sdnotify_fds(&passed);
	r = sdnotify_socket(&passed, &fd);

	if (r == SDNOTIFY_E_NONE)
		return fd == -1 ? NONE : OTHER;
	if (r == -EINVAL)
		return fd == -1 ? REFUSED : OTHER;
	return r == SDNOTIFY_E_OK && (fcntl(fd, F_GETFL) & O_NONBLOCK) &&
			       (fcntl(fd, F_GETFD) & FD_CLOEXEC)
		       ? USABLE
		       : OTHER;
}

static int pass_named(int fd, const char *count, const char *names)
{
	char pid[16];
	int status;
	pid_t child = fork();

	cr_assert_geq(child, 0);
	if (child == 0) {
		snprintf(pid, sizeof(pid), "%d", (int)getpid());
		setenv("LISTEN_PID", pid, 1);
		if (count)
			setenv("LISTEN_FDS", count, 1);
		if (names)
			setenv("LISTEN_FDNAMES", names, 1);
		if (fd >= 0 && (dup2(fd, 3) < 0 || dup2(fd, 4) < 0))
			_exit(OTHER);
		_exit(call());
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : OTHER;
}

static int pass(int fd, const char *count)
{
	return pass_named(fd, count, NULL);
}

/* A UNIX socket that listens, at an abstract address of the kernel's choice. */
static int listener(int type)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sa_family_t)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	return fd;
}

Test(sdnotify, a_passed_socket_is_taken_and_made_not_to_block)
{
	int fd = listener(SOCK_SEQPACKET);

	cr_assert_not(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect_eq(pass(fd, "1"), USABLE);
	close(fd);
}

Test(sdnotify, without_a_passed_socket_there_is_none)
{
	cr_expect_eq(pass(-1, NULL), NONE);
}

Test(sdnotify, anything_but_one_listening_seqpacket_socket_is_refused)
{
	int stream = listener(SOCK_STREAM), good = listener(SOCK_SEQPACKET);
	int no_listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_expect_eq(pass(stream, "1"), REFUSED);
	cr_expect_eq(pass(no_listener, "1"), REFUSED);
	cr_expect_eq(pass(good, "2"), REFUSED);
	close(stream);
	close(good);
	close(no_listener);
}

Test(sdnotify, a_stored_descriptor_is_not_the_socket_of_the_programs)
{
	int fd = listener(SOCK_SEQPACKET);

	cr_expect_eq(pass_named(fd, "2", "ddpsctpd.socket:stored-a"), USABLE);
	cr_expect_eq(pass_named(fd, "2", "stored-a:connection"), USABLE);
	cr_expect_eq(pass_named(fd, "2", "stored-a:stored-b"), NONE);
	cr_expect_eq(pass_named(fd, "2", "a:b"), REFUSED);
	close(fd);
}

Test(sdnotify, the_manager_is_notified)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(sun);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[sizeof(sun.sun_path) + 1] = "@", text[64], *usec;
	static const char *const expected[] = {
		"READY=1",
		"STATUS=3 clients",
		"WATCHDOG=1",
		"RELOADING=1\nMONOTONIC_USEC=",
		"FDSTORE=1\nFDPOLL=0\nFDNAME=stored-a",
		"FDSTOREREMOVE=1\nFDNAME=stored-a",
		"STOPPING=1",
	};

	cr_assert_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sa_family_t)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&sun, &len), 0);
	memcpy(name + 1, sun.sun_path + 1, len - offsetof(struct sockaddr_un, sun_path) - 1);
	setenv("NOTIFY_SOCKET", name, 1);
	sdnotify_ready();
	sdnotify_status("%d clients", 3);
	sdnotify_alive();
	sdnotify_reloading();
	sdnotify_store(fd, "a");
	sdnotify_unstore("a");
	sdnotify_stopping();
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

		cr_assert_gt(n, 0);
		text[n] = '\0';
		if ((usec = strstr(text, "USEC=")))
			usec[5] = '\0';
		cr_expect_str_eq(text, expected[i]);
	}
	close(fd);
}

Test(sdnotify, half_of_the_watchdog_time_is_returned)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	setenv("WATCHDOG_USEC", "3000000", 1);
	cr_expect_eq(sdnotify_watchdog_ms(), 1500);
	setenv("WATCHDOG_USEC", "1000", 1);
	cr_expect_eq(sdnotify_watchdog_ms(), 1, "0 would mean no watchdog");
	unsetenv("WATCHDOG_USEC");
	cr_expect_eq(sdnotify_watchdog_ms(), 0);
}
