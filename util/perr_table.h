/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol errors: name, sentence, and the Terminate for the peer (layer, error type, error
 * code of RFC 5040 4.8, RFC 5041 7.2, RFC 6581 8, RFC 7306 8). proto/ddp/perr.h makes an enum of
 * it. Several errors may have the same Terminate: a Terminate of the peer then means the first of
 * them.
 */
#ifndef UTIL_PERR_TABLE_H
#define UTIL_PERR_TABLE_H

/* X(name, layer, etype, code, sentence) */
#define PERR_TABLE(X)                                                                              \
	X(NONE, 0, 0, 0x00, "no error")                                                            \
	X(CATASTROPHIC, 0, 0, 0x00, "local catastrophic error")                                    \
	X(ACCESS_STAG, 0, 1, 0x00, "Read source or atomic target: no such STag")                   \
	X(ACCESS_BOUNDS, 0, 1, 0x01, "Read source or atomic target: outside the region")           \
	X(ACCESS_RIGHTS, 0, 1, 0x02, "Read source or atomic target: missing remote access right")  \
	X(ACCESS_SCOPE, 0, 1, 0x03,                                                                \
	  "Read source or atomic target: STag belongs to another stream or protection domain")     \
	X(ACCESS_WRAP, 0, 1, 0x04,                                                                 \
	  "Read source or atomic target: offset plus length exceeds 2^64")                         \
	X(INV_SCOPE, 0, 1, 0x09,                                                                   \
	  "cannot invalidate an STag of another stream or protection domain")                      \
	X(RDMAP_VERSION, 0, 2, 0x05, "RDMAP version is not supported")                             \
	X(OPCODE, 0, 2, 0x06, "unexpected RDMAP opcode")                                           \
	X(STREAM_CATASTROPHIC, 0, 2, 0x07,                                                         \
	  "catastrophic error of this stream, or a misaligned atomic target")                      \
	X(INV_STAG, 0, 2, 0x09, "cannot invalidate an invalid STag")                               \
	X(RDMAP_LENGTH, 0, 2, 0xff, "RDMAP message has the wrong length")                          \
	X(DDP_CATASTROPHIC, 1, 0, 0x00, "DDP local catastrophic error")                            \
	X(TAGGED_STAG, 1, 1, 0x00, "tagged segment: no such STag, or missing remote write right")  \
	X(TAGGED_BOUNDS, 1, 1, 0x01, "tagged segment: outside the region")                         \
	X(TAGGED_SCOPE, 1, 1, 0x02,                                                                \
	  "tagged segment: STag belongs to another stream or protection domain")                   \
	X(TAGGED_WRAP, 1, 1, 0x03, "tagged segment: offset plus length exceeds 2^64")              \
	X(TAGGED_VERSION, 1, 1, 0x04, "tagged segment: DDP version is not 1")                      \
	X(QN, 1, 2, 0x01, "untagged segment: no such queue")                                       \
	X(NO_BUFFER, 1, 2, 0x02, "untagged segment: no buffer posted for the message")             \
	X(MSN_RANGE, 1, 2, 0x03, "untagged segment: message number out of range")                  \
	X(MO, 1, 2, 0x04, "untagged segment: invalid message offset")                              \
	X(TOO_LONG, 1, 2, 0x05, "untagged segment: message is longer than its buffer")             \
	X(UNTAGGED_VERSION, 1, 2, 0x06, "untagged segment: DDP version is not 1")                  \
	X(ENH_LOCAL, 2, 0, 0x05, "local error during session establishment")                       \
	X(ENH_IRD, 2, 0, 0x06, "insufficient IRD for the Reads that the peer requests")            \
	X(ENH_RTR, 2, 0, 0x07, "no ready-to-receive message that both sides support")              \
	X(LLP_LOST, 2, 0, 0x00, "the association was lost")                                        \
	X(BAD_RECEIVE, 1, 2, 0x02,                                                                 \
	  "untagged segment: the receives posted for the message were invalid")                    \
	X(HOLD_FULL, 1, 0, 0x00,                                                                   \
	  "more segments arrived out of order than the queue pair has room for")                   \
	X(AGENT, 0, 0, 0x00,                                                                       \
	  "the program did not copy the memory that the request names, or not in time")            \
	X(MEMORY, 0, 0, 0x00, "the memory was never written to, and the daemon may fill no more")  \
	X(NOT_READY, 0, 0, 0x00,                                                                   \
	  "the receiver had no receive for a message, for as long as its sender waits")            \
	X(REQUEST, 0, 0, 0x00, "a request of this side failed, and its queue pair stops at errors")

#endif
