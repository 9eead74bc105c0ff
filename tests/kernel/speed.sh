#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Speed of the transport kernel and of references in the same run: scripts/bench --kernel in the guest. This is no test:
# check-kernel runs it only when it is named. Needs what `make bench-programs` builds.
exec "${top_srcdir:-.}/scripts/bench" --kernel --no-build -b "${top_builddir:-.}" -r 3 -t 2
