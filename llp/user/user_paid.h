/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of DTLS that programs here have caused, and their handshakes: who pays for each until it
 * has ended. */
#ifndef LLP_USER_PAID_H
#define LLP_USER_PAID_H

#include "llp/common/llp_sctp.h"
#include "llp/dtls/dtls.h"

enum { USER_LINKS = LLP_SCTP_MAX_CONNS, USER_HANDSHAKES = 256, USER_HANDSHAKE_S = 10 };

struct user_payment {
	struct dtls_flow flow;
	uint64_t until_us; /* it has ended then in any case */
	void *by;          /* of llp_cover.pays(); NULL: unused */
};

struct user_paid {
	unsigned n, links; /* links: that somebody pays for */
	struct user_payment of[USER_HANDSHAKES];
};

/*
 * Somebody wants a link: begins a handshake that he pays for, unless there is one that somebody
 * pays for, and pays for the link if it was not there; user is that of llp_connect_at(). -EDQUOT:
 * he has too many; or as dtls_renew().
 */
int llp_user_paid_begin(struct user_paid *p, const struct llp_cover *cfg, struct dtls *d,
			const struct dtls_flow *flow, void *user, uint64_t now_us);

/* The handshake of a link has ended: there is the next event of it. */
void llp_user_paid_end(struct user_paid *p, const struct llp_cover *cfg,
		       const struct dtls_flow *flow);

/* A link that somebody has paid for is gone. */
void llp_user_paid_drop(struct user_paid *p, const struct llp_cover *cfg, void *payment);

/* All have, because the transport is closed. */
void llp_user_paid_end_all(struct user_paid *p, const struct llp_cover *cfg);

#endif
