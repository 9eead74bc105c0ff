/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of llp.h: each is forwarded to the backend of the object. */
#include "llp/common/llp.h"

#include <errno.h>

#include "util/addr.h"

struct llp *llp_close(struct llp *t)
{
	if (t)
		t->ops->close(t);
	return NULL;
}

int llp_add_addr(struct llp *t, const struct sockaddr_storage *a, char *ret_reason, size_t len)
{
	*ret_reason = 0;
	return t->ops->add_addr(t, a, ret_reason, len);
}

void llp_drop_addr(struct llp *t, const struct sockaddr_storage *a)
{
	t->ops->drop_addr(t, a);
}

unsigned llp_fds(const struct llp *t, int ret_fds[LLP_MAX_FDS])
{
	return t->ops->fds(t, ret_fds);
}

bool llp_input(struct llp *t, unsigned budget)
{
	return t->ops->input(t, budget);
}

uint32_t llp_patience_us(const struct llp *t)
{
	return t->ops->patience_us ? t->ops->patience_us(t) : 0;
}

void llp_tick(struct llp *t, uint64_t now_ms)
{
	t->ops->tick(t, now_ms);
}

uint64_t llp_expiry_us(const struct llp *t)
{
	return t->ops->expiry_us(t);
}

void llp_flush(struct llp *t)
{
	t->ops->flush(t);
}

int llp_listen_at(struct llp *t, const struct llp_addrs *at, uint16_t port, void *user,
		  struct llp_listener **ret)
{
	if (port == 0 || at->n > LLP_MAX_ADDRS)
		return -EINVAL;
	return t->ops->listen(t, at, port, user, ret);
}

struct llp_listener *llp_unlisten(struct llp_listener *l)
{
	if (l)
		l->llp->ops->unlisten(l);
	return NULL;
}

int llp_connect_at(struct llp *t, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from, uint16_t own_port, void *user,
		   struct llp_conn **ret)
{
	if (port == 0 || peer->n == 0 || peer->n > LLP_MAX_ADDRS || from->n > LLP_MAX_ADDRS)
		return -EINVAL;
	return t->ops->connect(t, peer, port, from, own_port, user, ret);
}

int llp_send(struct llp_conn *c, const struct llp_msg *m)
{
	return c->llp->ops->send(c, m);
}

int llp_recv(struct llp_conn *c, struct llp_msg *ret)
{
	return c->llp->ops->recv(c, ret);
}

uint32_t llp_room(const struct llp_conn *c)
{
	return c->llp->ops->room ? c->llp->ops->room(c) : LLP_ROOM_UNKNOWN;
}

void llp_report_acks(struct llp_conn *c)
{
	if (c->llp->ops->report_acks)
		c->llp->ops->report_acks(c);
}

uint32_t llp_unacked(const struct llp_conn *c)
{
	return c->llp->ops->unacked ? c->llp->ops->unacked(c) : LLP_UNACKED_UNKNOWN;
}

void llp_info(const struct llp_conn *c, struct llp_info *ret)
{
	c->llp->ops->info(c, ret);
}

bool llp_identity_of(const struct llp_conn *c, struct llp_identity *ret)
{
	return c->llp->ops->identity && c->llp->ops->identity(c, ret);
}

static unsigned one_path(const struct llp_conn *c, struct llp_path *ret)
{
	struct llp_info info;

	llp_info(c, &info);
	*ret = (struct llp_path){
		.remote = info.remote,
		.state = LLP_PATH_ACTIVE,
		.primary = true,
		.srtt_us = info.srtt_us,
		.rto_ms = info.rto_ms,
		.cwnd = info.cwnd,
		.mtu = info.mtu,
	};
	return 1;
}

unsigned llp_paths(const struct llp_conn *c, struct llp_path ret[LLP_MAX_PATHS])
{
	return c->llp->ops->paths ? c->llp->ops->paths(c, ret) : one_path(c, ret);
}

int llp_set_primary(struct llp_conn *c, const struct sockaddr *remote)
{
	struct sockaddr_storage a;
	struct llp_path only;
	int r = addr_copy(&a, remote);

	if (r)
		return r;
	if (c->llp->ops->set_primary)
		return c->llp->ops->set_primary(c, &a);
	one_path(c, &only);
	return addr_same_host(&only.remote, &a) ? 0 : -ENOENT;
}

bool llp_has_paths(const struct llp *t)
{
	return t->ops->paths != NULL;
}

void llp_stats(const struct llp *t, struct llp_stats *ret)
{
	t->ops->stats(t, ret);
}

void llp_set_cc(struct llp *t, enum llp_cc cc, const struct llp_cc_rule *rules, unsigned n)
{
	if (t->ops->set_cc)
		t->ops->set_cc(t, cc, rules, n);
}

int llp_set_cover_files(struct llp *t, const struct llp_cover_files *files, char *ret_reason,
			size_t len)
{
	*ret_reason = 0;
	if (!t->ops->set_cover_files)
		return 0;
	return t->ops->set_cover_files(t, files, ret_reason, len);
}

int llp_set_tap(struct llp *t, const struct llp_tap *tap)
{
	if (!t->ops->set_tap || (tap && tap->only && tap->only->llp != t))
		return -EOPNOTSUPP;
	return t->ops->set_tap(t, tap);
}

void llp_shutdown(struct llp_conn *c)
{
	c->llp->ops->shutdown(c);
}

void llp_abort(struct llp_conn *c, const char *reason)
{
	c->llp->ops->abort(c, reason);
}

struct llp_conn *llp_conn_free(struct llp_conn *c)
{
	if (c)
		c->llp->ops->conn_free(c);
	return NULL;
}
