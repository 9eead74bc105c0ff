/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTP server of ddpmetrics: it asks the daemon for /metrics and for the status page, /. */
#ifndef CTL_EXPORTER_H
#define CTL_EXPORTER_H

#include "ctl/field/exit.h"

struct exporter_conf {
	const char *listen; /* http_listen.h */
	const char *socket; /* of the daemon */
	int timeout_ms;     /* of each record of the daemon */
};

/* Serves until SIGINT or SIGTERM. Failures are printed. */
enum ctl_exit exporter_run(const struct exporter_conf *conf);

#endif
