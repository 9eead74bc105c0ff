/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the service manager, if there is one, that a server can be used. */
#ifndef TOOLS_COMMON_READY_H
#define TOOLS_COMMON_READY_H

/* Once the server listens. No effect without a service manager. */
void ready_tell(void);

#endif
