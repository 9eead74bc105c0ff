/* SPDX-License-Identifier: BSD-2-Clause */
/* Exit statuses of ddpctl. Scripts rely on them. */
#ifndef CTL_EXIT_H
#define CTL_EXIT_H

enum ctl_exit {
	CTL_EXIT_OK = 0, /* also if no object matched a filter */
	CTL_EXIT_FAILED = 1,
	CTL_EXIT_USAGE = 2,
	CTL_EXIT_NO_DAEMON = 3,
	CTL_EXIT_PERMISSION = 4,
	CTL_EXIT_NO_OBJECT = 5, /* the named object does not exist */
	CTL_EXIT_VERSION = 6,   /* the daemon speaks another version */
	CTL_EXIT_TIMEOUT = 124,
};

#endif
