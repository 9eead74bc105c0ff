/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the rules of `peers` allow an association or a session, by daemon/rules/peer_rules; and
 * the sentence with the rule, for peers, programs and the journal. Programs of this daemon may
 * connect to each other whatever the rules say.
 */
#ifndef DAEMON_NET_PEER_ACCESS_H
#define DAEMON_NET_PEER_ACCESS_H

#include <stdbool.h>

#include "daemon/net/association.h"
#include "daemon/rules/peer_rules.h"

/* Bytes of a sentence. A part of a long path stands for it, so that no part of a message cuts the
 * sentence: the peer gets it in an ABORT, and each end has words of its own before it. */
enum { PEER_ACCESS_REASON = LLP_ABORT_TEXT };

/* How the packets of an association are protected, for those who ask. */
struct peer_access_proof {
	bool covered;                            /* in DTLS */
	bool linked;                             /* the link is up; else no packet passes */
	bool proven;                             /* who the rule says that the peer is */
	char rule[PEER_RULE_TITLE];              /* that says security of the peer; "": none */
	char fingerprint[PEER_FINGERPRINT_TEXT]; /* that the peer has proven; "": none */
};

/* Of one that is up. */
void peer_access_prove(const struct association *assoc, struct peer_access_proof *ret);

/* The same for programs. All zero of one that is not up. */
void peer_access_tell(const struct association *assoc, struct msg_peer_facts *ret);

/* Why a listener with these flags, a set of MSG_LISTEN_, refuses its sessions; NULL: it does not.
 * Programs of this daemon have no packets that somebody could read. */
const char *peer_access_lacks(const struct association *assoc, uint32_t flags);

/* DTLS as the configuration has it: who has to be encrypted, and who may be. */
struct llp_cover peer_access_cover(struct worker *w, const struct llp_cover_files *files);

/* Why this host cannot show who it is to that peer: -EACCES of llp_connect_at(). False, and empty:
 * the peer need not be encrypted, so the kernel has refused the route. */
bool peer_access_explain_lack(const struct worker *w, const struct sockaddr_storage *peer,
			      char ret_reason[PEER_ACCESS_REASON]);

/* The files of it, our own and those of rules. Valid as long as the configuration. */
void peer_access_files(const struct config *cfg, struct llp_cover_files *ret);

/* A new session or association of a program here. True: refused, with the sentence. */
bool peer_access_refuses_connect(const struct worker *w, const struct endpoint_addrs *to,
				 char ret_reason[PEER_ACCESS_REASON]);

/* An association that is up: in the direction of its sessions, each address of the peer counts. */
bool peer_access_refuses(const struct worker *w, struct llp_conn *c, enum peer_direction direction,
			 char ret_reason[PEER_ACCESS_REASON]);

/* The same of one that may still be connecting, in the direction in which it was opened. */
bool peer_access_refuses_association(const struct association *assoc,
				     char ret_reason[PEER_ACCESS_REASON]);

#endif
