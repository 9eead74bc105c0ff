/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/oob_request.h"

#include <stdlib.h>

#include "verbs/base/addr.h"

struct ddp_id *oob_request_pop(struct oob_request **list)
{
	struct oob_request *r = *list;
	struct ddp_id *id = r ? r->id : NULL;

	if (r)
		*list = r->next;
	free(r);
	return id;
}

struct ddp_id *oob_request_take(struct oob_request **list, uint32_t from,
				const struct sockaddr_storage *addr)
{
	while (*list && ((*list)->from != from || !addr_same(&(*list)->addr, addr)))
		list = &(*list)->next;
	return oob_request_pop(list);
}

struct ddp_id *oob_request_forget(struct oob_request **list, const struct ddp_id *id)
{
	while (*list && (*list)->id != id)
		list = &(*list)->next;
	return oob_request_pop(list);
}

static unsigned count_requests(const struct oob_request *r, const struct sockaddr_storage *addr)
{
	unsigned n = 0;

	for (; r; r = r->next)
		n += !addr || addr_same(&r->addr, addr);
	return n;
}

/* The oldest one of the address that has most of them. */
static struct oob_request **one_that_gives_way(struct oob_request **list)
{
	struct oob_request **ret = list;
	unsigned most = 0;

	for (struct oob_request **at = list; *at; at = &(*at)->next) {
		const unsigned n = count_requests(*list, &(*at)->addr);

		if (n > most)
			ret = at;
		most = n > most ? n : most;
	}
	return ret;
}

struct ddp_id *oob_request_add(struct oob_request **list, const struct ddp_cm_event *ev,
			       uint32_t from)
{
	struct oob_request *r = malloc(sizeof(*r)), **end = list;

	if (!r)
		return ev->id;
	while (*end)
		end = &(*end)->next;
	*r = (struct oob_request){.id = ev->id, .from = from, .addr = ev->peer};
	*end = r;
	if (count_requests(*list, NULL) <= OOB_REQUESTS)
		return NULL;
	return oob_request_pop(one_that_gives_way(list));
}
