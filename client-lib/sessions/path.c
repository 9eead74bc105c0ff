/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/context/request.h"
#include "client-lib/sessions/path.h"

#include <errno.h>

#include "client-lib/base/addrs.h"
#include "client-lib/base/reason.h"
#include "ipc/msg_addr.h"
#include "util/minmax.h"

_Static_assert((int)DDP_PATH_UNCONFIRMED == MSG_PATH_UNCONFIRMED &&
		       (int)DDP_PATH_ACTIVE == MSG_PATH_ACTIVE &&
		       (int)DDP_PATH_FAILING == MSG_PATH_FAILING &&
		       (int)DDP_PATH_INACTIVE == MSG_PATH_INACTIVE,
	       "states keep their numbers");

int path_read(const struct msg_path *m, struct ddp_path *ret)
{
	struct ddp_path p = {
		.state = (enum ddp_path_state)m->state,
		.primary = m->primary != 0,
		.srtt_us = m->srtt_us,
		.rto_ms = m->rto_ms,
		.cwnd = m->cwnd,
		.mtu = m->mtu,
	};

	if (m->state > MSG_PATH_INACTIVE || msg_addr_get(&m->remote, &p.remote))
		return -EPROTO;
	*ret = p;
	return 0;
}

/* An invalid path in the reply: the other paths are not trusted either. */
static int malformed(void)
{
	return reason_fail(-EPROTO, "ddp_query_paths: the daemon's reply has an invalid path");
}

int ddp_query_paths(struct ddp_id *id, struct ddp_path *ret, unsigned n)
{
	struct ddp_path paths[MSG_MAX_PATHS];
	struct msg_paths m;
	int r;

	if (!id->qp)
		return reason_fail(-ENOTCONN, "ddp_query_paths: the id has no QP");
	r = request_query_paths(id->ctx, "ddp_query_paths", id->qp->handle, &m);
	if (r)
		return r;
	if (m.n != min_u32(m.total, MSG_MAX_PATHS) || m.total > UINT16_MAX)
		return malformed(); /* the caller reads as many as there are */
	for (unsigned i = 0; i < m.n; i++)
		if (path_read(&m.path[i], &paths[i]))
			return malformed();
	for (unsigned i = 0; i < m.n && i < n; i++)
		ret[i] = paths[i];
	return (int)m.total;
}

int ddp_set_primary(struct ddp_id *id, const struct sockaddr *addr)
{
	struct msg_set_primary req = {.qp = 0};
	struct addrs l = {.n = 0};
	int r;

	if (!id->qp)
		return reason_fail(-ENOTCONN, "ddp_set_primary: the id has no QP");
	r = context_serves(id->qp->handle, "ddp_set_primary");
	if (r)
		return r;
	r = addrs_add(&l, "ddp_set_primary", "of the peer", addrs_port(addr), addr);
	if (r)
		return r;
	req.qp = id->qp->handle;
	req.remote = l.a[0];
	return request_set_primary(id->ctx, "ddp_set_primary", &req);
}
