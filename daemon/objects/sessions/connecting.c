/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/connecting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/worker.h"
#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"

int connecting_make(struct qp *qp, const struct msg_connect *req, void (*fire)(struct timer *t),
		    struct reply *rep)
{
	struct connecting *n = calloc(1, sizeof(*n) + req->private_len);

	if (!n)
		return reply_refuse(rep, ENOMEM, "queue pair %u: connect: out of memory", qp->num);
	n->qp = qp;
	list_init(&n->waiting);
	timer_init(&n->deadline, fire);
	n->private_len = req->private_len;
	if (req->private_len > 0)
		memcpy(n->private_data, req->private_data, req->private_len);
	qp->connecting = n;
	return 0;
}

void connecting_free(struct qp *qp)
{
	struct connecting *n = qp->connecting;

	if (!n)
		return;
	connecting_asked(qp);
	list_del(&n->waiting);
	timer_cancel(&qp->client->worker->timers, &n->deadline);
	list_assert_out(&n->waiting);
	timer_assert_out(&n->deadline);
	free(n);
	qp->connecting = NULL;
}

void connecting_ask(struct qp *qp)
{
	connecting_asked(qp);
	qp->connecting->asks = true;
	association_asks(qp->assoc);
}

void connecting_asked(struct qp *qp)
{
	if (!qp->connecting->asks)
		return;
	qp->connecting->asks = false;
	association_asked(qp->assoc);
}

bool connecting_refused(struct qp *qp)
{
	qp->connecting->asks = false;
	return association_refused(qp->assoc, &qp->connecting->waiting);
}

bool connecting_waits(const struct qp *qp)
{
	return qp->connecting && list_linked(&qp->connecting->waiting);
}

struct qp *connecting_qp(struct list *waiting)
{
	return list_entry(waiting, struct connecting, waiting)->qp;
}
