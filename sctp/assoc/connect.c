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
static bool ports_in_use(struct sctp *s, const struct sctp_connect *to)
{
	for (unsigned i = 0; i < to->npeer; i++)
		for (unsigned k = 0; k < to->nlocal; k++) {
			struct sctp_flow flow = {.peer = to->peer[i],
						 .local = to->local[k],
						 .covered = to->covered_port != 0};

			if (sctp_lookup(s, &flow, to->own_port, to->port))
				return true;
		}
	return false;
}

static bool has_ends(const struct sctp_connect *to)
{
	bool one_each = to->npeer == 1 && to->nlocal == 1;

	return to->port && to->npeer && (one_each || !to->covered_port);
}

/* An address that the user names is confirmed (5.4). */
static void add_named_paths(struct sctp_assoc *a, const struct sctp_connect *to)
{
	bool covered = to->covered_port != 0;
	uint16_t udp_port = covered ? to->covered_port : a->s->cfg.udp_port;

	for (unsigned i = 0; i < to->npeer; i++) {
		struct sctp_flow flow = {to->peer[i], udp_port, to->local[0], covered};
		struct sctp_path *p = sctp_assoc_add_path(a, &flow, to->packet ? to->packet[i] : 0);

		if (p)
			sctp_path_set_state(p, SCTP_PATH_ACTIVE);
	}
}

int sctp_assoc_connect(struct sctp *s, const struct sctp_connect *to, struct sctp_assoc **ret)
{
	struct sctp_assoc *a;

	if (!has_ends(to))
		return SCTP_E_NO_ADDR;
	if (to->own_port && ports_in_use(s, to))
		return SCTP_E_IN_USE;
	a = sctp_assoc_new(s, &to->peer[0], to->npeer);
	if (!a)
		return SCTP_E_MEMORY;
	if (!sctp_handshake_begin(a)) {
		sctp_assoc_free(a);
		return SCTP_E_MEMORY;
	}
	a->user = to->user;
	sctp_assoc_use_port(a, to->own_port ? to->own_port : sctp_free_port(s));
	a->id.peer_port = to->port;
	a->local.all = to->nlocal > 1;
	a->id.own_tag = sctp_new_tag(s);
	sctp_queue_init(&a->tx, sctp_random32(s));
	sctp_assoc_own_addrs(a, to->local, to->nlocal);
	add_named_paths(a, to);
	if (a->paths.n == 0 || a->id.own_port == 0) {
		int r = a->paths.n ? SCTP_E_MEMORY : SCTP_E_NO_ADDR;

		sctp_assoc_free(a);
		return r;
	}
	sctp_assoc_step(a, SCTP_EV_ASSOCIATE);
	*ret = a;
	return SCTP_E_OK;
}
