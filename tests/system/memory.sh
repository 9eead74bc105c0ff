#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a user's programs take no more of the daemon's memory than limits.memory, and it goes back to the
# system when they end. A program that reads no replies causes no more of them.
# Many small regions leave memory maps for other clients.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3

# KiB in memory.
resident() { sed -n 's/^VmRSS:[ \t]*\([0-9]*\).*/\1/p' "/proc/$(pid_of a)/status"; }

a=$(address 0)
daemon a "$a" 'limits: {memory: 128MiB, qps: 1000, pds: 3000, mrs: 65535}'
before=$(resident)
for i in 1 2; do
	timeout 300 "$bin/tests/system/memory" "$(socket_of a)" >"$tmp/memory.log" || fail "memory, run $i"
	eventually 10 none_of a client qp || fail 'objects are left'
done
after=$(resident)
echo "resident: $before KiB, then $after KiB"
# A sanitizer keeps what was freed.
[ "$DDP_SANITIZERS" != none ] || [ $((after - before)) -lt 16384 ] || fail "resident: $before KiB, then $after KiB"
# Regions share memory maps, and no user has all of the daemon's.
timeout 300 "$bin/tests/system/memory" "$(socket_of a)" "$(pid_of a)" >"$tmp/memory.log" || fail 'memory maps'
cat "$tmp/memory.log"
eventually 10 none_of a client mr || fail 'regions are left'
ctl a status >/dev/null || fail 'ddpctl status'
stop a || fail "daemon: exit status $?"
