#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the datapath allocates nothing. A daemon that moves 100 times as many messages between its clients
# calls malloc, calloc and realloc exactly as often. (The transport user allocates blocks
# for data in flight; the loop transport has none.)
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddperf python3
[ "$DDP_SANITIZERS" = none ] || skip "sanitizers replace malloc themselves"

lib=$bin/tests/system/.libs/noalloc.so
[ -f "$lib" ] || fail "$lib is not built"
addr=$(address 0)

# allocations MESSAGES: those of a daemon that carries this many messages of each operation.
allocations() {
	configure a "$addr"
	background a env LD_PRELOAD="$lib" NOALLOC_FILE="$tmp/calls" "$ddpsctpd" -f -c "$tmp/a.yaml"
	eventually 20 test -S "$(socket_of a)" || fail 'the daemon does not start'
	for op in write read send; do
		background serve "$ddperf" -s --once --socket "$(socket_of a)"
		eventually 10 listens || fail 'ddperf does not listen'
		"$ddperf" --socket "$(socket_of a)" -w 0 -c "$1" "$addr" $op bw >"$tmp/perf.log" 2>&1 ||
			fail "ddperf $op"
		eventually 10 gone "$(pid_of serve)" || fail 'ddperf -s --once does not end'
	done
	stop a || fail "daemon: exit status $?"
	cat "$tmp/calls"
}
listens() { grep -q listening "$tmp/serve.log"; }

few=$(allocations 1000) || exit 1
many=$(allocations 100000) || exit 1
echo "1000 messages of each kind: $few calls; 100000: $many"
[ "$few" = "$many" ] || fail 'the datapath allocates'
