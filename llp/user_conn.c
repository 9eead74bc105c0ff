/* SPDX-License-Identifier: BSD-2-Clause */
/* Associations: their records, how they begin and how they end. */
#include "llp/user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/addr.h"

enum {
	LINGER_MS = 2000, /* usrsctp's timers run this long after the last association */
};

/* ---- an association's record ---- */

static void upcall(struct socket *so, void *arg, int flags)
{
	(void)so;
	(void)flags;
	struct user_conn *c = arg;

	llp_sctp_touch(&c->sctp);
}

int llp_user_conn_new(struct user *t, struct user_peer *p, struct socket *so,
		      struct user_conn **ret)
{
	struct user_conn *c = t->sctp.nconns < LLP_SCTP_MAX_CONNS ? calloc(1, sizeof(*c)) : NULL;
	int r = c ? llp_user_peer_ref(t, p) : -ENOMEM;

	if (r < 0) {
		llp_user_sock_abort(so);
		free(c);
		return r;
	}
	c->peer = p;
	c->so = so;
	llp_sctp_add(&t->sctp, &c->sctp);
	usrsctp_set_upcall(so, upcall, c);
	*ret = c;
	return 0;
}

void llp_user_conn_release(struct llp_sctp_conn *sc)
{
	struct user_conn *c = (struct user_conn *)sc;
	struct user *t = llp_user_of(c);

	sc->state = LLP_SCTP_DOWN;
	if (!c->so)
		return;
	llp_user_sock_abort(c->so);
	c->so = NULL;
	list_del(&sc->connecting);
	t->linger_ms = t->sctp.now_ms + LINGER_MS;
}

void llp_user_conn_free(struct llp_conn *lc)
{
	struct user_conn *c = (struct user_conn *)lc;

	llp_user_conn_release(&c->sctp);
	llp_user_peer_unref(llp_user_of(c), c->peer);
	llp_sctp_remove(&c->sctp);
	free(c);
}

void llp_user_conn_measure(struct user_conn *c)
{
	struct sctp_status st;

	if (!llp_user_sock_status(c->so, &st))
		return;
	c->sctp.streams =
		st.sstat_instrms < st.sstat_outstrms ? st.sstat_instrms : st.sstat_outstrms;
	c->sctp.max_message = st.sstat_fragmentation_point;
	if (c->sctp.max_message > USER_MAX_CHUNK)
		c->sctp.max_message = USER_MAX_CHUNK;
}

/* ---- connecting ---- */

/* Binds to the peer's token alone: usrsctp then searches a list of one for each packet. */
static int begin(struct user_conn *c)
{
	struct sockaddr_conn a = {.sconn_family = AF_CONN,
				  .sconn_addr = llp_user_peer_token(c->peer)};

	if (usrsctp_bind(c->so, (struct sockaddr *)&a, sizeof(a)))
		return -errno;
	a.sconn_port = htons(c->remote_port);
	if (usrsctp_connect(c->so, (struct sockaddr *)&a, sizeof(a)) && errno != EINPROGRESS)
		return -errno;
	return 0;
}

static void learn_local_port(struct user_conn *c)
{
	struct sockaddr *list;

	if (usrsctp_getladdrs(c->so, 0, &list) <= 0)
		return;
	c->local_port = ntohs(((struct sockaddr_conn *)list)->sconn_port);
	usrsctp_freeladdrs(list);
}

/* The peer as seen from a local address. One path: usrsctp knows peers by tokens, not by
 * addresses. */
static int find_peer(struct user *t, const struct llp_addrs *peer, const struct llp_addrs *from,
		     struct user_peer **ret)
{
	struct sockaddr_storage to = peer->a[0];
	int i;

	if (peer->n > 1 || from->n > 1)
		return -EOPNOTSUPP;
	i = from->n ? llp_sctp_find_addr(&t->sctp, &from->a[0])
		    : llp_sctp_choose_addr(&t->sctp, &to);
	if (i < 0)
		return from->n ? -EADDRNOTAVAIL : -EAFNOSUPPORT;
	if (t->sctp.addrs[i].ss_family != to.ss_family)
		return -EAFNOSUPPORT;
	addr_set_port(&to, t->sctp.cfg.udp_port);
	return llp_user_peer_get(t, t->sock[i], &to, ret);
}

int llp_user_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		     const struct llp_addrs *from, void *conn_user, struct llp_conn **ret)
{
	struct user *t = (struct user *)llp;
	struct user_peer *p;
	struct user_conn *c;
	struct socket *so;
	int r = find_peer(t, peer, from, &p);

	if (r < 0)
		return r;
	so = llp_user_sock_new(t, UDP_MAX_PACKET & ~3u);
	if (!so)
		return -errno;
	r = llp_user_conn_new(t, p, so, &c);
	if (r < 0)
		return r;
	llp_user_sock_limit(c->so, llp_user_peer_packet(p));
	c->sctp.base.user = conn_user;
	c->remote_port = port;
	c->sctp.state = LLP_SCTP_CONNECTING;
	llp_sctp_connecting(&c->sctp);
	r = begin(c);
	if (r < 0) {
		llp_user_conn_free(&c->sctp.base);
		return r;
	}
	learn_local_port(c);
	*ret = &c->sctp.base;
	return 0;
}

void llp_user_conn_expire(struct user *t)
{
	struct llp_sctp_conn *sc;

	while ((sc = llp_sctp_expired(&t->sctp))) {
		const struct user_conn *c = (const struct user_conn *)sc;
		char text[ADDR_TEXT_MAX];

		llp_sctp_end(sc, ETIMEDOUT, "%s does not answer on UDP port %u within %u ms",
			     addr_host_text(&c->peer->flow.to, text), addr_port(&c->peer->flow.to),
			     t->sctp.cfg.init_ms);
	}
}

/* ---- ending ---- */

void llp_user_shutdown(struct llp_conn *lc)
{
	struct user_conn *c = (struct user_conn *)lc;

	if (c->sctp.state == LLP_SCTP_UP && usrsctp_shutdown(c->so, SHUT_WR) == 0)
		c->sctp.state = LLP_SCTP_CLOSING;
	else if (c->sctp.state != LLP_SCTP_CLOSING && c->sctp.state != LLP_SCTP_DOWN)
		llp_sctp_end(&c->sctp, 0, "closed during setup");
}

void llp_user_abort(struct llp_conn *lc, const char *reason)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct sctp_sndinfo info = {.snd_flags = SCTP_ABORT};

	if (c->sctp.state == LLP_SCTP_DOWN)
		return;
	/* Before it is up no text can be sent, and closing is enough. */
	if (c->sctp.state != LLP_SCTP_CONNECTING)
		(void)usrsctp_sendv(c->so, reason, strlen(reason), NULL, 0, &info, sizeof(info),
				    SCTP_SENDV_SNDINFO, 0);
	llp_user_conn_release(&c->sctp);
	list_del(&c->sctp.ready);
}

/* ---- information ---- */

static void fill_status(const struct user_conn *c, struct llp_info *ret)
{
	struct sctp_status st;

	if (!c->so || !llp_user_sock_status(c->so, &st))
		return;
	ret->srtt_us = st.sstat_primary.spinfo_srtt * 1000;
	ret->rto_ms = st.sstat_primary.spinfo_rto;
	ret->cwnd = st.sstat_primary.spinfo_cwnd;
	ret->peer_rwnd = st.sstat_rwnd;
	ret->unacked = st.sstat_unackdata;
}

void llp_user_info(const struct llp_conn *lc, struct llp_info *ret)
{
	const struct user_conn *c = (const struct user_conn *)lc;

	*ret = (struct llp_info){
		.backend = "user",
		.local = *udp_local(c->peer->sock),
		.remote = c->peer->flow.to,
		.remote_udp_port = addr_port(&c->peer->flow.to),
		.gso = c->peer->flow.gso,
		.streams = c->sctp.streams,
		.max_message = c->sctp.max_message,
		.mtu = c->peer->mtu,
	};
	addr_set_port(&ret->local, c->local_port);
	addr_set_port(&ret->remote, c->remote_port);
	fill_status(c, ret);
}
