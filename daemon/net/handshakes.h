/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of DTLS that programs here cause by opening associations, and their handshakes: their users
 * pay. */
#ifndef DAEMON_NET_HANDSHAKES_H
#define DAEMON_NET_HANDSHAKES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct worker;

/* For struct llp_cover: arg is the worker, user an association, and a payment the charge. */
void *handshakes_charge(void *arg, void *user, unsigned most);
void *handshakes_charge_link(void *arg, void *user, unsigned most);
void handshakes_release(void *arg, void *payment);

/* Why the user could not have another one when association_get() returned -EDQUOT. */
void handshakes_explain(struct worker *w, uid_t uid, char *ret, size_t len);

#endif
