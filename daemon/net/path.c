/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/path.h"

#include <stdio.h>

#include "daemon/net/association.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

_Static_assert((int)MSG_PATH_UNCONFIRMED == LLP_PATH_UNCONFIRMED &&
		       (int)MSG_PATH_ACTIVE == LLP_PATH_ACTIVE &&
		       (int)MSG_PATH_FAILING == LLP_PATH_FAILING &&
		       (int)MSG_PATH_INACTIVE == LLP_PATH_INACTIVE,
	       "states keep their numbers");
_Static_assert((int)MSG_MAX_PATHS == (int)LLP_MAX_PATHS, "all fit into a reply");

const char *path_state_str(enum llp_path_state s)
{
	static const char *const names[] = {"unconfirmed", "active", "failing", "inactive"};

	return names[s];
}

const char *path_limit_str(enum llp_limit limit)
{
	static const char *const names[] = {
		[LLP_LIMIT_UNKNOWN] = "",
		[LLP_LIMIT_APPLICATION] = "application",
		[LLP_LIMIT_PEER_WINDOW] = "peer_window",
		[LLP_LIMIT_BUFFER] = "buffer",
		[LLP_LIMIT_CONGESTION] = "congestion",
		[LLP_LIMIT_PACING] = "pacing",
	};

	return names[limit];
}

struct msg_path path_record(const struct llp_path *path)
{
	struct msg_path m = {
		.state = (uint16_t)path->state,
		.primary = path->primary,
		.srtt_us = path->srtt_us,
		.rto_ms = path->rto_ms,
		.cwnd = path->cwnd,
		.mtu = path->mtu,
	};

	msg_addr_put(&m.remote, &path->remote);
	return m;
}

void path_query(const struct association *assoc, struct msg_paths *ret)
{
	struct llp_path paths[LLP_MAX_PATHS];
	bool up = assoc->state == ASSOCIATION_UP || assoc->state == ASSOCIATION_ENDING;

	ret->total = up ? llp_paths(assoc->conn, paths) : 0;
	ret->n = ret->total < LLP_MAX_PATHS ? ret->total : LLP_MAX_PATHS;
	for (unsigned i = 0; i < ret->n; i++)
		ret->path[i] = path_record(&paths[i]);
}

void path_describe(const struct association *assoc, const struct llp_path *path, const char *change,
		   char *ret, size_t len)
{
	struct llp_path paths[LLP_MAX_PATHS];
	unsigned total = llp_paths(assoc->conn, paths), active = 0;
	char text[ADDR_TEXT_MAX];

	for (unsigned i = 0; i < total && i < LLP_MAX_PATHS; i++)
		active += paths[i].state == LLP_PATH_ACTIVE;
	snprintf(ret, len, "path to %s %s; %u of %u paths %s active",
		 addr_host_text(&path->remote, text), change, active, total,
		 active == 1 ? "is" : "are");
}
