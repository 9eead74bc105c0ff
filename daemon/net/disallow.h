/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of `peers` have changed: what they do not allow any more ends. */
#ifndef DAEMON_NET_DISALLOW_H
#define DAEMON_NET_DISALLOW_H

struct worker;

/*
 * Aborts the associations that were opened in a direction that the rules refuse now, and those with
 * sessions or session requests in such a direction. Both ends get the sentence with the rule. The
 * others go on.
 */
void disallow_run(struct worker *w);

#endif
