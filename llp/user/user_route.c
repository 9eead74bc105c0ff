/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses, and the kernel's routes to them. */
#include "llp/user/user.h"

#include <errno.h>
#include <netinet/in.h>

#include "llp/common/route.h"
#include "llp/dtls/dtls.h"
#include "util/addr.h"

enum {
	KEEP_US = 60 * 1000000, /* a look-up, and that the kernel refused UDP_SEGMENT */
	UDP_HEADER = 8,
};

/* ---- addresses ---- */

struct sctp_addr llp_user_addr(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *a6 = (const void *)a;
	const struct sockaddr_in *a4 = (const void *)a;
	struct sctp_addr ret = {.scope = 0};

	if (a->ss_family == AF_INET)
		return sctp_addr_v4((const uint8_t *)&a4->sin_addr);
	memcpy(ret.ip, &a6->sin6_addr, sizeof(ret.ip));
	ret.scope = a6->sin6_scope_id;
	return ret;
}

void llp_user_sockaddr(const struct sctp_addr *a, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *a6 = (void *)ret;
	struct sockaddr_in *a4 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (sctp_addr_is_v4(a)) {
		ret->ss_family = AF_INET;
		memcpy(&a4->sin_addr, a->ip + 12, sizeof(a4->sin_addr));
	} else {
		ret->ss_family = AF_INET6;
		memcpy(&a6->sin6_addr, a->ip, sizeof(a->ip));
		a6->sin6_scope_id = a->scope;
	}
	addr_set_port(ret, port);
}

uint32_t llp_user_packet(const struct sctp_addr *peer, uint32_t mtu, bool covered)
{
	uint32_t n = mtu - (sctp_addr_is_v4(peer) ? 20 : 40) - UDP_HEADER;
	uint32_t most = covered ? DTLS_MAX_PLAIN : SCTP_MAX_PACKET;

	n -= covered ? DTLS_OVERHEAD : 0;
	return (n < most ? n : most) & ~3u;
}

/* ---- routes ---- */

/* Keyed, so that a peer cannot choose addresses that share a place. */
static struct user_route *route_slot(struct user *t, uint8_t local, const struct sctp_addr *peer)
{
	uint64_t w[2], h = t->route_key ^ ((uint64_t)peer->scope << 8 | local);

	memcpy(w, peer->ip, sizeof(w));
	h = (h ^ h >> 32 ^ w[0]) * (t->route_key | 1);
	h = (h ^ h >> 29 ^ w[1]) * (t->route_key | 1);
	return &t->route[(h ^ h >> 32) % USER_ROUTES];
}

static struct user_route *find_route(struct user *t, uint8_t local, const struct sctp_addr *peer)
{
	struct user_route *r = route_slot(t, local, peer);

	if (r->until_us <= t->now_us || r->local != local || !sctp_addr_equal(&r->peer, peer))
		*r = (struct user_route){
			.peer = *peer, .local = local, .until_us = t->now_us + KEEP_US};
	return r;
}

static int look_up(struct user *t, struct user_route *r)
{
	struct sockaddr_storage to;
	struct route way;
	int err;

	llp_user_sockaddr(&r->peer, 0, &to);
	err = route_find(&t->sctp.addrs[r->local], &to, &way);
	if (err < 0)
		return err;
	r->looked_up = true;
	r->gso_safe = way.gso_safe;
	r->mtu = way.mtu;
	if (t->sctp.cfg.mtu && t->sctp.cfg.mtu < r->mtu)
		r->mtu = t->sctp.cfg.mtu;
	if (r->mtu < USER_MIN_MTU)
		r->mtu = USER_MIN_MTU;
	return 0;
}

int llp_user_route(struct user *t, uint8_t local, const struct sctp_addr *peer,
		   const struct user_route **ret)
{
	struct user_route *r = find_route(t, local, peer);
	int err = r->looked_up ? 0 : look_up(t, r);

	*ret = r;
	return err;
}

void llp_user_forget_routes(struct user *t)
{
	for (unsigned i = 0; i < USER_ROUTES; i++)
		t->route[i].until_us = 0;
}

bool llp_user_gso(struct user *t, const struct sctp_flow *to, bool takes_batches)
{
	enum llp_gso gso = t->sctp.cfg.gso;
	const struct user_route *r;

	if (gso == LLP_GSO_OFF || !udp_can_gso(llp_user_sock(t, to)) ||
	    find_route(t, to->local, &to->peer)->refused)
		return false;
	if (gso == LLP_GSO_ON || takes_batches)
		return true;
	return llp_user_route(t, to->local, &to->peer, &r) == 0 && r->gso_safe;
}

void llp_user_refuse_gso(struct user *t, const struct sctp_flow *to)
{
	find_route(t, to->local, &to->peer)->refused = true;
}
