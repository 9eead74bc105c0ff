/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statuses of completions, in one table for all layers. Their names and numbers are those of
 * <ddp/ddp.h> (DDP_WC_*), of the entries in the rings (CQE_* of ipc/wqe.h) and of the protocol
 * (RDMAP_* of proto/rdmap/rdmap.h).
 */
#ifndef UTIL_WC_STATUS_H
#define UTIL_WC_STATUS_H

/* Whose error a status is, and which member of a completion has more about it. */
enum wc_status_kind {
	WC_STATUS_PLAIN, /* success, a flush, or an error of the peer */
	WC_STATUS_LOCAL, /* this side found it */
	WC_STATUS_KEY,   /* the same; it is about the key in err_stag */
	WC_STATUS_RANGE, /* the same; it is about err_stag, err_to and err_len */
};

/* X(name, kind, short text, subject, predicate): subject and predicate make a sentence. */
#define WC_STATUS_TABLE(X)                                                                         \
	X(SUCCESS, PLAIN, "success", "the operation", "completed")                                 \
	X(LOC_LEN_ERR, LOCAL, "length error", "the length", "is out of range")                     \
	X(LOC_OP_ERR, LOCAL, "operation error", "the opcode or the flags", "are unknown")          \
	X(LOC_SGE_ERR, LOCAL, "sge count error", "num_sge", "is out of range")                     \
	X(LOC_KEY_ERR, KEY, "lkey error", "the lkey", "does not name a region")                    \
	X(LOC_PD_ERR, KEY, "domain error", "the lkey", "belongs to another protection domain")     \
	X(LOC_ACCESS_ERR, KEY, "access error", "the lkey", "lacks DDP_ACCESS_LOCAL_WRITE")         \
	X(LOC_BOUNDS_ERR, RANGE, "bounds error", "the local range", "is outside the region")       \
	X(REM_ACCESS_ERR, PLAIN, "remote access error", "the peer",                                \
	  "refused the access to its memory: key, bounds or rights")                               \
	X(REM_OP_ERR, PLAIN, "remote operation error", "the peer",                                 \
	  "ended the session because of another error")                                            \
	X(FLUSH_ERR, PLAIN, "flushed", "the session", "ended first")                               \
	X(MW_BIND_ERR, KEY, "bind error", "the window",                                            \
	  "cannot be bound: window, region, rights or bounds do not fit")                          \
	X(RNR_RETRY_EXC_ERR, PLAIN, "RNR retries exceeded", "the peer",                            \
	  "had no receive for the message, for as long as the retries lasted")

#endif
