#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# QEMU (package qemu-system-x86): a guest that runs moves with `migrate rdma:`, and runs at its new place.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs qemu-system-x86_64 python3
hosts

# A guest of one boot sector: it counts at 0x8000 as fast as it can.
printf '\372\061\300\216\330\146\377\006\000\200\353\371' >"$tmp/disk"
truncate -s 510 "$tmp/disk"
printf '\125\252' >>"$tmp/disk"
truncate -s 1M "$tmp/disk"
guest() {
	echo "qemu-system-x86_64 -accel tcg -m ${GUEST_MEMORY:-256} -display none -nodefaults -vga none \
		-drive file=$tmp/disk,format=raw,if=ide,snapshot=on -qmp unix:$tmp/$1.qmp,server=on,wait=off"
}
on a
# shellcheck disable=SC2046
background to "${with[@]}" $(guest to) -incoming rdma:$a:4444
on b
# shellcheck disable=SC2046
background from "${with[@]}" $(guest from)
eventually 20 test -S "$tmp/to.qmp" && eventually 20 test -S "$tmp/from.qmp" || fail 'a guest does not start'
timeout 200 python3 "$top_srcdir/tests/programs/qemu_migrate.py" "$tmp/from.qmp" "$tmp/to.qmp" rdma:$a:4444 >"$tmp/said.log" 2>&1 ||
	fail "migration: $(tail -n 3 "$tmp/said.log")"
eventually 10 clean || fail 'qemu leaves something in a daemon'
hosts_end
version qemu-system-x86 "$(tail -n 1 "$tmp/said.log")"
