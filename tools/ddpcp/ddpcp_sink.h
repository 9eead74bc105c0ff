/* SPDX-License-Identifier: BSD-2-Clause */
/* The side of a copy that gets the files. Whatever the source names, it stays within `dir`. */
#ifndef TOOLS_DDPCP_SINK_H
#define TOOLS_DDPCP_SINK_H

#include "tools/ddpcp/ddpcp_batch.h"
#include "tools/ddpcp/ddpcp_xfer.h"

struct ddpcp_sink {
	struct ddpcp_link *link;
	struct ddpcp_batch *batch;       /* its root is dir; not needed for standard output */
	struct ddpcp_progress *progress; /* may be NULL */
	int dir;                         /* names are relative to it */
	const char
		*base;  /* the file or directory that is called ""; NULL: names are in dir itself */
	uint32_t mask;  /* bits that modes lose without DDPCP_PRESERVE */
	unsigned flags; /* of enum ddpcp_flag: permitted to the source */
	bool to_stdout; /* one file, to standard output */
};

/* The name of a record below dir. Returns 0 or a failure, whose text is in link->reason. */
int ddpcp_sink_name(struct ddpcp_sink *s, const char *name, char full[DDPCP_NAME_MAX + 1]);

/*
 * Executes a PUT or DIR and answers it. *x describes the
 * received file. Returns 0 or a failure, whose text is in link->reason; the session can go on
 * unless link->midway or link->over is set.
 */
int ddpcp_sink_take(struct ddpcp_sink *s, const struct ddpcp_rec *req, struct ddpcp_xfer *x);

#endif
