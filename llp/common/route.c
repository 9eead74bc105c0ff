/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/common/route.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llp/common/fib.h"
#include "llp/common/host_addrs.h"
#include "util/addr.h"
#include "util/cleanup.h"

/* A connected socket knows its route; no packet is sent. */
static int scratch(const struct sockaddr_storage *local, const struct sockaddr_storage *to)
{
	struct sockaddr_storage src, dst = *to;
	autoclose int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (local) {
		src = *local;
		addr_set_port(&src, 0);
		if (bind(fd, (struct sockaddr *)&src, addr_len(&src)))
			return -errno;
	}
	addr_set_port(&dst, 9); /* any but 0 */
	if (connect(fd, (struct sockaddr *)&dst, addr_len(&dst)))
		return -errno;
	return take_fd(&fd);
}

static bool kernel_has_tunnel(void)
{
	char text[16] = "";
	autoclose int fd = open("/proc/sys/net/sctp/udp_port", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	return read(fd, text, sizeof(text) - 1) <= 0 || atoi(text) != 0;
}

static bool is_hardware(unsigned device)
{
	char name[IF_NAMESIZE], path[PATH_MAX];

	if (!if_indextoname(device, name))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%s/device", name);
	return access(path, F_OK) == 0;
}

/* Lowered by ICMP messages: only where the tables cannot be read. */
static int cached_mtu(int fd, bool v6, uint32_t *ret)
{
	int mtu = 0;
	socklen_t len = sizeof(mtu);

	if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len))
		return -errno;
	*ret = (uint32_t)mtu;
	return 0;
}

int route_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	       struct route *ret)
{
	struct route r = {0};
	socklen_t len = sizeof(r.src);
	struct fib fib = {0};
	int err;
	autoclose int fd = scratch(local, to);

	if (fd < 0)
		return fd;
	if (getsockname(fd, (struct sockaddr *)&r.src, &len))
		return -errno;
	addr_set_port(&r.src, 0);
	err = fib_find(&r.src, to, &fib) == 0 ? 0
					      : cached_mtu(fd, to->ss_family == AF_INET6, &fib.mtu);
	if (err)
		return err;
	r.mtu = fib.mtu;
	r.gso_safe = host_has_addr(to) ? !kernel_has_tunnel() : is_hardware(fib.device);
	*ret = r;
	return 0;
}
