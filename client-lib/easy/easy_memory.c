/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/easy/easy_memory.h"

#include <errno.h>
#include <stdlib.h>

/* Grants access to a part of a region. A region itself has no rights of peers. */
struct easy_grant {
	struct easy_grant *next;
	struct ddp_mw *mw;
	struct easy_hello offer;
};

struct easy_region {
	struct easy_region *next;
	struct ddp_mr *mr;
	uintptr_t begin;
	size_t length;
	struct easy_grant *grants;
};

/* Its users need not know limits.sparse_bytes. */
enum { ACCESS = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_MW_BIND | DDP_ACCESS_POPULATE };

static int reg(struct easy_hub *hub, void *addr, size_t length, int memfd, struct ddp_mr **ret)
{
	if (!addr)
		return ddp_alloc_mr(hub->pd, length, ACCESS, ret);
	if (memfd < 0)
		return ddp_reg_mr(hub->pd, addr, length, ACCESS, NULL, ret);
	return ddp_reg_memfd(hub->pd, memfd, 0, length, addr, (uintptr_t)addr, ACCESS, ret);
}

int easy_memory_add(struct easy_hub *hub, struct easy_error *error, void *addr, size_t length,
		    int memfd, void **ret)
{
	struct easy_region *region = calloc(1, sizeof(*region));
	int r;

	if (!region)
		return easy_error_set(error, -ENOMEM, "ddp_easy_alloc: out of memory");
	r = reg(hub, addr, length, memfd, &region->mr);
	if (r < 0) {
		free(region);
		return easy_error_pass(error, r);
	}
	region->begin = (uintptr_t)region->mr->addr;
	region->length = length;
	*ret = region->mr->addr;
	pthread_mutex_lock(&hub->lock);
	region->next = hub->regions;
	hub->regions = region;
	pthread_mutex_unlock(&hub->lock);
	return 0;
}

static void end_region(struct easy_region *region)
{
	while (region->grants) {
		struct easy_grant *grant = region->grants;

		region->grants = grant->next;
		ddp_dealloc_mw(grant->mw);
		free(grant);
	}
	ddp_dereg_mr(region->mr);
	free(region);
}

int easy_memory_remove(struct easy_hub *hub, struct easy_error *error, const void *addr)
{
	struct easy_region **at, *region;

	pthread_mutex_lock(&hub->lock);
	for (at = &hub->regions; *at && (*at)->begin != (uintptr_t)addr; at = &(*at)->next)
		;
	region = *at;
	if (region)
		*at = region->next;
	pthread_mutex_unlock(&hub->lock);
	if (!region)
		return easy_error_set(error, -ENOENT,
				      "ddp_easy_free: no registered memory begins at %p", addr);
	end_region(region);
	return 0;
}

void easy_memory_remove_all(struct easy_hub *hub)
{
	while (hub->regions) {
		struct easy_region *region = hub->regions;

		hub->regions = region->next;
		end_region(region);
	}
}

/* The lock is held. */
static struct easy_region *region_around(struct easy_hub *hub, const void *addr, size_t length)
{
	for (struct easy_region *region = hub->regions; region; region = region->next) {
		uintptr_t offset = (uintptr_t)addr - region->begin;

		if ((uintptr_t)addr >= region->begin && offset <= region->length &&
		    length <= region->length - offset)
			return region;
	}
	return NULL;
}

static int not_registered(struct easy_error *error, const void *addr, size_t length)
{
	return easy_error_set(error, -EFAULT,
			      "%zu bytes at %p are not in one piece of memory of "
			      "ddp_easy_alloc() or ddp_easy_register()",
			      length, addr);
}

int easy_memory_find(struct easy_hub *hub, struct easy_error *error, const void *addr,
		     size_t length, struct ddp_sge *ret)
{
	struct easy_region *region;

	pthread_mutex_lock(&hub->lock);
	region = region_around(hub, addr, length);
	if (region)
		*ret = (struct ddp_sge){
			.addr = (uintptr_t)addr,
			.length = (uint32_t)length,
			.lkey = region->mr->lkey,
		};
	pthread_mutex_unlock(&hub->lock);
	return region ? 0 : not_registered(error, addr, length);
}

static bool is_same_offer(const struct easy_hello *a, const struct easy_hello *b)
{
	return a->addr == b->addr && a->length == b->length && a->access == b->access;
}

/* The grant of exactly this, new or not. The lock is held, so that the region stays. */
static int grant(struct easy_hub *hub, struct easy_region *region, const struct easy_hello *offer,
		 struct easy_hello *ret)
{
	struct easy_grant *g;
	int r;

	for (g = region->grants; g; g = g->next)
		if (is_same_offer(&g->offer, offer))
			break;
	if (!g) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return -ENOMEM;
		r = ddp_alloc_mw(hub->pd, DDP_MW_TYPE_1, &g->mw);
		if (r == 0) {
			r = ddp_bind_mw(g->mw, region->mr, offer->addr, offer->length,
					offer->access);
			if (r < 0)
				ddp_dealloc_mw(g->mw);
		}
		if (r < 0) {
			free(g);
			return r;
		}
		g->offer = *offer;
		g->offer.rkey = g->mw->rkey;
		g->next = region->grants;
		region->grants = g;
	}
	*ret = g->offer;
	return 0;
}

int easy_memory_offer(struct easy_hub *hub, struct easy_error *error, void *addr, size_t length,
		      unsigned access, struct easy_hello *ret)
{
	struct easy_hello offer = {
		.access = access,
		.addr = (uintptr_t)addr,
		.length = length,
	};
	struct easy_region *region;
	int r = -EFAULT;

	pthread_mutex_lock(&hub->lock);
	region = region_around(hub, addr, length);
	if (region)
		r = grant(hub, region, &offer, ret);
	pthread_mutex_unlock(&hub->lock);
	if (!region)
		return not_registered(error, addr, length);
	return r < 0 ? easy_error_pass(error, r) : 0;
}

void easy_memory_renew(struct easy_hub *hub, struct easy_hello *offer)
{
	bool granted = false;

	pthread_mutex_lock(&hub->lock);
	for (struct easy_region *region = hub->regions; region; region = region->next)
		for (struct easy_grant *g = region->grants; g; g = g->next) {
			g->offer.rkey = g->mw->rkey;
			if (!is_same_offer(&g->offer, offer))
				continue;
			granted = true;
			offer->rkey = g->offer.rkey;
		}
	pthread_mutex_unlock(&hub->lock);
	if (granted)
		return;
	offer->addr = offer->length = 0;
	offer->access = offer->rkey = 0;
}
