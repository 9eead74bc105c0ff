/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ddpctl explain`: the meanings of the codes of Terminates and of the statuses of completions. The
 * rows are made into records like those of the daemon, so that they are printed in the same ways,
 * without a request to the daemon.
 */
#ifndef CTL_EXPLAIN_H
#define CTL_EXPLAIN_H

#include "ctl/field/field.h"
#include "ctl/field/query.h"

/* The fields of a row, for print_records(). */
extern const struct field_object explain_object;

/*
 * The row that code names: "0x1101", "1/1/01" (layer, error type, code in hexadecimal), a name like
 * "TAGGED_BOUNDS" or "DDP_WC_FLUSH_ERR" in either case, also without "DDP_WC_", or the number of a
 * status, "10"; NULL: all rows. Failures are printed here: CTL_EXIT_USAGE for a text that is
 * neither a code nor a name, CTL_EXIT_NO_OBJECT for a code or number that is not defined. On
 * failure ret is untouched.
 */
enum ctl_exit explain_code(const char *code, struct query_reply *ret);

#endif
