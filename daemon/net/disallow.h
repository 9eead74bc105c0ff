/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of `peers` have changed: what they do not allow any more ends. */
#ifndef DAEMON_NET_DISALLOW_H
#define DAEMON_NET_DISALLOW_H

struct worker;

/*
 * Ends the sessions and session requests in a direction that the rules refuse now; their programs
 * here get the sentence with the rule. An association that was opened in such a direction goes on
 * for sessions of the other one; without any it is aborted, and both ends get the sentence.
 */
void disallow_run(struct worker *w);

#endif
