/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulated IP network: llp/user/udp.h, llp/common/route.h, the clock of llp/user/user.h and
 * getrandom() without a kernel. Hosts have an address in each subnet. Packets, ICMP messages and
 * faults follow from the random numbers of a clock (tests/lib/simclock.h).
 *
 * There is one network per process, because llp/user/udp.h has no argument for it.
 */
#ifndef TESTS_SIM_NETWORK_H
#define TESTS_SIM_NETWORK_H

#include "llp/user/user.h"
#include "tests/lib/simclock.h"
#include "tests/sctp/invariant.h"

enum { NETWORK_HOSTS = 3, NETWORK_SUBNETS = 2, NETWORK_UDP = 9899 };

/* Chances are in 10 000. */
struct network_faults {
	unsigned lose, dup, reorder, corrupt, truncate;
	unsigned full;   /* a socket buffer is full for a while */
	unsigned clock;  /* a clock goes back */
	unsigned refuse; /* the kernel refuses a batch of equal packets */
	unsigned wrap;   /* a random number of 32 bits, as a TSN, is about to wrap */
	uint32_t delay_us, jitter_us;
	uint32_t rate; /* of each host: bytes per ms, 0 = unlimited */
	uint32_t queue_us;
	uint32_t mtu;       /* of the path */
	uint32_t route_mtu; /* of the first hop */
	bool icmp;          /* packets that are too long are answered */
};

struct network_host {
	struct user *user; /* the transport that has the sockets */
	/* Packets have arrived, or a socket has room again. */
	void (*wake)(void *arg);
	void *arg;
	struct judge judge;      /* s is NULL while the transport is opened or closed */
	struct invariant *watch; /* NULL then */
	bool muted;              /* it is silent: it has crashed */
	uint16_t port;           /* its UDP port, as others see it */
	uint64_t paused_until;
	uint64_t offset_us; /* of its clock */
	uint64_t free_us;   /* its link is idle then */
};

struct sim_network {
	struct simclock *clock;
	struct network_faults faults;
	unsigned subnets;
	bool v6;
	struct network_host host[NETWORK_HOSTS];
	bool cut[NETWORK_SUBNETS][NETWORK_HOSTS]; /* no packet of this host passes */
	struct list flying;
	uint64_t sent, lost; /* packets */
	struct judge_before before[JUDGE_ASSOCS];
	unsigned nbefore;
};

/* Makes the network; k and *f are kept or copied. */
struct sim_network *network_new(struct simclock *k, const struct network_faults *f,
				unsigned subnets, bool v6);
/* The sockets are closed. NULL is fine. */
struct sim_network *network_free(struct sim_network *n);

/* The address of a host in a subnet. */
struct sockaddr_storage network_addr(const struct sim_network *n, unsigned host, unsigned subnet);

/* The next sockets that are opened are this host's. */
void network_open(struct sim_network *n, unsigned host);

/* The clock of the host as its programs read it, in microseconds. */
uint64_t network_time(struct sim_network *n, unsigned host);

/* Packets on their way that an idle association sends as well. */
unsigned network_heartbeats(const struct sim_network *n);

/* Called before a host's sctp_run() and sctp_output(): what these do is compared with the state
 * now.
 */
void network_watch(struct sim_network *n, unsigned host);

#endif
