/* SPDX-License-Identifier: BSD-2-Clause */
/* The only file of the tools that knows libsystemd. */
#include "tools/common/ready.h"

#ifdef HAVE_LIBSYSTEMD

#include <systemd/sd-daemon.h>

void ready_tell(void)
{
	sd_notify(0, "READY=1");
}

#else

void ready_tell(void)
{
}

#endif
