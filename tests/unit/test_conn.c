/* SPDX-License-Identifier: BSD-2-Clause */
/* Records arrive complete or not at all, and no descriptor is leaked. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ipc/conn.h"

static int a = -1, b = -1;
static uint8_t buf[MSG_MAX];
static size_t len;
static int fds[MSG_MAX_FDS];
static unsigned nfds;

static void setup(void)
{
	int sv[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv), 0);
	a = sv[0];
	b = sv[1];
	len = 77;
	nfds = 77;
}

TestSuite(conn, .init = setup);

static unsigned open_fds(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/fd");

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int receive(size_t cap)
{
	return conn_recv(b, buf, cap, &len, fds, &nfds);
}

Test(conn, the_last_message_of_a_peer_arrives_although_it_left_ours_unread)
{
	cr_assert_eq(conn_send(b, "question", 8, NULL, 0), 0);
	cr_assert_eq(conn_send(a, "go away", 7, NULL, 0), 0);
	cr_assert_eq(close(a), 0);
	cr_assert_eq(receive(sizeof(buf)), 0);
	cr_expect_eq(len, 7);
	cr_expect_arr_eq(buf, "go away", 7);
	cr_expect_eq(receive(sizeof(buf)), CONN_E_CLOSED);
}

/* Sends without conn_send(), with any number of descriptors. */
static void send_raw(const void *rec, size_t n, unsigned count)
{
	struct iovec iov = {(void *)rec, n};
	size_t space = CMSG_SPACE(count * sizeof(int));
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = calloc(1, space),
		.msg_controllen = space,
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (unsigned i = 0; i < count; i++)
		((int *)CMSG_DATA(h))[i] = a;
	cr_assert_eq(sendmsg(a, &m, MSG_NOSIGNAL), (ssize_t)n);
	free(m.msg_control);
}

Test(conn, a_record_arrives_as_it_was_sent)
{
	cr_assert_eq(conn_send(a, "one", 3, NULL, 0), 0);
	cr_assert_eq(conn_send(a, "second", 6, NULL, 0), 0);
	cr_assert_eq(receive(sizeof(buf)), 0);
	cr_assert_eq(len, 3);
	cr_assert_eq(nfds, 0);
	cr_assert_arr_eq(buf, "one", 3);
	cr_assert_eq(receive(sizeof(buf)), 0);
	cr_assert_eq(len, 6);
}

Test(conn, descriptors_arrive_with_their_record)
{
	int pipes[2];
	char c = 0;

	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(conn_send(a, "x", 1, NULL, 0), 0);
	cr_assert_eq(conn_send(a, "y", 1, (int[]){pipes[1], a, b}, 3), 0);
	cr_assert_eq(receive(sizeof(buf)), 0);
	cr_assert_eq(nfds, 0);
	cr_assert_eq(receive(sizeof(buf)), 0);
	cr_assert_eq(nfds, 3);
	cr_assert_eq(write(fds[0], "!", 1), 1);
	cr_assert_eq(read(pipes[0], &c, 1), 1);
	cr_assert_eq(c, '!');
}

Test(conn, descriptors_are_closed_on_exec)
{
	cr_assert_eq(conn_send(a, "x", 1, &a, 1), 0);
	cr_assert_eq(receive(sizeof(buf)), 0);
	cr_assert_eq(nfds, 1);
	cr_assert(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
}

Test(conn, the_sender_keeps_its_descriptors)
{
	cr_assert_eq(conn_send(a, "x", 1, (int[]){a, b}, 2), 0);
	cr_assert_geq(fcntl(a, F_GETFD), 0);
	cr_assert_geq(fcntl(b, F_GETFD), 0);
}

Test(conn, an_empty_socket_is_again)
{
	cr_assert_eq(receive(sizeof(buf)), CONN_E_AGAIN);
	cr_assert_eq(len, 77, "untouched on failure");
	cr_assert_eq(nfds, 77, "untouched on failure");
}

Test(conn, a_full_socket_is_again_and_takes_nothing)
{
	unsigned sent = 0;
	int r;

	while ((r = conn_send(a, buf, sizeof(buf), NULL, 0)) == 0)
		sent++;
	cr_assert_eq(r, CONN_E_AGAIN);
	while (receive(sizeof(buf)) == 0)
		sent--;
	cr_assert_eq(sent, 0);
}

/* Who else has the descriptor may clear O_NONBLOCK. */
Test(conn, a_try_never_waits, .timeout = 20)
{
	int r;

	cr_assert_eq(fcntl(a, F_SETFL, 0), 0);
	cr_assert_eq(fcntl(b, F_SETFL, 0), 0);
	cr_expect_eq(conn_try_recv(b, buf, sizeof(buf), &len, fds, &nfds), CONN_E_AGAIN);
	while ((r = conn_try_send(a, buf, sizeof(buf), NULL, 0)) == 0)
		;
	cr_expect_eq(r, CONN_E_AGAIN);
	cr_expect_eq(conn_try_recv(b, buf, sizeof(buf), &len, fds, &nfds), 0);
	cr_expect_eq(len, sizeof(buf));
}

Test(conn, a_closed_peer_is_closed_to_the_reader_after_what_it_sent)
{
	cr_assert_eq(conn_send(a, "last", 4, NULL, 0), 0);
	close(a);
	cr_assert_eq(receive(sizeof(buf)), 0);
	cr_assert_eq(len, 4);
	cr_assert_eq(receive(sizeof(buf)), CONN_E_CLOSED);
	cr_assert_eq(receive(sizeof(buf)), CONN_E_CLOSED);
}

Test(conn, a_closed_peer_is_closed_to_the_writer_without_a_signal)
{
	close(b);
	cr_assert_eq(conn_send(a, "x", 1, NULL, 0), CONN_E_CLOSED);
}

Test(conn, unread_records_do_not_hide_that_the_peer_closed)
{
	cr_assert_eq(conn_send(b, "never read", 10, NULL, 0), 0);
	close(a);
	cr_assert_eq(receive(sizeof(buf)), CONN_E_CLOSED);
	cr_assert_eq(conn_send(b, "x", 1, NULL, 0), CONN_E_CLOSED);
}

Test(conn, a_record_of_exactly_the_capacity_is_taken)
{
	cr_assert_eq(conn_send(a, "12345678", 8, NULL, 0), 0);
	cr_assert_eq(receive(8), 0);
	cr_assert_eq(len, 8);
}

Test(conn, a_longer_record_is_lost_with_its_descriptors)
{
	unsigned before = open_fds();

	cr_assert_eq(conn_send(a, "123456789", 9, (int[]){a, b, a}, 3), 0);
	cr_assert_eq(conn_send(a, "next", 4, NULL, 0), 0);
	cr_assert_eq(receive(8), CONN_E_TRUNCATED);
	cr_assert_eq(open_fds(), before);
	cr_assert_eq(len, 77, "untouched on failure");
	cr_assert_eq(receive(8), 0, "the next record is whole");
	cr_assert_eq(len, 4);
}

Test(conn, one_descriptor_too_many_is_truncated_and_none_stays_open)
{
	unsigned before = open_fds();

	/* Four fit into the padding of the control buffer: the kernel delivers all of them. */
	send_raw("x", 1, MSG_MAX_FDS + 1);
	cr_assert_eq(receive(sizeof(buf)), CONN_E_TRUNCATED);
	cr_assert_eq(open_fds(), before);
}

Test(conn, many_descriptors_too_many_are_truncated_and_none_stays_open)
{
	unsigned before = open_fds();

	send_raw("x", 1, 200);
	cr_assert_eq(receive(sizeof(buf)), CONN_E_TRUNCATED);
	cr_assert_eq(open_fds(), before);
}

Test(conn, a_record_whose_descriptors_this_process_cannot_have_stays)
{
	unsigned before = open_fds();
	struct rlimit lim;

	cr_assert_eq(conn_send(a, "x", 1, (int[]){a, b, a}, 3), 0);
	getrlimit(RLIMIT_NOFILE, &lim);
	/* Leaves one free descriptor number. */
	lim.rlim_cur = (rlim_t)dup(a) + 1;
	close((int)lim.rlim_cur - 1);
	setrlimit(RLIMIT_NOFILE, &lim);
	cr_assert_eq(receive(sizeof(buf)), CONN_E_NO_FDS);
	cr_assert_eq(len, 1);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	cr_assert_eq(open_fds(), before);
}

Test(conn, records_that_cannot_be_sent_are_refused)
{
	cr_assert_eq(conn_send(a, "", 0, NULL, 0), -EINVAL);
	cr_assert_eq(conn_send(a, "x", 1, (int[]){a, a, a, a}, 4), -EINVAL);
	cr_assert_eq(receive(sizeof(buf)), CONN_E_AGAIN);
}

Test(conn, other_failures_are_forwarded)
{
	int no = -1;

	cr_assert_eq(conn_send(-1, "x", 1, NULL, 0), -EBADF);
	cr_assert_eq(conn_send(a, "x", 1, &no, 1), -EBADF);
	cr_assert_eq(conn_recv(-1, buf, sizeof(buf), &len, fds, &nfds), -EBADF);
}

/* ---- a kernel without memory ---- */

static int failures; /* so many of the next calls fail */

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (failures == 0)
		return syscall(SYS_sendmsg, fd, m, flags);
	failures--;
	errno = ENOBUFS;
	return -1;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	if (failures == 0)
		return syscall(SYS_recvmsg, fd, m, flags);
	failures--;
	errno = ENOMEM;
	return -1;
}

Test(conn, a_record_is_not_lost_when_the_kernel_has_no_memory_for_a_moment)
{
	failures = 3;
	cr_expect_eq(conn_send(a, "hello", 5, NULL, 0), 0);
	failures = 3;
	cr_expect_eq(receive(sizeof(buf)), 0);
	cr_expect_eq(len, 5);
}

Test(conn, a_kernel_that_has_no_memory_for_long_is_reported)
{
	failures = 1000;
	cr_expect_eq(conn_send(a, "hello", 5, NULL, 0), -ENOBUFS);
	cr_expect_eq(receive(sizeof(buf)), -ENOMEM);
}
