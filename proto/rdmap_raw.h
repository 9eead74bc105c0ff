/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw DDP mode: RFC 5041 without RDMAP above it. The ULP's queue numbers, its RsvdULP, its
 * word when a stream ends. What the endpoint does differently is here; all else is shared.
 */
#ifndef PROTO_RDMAP_RAW_H
#define PROTO_RDMAP_RAW_H

#include "proto/rdmap_ep.h"

/* A request: only Sends and Writes, and only what the header has room for. */
enum rdmap_status rdmap_raw_judge(const struct rdmap_wr *wr);

/* Its header: queue or buffer, and RsvdULP (RFC 5041 4.2, 4.3). */
void rdmap_raw_address(const struct rdmap_wr *wr, struct wire_ddp *h);

/* As rdmap_rx_place(), the version of DDP and the queue number being checked. */
enum perr rdmap_raw_place(struct rdmap *ep, const struct ssn_rec *c, struct span *dst,
			  unsigned *ret_n);

/* A segment in its turn. PERR_NONE, or the error to report. */
enum perr rdmap_raw_deliver(struct rdmap *ep, const struct ssn_rec *c);

#endif
