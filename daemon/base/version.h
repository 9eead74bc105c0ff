/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of the daemon. The version of the local protocol is in ipc/local_protocol.h. */
#ifndef DAEMON_BASE_VERSION_H
#define DAEMON_BASE_VERSION_H

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

#define DAEMON_VERSION PACKAGE_VERSION

#endif
