/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of llp.h, each handed to the backend that the object belongs to. */
#include "llp/llp.h"

struct llp *llp_close(struct llp *t)
{
	if (t)
		t->ops->close(t);
	return NULL;
}

unsigned llp_fds(const struct llp *t, int ret_fds[LLP_MAX_FDS])
{
	return t->ops->fds(t, ret_fds);
}

bool llp_input(struct llp *t, unsigned budget)
{
	return t->ops->input(t, budget);
}

void llp_tick(struct llp *t, uint64_t now_ms)
{
	t->ops->tick(t, now_ms);
}

uint64_t llp_expiry(const struct llp *t)
{
	return t->ops->expiry(t);
}

void llp_flush(struct llp *t)
{
	t->ops->flush(t);
}

int llp_listen(struct llp *t, const struct sockaddr *addr, uint16_t port, void *user,
	       struct llp_listener **ret)
{
	return t->ops->listen(t, addr, port, user, ret);
}

struct llp_listener *llp_unlisten(struct llp_listener *l)
{
	if (l)
		l->llp->ops->unlisten(l);
	return NULL;
}

int llp_connect(struct llp *t, const struct sockaddr *peer, void *user, struct llp_conn **ret)
{
	return t->ops->connect(t, peer, user, ret);
}

int llp_send(struct llp_conn *c, const struct llp_msg *m)
{
	return c->llp->ops->send(c, m);
}

int llp_recv(struct llp_conn *c, struct llp_msg *ret)
{
	return c->llp->ops->recv(c, ret);
}

void llp_info(const struct llp_conn *c, struct llp_info *ret)
{
	c->llp->ops->info(c, ret);
}

void llp_stats(const struct llp *t, struct llp_stats *ret)
{
	t->ops->stats(t, ret);
}

void llp_shutdown(struct llp_conn *c)
{
	c->llp->ops->shutdown(c);
}

void llp_abort(struct llp_conn *c, const char *why)
{
	c->llp->ops->abort(c, why);
}

struct llp_conn *llp_conn_free(struct llp_conn *c)
{
	if (c)
		c->llp->ops->conn_free(c);
	return NULL;
}
