/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/client/scope.h"

#include "daemon/objects/client/client.h"

void scope_open(struct scope *s, struct client *c, struct pd *pd, uint32_t qp_num,
		const struct scope *same)
{
	s->number = same ? same->number : ++c->daemon->last_scope;
	s->pd = pd;
	s->qp_num = qp_num;
	list_init(&s->link);
	list_add_tail(&c->handles.scopes, &s->link);
}

void scope_close(struct scope *s)
{
	list_del(&s->link);
}

uint32_t scope_qp_num(const struct client *c, uint64_t number)
{
	list_foreach (l, &c->handles.scopes) {
		const struct scope *s = list_entry(l, struct scope, link);

		if (s->number == number)
			return s->qp_num;
	}
	return 0;
}
