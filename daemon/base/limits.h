/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits of a uid, one row each: the member of struct config_limits and key of the section
 * limits; the kind of charge, ACCT_kind; the type of the member; the type, range and default of the
 * key, in the macros of config_keys.c; what a refusal calls it; help. A new limit is one row.
 */
#ifndef DAEMON_BASE_LIMITS_H
#define DAEMON_BASE_LIMITS_H

/* clang-format off */
#define LIMITS(ROW) \
	ROW(clients, CLIENTS, uint32_t, NUMBER(1, 65535, "64"), \
	    "clients", "connections per uid") \
	ROW(pds, PDS, uint32_t, NUMBER(1, 65535, "256"), \
	    "protection domains", "protection domains per uid") \
	ROW(mrs, MRS, uint32_t, NUMBER(1, 65535, "4096"), \
	    "memory regions", "memory regions per uid") \
	ROW(mr_bytes, MR_BYTES, uint64_t, SIZE(4 * KIB, 65536 * GIB, "64GiB"), \
	    "bytes of registered memory", "registered memory per uid") \
	ROW(mws, MWS, uint32_t, NUMBER(1, 65535, "4096"), \
	    "memory windows", "memory windows per uid") \
	ROW(cqs, CQS, uint32_t, NUMBER(1, 65535, "1024"), \
	    "completion queues", "completion queues per uid") \
	ROW(qps, QPS, uint32_t, NUMBER(1, 65535, "1024"), \
	    "queue pairs", "queue pairs per uid") \
	ROW(srqs, SRQS, uint32_t, NUMBER(1, 65535, "256"), \
	    "shared receive queues", "shared receive queues per uid") \
	ROW(listeners, LISTENERS, uint32_t, NUMBER(0, 65535, "64"), \
	    "listeners", "listeners per uid; 0: no program may listen") \
	ROW(memory, MEMORY, uint64_t, SIZE(MIB, 65536 * GIB, "1GiB"), \
	    "bytes of the daemon's memory", "memory of rings, endpoints and unread records per uid")
/* clang-format on */

#endif
