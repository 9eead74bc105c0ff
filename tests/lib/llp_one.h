/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners and associations with one address, which is what most tests of a transport need. */
#ifndef TESTS_LIB_LLP_ONE_H
#define TESTS_LIB_LLP_ONE_H

#include "llp/common/llp.h"
#include "util/addr.h"

/* llp_listen_at() at one address, or at each (addr NULL). */
static inline int llp_listen(struct llp *t, const struct sockaddr *addr, uint16_t port, void *user,
			     struct llp_listener **ret)
{
	struct sockaddr_storage one;
	struct llp_addrs at = {&one, addr ? 1 : 0};
	int r = addr ? addr_copy(&one, addr) : 0;

	return r ? r : llp_listen_at(t, &at, port, user, ret);
}

/* llp_connect_at() with one address and port of the peer, and any address of ours. */
static inline int llp_connect(struct llp *t, const struct sockaddr *peer, void *user,
			      struct llp_conn **ret)
{
	struct sockaddr_storage one;
	const struct llp_addrs to = {&one, 1}, from = {NULL, 0};
	int r = addr_copy(&one, peer);

	return r ? r : llp_connect_at(t, &to, addr_port(&one), &from, 0, user, ret);
}

#endif
