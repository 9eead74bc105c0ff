/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/association_index.h"

#include "daemon/base/worker.h"
#include "daemon/net/association.h"
#include "util/addr.h"

/* ---- by number ---- */

static struct list *with_id(struct worker *w, uint32_t id)
{
	return &w->by_id[id % WORKER_BUCKETS];
}

void association_index_id(struct association *assoc)
{
	list_add_tail(with_id(assoc->worker, assoc->id), &assoc->same_id);
}

struct association *association_index_by_id(struct worker *w, uint32_t id)
{
	list_foreach (it, with_id(w, id)) {
		struct association *assoc = list_entry(it, struct association, same_id);

		if (assoc->id == id)
			return assoc;
	}
	return NULL;
}

/* ---- by addresses ---- */

static struct list *bucket_of_peer(struct worker *w, const struct endpoint_addrs *addrs)
{
	uint32_t hash = addr_hash_host(&addrs->peer.a[0]) + addrs->port;

	return &w->by_peer[hash % WORKER_BUCKETS];
}

static bool same_endpoint(const struct association *assoc)
{
	struct llp_info info;

	llp_info(assoc->conn, &info);
	return info.same_endpoint;
}

static bool has_addrs(const struct association *assoc, const struct endpoint_addrs *addrs)
{
	struct endpoint_addrs own;

	endpoint_addrs_unpack(assoc->addrs, &own);
	if (assoc->opener)
		return endpoint_addrs_same(&own, addrs);
	return endpoint_addrs_serve(&own, addrs) && same_endpoint(assoc);
}

static bool usable(const struct association *assoc, const struct endpoint_addrs *addrs)
{
	return assoc->state <= ASSOCIATION_UP && has_addrs(assoc, addrs) &&
	       !(assoc->ddp && assoc_full(assoc->ddp));
}

bool association_index_addrs(struct association *assoc, const struct endpoint_addrs *addrs)
{
	assoc->addrs = endpoint_addrs_pack(addrs);
	if (assoc->addrs)
		list_add_tail(bucket_of_peer(assoc->worker, addrs), &assoc->by_peer);
	return assoc->addrs;
}

void association_index_incoming(struct association *assoc)
{
	const struct addr_set *at = assoc->listener->at;
	struct llp_path path[LLP_MAX_PATHS];
	unsigned n = llp_paths(assoc->conn, path);
	struct endpoint_addrs addrs;
	struct llp_info info;

	llp_info(assoc->conn, &info);
	if (!info.same_endpoint || n > LLP_MAX_ADDRS)
		return;
	addrs.port = addr_port(&info.remote);
	addrs.peer.n = n;
	for (unsigned i = 0; i < n; i++)
		addrs.peer.a[i] = path[i].remote;
	addrs.local = (struct addr_set){{info.local}, 1};
	if (at->n > 1)
		addrs.local = *at;
	association_index_addrs(assoc, &addrs);
}

struct association *association_index_find(struct worker *w, const struct endpoint_addrs *addrs)
{
	list_foreach (it, bucket_of_peer(w, addrs)) {
		struct association *assoc = list_entry(it, struct association, by_peer);

		if (usable(assoc, addrs))
			return assoc;
	}
	return NULL;
}
