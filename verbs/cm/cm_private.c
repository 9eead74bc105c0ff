/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_private.h"

#include <arpa/inet.h>
#include <string.h>

/* On the wire. The sender of this tail takes Sends with Immediate Data. */
struct tail {
	char name[8];
	uint32_t what; /* enum cm_private, in network byte order */
};

_Static_assert(sizeof(struct tail) == CM_PRIVATE_TAIL, "no padding");

static struct tail tail_of(enum cm_private what)
{
	struct tail t = {.what = htonl(what)};

	memcpy(t.name, "ddpverbs", sizeof(t.name));
	return t;
}

void cm_private_make(struct cm_private_data *ret, enum cm_private what, const void *data,
		     size_t len)
{
	const struct tail t = tail_of(what);

	if (len > 0)
		memcpy(ret->bytes, data, len);
	memcpy(ret->bytes + len, &t, sizeof(t));
	ret->len = (uint16_t)(len + sizeof(t));
}

bool cm_private_take(enum cm_private what, const void *data, size_t *len)
{
	const struct tail t = tail_of(what);

	if (*len < sizeof(t) ||
	    memcmp((const uint8_t *)data + *len - sizeof(t), &t, sizeof(t)) != 0)
		return false;
	*len -= sizeof(t);
	return true;
}
