/* SPDX-License-Identifier: BSD-2-Clause */
/* An association that this side begins. */
#include "sctp/assoc/assoc_new.h"
#include "sctp/assoc/handshake.h"
#include "sctp/assoc/path_state.h"
#include "sctp/assoc/paths.h"
#include "sctp/assoc/states.h"
#include "sctp/base/lookup.h"
#include "sctp/base/ports.h"

/* An association from this port of ours exists. */
static bool ports_in_use(struct sctp *s, const struct sctp_addr *peer, unsigned n, uint16_t port,
			 const uint8_t *local, unsigned nlocal, uint16_t own_port)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < nlocal; k++) {
			struct sctp_flow flow = {.peer = peer[i], .local = local[k]};

			if (sctp_lookup(s, &flow, own_port, port))
				return true;
		}
	return false;
}

int sctp_assoc_connect(struct sctp *s, const struct sctp_addr *peer, const uint32_t *packet,
		       unsigned n, uint16_t port, const uint8_t *local, unsigned nlocal,
		       uint16_t own_port, void *user, struct sctp_assoc **ret)
{
	struct sctp_assoc *a;

	if (port == 0)
		return SCTP_E_NO_ADDR;
	if (own_port && ports_in_use(s, peer, n, port, local, nlocal, own_port))
		return SCTP_E_IN_USE;
	a = sctp_assoc_new(s, n);
	if (!a)
		return SCTP_E_MEMORY;
	if (!sctp_handshake_begin(a)) {
		sctp_assoc_free(a);
		return SCTP_E_MEMORY;
	}
	a->user = user;
	sctp_assoc_use_port(a, own_port ? own_port : sctp_free_port(s));
	a->id.peer_port = port;
	a->local.all = nlocal > 1;
	a->id.own_tag = sctp_new_tag(s);
	sctp_queue_init(&a->tx, sctp_random32(s));
	sctp_assoc_own_addrs(a, local, nlocal);
	for (unsigned i = 0; i < n; i++) {
		struct sctp_flow flow = {peer[i], s->cfg.udp_port, local[0]};
		struct sctp_path *p = sctp_assoc_add_path(a, &flow, packet ? packet[i] : 0);

		if (p) /* 5.4: what the user names counts as confirmed */
			sctp_path_set_state(p, SCTP_PATH_ACTIVE);
	}
	if (a->paths.n == 0 || a->id.own_port == 0) {
		int r = a->paths.n ? SCTP_E_MEMORY : SCTP_E_NO_ADDR;

		sctp_assoc_free(a);
		return r;
	}
	sctp_assoc_step(a, SCTP_EV_ASSOCIATE);
	*ret = a;
	return SCTP_E_OK;
}
