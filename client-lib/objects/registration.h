/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers regions with the daemon: one, or several with one wake-up of it. */
#ifndef DDP_REGISTRATION_H
#define DDP_REGISTRATION_H

#include <stdint.h>

#include "client-lib/context/request.h"
#include "ipc/msg.h"

struct mr;

/* The part of a memfd to register, and how its memory is shared. */
struct registration_source {
	int fd;
	uint64_t offset;
	uint32_t rung, reason; /* RUNG_ */
};

/* mr has its public members but for the keys. */
struct registration {
	struct mr *mr;
	struct registration_source src;
	unsigned access; /* a set of DDP_ACCESS_ */

	/* Of the functions here. */
	struct msg_reg_own_mr req;
	struct msg_mr reply;
};

/* Registers all with the daemon, or none; 1 .. REQUEST_LIST_MAX of one domain. Then they are among
 * the regions of the context and have their keys. call: name of the public function. Returns 0, or
 * a failure with the reason set. */
int registration_run(struct registration *g, unsigned n, const char *call);

/* The request for it alone, in the domain `pd` of ctx, which may be another context than that of
 * the region. Valid as long as *g. */
struct request registration_request(struct registration *g, const struct ddp_ctx *ctx, uint32_t pd,
				    const char *call);

#endif
