#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rdma-core's own tests (package python3-pyverbs), each in a process of its own, over one device and over two: as
# tests/system/verbs-pyverbs.list says.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
"$top_srcdir/tests/system/verbs-pyverbs.sh" >"$tmp/said" 2>&1
status=$?
if [ $status -ne 0 ]; then
	cat "$tmp/said"
	exit $status
fi
version python3-pyverbs "$(sed -n 's/^one device: //p' "$tmp/said")"
