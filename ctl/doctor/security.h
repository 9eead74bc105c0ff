/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of the keys and certificates of DTLS, and of the rules that need them. */
#ifndef CTL_SECURITY_H
#define CTL_SECURITY_H

#include "ctl/field/args.h"
#include "ctl/field/query.h"

enum { SECURITY_FINDINGS = 24, SECURITY_TEXT = 512 };

struct security_finding {
	char check[32];
	char remedy[SECURITY_TEXT]; /* "": it is no fault */
	char text[SECURITY_TEXT];
};

/* Judges the configuration as the daemon shows it. Returns how many findings there are. */
unsigned security_judge(const struct query_reply *config,
			struct security_finding ret[SECURITY_FINDINGS]);

/* Asks the daemon for its configuration. Returns how many findings there are. */
unsigned security_check(const struct ddpctl *ctl, struct security_finding ret[SECURITY_FINDINGS]);

#endif
