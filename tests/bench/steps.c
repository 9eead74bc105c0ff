/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the steps of a round trip cost on this machine: the system calls of the daemon's turn one by
 * one, and a wake-up of another process, busy and after a rest. docs/latency.md adds them up.
 * Prints least and median, in microseconds. Usage: steps [REST_MS]
 */
#include <err.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 20000,
	RESTS = 100,
	PACKET = 128, /* bytes of a Write of 64 */
};

static struct {
	int udp, epoll, timer, bell[2];
	struct sockaddr_in addr;
} s;

static double took[ROUNDS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *name, int n, double parts)
{
	qsort(took, (size_t)n, sizeof(took[0]), by_value);
	printf("%-40s%10.2f%10.2f\n", name, took[0] / parts, took[n / 2] / parts);
}

static void send_packet(void)
{
	static char packet[PACKET];

	if (sendto(s.udp, packet, sizeof(packet), 0, (struct sockaddr *)&s.addr, sizeof(s.addr)) <
	    0)
		err(1, "sendto");
}

static void read_packets(void)
{
	static char packet[8][PACKET];
	struct iovec iov[8];
	struct mmsghdr m[8] = {0};

	for (int i = 0; i < 8; i++) {
		iov[i] = (struct iovec){packet[i], PACKET};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	(void)recvmmsg(s.udp, m, 8, MSG_DONTWAIT, NULL);
}

static void look(void)
{
	struct epoll_event e[8];

	(void)epoll_wait(s.epoll, e, 8, 0);
}

static void set_timer(void)
{
	struct itimerspec t = {.it_value.tv_sec = 1000};

	timerfd_settime(s.timer, 0, &t, NULL);
}

static void yield(void)
{
	sched_yield();
}

static void no_step(void)
{
}

static void measure(const char *name, void (*before)(void), void (*step)(void), void (*after)(void))
{
	for (int i = 0; i < ROUNDS; i++) {
		double began;

		before();
		began = now();
		step();
		took[i] = now() - began;
		after();
	}
	print(name, ROUNDS, 1);
}

static void wait_byte(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	while (poll(&p, 1, -1) != 1)
		;
	if (recv(fd, &c, 1, MSG_DONTWAIT) != 1)
		exit(0); /* the other end is gone */
}

static void ring(int fd)
{
	if (send(fd, "", 1, MSG_NOSIGNAL) != 1)
		err(1, "send");
}

static void wake_ups(const char *name, int n, unsigned rest_ms)
{
	const struct timespec rest = {.tv_nsec = (long)rest_ms * 1000000};

	for (int i = 0; i < n; i++) {
		double began;

		if (rest_ms)
			nanosleep(&rest, NULL);
		began = now();
		ring(s.bell[0]);
		wait_byte(s.bell[0]);
		took[i] = now() - began;
	}
	print(name, n, 2);
}

static void echo(void)
{
	close(s.bell[0]);
	for (;;) {
		wait_byte(s.bell[1]);
		ring(s.bell[1]);
	}
}

static void open_all(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	socklen_t len = sizeof(s.addr);

	s.udp = socket(AF_INET, SOCK_DGRAM, 0);
	s.addr = (struct sockaddr_in){.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	s.epoll = epoll_create1(0);
	s.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (s.udp < 0 || bind(s.udp, (struct sockaddr *)&s.addr, len) < 0 ||
	    getsockname(s.udp, (struct sockaddr *)&s.addr, &len) < 0 || s.epoll < 0 ||
	    s.timer < 0 || epoll_ctl(s.epoll, EPOLL_CTL_ADD, s.udp, &e) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s.bell) < 0)
		err(1, "sockets");
}

int main(int argc, char **argv)
{
	unsigned rest_ms = argc > 1 ? (unsigned)atoi(argv[1]) : 50;
	pid_t child;

	if (rest_ms < 1 || rest_ms > 999)
		errx(2, "a rest has 1 to 999 ms, not %u", rest_ms);
	open_all();
	printf("%-40s%10s%10s us\n", "", "least", "median");
	measure("no step, only the clock", no_step, no_step, no_step);
	measure("recvmmsg() of no packet", no_step, read_packets, no_step);
	measure("sendto() of a packet to loopback", no_step, send_packet, read_packets);
	measure("recvmmsg() of a packet", send_packet, read_packets, no_step);
	measure("epoll_wait() without waiting", no_step, look, no_step);
	measure("timerfd_settime()", no_step, set_timer, no_step);
	measure("sched_yield()", no_step, yield, no_step);
	fflush(stdout);
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (child == 0)
		echo();
	close(s.bell[1]);
	wake_ups("a doorbell, until the other one has it", ROUNDS, 0);
	wake_ups("the same after a rest", RESTS, rest_ms);
	close(s.bell[0]);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}
