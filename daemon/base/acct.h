/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Use and limits of each uid. Every object that a client causes is charged before it exists;
 * the charge lives inside the object and is released with it. A uid at its limit affects only
 * itself, and the refusal names limit, value and use.
 *
 * Besides its own limit a uid has a share of a total for all uids: alone at most three quarters,
 * and beside others at most 1/(n + 1) of the rest that they leave, where n uids hold something of
 * that kind. So who is late still finds some. The total is ACCT_FACTOR times the limit of one, so
 * that two uids reach it; or less by acct_set_total().
 */
#ifndef DAEMON_BASE_ACCT_H
#define DAEMON_BASE_ACCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/config.h"

struct acct;
struct acct_user;
struct drr;

/* Each has a row in limits.c. */
enum acct_kind {
	ACCT_CLIENTS,
	ACCT_PDS,
	ACCT_MRS,
	ACCT_MR_BYTES,
	ACCT_MWS,
	ACCT_CQS,
	ACCT_QPS,
	ACCT_SRQS,
	ACCT_LISTENERS,
	ACCT_ASSOCS,
	ACCT_MEMORY,
	ACCT_HELD,
	ACCT_SPARSE,
	ACCT_MAPS,        /* memory maps of the daemon */
	ACCT_DESCRIPTORS, /* of the daemon */
	/* Of these, users hear only when they are refused: */
	ACCT_RESERVE,    /* connections of ddpctl beyond limits.clients */
	ACCT_HANDSHAKES, /* of DTLS, that go on */
	ACCT_LINKS,      /* of DTLS */
	ACCT_ADMINS,     /* those of administrators, with their descriptors */
	ACCT_KINDS,
};

enum {
	ACCT_E_OK,
	ACCT_E_LIMIT, /* the uid would exceed its limit */
};

enum {
	ACCT_REASON_MAX = 192, /* every sentence fits */
	ACCT_FACTOR = 4,
	ACCT_FORMER = 64,
};

/* The traffic of queue pairs: messages, and bytes of payload. */
struct acct_traffic {
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes;
};

static inline void acct_traffic_add(struct acct_traffic *sum, struct acct_traffic t)
{
	sum->tx_msgs += t.tx_msgs;
	sum->rx_msgs += t.rx_msgs;
	sum->tx_bytes += t.tx_bytes;
	sum->rx_bytes += t.rx_bytes;
}

/* All zero: no charge. A charge must not be copied. */
struct acct_charge {
	struct acct_user *user;
	enum acct_kind kind;
	uint64_t amount;
};

/* The limits are copied. Returns 0 or -ENOMEM. */
int acct_new(const struct config_limits *limits, struct acct **ret);

/*
 * Replaces the limits. A uid that exceeds a new limit keeps its objects and is refused more.
 */
void acct_set_limits(struct acct *a, const struct config_limits *limits);

/* The most that all uids together may have of a kind; at first a kind without a key of ours is
 * unbounded. */
void acct_set_total(struct acct *a, enum acct_kind kind, uint64_t total);

/* Every charge must have been released. NULL is fine. */
struct acct *acct_free(struct acct *a);

/*
 * Charges the uid. Returns 0; ACCT_E_LIMIT with a sentence in ret_reason ("uid 1000 has 4096 of
 * 4096 memory regions (limits.mrs)"); or -ENOMEM.
 */
int acct_charge(struct acct *a, uid_t uid, enum acct_kind kind, uint64_t amount,
		struct acct_charge *ret, char *ret_reason, size_t reason_len);

/* The same whatever the limit, for memory that the number of objects bounds. Returns 0 or -ENOMEM.
 */
int acct_charge_granted(struct acct *a, uid_t uid, enum acct_kind kind, uint64_t amount,
			struct acct_charge *ret);

/*
 * Changes the amount of a charge. Returns 0, or ACCT_E_LIMIT as above with the charge unchanged. A
 * smaller amount always succeeds, and so does returning to the former amount at once.
 */
int acct_change(struct acct *a, struct acct_charge *c, uint64_t amount, char *ret_reason,
		size_t reason_len);

/* Releases and clears the charge: a second call has no effect. */
void acct_release(struct acct_charge *c);

/* Whose charge it is. */
uid_t acct_uid(const struct acct_charge *c);

/* How much the uid uses. */
uint64_t acct_used(const struct acct *a, uid_t uid, enum acct_kind kind);

/* How much the uid may have now, beside the others. */
uint64_t acct_limit(const struct acct *a, uid_t uid, enum acct_kind kind);

/* How often it was refused more of that, while it had anything. */
uint64_t acct_refused(const struct acct *a, uid_t uid, enum acct_kind kind);

/* Trees of users who take turns. */
enum acct_tree {
	ACCT_SENDS,
	ACCT_REQUESTS,
	ACCT_BELLS,
	ACCT_TREES,
};

/* The node of the charge's uid in that tree, below root. It lives as long as the charge. */
struct drr *acct_turn(const struct acct_charge *c, enum acct_tree tree, struct drr *root);

/* A queue pair ends: adds its traffic to the sum of the charge's uid. */
void acct_add_traffic(const struct acct_charge *c, struct acct_traffic carried);

/* That sum. It outlives the last charge of the uid, for the last ACCT_FORMER such uids.
 */
struct acct_traffic acct_traffic(const struct acct *a, uid_t uid);

/* The charge's uid named memory of a peer that it may not use. */
void acct_add_guess(const struct acct_charge *c);

/* How often it did, since it has a charge. */
uint64_t acct_guesses(const struct acct *a, uid_t uid);

/* The smallest uid from that one on with a charge, or, if former, with a sum that is kept. False
 * if no such uid follows. */
bool acct_next_uid(const struct acct *a, uint64_t from, bool former, uid_t *ret);

/* The key that sets the limit: "limits.mrs". */
const char *acct_key(enum acct_kind kind);

#endif
