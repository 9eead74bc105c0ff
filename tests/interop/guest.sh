#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: Linux answers to sequences of packets as expected.tsv says. Boots user-mode Linux, whose clock stands still while
# it works, so that a busy host changes nothing. Runs on the host, in the build folder.
set -u
export LC_ALL=C GUEST_CLOCK=virtual
top_builddir=$(cd "${top_builddir:-.}" && pwd -P)
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}

# shellcheck source=../kernel/boot.sh
. "$top_srcdir/tests/kernel/boot.sh"

guest_needs || exit 77
[ -x "$top_builddir/tests/interop/host_linux" ] || { echo 'needs tests/interop/host_linux, which needs libsctp' && exit 77; }

out=$(mktemp) || exit 1
trap 'guest_forget; rm -f "$out"' EXIT
trap 'exit 1' INT TERM HUP
guest_prepare "$top_srcdir" "$top_builddir" || exit 1
echo "export top_srcdir='$top_srcdir' top_builddir='$top_builddir' INTEROP='${INTEROP:-}'" >"$guest_dir/environment"

guest_boot "$top_srcdir/tests/interop/guest-init" "${GUEST_SECONDS:-800}" >"$out" &
wait $! # and heed signals meanwhile
grep -E '^(FAILED: |linux)' "$out"
if ! grep -q '^guest: passed$' "$out"; then
	echo 'FAILED: the guest did not pass, or ended before the test'
	exit 1
fi
