/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/user/udp_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include "util/addr.h"
#include "util/cleanup.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum { IPV6_LEAST = 1280 }; /* bytes that each link takes (RFC 8200 section 5) */

/* ---- options ---- */

static void set_int(int fd, int level, int name, int value)
{
	/* The socket works without this option as well. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* -1: it has none. */
static int get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) ? -1 : value;
}

/* PROBE: DF, and the interface's MTU is the only limit. Without it: routers fragment IPv4; they do
 * not fragment IPv6, so we make fragments that each link takes. */
void udp_socket_set_df(int fd, bool v6, bool on)
{
	if (v6) {
		set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
			on ? IPV6_PMTUDISC_PROBE : IPV6_PMTUDISC_DONT);
		set_int(fd, IPPROTO_IPV6, IPV6_MTU, on ? 0 : IPV6_LEAST);
	} else {
		set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, on ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT);
	}
}

void udp_socket_unfilter(int fd)
{
	set_int(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
}

uint32_t udp_socket_rcvbuf(int fd)
{
	int value = get_int(fd, SOL_SOCKET, SO_RCVBUF);

	/* The kernel doubles the requested size, to cover its own overhead. */
	return value < 0 ? 0 : (uint32_t)value / 2;
}

/* net.core.rmem_max and wmem_max do not limit a privileged process. */
static void set_buffer(int fd, int forced, int plain, uint32_t want)
{
	int value = want > INT32_MAX / 2 ? INT32_MAX / 2 : (int)want;

	if (setsockopt(fd, SOL_SOCKET, forced, &value, sizeof(value)))
		set_int(fd, SOL_SOCKET, plain, value);
}

static void set_options(int fd, bool v6, uint32_t buffer)
{
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, buffer);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, buffer);
	set_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, 1);
	set_int(fd, IPPROTO_UDP, UDP_GRO, 1);
	udp_socket_set_df(fd, v6, true);
}

/* ---- descriptors ---- */

int udp_socket_make(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer)
{
	struct sockaddr_storage a = *addr;
	bool v6 = a.ss_family == AF_INET6;
	autoclose int fd =
		socket(a.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);

	if (fd < 0)
		return -errno;
	if (v6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	addr_set_port(&a, port);
	if (bind(fd, (struct sockaddr *)&a, addr_len(&a)))
		return -errno;
	set_options(fd, v6, buffer);
	return take_fd(&fd);
}

static bool is_bound_to(int fd, const struct sockaddr_storage *addr, uint16_t port)
{
	struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) == 0 && addr_same_host(&a, addr) &&
	       addr_port(&a) == port;
}

static bool is_connected(int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	return getpeername(fd, (struct sockaddr *)&a, &len) == 0;
}

/* Of one process, as we would have made it. */
static bool is_ours(int fd, const struct sockaddr_storage *addr, uint16_t port)
{
	return get_int(fd, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM &&
	       get_int(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_UDP &&
	       get_int(fd, SOL_SOCKET, SO_REUSEADDR) == 0 &&
	       get_int(fd, SOL_SOCKET, SO_REUSEPORT) == 0 && is_bound_to(fd, addr, port) &&
	       !is_connected(fd) &&
	       (addr->ss_family != AF_INET6 || get_int(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1);
}

int udp_socket_adopt(int fd, const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer)
{
	autoclose int own = fd;
	int flags = fcntl(own, F_GETFL);

	if (flags < 0 || !is_ours(own, addr, port) || fcntl(own, F_SETFL, flags | O_NONBLOCK) ||
	    fcntl(own, F_SETFD, FD_CLOEXEC))
		return -EINVAL;
	udp_socket_unfilter(own);
	set_options(own, addr->ss_family == AF_INET6, buffer);
	return take_fd(&own);
}
