#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: on a host with systemd, what "make install" installs is a service that starts with and without its
# socket unit, moves data, is restarted when it is killed or hangs, reads its configuration again, and stops; it encrypts
# by a key that only root and systemd can read; and its sandbox is as strict as systemd/README.md says. Boots user-mode Linux with a real systemd.
# Runs on the host, in the build folder.
set -u
export LC_ALL=C
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}

# shellcheck source=boot.sh
. "$top_srcdir/tests/kernel/boot.sh"

guest_needs || exit 77
for file in /lib/systemd/systemd /usr/bin/dbus-daemon; do
	[ -x $file ] || { echo "needs $file" && exit 77; }
done

out=$(mktemp) || exit 1
trap 'guest_forget; rm -f "$out"' EXIT
trap 'exit 1' INT TERM HUP
guest_prepare || exit 1
make -s -C "$top_builddir" install DESTDIR="$guest_dir/installed" >"$out" 2>&1 || { cat "$out" && exit 1; }
cp "$top_srcdir/tests/system/lib.sh" "$top_srcdir/tests/kernel/systemd-test" "$top_srcdir/docs/deploy.md" "$guest_dir/" || exit 1
chmod -R u+w,a+rX "$guest_dir"

guest_boot "$top_srcdir/tests/kernel/systemd-init" "${GUEST_SECONDS:-600}" systemd.show_status=0 | tee "$out" &
wait $! # and heed signals meanwhile
if ! grep -q '^guest: passed$' "$out"; then
	grep '^FAILED: ' "$out" || echo 'FAILED: the guest ended before the test'
	exit 1
fi
grep '^score: ' "$out"
