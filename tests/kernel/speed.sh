#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Speed of the kernel's transport next to references of the same run: scripts/bench --kernel in the guest. No test:
# check-kernel runs it when it is named. Needs what `make bench-programs` builds.
exec "${top_srcdir:-.}/scripts/bench" --kernel --no-build -b "${top_builddir:-.}" -r 3 -t 2
