/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/client/pd.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/objects/client/client.h"

int pd_alloc(struct client *c, struct msg_handle *ret, struct reply *rep)
{
	struct pd *pd = calloc(1, sizeof(*pd));
	int r;

	if (!pd)
		return reply_refuse(rep, ENOMEM, "protection domain: out of memory");
	pd->client = c;
	pd->number = ++c->daemon->last_pd;
	r = client_charge(c, ACCT_PDS, 1, &pd->charge, rep);
	if (!r && idtab_add(&c->handles.pds, pd, &pd->handle))
		r = reply_refuse(rep, ENOMEM, "protection domain: no room in the client's table");
	if (r) {
		pd_free(pd);
		return r;
	}
	ret->handle = pd->handle;
	return 0;
}

void pd_query(const struct pd *pd, struct msg_pd_state *ret)
{
	ret->mrs = pd->mrs;
	ret->mws = pd->mws;
	ret->qps = pd->qps;
	ret->srqs = pd->srqs;
}

int pd_dealloc(struct pd *pd, struct reply *rep)
{
	if (pd->mrs || pd->mws || pd->qps || pd->srqs || pd->ahs)
		return reply_refuse(rep, EBUSY,
				    "protection domain %u: %u regions, %u windows, %u queue pairs, "
				    "%u shared receive queues and %u address handles use it",
				    pd->handle & 0xffff, pd->mrs, pd->mws, pd->qps, pd->srqs,
				    pd->ahs);
	pd_free(pd);
	return 0;
}

struct pd *pd_free(struct pd *pd)
{
	if (!pd)
		return NULL;
	idtab_del(&pd->client->handles.pds, pd->handle);
	acct_release(&pd->charge);
	assert(pd->mrs == 0 && pd->mws == 0 && pd->qps == 0 && pd->srqs == 0 && pd->ahs == 0);
	free(pd);
	return NULL;
}
