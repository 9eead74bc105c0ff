/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/path_model.h"

#include "sctp/base/alloc.h"
#include "sctp/path/cc_bbr.h"

static void begin_model(struct sctp_path *p)
{
	struct sctp *s = p->assoc->s;
	uint32_t random;

	s->cfg.random(s->cfg.random_user, &random, sizeof(random));
	sctp_cc_bbr_begin(&p->cc, sctp_alloc(s, sizeof(struct sctp_bbr)), random, s->now);
}

void sctp_path_model(struct sctp_path *p)
{
	struct sctp_delivery *d;
	void *block;

	if (sctp_cc_bbr_wanted(&p->cc))
		begin_model(p);
	d = sctp_cc_bbr_delivery(&p->cc);
	if (!d || d->record)
		return;
	block = sctp_pool_get(&p->assoc->origin.account);
	if (block)
		sctp_delivery_give(d, block, SCTP_BLOCK);
}

void sctp_path_rest_model(struct sctp_path *p)
{
	struct sctp_delivery *d = sctp_cc_bbr_delivery(&p->cc);

	if (d)
		sctp_pool_put(&p->assoc->origin.account, sctp_delivery_take(d));
}

void sctp_path_free_model(struct sctp_path *p)
{
	sctp_path_rest_model(p);
	sctp_release(p->assoc->s, p->cc.bbr, sizeof(struct sctp_bbr));
	p->cc.bbr = NULL;
}
