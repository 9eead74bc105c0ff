/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports that accept associations. */
#include <string.h>

#include "sctp/base/alloc.h"
#include "sctp/base/lookup.h"

static bool is_taken(struct sctp *s, const uint8_t *local, unsigned n, uint16_t port)
{
	for (unsigned i = 0; i < n; i++)
		if (sctp_lookup_listener(s, port, local[i]))
			return true;
	if (n > 0)
		return false;
	list_foreach (it, &s->listeners) {
		if (list_entry(it, struct sctp_listener, all)->port == port)
			return true;
	}
	return false;
}

int sctp_listen(struct sctp *s, const uint8_t *local, unsigned n, bool all, uint16_t port,
		void *user, struct sctp_listener **ret)
{
	struct sctp_listener *l;

	if (is_taken(s, local, n, port))
		return SCTP_E_IN_USE;
	l = sctp_alloc(s, sizeof(*l));
	if (!l)
		return SCTP_E_MEMORY;
	l->s = s;
	l->user = user;
	l->port = port;
	l->all_addrs = all;
	l->n = n < SCTP_MAX_LOCAL ? n : SCTP_MAX_LOCAL;
	if (l->n)
		memcpy(l->local, local, l->n);
	list_add_tail(&s->listeners, &l->all);
	*ret = l;
	return SCTP_E_OK;
}

struct sctp_listener *sctp_unlisten(struct sctp *s, struct sctp_listener *l)
{
	if (!l)
		return NULL;
	/* Associations that were not announced yet. */
	list_foreach_safe (it, &s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		if (a->origin.listener == l)
			sctp_assoc_free(a);
	}
	list_del(&l->all);
	sctp_release(s, l, sizeof(*l));
	return NULL;
}
