/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h> /* for errqueue.h */

#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ipc/msg.h"
#include "util/addr.h"
#include "util/be.h"
#include "util/crc32c.h"

enum {
	HEADER = 12,  /* RFC 9260 section 3.1 */
	INIT_ACK = 2, /* section 3.2 */
	INIT = 20,    /* section 3.3.2 */
	WINDOW = 65536,
	TRIES = 4,
};

static bool wait_ready(int fd, short what, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = what};

	return poll(&p, 1, timeout_ms) > 0;
}

static enum probe_answer answer_of_errno(int err)
{
	switch (err) {
	case ECONNREFUSED:
	case ENOPROTOOPT:
		return PROBE_NOTHING;
	case EACCES:
	case EPERM:
		return PROBE_REJECTED; /* by a rule of this host */
	case EAGAIN:
	case ETIMEDOUT:
		return PROBE_SILENCE;
	case EPROTONOSUPPORT:
	case ESOCKTNOSUPPORT:
		return PROBE_IMPOSSIBLE;
	default:
		return PROBE_UNREACHABLE;
	}
}

/* A socket that is connected to the address, and keeps the errors of ICMP; or -1 with errno set. */
static int probe_socket(const struct sockaddr_storage *to, uint16_t port, int type, int protocol)
{
	bool v6 = to->ss_family == AF_INET6;
	struct sockaddr_storage at = *to;
	int fd = socket(to->ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	int on = 1, err;

	if (fd < 0)
		return -1;
	if (type == SOCK_DGRAM)
		setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &on,
			   sizeof(on));
	addr_set_port(&at, port);
	if (connect(fd, (const struct sockaddr *)&at, addr_len(&at)) == 0 || errno == EINPROGRESS)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static bool is_prohibited(const struct sock_extended_err *e)
{
	if (e->ee_origin == SO_EE_ORIGIN_ICMP6)
		return e->ee_type == ICMP6_DST_UNREACH && e->ee_code == ICMP6_DST_UNREACH_ADMIN;
	return e->ee_origin == SO_EE_ORIGIN_ICMP && e->ee_type == ICMP_UNREACH &&
	       (e->ee_code == ICMP_UNREACH_NET_PROHIB || e->ee_code == ICMP_UNREACH_HOST_PROHIB ||
		e->ee_code == ICMP_UNREACH_FILTER_PROHIB);
}

/* Firewalls that reject and routes that are missing have the same errno value: ICMP tells more. */
static bool was_prohibited(int fd)
{
	char control[512];
	struct msghdr m = {.msg_control = control, .msg_controllen = sizeof(control)};

	if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		struct sock_extended_err e;

		if (c->cmsg_len < CMSG_LEN(sizeof(e)))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			return is_prohibited(&e);
	}
	return false;
}

/* An INIT to the port of the tools; if no program listens there, an ABORT answers it. */
static void make_init(uint8_t pkt[HEADER + INIT])
{
	uint32_t random[2] = {1, 1};

	if (getrandom(random, sizeof(random), GRND_NONBLOCK) < 0)
		random[0] = (uint32_t)getpid() | 1;
	memset(pkt, 0, HEADER + INIT);
	be_put16(pkt, (uint16_t)(49152 + random[1] % 16384));
	be_put16(pkt + 2, MSG_DEFAULT_PORT);
	pkt[HEADER] = 1;
	be_put16(pkt + HEADER + 2, INIT);
	be_put32(pkt + HEADER + 4, random[0] | 1);
	be_put32(pkt + HEADER + 8, WINDOW);
	be_put16(pkt + HEADER + 12, 1);
	be_put16(pkt + HEADER + 14, 1);
	be_put32(pkt + HEADER + 16, random[1]);
	crc32c_seal(pkt, HEADER + INIT);
}

static enum probe_answer read_answer(int fd)
{
	uint8_t answer[2048];
	ssize_t n = recv(fd, answer, sizeof(answer), 0);
	int err = errno;

	if (n < 0)
		return was_prohibited(fd) ? PROBE_REJECTED : answer_of_errno(err);
	if (n <= HEADER || !crc32c_check(answer, (size_t)n))
		return PROBE_FOREIGN;
	return answer[HEADER] == INIT_ACK ? PROBE_LISTENS : PROBE_ABORTS;
}

/* Packets are lost, and hosts send few ICMP errors in a second. */
enum probe_answer probe_user(const struct sockaddr_storage *to, uint16_t udp_port, int timeout_ms)
{
	int fd = probe_socket(to, udp_port, SOCK_DGRAM, 0);
	enum probe_answer r = PROBE_SILENCE;
	uint8_t pkt[HEADER + INIT];

	if (fd < 0)
		return answer_of_errno(errno);
	make_init(pkt);
	for (unsigned i = 0; i < TRIES && r == PROBE_SILENCE; i++)
		if (send(fd, pkt, sizeof(pkt), 0) < 0)
			r = answer_of_errno(errno);
		else if (wait_ready(fd, POLLIN, timeout_ms / TRIES))
			r = read_answer(fd);
	close(fd);
	return r;
}

enum probe_answer probe_kernel(const struct sockaddr_storage *to, uint16_t port, int timeout_ms)
{
	int fd = probe_socket(to, port, SOCK_STREAM, IPPROTO_SCTP);
	enum probe_answer r = PROBE_SILENCE;
	socklen_t len = sizeof(int);
	int err = 0;

	if (fd < 0)
		return answer_of_errno(errno);
	if (wait_ready(fd, POLLOUT, timeout_ms)) {
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
		/* Linux's SCTP answers with an ABORT on every host that has it, whatever runs
		 * there. */
		r = !err                  ? PROBE_LISTENS
		    : err == ECONNREFUSED ? PROBE_ABORTS
					  : answer_of_errno(err);
	}
	close(fd);
	return r;
}

unsigned probe_mtu(const struct sockaddr_storage *to)
{
	bool v6 = to->ss_family == AF_INET6;
	int fd = probe_socket(to, MSG_DEFAULT_PORT, SOCK_DGRAM, 0), mtu = 0;
	socklen_t len = sizeof(mtu);

	if (fd < 0)
		return 0;
	if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len) < 0)
		mtu = 0;
	close(fd);
	return mtu > 0 ? (unsigned)mtu : 0;
}
