/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting: converts work requests to those of libddpclient. */
#ifndef VERBS_POST_H
#define VERBS_POST_H

#include <endian.h>
#include <infiniband/verbs.h>
#include <stdint.h>

/* A Write with Immediate Data is a Write followed by Immediate Data (RFC 7306), whose 64 bits are
 * the 32 of the program and the length of the Write. A Send with Immediate Data is Immediate Data,
 * with DDP_IMM_MARK instead of a length, followed by a Send. */
static inline uint64_t post_imm(__be32 data, uint32_t len)
{
	return (uint64_t)be32toh(data) << 32 | len;
}

static inline __be32 post_imm_data(uint64_t imm)
{
	return htobe32((uint32_t)(imm >> 32));
}

static inline uint32_t post_imm_len(uint64_t imm)
{
	return (uint32_t)imm;
}

/* Why a Send with Immediate Data fails with this peer. */
#define POST_NO_SEND_IMM                                                                           \
	"IBV_WR_SEND_WITH_IMM: the peer does not use ddpverbs, and a Send of RFC 5040 cannot "     \
	"carry immediate data; use IBV_WR_RDMA_WRITE_WITH_IMM"

/* ibv_post_send(). 0 or a positive errno value. */
int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

#endif
