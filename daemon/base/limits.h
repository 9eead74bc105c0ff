/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits of a uid, a row each. The columns:
 * member of struct config_limits, and key of the section limits;
 * kind of charge, ACCT_kind;
 * type of the member;
 * type, range and default of the key, in the macros of config_keys.c;
 * table of struct client and its entries at most, TABLE(member, most), or NO_TABLE;
 * capability that programs can query, CAP(member of struct msg_caps), or NO_CAP;
 * what a refusal calls it;
 * help.
 */
#ifndef DAEMON_BASE_LIMITS_H
#define DAEMON_BASE_LIMITS_H

/* clang-format off */
#define LIMITS(ROW) \
	ROW(clients, CLIENTS, uint32_t, NUMBER(1, 65535, "1024"), NO_TABLE, NO_CAP, \
	    "clients", "connections per uid") \
	ROW(pds, PDS, uint32_t, NUMBER(1, 65535, "1024"), TABLE(pds, 65535), CAP(max_pd), \
	    "protection domains", "protection domains per uid") \
	ROW(mrs, MRS, uint32_t, NUMBER(1, 65535, "16384"), TABLE(mrs, 65535), CAP(max_mr), \
	    "memory regions", "memory regions per uid") \
	ROW(mr_bytes, MR_BYTES, uint64_t, SIZE(4 * KIB, 65536 * GIB, "64GiB"), NO_TABLE, \
	    CAP(max_mr_bytes), \
	    "bytes of registered memory", "registered memory per uid") \
	ROW(mws, MWS, uint32_t, NUMBER(1, 65535, "16384"), TABLE(mws, 65535), CAP(max_mw), \
	    "memory windows", "memory windows per uid") \
	ROW(cqs, CQS, uint32_t, NUMBER(1, 65535, "4096"), TABLE(cqs, 65535), CAP(max_cq), \
	    "completion queues", "completion queues per uid") \
	ROW(qps, QPS, uint32_t, NUMBER(1, 65535, "8192"), TABLE(qps, BELL_QUEUES), CAP(max_qp), \
	    "queue pairs", "queue pairs per uid") \
	ROW(srqs, SRQS, uint32_t, NUMBER(1, 65535, "1024"), TABLE(srqs, 65535), CAP(max_srq), \
	    "shared receive queues", "shared receive queues per uid") \
	ROW(listeners, LISTENERS, uint32_t, NUMBER(0, 65535, "1024"), TABLE(listeners, 65535), NO_CAP, \
	    "listeners", "listeners per uid; 0: no program may listen") \
	ROW(memory, MEMORY, uint64_t, SIZE(MIB, 65536 * GIB, "1GiB"), NO_TABLE, NO_CAP, \
	    "bytes of the daemon's memory", "memory of rings, endpoints and unread records per uid")
/* clang-format on */

#endif
