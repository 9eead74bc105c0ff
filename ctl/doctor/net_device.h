/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes of a network device. */
#ifndef CTL_NET_DEVICE_H
#define CTL_NET_DEVICE_H

#include <stdint.h>

struct net_device {
	uint32_t mtu;     /* bytes of an IP packet */
	uint32_t gso_max; /* bytes of several packets that the kernel hands over as one */
};

/* name: of a device of this network namespace. Returns 0 or -errno: ENODEV if there is none;
 * ENODATA if the kernel does not tell its sizes. */
int net_device_read(const char *name, struct net_device *ret);

#endif
