/* SPDX-License-Identifier: BSD-2-Clause */
/* The cases, one table a subject. Rows are ids of the conformance table. */
#ifndef TESTS_RAW_CASE_H
#define TESTS_RAW_CASE_H

struct raw_case {
	const char *name;
	const char *rows; /* with blanks in between */
	void (*run)(void);
};

/* A table ends with a case without a name. */
extern const struct raw_case
	case_bytes[]; /* the peer itself: its messages have the bytes of the RFCs */
extern const struct raw_case case_packet[];  /* RFC 5043 5, 7 to 11: what the packets show */
extern const struct raw_case case_session[]; /* RFC 5043 5, 6 */
extern const struct raw_case case_pattern[]; /* RFC 5043 6.1: what is in no legal pattern */
extern const struct raw_case case_order[];   /* RFC 5043 6, 10: DDP-SSNs */
extern const struct raw_case case_ddp[];     /* RFC 5041 7: errors */
extern const struct raw_case case_place[];   /* RFC 5041 4, 5: placement and delivery */
extern const struct raw_case case_opcode[];  /* RFC 5040 4 */
extern const struct raw_case case_read[];    /* RFC 5040 5.2, as the responder */
extern const struct raw_case case_request[]; /* RFC 5040 5.2, as the requester */
extern const struct raw_case case_term[];
extern const struct raw_case case_unread[];      /* RFC 5040 4.8, 5.3, 5.4 */
extern const struct raw_case case_sender[];      /* what the daemon sends, byte by byte */
extern const struct raw_case case_unread[];      /* events that the program leaves unread */
extern const struct raw_case case_bare[];        /* RFC 5041 without RDMAP */
extern const struct raw_case case_atomic[];      /* RFC 7306 5, as the responder */
extern const struct raw_case case_imm[];         /* RFC 7306 6, and 5 as the requester */
extern const struct raw_case case_enh_passive[]; /* RFC 6581, as the responder */
extern const struct raw_case case_enh_active[];  /* RFC 6581, as the initiator */

#endif
