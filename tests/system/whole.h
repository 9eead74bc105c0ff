/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of whole.c: each opens and closes its own sessions between both ends. */
#ifndef TESTS_SYSTEM_WHOLE_H
#define TESTS_SYSTEM_WHOLE_H

#include "tests/system/rig.h"

struct whole {
	struct end a, b;          /* b listens */
	const char *address;      /* of b's daemon */
	const char *plain_socket; /* of a daemon without RFC 6581 and RFC 7306; NULL: none */
	const char *plain_address;
};

/* An ordinary session of the two ends. */
static inline void whole_open(struct whole *w, struct session *s)
{
	session_open(s, &w->a, &w->b, w->address, NULL);
}

/* whole_data.c */
void whole_sends(struct whole *w);
void whole_writes_and_reads(struct whole *w);
void whole_immediate(struct whole *w);
/* whole_atomics.c */
void whole_atomics(struct whole *w);
void whole_sum(struct whole *w);
/* Another process's share of the sum; its exit status. Arguments: SOCKET ADDRESS PORT ROUNDS
 * NUMBER-OF-THE-SESSION */
int whole_adder(char **argv);
/* whole_windows.c */
void whole_windows_1(struct whole *w);
void whole_windows_2(struct whole *w);
/* whole_regions.c */
void whole_regions(struct whole *w);
void whole_rereg(struct whole *w);
/* whole_notice.c */
void whole_notice(struct whole *w);
/* whole_srq.c */
void whole_srq(struct whole *w);
void whole_srq_share(struct whole *w);
/* whole_late.c */
void whole_late(struct whole *w);
void whole_late_end(struct whole *w);
void whole_late_bounds(struct whole *w);
void whole_late_credits(struct whole *w);
void whole_late_waiting_end(struct whole *w);
void whole_late_refused(struct whole *w);
void whole_late_srq(struct whole *w);
void whole_late_srq_other(struct whole *w);
void whole_late_key(struct whole *w);
void whole_keep(struct whole *w);
void whole_in_order(struct whole *w);
void whole_placed(struct whole *w);
/* whole_enhanced.c */
void whole_enhanced(struct whole *w);
void whole_first_message(struct whole *w);
void whole_refused(struct whole *w);
/* whole_raw.c */
void whole_raw(struct whole *w);
void whole_raw_error(struct whole *w);

#endif
