/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much work is done for unknown peers. Each kind of work has its own rate, so that one kind
 * cannot starve another, and each source network has a share of the rate. While more than half of
 * the budget is saved up, all networks are served; below that, only those that have not used up
 * their share. So one flooding network leaves half of the budget to the others, and a flooder needs
 * as many networks as there are shares to use up that half, too.
 *
 * Networks are IPv4 /24 and IPv6 /64: who has one usually has all addresses in it. They share a
 * table of fixed size by a keyed hash that changes every few seconds, so that no network shares an
 * entry with a flooder for long. No memory is allocated.
 */
#ifndef SCTP_BUDGET_H
#define SCTP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/wire/addr.h"

enum sctp_work {
	SCTP_WORK_INIT,   /* INIT of a peer that is not known */
	SCTP_WORK_COOKIE, /* its COOKIE ECHO: it has had an answer, so INITs must not keep it out */
	SCTP_WORK_KNOWN,  /* either one from an address of an association */
	SCTP_WORK_BLUE,   /* packets out of the blue */
	SCTP_WORKS,
};

enum {
	SCTP_BUDGET_NETWORKS = 4096, /* entries of the table */
	SCTP_BUDGET_SHARES = 256,    /* a network's share is one of so many */
	SCTP_BUDGET_SAVE_MS = 500,   /* the work of this time may be saved up */
	SCTP_BUDGET_SHARE_MS = 1000, /* of a network */
};

/* Times are in nanoseconds: the budget up to `spent` is used up, that of the time since is
 * saved. */
struct sctp_budget {
	uint64_t cost;  /* time in which the budget of one piece of work accrues */
	uint64_t start; /* the clock began with a full budget */
	uint64_t key[2];
	uint64_t spent[SCTP_WORKS];
	uint64_t share_spent[SCTP_BUDGET_NETWORKS];
};

enum sctp_budget_result {
	SCTP_BUDGET_OK,
	SCTP_BUDGET_ALL,   /* all is used up */
	SCTP_BUDGET_SHARE, /* it is short, and the network has used its share */
};

/* A full budget. rate: pieces of each kind of work per second, at least 1. key: random. */
void sctp_budget_init(struct sctp_budget *b, unsigned rate, const uint64_t key[2], uint64_t now_us);

/* Asks for one piece of work for a packet from there; OK uses it up. O(1). */
enum sctp_budget_result sctp_budget_take(struct sctp_budget *b, enum sctp_work work,
					 const struct sctp_addr *from, uint64_t now_us);

/* The network that an address is in, as a hash with this key and a number. */
uint64_t sctp_budget_network(const uint64_t key[2], const struct sctp_addr *a, uint32_t number);

#endif
