/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The half of a queue pair that sends and receives datagrams, in the place of the protocol's
 * endpoint. It takes requests and receives through struct rdmap_ops, as an endpoint does, and holds
 * none: a request completes when its datagram was handed over, whatever becomes of that. After one
 * that has failed here, as with memory that it may not read, others are flushed.
 */
#ifndef DAEMON_OBJECTS_DATAGRAM_H
#define DAEMON_OBJECTS_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/objects/datagrams/numbers.h"
#include "proto/ddp/stag.h"

struct carrier_owner;
struct client;
struct flight;
struct rdmap_ops;
struct worker;

struct datagram_cfg {
	struct client *client;
	const struct rdmap_ops *ops; /* take_send, take_recv, complete, touch */
	/* Sends it to another daemon. False: it is dropped. */
	bool (*carry)(void *user, const struct flight *f);
	void *user;
	struct stag_accessor accessor; /* protection domain and scope */
	uint32_t number;
};

struct datagram {
	struct number number;           /* that datagrams name */
	struct number first;            /* its own, if it has taken that of another one */
	struct carrier_owner *carriers; /* of its user: sessions with other daemons */
	bool stopped;                   /* a request has failed: those after it are flushed */
	uint32_t qkey;                  /* that datagrams to it must have */
	struct client *client;
	const struct rdmap_ops *ops;
	bool (*carry)(void *user, const struct flight *f);
	void *user;
	struct stag_accessor accessor;
	struct acct_traffic traffic; /* sent and received, without those that were dropped */
	uint64_t tx_dropped;         /* sent to a number that nobody has here, or not sent */
	uint64_t rx_dropped;         /* for it: with another Q_Key, or without a receive */
};

/* From now on datagrams reach it. NULL: out of memory. */
struct datagram *datagram_new(const struct datagram_cfg *cfg);

/* Sends datagrams of the send ring, as many as a bell permits. Returns their cost in bells: of each
 * request, and of the bytes that were sent. *ret_more: there may be others. */
unsigned datagram_send(struct datagram *d, bool *ret_more);

/* Gives it to the queue pair of this daemon that has the number. False: none has it. */
bool datagram_deliver(struct worker *w, const struct flight *f);

/* Datagrams do not reach it any more. It keeps its number. */
void datagram_stop(struct datagram *d);

/* Sets the Q_Key; requests are sent again after one that has failed. */
void datagram_set_qkey(struct datagram *d, uint32_t qkey);

/* NULL is fine; returns NULL. */
struct datagram *datagram_free(struct datagram *d);

#endif
