/* SPDX-License-Identifier: BSD-2-Clause */
/* The public header, with its functions visible outside the library: for files that define them. */
#ifndef DDP_EXPORTED_H
#define DDP_EXPORTED_H

#pragma GCC visibility push(default)
#include <ddp/ddp.h>
#pragma GCC visibility pop

#endif
