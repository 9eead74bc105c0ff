/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/handshakes.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/acct.h"
#include "daemon/base/state.h"
#include "daemon/net/association.h"

static void *charge_opener(const struct worker *w, const struct association *assoc,
			   enum acct_kind kind, unsigned most)
{
	struct acct *a = w->daemon->acct;
	struct acct_charge *c = calloc(1, sizeof(*c));
	char reason[ACCT_REASON_MAX];

	acct_set_total(a, kind, most);
	if (c &&
	    acct_charge(a, acct_uid(&assoc->paid.opened), kind, 1, c, reason, sizeof(reason))) {
		free(c);
		return NULL;
	}
	return c;
}

void *handshakes_charge(void *arg, void *user, unsigned most)
{
	return charge_opener(arg, user, ACCT_HANDSHAKES, most);
}

void *handshakes_charge_link(void *arg, void *user, unsigned most)
{
	return charge_opener(arg, user, ACCT_LINKS, most);
}

void handshakes_release(void *arg, void *payment)
{
	(void)arg;
	acct_release(payment);
	free(payment);
}

void handshakes_explain(struct worker *w, uid_t uid, char *ret, size_t len)
{
	static const enum acct_kind kinds[] = {ACCT_LINKS, ACCT_HANDSHAKES};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct acct_charge c = {0};

		if (acct_charge(w->daemon->acct, uid, kinds[i], 1, &c, ret, len))
			return;
		acct_release(&c);
	}
	snprintf(ret, len, "no memory for a handshake of DTLS");
}
