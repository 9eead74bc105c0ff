/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/mw.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/memory/mr.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/client/scope.h"
#include "daemon/objects/memory/stags.h"
#include "proto/ddp/stag.h"

enum { RIGHTS = STAG_REMOTE_WRITE | STAG_REMOTE_READ | STAG_REMOTE_ATOMIC };

/* ---- its row of the table ---- */

static int publish(const struct mw *mw, uint32_t *ret_stag, struct reply *rep)
{
	struct stag_region window = {
		.kind = mw->type == MSG_MW_TYPE_1 ? STAG_WINDOW_PD : STAG_WINDOW_STREAM,
		.pd = mw->pd->number,
	};
	int r = stags_add(mw->client->daemon->stags, &window);

	if (r)
		return reply_refuse(rep, -r, "memory window: %s", stags_str(r));
	*ret_stag = window.stag;
	return 0;
}

static const struct stag_region *row_of_window(const struct mw *mw)
{
	return stag_find_any_key(stags_table(mw->client->daemon->stags), mw->stag);
}

/* ---- life ---- */

static int build_mw(struct mw *mw, struct reply *rep)
{
	struct client *c = mw->client;
	int r = client_charge(c, ACCT_MWS, 1, &mw->charge, rep);

	if (!r)
		r = client_charge(c, ACCT_MEMORY, sizeof(*mw) + STAGS_ENTRY_BYTES, &mw->memory,
				  rep);
	if (!r)
		r = publish(mw, &mw->stag, rep);
	if (!r && idtab_add(&c->handles.mws, mw, &mw->handle))
		r = reply_refuse(rep, ENOMEM, "memory window: no room in the client's table");
	return r;
}

static void put_mw(const struct mw *mw, struct msg_mr *ret)
{
	ret->handle = mw->handle;
	ret->stag = mw->stag;
}

int mw_alloc(struct client *c, const struct msg_alloc_mw *req, struct msg_mr *ret,
	     struct reply *rep)
{
	struct pd *pd = handles_pd(c, req->pd, rep);
	struct mw *mw;
	int r;

	if (!pd)
		return -ENOENT;
	if (req->type != MSG_MW_TYPE_1 && req->type != MSG_MW_TYPE_2)
		return reply_refuse(rep, EINVAL, "memory window: type %u: expected 1 or 2",
				    req->type);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return reply_refuse(rep, ENOMEM, "memory window: out of memory");
	mw->client = c;
	mw->pd = pd;
	pd->mws++;
	mw->type = req->type;
	r = build_mw(mw, rep);
	if (r) {
		mw_free(mw);
		return r;
	}
	put_mw(mw, ret);
	return 0;
}

struct mw *mw_free(struct mw *mw)
{
	if (!mw)
		return NULL;
	idtab_del(&mw->client->handles.mws, mw->handle);
	if (mw->stag)
		stags_remove(mw->client->daemon->stags, row_of_window(mw)->stag);
	mw->pd->mws--;
	acct_release(&mw->memory);
	acct_release(&mw->charge);
	free(mw);
	return NULL;
}

/* ---- binding ---- */

static int check_bind(const struct mw *mw, const struct mr *mr, const struct msg_bind_mw *req,
		      struct reply *rep)
{
	if (mw->type != MSG_MW_TYPE_1)
		return reply_refuse(
			rep, EINVAL,
			"memory window 0x%08x of type %u: only a work request can bind it",
			row_of_window(mw)->stag, mw->type);
	if (req->access & ~(uint32_t)RIGHTS)
		return reply_refuse(rep, EINVAL,
				    "memory window 0x%08x: access 0x%x: expected a subset of 0x%x",
				    mw->stag, req->access, RIGHTS);
	if (mr && mr->pd != mw->pd)
		return reply_refuse(
			rep, EINVAL,
			"memory window 0x%08x and region 0x%08x: different protection domains",
			mw->stag, mr->stag);
	return 0;
}

static int refuse_bind(const struct mw *mw, const struct mr *mr, const struct msg_bind_mw *req,
		       int e, struct reply *rep)
{
	if (e == STAG_BIND_E_RIGHTS)
		return reply_refuse(rep, EACCES,
				    "memory window 0x%08x with access 0x%x: region 0x%08x has "
				    "0x%x: it needs 0x%x (bind), and 0x%x (local write) to be "
				    "written",
				    mw->stag, req->access, mr->stag, mr->access, STAG_BIND_WINDOWS,
				    STAG_LOCAL_WRITE);
	if (e == STAG_BIND_E_BOUNDS)
		return reply_refuse(rep, EINVAL,
				    "memory window 0x%08x: %llu bytes at 0x%llx: region 0x%08x "
				    "has %llu at 0x%llx",
				    mw->stag, (unsigned long long)req->len,
				    (unsigned long long)req->addr, mr->stag,
				    (unsigned long long)mr->len, (unsigned long long)mr->iova);
	return reply_refuse(rep, EINVAL,
			    "memory window 0x%08x: region 0x%08x is invalidated, or tied to a "
			    "queue pair",
			    mw->stag, mr->stag);
}

/* Binds the row of this STag, which is not bound yet. */
static int bind_row(const struct mw *mw, const struct mr *mr, const struct msg_bind_mw *req,
		    uint32_t stag, struct reply *rep)
{
	struct stag_bind b = {
		.window = stag,
		.region = mr->stag,
		.rights = req->access,
		.to = req->addr,
		.len = req->len,
	};
	struct stag_accessor accessor = {.pd = mw->pd->number};
	int e = stag_bind(stags_table(mw->client->daemon->stags), &b, &accessor);

	return e ? refuse_bind(mw, mr, req, e, rep) : 0;
}

/* The old row is removed after the new one is bound. No STag value is used twice. */
int mw_bind(struct mw *mw, const struct mr *mr, const struct msg_bind_mw *req, struct msg_mr *ret,
	    struct reply *rep)
{
	struct stags *stags = mw->client->daemon->stags;
	int r = check_bind(mw, mr, req, rep);
	uint32_t stag;

	if (!r)
		r = publish(mw, &stag, rep);
	if (r)
		return r;
	if (mr && req->len > 0)
		r = bind_row(mw, mr, req, stag, rep);
	if (r) {
		stags_remove(stags, stag);
		return r;
	}
	stags_remove(stags, mw->stag);
	mw->stag = stag;
	put_mw(mw, ret);
	return 0;
}

void mw_release(struct client *c, const struct scope *scope)
{
	struct stag_accessor accessor = {.pd = scope->pd->number, .scope = scope->number};
	uint32_t pos = 0;
	const struct mw *mw;

	while ((mw = idtab_next(&c->handles.mws, &pos)))
		if (mw->type == MSG_MW_TYPE_2)
			stag_invalidate(stags_table(c->daemon->stags), row_of_window(mw)->stag,
					&accessor);
}

/* ---- queries ---- */

void mw_query(const struct mw *mw, struct msg_mw_state *ret)
{
	const struct stag_region *w = row_of_window(mw);

	ret->type = mw->type;
	ret->stag = w->stag;
	ret->pd = mw->pd->handle;
	ret->valid = w->valid;
	if (!w->valid)
		return;
	ret->access = w->rights;
	ret->addr = w->to;
	ret->len = w->len;
	ret->mr_stag = w->parent;
	ret->qp_num = scope_qp_num(mw->client, w->scope);
}
