/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/wire/addr.h"

static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

bool sctp_addr_unicast(const struct sctp_addr *a)
{
	if (sctp_addr_is_v4(a))
		return a->ip[12] != 0 && a->ip[12] < 224;
	return a->ip[0] != 0xff && !all_zero(a->ip, 16);
}

bool sctp_addr_loopback(const struct sctp_addr *a)
{
	if (sctp_addr_is_v4(a))
		return a->ip[12] == 127;
	return all_zero(a->ip, 15) && a->ip[15] == 1;
}

bool sctp_addr_link_local(const struct sctp_addr *a)
{
	if (sctp_addr_is_v4(a))
		return a->ip[12] == 169 && a->ip[13] == 254;
	return a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

bool sctp_addr_reachable(const struct sctp_addr *addr, const struct sctp_addr *by)
{
	if (sctp_addr_loopback(addr))
		return sctp_addr_loopback(by);
	return !sctp_addr_link_local(addr) || sctp_addr_link_local(by);
}
