/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of protocol numbers, for the messages and traces of tests. "?" for an unknown number. */
#ifndef TESTS_LIB_NAMES_H
#define TESTS_LIB_NAMES_H

/* enum rdmap_op: "write", "read" and so on. */
const char *names_op(unsigned op);

/* enum rdmap_status: "success", "flushed" and so on. */
const char *names_status(unsigned status);

/* enum perr: "TAGGED_BOUNDS" and so on. */
const char *names_perr(unsigned perr);

/* enum wire_func: "Initiate" and so on. */
const char *names_func(unsigned func);

/* enum wire_opcode: "RDMA Write" and so on. */
const char *names_opcode(unsigned opcode);

#endif
