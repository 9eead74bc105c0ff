/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of ddpctl. */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/field/print.h"
#include "util/option.h"

struct options {
	struct print_opts print;
	const char *socket;
	double timeout;    /* seconds */
	double every;      /* seconds between two outputs, 0: one output */
	uint32_t count;    /* outputs or events, 0: without end */
	const char *batch; /* file of commands, NULL: none */
	bool force;        /* go on after one that fails */
};

/* Before the command line is read; the socket is NULL. */
extern const struct options options_default;

extern const struct option_table options_table;

#endif
