/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/addrs.h"

#include <errno.h>

#include "client-lib/base/reason.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

uint16_t addrs_port(const struct sockaddr *a)
{
	struct sockaddr_storage ss;

	return addr_copy(&ss, a) ? 0 : addr_port(&ss);
}

int addrs_add(struct addrs *l, const char *call, const char *whose, uint16_t port,
	      const struct sockaddr *a)
{
	struct sockaddr_storage ss;
	struct msg_addr *m = &l->a[l->n];

	if (addr_copy(&ss, a))
		return reason_fail(-EAFNOSUPPORT, "%s: address family %d: only IPv4 and IPv6", call,
				   a->sa_family);
	if (l->n == MSG_MAX_ADDRS)
		return reason_fail(-EINVAL, "%s: too many addresses %s: at most %d", call, whose,
				   MSG_MAX_ADDRS);
	msg_addr_put(m, &ss);
	if (m->port && m->port != port)
		return reason_fail(-EINVAL,
				   "%s: port %u of address %u %s: all of them have port %u", call,
				   m->port, l->n + 1, whose, port);
	m->port = port;
	l->n++;
	return 0;
}

int addrs_add_list(struct addrs *l, const char *call, const char *whose, uint16_t port,
		   const struct sockaddr_storage *a, unsigned n)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < n; i++)
		r = addrs_add(l, call, whose, port, (const struct sockaddr *)&a[i]);
	return r;
}
