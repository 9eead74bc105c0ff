/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/mr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/memory/holes.h"
#include "daemon/objects/memory/mapping.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/client/scope.h"
#include "daemon/objects/memory/stags.h"
#include "ipc/rung.h"
#include "proto/ddp/stag.h"
#include "util/checked.h"

enum {
	WRITES = STAG_REMOTE_WRITE | STAG_REMOTE_ATOMIC, /* these rights require the local right */
	ACCESS_ALL = STAG_LOCAL_WRITE | STAG_REMOTE_READ | WRITES | STAG_BIND_WINDOWS,
};

/* The part of a memfd that is or becomes a region. */
struct extent {
	uint64_t offset, len, iova;
};

static int check_access(uint32_t access, struct reply *rep)
{
	if (access & ~(uint32_t)ACCESS_ALL)
		return reply_refuse(rep, EINVAL, "memory region: unknown access flags 0x%x",
				    access & ~(uint32_t)ACCESS_ALL);
	return 0;
}

static int check_extent(const struct extent *e, struct reply *rep)
{
	if (e->len == 0)
		return reply_refuse(rep, EINVAL, "memory region: its length is 0");
	if (checked_add_wraps(e->iova, e->len))
		return reply_refuse(rep, EINVAL,
				    "memory region: iova 0x%llx plus %llu bytes passes 2^64",
				    (unsigned long long)e->iova, (unsigned long long)e->len);
	return 0;
}

static bool has_shadow(const struct mr *mr)
{
	return mr->rung == RUNG_AGENT;
}

/* Its client may now punch holes where the region was. */
static void forget_holes(const struct mr *mr)
{
	if (mr->mapping)
		holes_forget(mr->client->worker->holes, mapping_at(mr->mapping, mr->offset),
			     mr->len);
}

static struct shadow_layout layout_of(const struct mr *mr)
{
	return shadow_layout(mr->offset + mr->len);
}

/* Bytes of the client's memfd that are mapped for it. */
static uint64_t cost(const struct mr *mr)
{
	return has_shadow(mr) ? layout_of(mr).total : mr->len;
}

static int check_shadow(const struct client *c, const struct msg_reg_own_mr *own, struct reply *rep)
{
	if (own->rung != RUNG_AGENT)
		return 0;
	if (!c->agent)
		return reply_refuse(rep, EINVAL, "memory region: this client has no agent");
	if (own->reg.offset >= SHADOW_PAGE || own->reg.len > SHADOW_MAX - SHADOW_PAGE)
		return reply_refuse(rep, EINVAL,
				    "memory region: shadow of %llu bytes at %llu: offset below %d "
				    "and at most 2^43 bytes",
				    (unsigned long long)own->reg.len,
				    (unsigned long long)own->reg.offset, (int)SHADOW_PAGE);
	return 0;
}

static uint32_t with_implied(uint32_t access)
{
	return access & WRITES ? access | STAG_LOCAL_WRITE : access;
}

/* Maps the extent for the region's rights. */
static int map_extent(struct mr *mr, const struct extent *e, int fd, struct reply *rep)
{
	mr->offset = e->offset;
	if (has_shadow(mr))
		return mapping_get(mr->client, fd, 0, cost(mr), true, &mr->mapping, rep);
	return mapping_get(mr->client, fd, e->offset, e->len, mr->access & STAG_LOCAL_WRITE,
			   &mr->mapping, rep);
}

/* Enters the region into the STag table under an unused value, which becomes its STag. */
static struct stag_region make_region(const struct mr *mr, uint64_t scope)
{
	struct stag_region ret = {
		.stag = mr->stag,
		.rights = mr->access,
		.pd = mr->pd->number,
		.scope = scope,
		.to = mr->iova,
		.len = mr->len,
		.base = mapping_at(mr->mapping, mr->offset),
		.notice = mr->notice.cq ? mr->handle : 0,
	};

	_Static_assert((int)SHADOW_PAGE == STAG_APART, "the parts of a shadow are apart");
	if (has_shadow(mr))
		ret.apart = (uint32_t)(layout_of(mr).size / STAG_APART);
	return ret;
}

static int publish(struct mr *mr, uint64_t scope, struct reply *rep)
{
	struct stag_region region = make_region(mr, scope);
	int r = stags_add(mr->client->daemon->stags, &region);

	if (r)
		return reply_refuse(rep, -r, "memory region: %s", stags_str(r));
	mr->stag = region.stag;
	mr->notice.stag = mr->stag;
	return 0;
}

static const struct stag_region *region_of_mr(const struct mr *mr)
{
	return stag_find(stags_table(mr->client->daemon->stags), mr->stag);
}

static int check_windows(const struct mr *mr, struct reply *rep)
{
	uint32_t n = region_of_mr(mr)->windows;

	if (n == 0)
		return 0;
	return reply_refuse(rep, EBUSY, "memory region 0x%08x: %u windows are bound to it",
			    mr->stag, n);
}

static void put_mr(const struct mr *mr, struct msg_mr *ret)
{
	ret->handle = mr->handle;
	ret->stag = mr->stag;
}

/* ---- life ---- */

static int add_shadow(struct mr *mr, struct reply *rep)
{
	const struct shadow_layout layout = layout_of(mr);
	int r = agent_region_add(&mr->shadow, mr->client->agent, mapping_at(mr->mapping, 0),
				 &layout, mr->handle);

	return r ? reply_refuse(rep, -r, "memory region: its shadow: %s", strerror(-r)) : 0;
}

static int build_mr(struct mr *mr, const struct extent *e, int fd, struct reply *rep)
{
	struct client *c = mr->client;
	int r = client_charge(c, ACCT_MRS, 1, &mr->charge, rep);

	if (!r)
		r = client_charge(c, ACCT_MR_BYTES, cost(mr), &mr->bytes, rep);
	if (!r)
		r = client_charge(c, ACCT_MEMORY, sizeof(*mr) + STAGS_ENTRY_BYTES, &mr->memory,
				  rep);
	if (!r)
		r = map_extent(mr, e, fd, rep);
	if (!r)
		r = publish(mr, 0, rep);
	if (!r && idtab_add(&c->handles.mrs, mr, &mr->handle))
		r = reply_refuse(rep, ENOMEM, "memory region: no room in the client's table");
	if (!r)
		c->regions.bytes += mr->len;
	if (!r && has_shadow(mr))
		r = add_shadow(mr, rep);
	return r;
}

static int add_region(struct client *c, const struct msg_reg_own_mr *own, int fd,
		      struct msg_mr *ret, struct reply *rep)
{
	const struct msg_reg_mr *req = &own->reg;
	struct extent e = {req->offset, req->len, req->iova};
	struct pd *pd = handles_pd(c, req->pd, rep);
	struct mr *mr;
	int r;

	if (!pd)
		return -ENOENT;
	r = check_access(req->access, rep);
	if (!r)
		r = check_extent(&e, rep);
	if (!r)
		r = check_shadow(c, own, rep);
	if (r)
		return r;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return reply_refuse(rep, ENOMEM, "memory region: out of memory");
	mr->client = c;
	notice_init(&mr->notice);
	mr->pd = pd;
	pd->mrs++;
	mr->iova = e.iova;
	mr->len = e.len;
	mr->offset = e.offset;
	mr->access = with_implied(req->access);
	mr->rung = own->rung;
	mr->reason = own->reason;
	r = build_mr(mr, &e, fd, rep);
	if (r) {
		mr_free(mr);
		return r;
	}
	put_mr(mr, ret);
	return 0;
}

int mr_register(struct client *c, const struct msg_reg_mr *req, int fd, struct msg_mr *ret,
		struct reply *rep)
{
	return add_region(c, &(struct msg_reg_own_mr){.reg = *req}, fd, ret, rep);
}

int mr_register_own(struct client *c, const struct msg_reg_own_mr *req, int fd, struct msg_mr *ret,
		    struct reply *rep)
{
	if (req->rung >= RUNG_COUNT || req->reason >= RUNG_REASON_COUNT)
		return reply_refuse(rep, EINVAL, "memory region: unknown rung %u or reason %u",
				    req->rung, req->reason);
	return add_region(c, req, fd, ret, rep);
}

int mr_bind(struct mr *mr, const struct scope *scope, struct msg_mr *ret, struct reply *rep)
{
	uint32_t old = mr->stag;
	int r;

	if (scope && scope->pd != mr->pd)
		return reply_refuse(
			rep, EINVAL,
			"memory region 0x%08x and queue pair %u: different protection domains",
			mr->stag, scope->qp_num);
	r = check_windows(mr, rep);
	if (!r)
		r = publish(mr, scope ? scope->number : 0, rep);
	if (r)
		return r;
	stags_remove(mr->client->daemon->stags, old);
	put_mr(mr, ret);
	return 0;
}

int mr_notify(struct mr *mr, struct cq *cq, uint64_t wr_id, struct reply *rep)
{
	if (notice_set(&mr->notice, cq, wr_id))
		return reply_refuse(rep, EBUSY,
				    "completion queue %u: no entry is free for notices of memory "
				    "region 0x%08x",
				    cq->handle & 0xffff, mr->stag);
	stag_set_notice(stags_table(mr->client->daemon->stags), mr->stag, cq ? mr->handle : 0);
	return 0;
}

int mr_dereg(struct mr *mr, struct reply *rep)
{
	int r = check_windows(mr, rep);

	if (!r)
		mr_free(mr);
	return r;
}

struct mr *mr_free(struct mr *mr)
{
	if (!mr)
		return NULL;
	if (idtab_del(&mr->client->handles.mrs, mr->handle))
		mr->client->regions.bytes -= mr->len;
	if (mr->stag)
		stags_remove(mr->client->daemon->stags, mr->stag);
	agent_region_remove(&mr->shadow);
	notice_clear(&mr->notice);
	forget_holes(mr);
	mapping_put(mr->mapping);
	mr->pd->mrs--;
	acct_release(&mr->memory);
	acct_release(&mr->bytes);
	acct_release(&mr->charge);
	list_assert_out(&mr->notice.link);
	free(mr);
	return NULL;
}

void mr_query(const struct mr *mr, struct msg_mr_state *ret)
{
	const struct stag_region *region = region_of_mr(mr);

	ret->stag = mr->stag;
	ret->access = mr->access;
	ret->iova = mr->iova;
	ret->len = mr->len;
	ret->pd = mr->pd->handle;
	ret->qp_num = scope_qp_num(mr->client, region->scope);
	ret->valid = region->valid;
	ret->windows = region->windows;
}

/* ---- reregistration ---- */

static int check_rereg(const struct mr *mr, const struct msg_rereg_mr *req, struct reply *rep)
{
	const uint32_t all =
		MSG_REREG_TRANSLATION | MSG_REREG_PD | MSG_REREG_ACCESS | MSG_REREG_SAME_KEY;
	struct extent e = {req->offset, req->len, req->iova};
	int r = 0;

	if (req->what == 0 || (req->what & ~all))
		return reply_refuse(rep, EINVAL,
				    "memory region 0x%08x: rereg 0x%x: expected a subset of 0x%x",
				    mr->stag, req->what, all);
	if (req->what & MSG_REREG_PD && !handles_pd(mr->client, req->pd, rep))
		return -ENOENT;
	if (req->what & MSG_REREG_ACCESS)
		r = check_access(req->access, rep);
	if (!r && req->what & MSG_REREG_TRANSLATION)
		r = check_extent(&e, rep);
	return r ? r : check_windows(mr, rep);
}

/* The region's new attributes, without memory and STag. */
static struct mr planned(const struct mr *mr, const struct msg_rereg_mr *req)
{
	struct mr next = {
		.client = mr->client,
		.handle = mr->handle,
		.notice.cq = mr->notice.cq,
		.pd = mr->pd,
		.access = mr->access,
		.iova = mr->iova,
		.len = mr->len,
		.offset = mr->offset,
		.rung = mr->rung,
		.reason = mr->reason,
	};

	if (req->what & MSG_REREG_PD)
		next.pd = idtab_get(&mr->client->handles.pds, req->pd);
	if (req->what & MSG_REREG_ACCESS)
		next.access = with_implied(req->access);
	if (req->what & MSG_REREG_TRANSLATION) {
		next.iova = req->iova;
		next.len = req->len;
		next.rung = RUNG_MEMFD;
		next.reason = RUNG_REASON_GIVEN;
	}
	return next;
}

/* Gives `next` its mapping: of new memory, or of the same for the new rights. */
static int remap(const struct mr *mr, struct mr *next, const struct msg_rereg_mr *req, int fd,
		 struct reply *rep)
{
	struct extent e = {req->offset, req->len, req->iova};

	if (req->what & MSG_REREG_TRANSLATION)
		return map_extent(next, &e, fd, rep);
	return mapping_share(mr->mapping, next->access & STAG_LOCAL_WRITE, &next->mapping, rep);
}

/* Under a new STag, which exists besides the old one, or in the place of the old one. */
static int publish_again(const struct mr *mr, struct mr *next, uint32_t what, struct reply *rep)
{
	struct stag_region region;

	if (!(what & MSG_REREG_SAME_KEY))
		return publish(next, 0, rep);
	next->stag = next->notice.stag = mr->stag;
	region = make_region(next, 0);
	stags_replace(mr->client->daemon->stags, &region);
	return 0;
}

/* Applies the new attributes. */
static void apply_attributes(struct mr *mr, const struct mr *next)
{
	if (next->stag != mr->stag)
		stags_remove(mr->client->daemon->stags, mr->stag);
	if (!has_shadow(next))
		agent_region_remove(&mr->shadow);
	forget_holes(mr);
	mapping_put(mr->mapping);
	mr->client->regions.bytes += next->len - mr->len;
	mr->pd->mrs--;
	next->pd->mrs++;
	mr->pd = next->pd;
	mr->stag = mr->notice.stag = next->stag;
	mr->access = next->access;
	mr->iova = next->iova;
	mr->len = next->len;
	mr->offset = next->offset;
	mr->mapping = next->mapping;
	mr->rung = next->rung;
	mr->reason = next->reason;
}

int mr_rereg(struct mr *mr, const struct msg_rereg_mr *req, int fd, struct msg_mr *ret,
	     struct reply *rep)
{
	struct mr next;
	int r = check_rereg(mr, req, rep);

	if (r)
		return r;
	next = planned(mr, req);
	/* A larger cost is charged before, a smaller one after the last step that can fail. */
	if (cost(&next) > cost(mr))
		r = client_change(mr->client, &mr->bytes, cost(&next), rep);
	if (r)
		return r;
	r = remap(mr, &next, req, fd, rep);
	if (!r)
		r = publish_again(mr, &next, req->what, rep);
	if (r) {
		mapping_put(next.mapping);
		client_change(mr->client, &mr->bytes, cost(mr), rep);
		return r;
	}
	client_change(mr->client, &mr->bytes, cost(&next), rep);
	apply_attributes(mr, &next);
	put_mr(mr, ret);
	return 0;
}
