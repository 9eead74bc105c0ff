/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/user/udp_error.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdint.h>
#include <time.h>

#include <linux/errqueue.h>

/* RFC 9260 section 10: which ICMP messages say that a destination is unreachable. */
static bool kind_v4(const struct sock_extended_err *e, enum udp_error_kind *ret)
{
	if (e->ee_type != ICMP_DEST_UNREACH)
		return false;
	if (e->ee_code == ICMP_FRAG_NEEDED)
		*ret = UDP_TOO_BIG;
	else if (e->ee_code == ICMP_PORT_UNREACH || e->ee_code == ICMP_PROT_UNREACH)
		*ret = UDP_PORT_UNREACHABLE;
	else
		*ret = UDP_UNREACHABLE;
	return true;
}

static bool kind_v6(const struct sock_extended_err *e, enum udp_error_kind *ret)
{
	if (e->ee_type == ICMP6_PACKET_TOO_BIG)
		*ret = UDP_TOO_BIG;
	else if (e->ee_type == ICMP6_DST_UNREACH)
		*ret = e->ee_code == ICMP6_DST_UNREACH_NOPORT ? UDP_PORT_UNREACHABLE
							      : UDP_UNREACHABLE;
	else if (e->ee_type == ICMP6_PARAM_PROB && e->ee_code == ICMP6_PARAMPROB_NEXTHEADER)
		*ret = UDP_PORT_UNREACHABLE;
	else
		return false;
	return true;
}

bool udp_error_kind(const struct sock_extended_err *e, enum udp_error_kind *ret)
{
	switch (e->ee_origin) {
	case SO_EE_ORIGIN_LOCAL:
		*ret = UDP_TOO_BIG_LOCAL;
		return e->ee_errno == EMSGSIZE;
	case SO_EE_ORIGIN_ICMP:
		return kind_v4(e, ret);
	case SO_EE_ORIGIN_ICMP6:
		return kind_v6(e, ret);
	default:
		return false;
	}
}
