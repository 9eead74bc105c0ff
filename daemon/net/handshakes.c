/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/handshakes.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/acct.h"
#include "daemon/base/state.h"
#include "daemon/net/association.h"

void *handshakes_charge(void *arg, void *user, unsigned most)
{
	struct worker *w = arg;
	const struct association *assoc = user;
	struct acct *a = w->daemon->acct;
	struct acct_charge *c = calloc(1, sizeof(*c));
	char reason[ACCT_REASON_MAX];

	acct_set_total(a, ACCT_HANDSHAKES, most);
	if (c && acct_charge(a, acct_uid(&assoc->paid.opened), ACCT_HANDSHAKES, 1, c, reason,
			     sizeof(reason))) {
		free(c);
		return NULL;
	}
	return c;
}

void handshakes_release(void *arg, void *payment)
{
	(void)arg;
	acct_release(payment);
	free(payment);
}

void handshakes_explain(struct worker *w, uid_t uid, char *ret, size_t len)
{
	struct acct_charge c = {0};

	if (acct_charge(w->daemon->acct, uid, ACCT_HANDSHAKES, 1, &c, ret, len))
		return;
	acct_release(&c);
	snprintf(ret, len, "no memory for a handshake of DTLS");
}
