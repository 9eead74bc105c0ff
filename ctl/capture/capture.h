/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl capture`: the packets of the daemon as a file that Wireshark reads. */
#ifndef CTL_CAPTURE_H
#define CTL_CAPTURE_H

#include "ctl/field/args.h"

/* FILE [assoc ID | qp NUMBER] [snap BYTES]: writes packets until SIGINT, SIGTERM, opts.count
 * packets or the end of the daemon, then a line with their number on stderr. */
enum ctl_exit capture_run(struct ddpctl *c, int n, char **args);

#endif
