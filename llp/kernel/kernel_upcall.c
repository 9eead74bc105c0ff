/* SPDX-License-Identifier: BSD-2-Clause */
/* The upcalls of an association, from its first event on. */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum {
	RX_BATCHES = 4, /* of one association in a row */
};

/* ---- set-up ---- */

/* Linux queues the indication together with COMM_UP. If another event follows COMM_UP, or none, the
 * peer sent no indication. An incoming association is accepted or dropped on this first pass. */
static void verify(struct llp_sctp_conn *sc)
{
	struct kernel_conn *c = (struct kernel_conn *)sc;
	enum llp_sctp_pulled r = LLP_SCTP_EVENT;
	struct kernel_in in;

	kernel_of(c)->half_open -= c->half_open;
	c->half_open = false;
	c->rx_left = KERNEL_BATCH;
	c->drained = false;
	while (sc->state < LLP_SCTP_UP && !sc->ended && r == LLP_SCTP_EVENT)
		r = kernel_pull(c, &in);
	if (sc->ended || sc->state == LLP_SCTP_UP)
		return;
	if (sc->state == LLP_SCTP_VERIFYING)
		llp_sctp_end(sc, EPROTONOSUPPORT,
			     "the peer does not speak DDP: no adaptation indication");
	else if (sc->passive)
		llp_sctp_end(sc, ECONNABORTED, "the association closed during setup");
}

/* The association has ended right after setup: an event may have the reason. */
static void read_end(struct kernel_conn *c)
{
	struct kernel_in in;

	c->drained = false;
	while (!c->sctp.ended && kernel_pull(c, &in) != LLP_SCTP_NOTHING)
		;
	llp_sctp_end(&c->sctp, ECONNRESET, "the peer ended the association during setup");
}

static void prepare_conn(struct llp_sctp_conn *sc)
{
	struct kernel_conn *c = (struct kernel_conn *)sc;

	if (!kernel_conn_measure(c)) {
		read_end(c);
		return;
	}
	c->npaths = kernel_path_count(c->watch.fd);
	kernel_sock_max_retrans(kernel_of(c), c->watch.fd, c->npaths);
	if (kernel_tx_init(c) < 0)
		llp_sctp_end(sc, ENOMEM, "no memory for the messages of the association");
}

static struct llp_listener *listener(const struct llp_sctp_conn *sc)
{
	struct kernel_listener *l = ((const struct kernel_conn *)sc)->listener;

	return l ? &l->base : NULL;
}

/* ---- up ---- */

static bool serve_input(struct kernel *t, struct kernel_conn *c)
{
	if (!c->readable && !kernel_rx_holds(c))
		return true;
	c->rx_left = c->readable ? RX_BATCHES : 0;
	c->readable = false;
	c->drained = false;
	if (t->sctp.base.ev->readable(c->sctp.base.user) && llp_sctp_usable(&t->sctp, &c->sctp))
		llp_sctp_touch(&c->sctp);
	return llp_sctp_usable(&t->sctp, &c->sctp);
}

static bool serve_output(struct kernel *t, struct kernel_conn *c)
{
	if (c->writable && c->tx.blocked)
		kernel_tx_push(c);
	else if (c->writable)
		kernel_conn_watch(c, false);
	c->writable = false;
	if (!kernel_tx_empty(&c->tx))
		return true;
	if (c->sctp.state == LLP_SCTP_CLOSING)
		(void)shutdown(c->watch.fd, SHUT_WR);
	if (c->tx.wanted && c->sctp.state == LLP_SCTP_UP) {
		c->tx.wanted = false;
		t->sctp.base.ev->writable(c->sctp.base.user);
	}
	return llp_sctp_usable(&t->sctp, &c->sctp);
}

/* The event may be older than the last message; another event follows then. If the association has
 * ended, unacknowledged data is lost: then acked() is not called. */
static bool serve_acked(struct kernel *t, struct kernel_conn *c)
{
	if (!c->sctp.acked)
		return true;
	c->sctp.acked = false;
	if (!c->sctp.ended && !c->tx.dropped && kernel_tx_empty(&c->tx) &&
	    kernel_sock_acked(c->watch.fd))
		t->sctp.base.ev->acked(c->sctp.base.user);
	return llp_sctp_usable(&t->sctp, &c->sctp);
}

static void serve_conn(struct llp_sctp_conn *sc)
{
	struct kernel_conn *c = (struct kernel_conn *)sc;
	struct kernel *t = kernel_of(c);

	if (serve_input(t, c) && serve_acked(t, c) && serve_output(t, c))
		kernel_path_report(c);
}

/* ---- dispatch ---- */

static bool has_rx_budget(const struct llp_sctp *t)
{
	const struct kernel *k = (const struct kernel *)t;

	return k->stats.rx_batches < k->rx_limit;
}

void kernel_dispatch(struct kernel *t, unsigned budget)
{
	t->rx_limit = t->stats.rx_batches + (budget + KERNEL_BATCH - 1) / KERNEL_BATCH;
	llp_sctp_dispatch(&t->sctp, has_rx_budget);
}

void kernel_shutdown(struct llp_conn *lc)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;

	if (c->sctp.state == LLP_SCTP_UP) {
		c->sctp.state = LLP_SCTP_CLOSING;
		kernel_tx_push(c);
		if (kernel_tx_empty(&c->tx))
			(void)shutdown(c->watch.fd, SHUT_WR);
	} else if (c->sctp.state != LLP_SCTP_CLOSING && c->sctp.state != LLP_SCTP_DOWN) {
		llp_sctp_end(&c->sctp, 0, "closed during setup");
	}
}

const struct llp_sctp_ops kernel_upcall_ops = {
	.verify = verify,
	.prepare = prepare_conn,
	.listener = listener,
	.serve = serve_conn,
	.release = kernel_conn_release,
};
