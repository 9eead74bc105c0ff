/* SPDX-License-Identifier: BSD-2-Clause */
/* A doorbell is readable until it is drained, and the other end cannot make it block. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ipc/doorbell.h"

static int ring_fd = -1, wait_fd = -1;

static void setup(void)
{
	cr_assert_eq(doorbell_create(&ring_fd, &wait_fd), 0);
}

TestSuite(doorbell, .init = setup);

static int ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

Test(doorbell, a_new_bell_is_not_readable)
{
	cr_assert_eq(ready(wait_fd), 0);
	cr_assert_eq(doorbell_drain(wait_fd), 0);
}

Test(doorbell, a_ring_is_reported_until_it_is_drained)
{
	cr_assert_eq(doorbell_ring(ring_fd), 0);
	cr_assert_eq(ready(wait_fd), POLLIN);
	cr_assert_eq(ready(wait_fd), POLLIN);
	cr_assert_eq(doorbell_drain(wait_fd), 1);
	cr_assert_eq(ready(wait_fd), 0);
}

Test(doorbell, a_few_rings_are_counted)
{
	for (int i = 0; i < 3; i++)
		cr_assert_eq(doorbell_ring(ring_fd), 0);
	cr_assert_eq(doorbell_drain(wait_fd), 3);
	cr_assert_eq(doorbell_drain(wait_fd), 0);
}

Test(doorbell, rings_without_a_drain_have_no_cost_and_are_reported)
{
	for (int i = 0; i < 100000; i++)
		cr_assert_eq(doorbell_ring(ring_fd), 0);
	cr_assert_gt(doorbell_drain(wait_fd), 0);
	while (doorbell_drain(wait_fd) > 0)
		;
	cr_assert_eq(ready(wait_fd), 0);
	cr_assert_eq(doorbell_ring(ring_fd), 0);
	cr_assert_eq(ready(wait_fd), POLLIN, "rings again after it was full");
}

/* If it blocks, the timeout of the test ends it. */
Test(doorbell, the_waiting_side_cannot_make_a_ring_block, .timeout = 10)
{
	cr_assert_eq(fcntl(wait_fd, F_SETFL, 0), 0);
	for (int i = 0; i < 100000; i++)
		cr_assert_eq(doorbell_ring(ring_fd), 0);
}

Test(doorbell, the_ringing_side_cannot_make_a_drain_block, .timeout = 10)
{
	cr_assert_eq(fcntl(ring_fd, F_SETFL, 0), 0);
	cr_assert_eq(doorbell_drain(wait_fd), 0);
}

Test(doorbell, neither_end_blocks_even_where_its_own_flag_was_cleared, .timeout = 10)
{
	cr_assert_eq(fcntl(ring_fd, F_SETFL, 0), 0);
	cr_assert_eq(fcntl(wait_fd, F_SETFL, 0), 0);
	cr_assert_eq(doorbell_drain(wait_fd), 0);
	for (int i = 0; i < 100000; i++)
		cr_assert_eq(doorbell_ring(ring_fd), 0);
}

Test(doorbell, the_end_of_the_ringing_side_is_reported_after_its_last_ring)
{
	cr_assert_eq(doorbell_ring(ring_fd), 0);
	close(ring_fd);
	cr_assert(ready(wait_fd) & POLLHUP);
	cr_assert_eq(doorbell_drain(wait_fd), 1);
	cr_assert_eq(doorbell_drain(wait_fd), -EPIPE);
}

Test(doorbell, a_ring_without_a_peer_fails_without_a_signal)
{
	close(wait_fd);
	cr_assert_eq(doorbell_ring(ring_fd), -EPIPE);
}

Test(doorbell, a_ring_to_a_closed_end_with_unread_rings_fails_without_a_signal)
{
	cr_assert_eq(doorbell_ring(ring_fd), 0);
	close(wait_fd);
	cr_assert_eq(doorbell_ring(ring_fd), -EPIPE);
}

Test(doorbell, the_waiting_side_can_write_back_without_harm)
{
	cr_assert_eq(send(wait_fd, "x", 1, MSG_NOSIGNAL), 1);
	cr_assert_eq(doorbell_ring(ring_fd), 0);
	cr_assert_eq(doorbell_drain(wait_fd), 1);
}

Test(doorbell, both_ends_are_closed_on_exec)
{
	cr_assert(fcntl(ring_fd, F_GETFD) & FD_CLOEXEC);
	cr_assert(fcntl(wait_fd, F_GETFD) & FD_CLOEXEC);
}

Test(doorbell, other_failures_are_forwarded)
{
	cr_assert_eq(doorbell_ring(-1), -EBADF);
	cr_assert_eq(doorbell_drain(-1), -EBADF);
}

Test(doorbell, rings_can_be_taken_one_at_a_time)
{
	for (int i = 0; i < 3; i++)
		cr_assert_eq(doorbell_ring(ring_fd), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(doorbell_take(wait_fd), 1);
	cr_assert_eq(doorbell_take(wait_fd), 0);
	cr_assert_eq(doorbell_ring(ring_fd), 0);
	close(ring_fd);
	cr_assert_eq(doorbell_take(wait_fd), 1);
	cr_assert_eq(doorbell_take(wait_fd), -EPIPE);
}

/* ---- a kernel without memory ---- */

static int failures; /* so many of the next rings fail */

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	if (failures == 0)
		return syscall(SYS_sendto, fd, p, n, flags, NULL, 0);
	failures--;
	errno = ENOBUFS;
	return -1;
}

Test(doorbell, a_ring_is_not_lost_when_the_kernel_has_no_memory_for_a_moment)
{
	failures = 3;
	cr_expect_eq(doorbell_ring(ring_fd), 0);
	cr_expect_eq(ready(wait_fd), POLLIN);
}

Test(doorbell, a_kernel_that_has_no_memory_for_long_is_reported)
{
	failures = 1000;
	cr_expect_eq(doorbell_ring(ring_fd), -ENOBUFS);
}
