/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw DDP mode: RFC 5041 without RDMAP. The ULP chooses queue numbers and RsvdULP and decides when
 * a stream ends. Only the differences to RDMAP are here.
 */
#ifndef PROTO_RDMAP_RAW_H
#define PROTO_RDMAP_RAW_H

#include "proto/rdmap/rdmap_ep.h"

/* Checks a request: a Send or a Write whose RsvdULP and queue number fit the header. RDMAP_SUCCESS
 * or the error. */
enum rdmap_status rdmap_raw_check(const struct rdmap_wr *wr);

/* Fills in the header: queue or buffer, and RsvdULP (RFC 5041 4.2, 4.3). */
void rdmap_raw_address(const struct rdmap_wr *wr, struct wire_ddp *h);

/* As rdmap_rx_place(), after the check of DDP version and queue number. */
enum perr rdmap_raw_place(struct rdmap *ep, const struct ssn_rec *c, struct span *dst,
			  unsigned *ret_n);

/* Delivers a segment in order. PERR_NONE, or the error to report. */
enum perr rdmap_raw_deliver(struct rdmap *ep, const struct ssn_rec *c);

#endif
