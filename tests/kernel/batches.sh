#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: messages leave and arrive in batches. Two daemons that carry 1 MiB writes in segments of 1400 bytes make
# fewer than one system call, of all kinds, for four messages. Counted by strace.
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddperf strace python3 ip
export DDP_TRANSPORT=kernel
here=$(address 0) there=$(address 1)
bytes=$((64 << 20))

ip link set lo mtu 1464 || fail 'the MTU of lo cannot be set'
daemon a "$here" 'session: {idle_ms: 600000}' 'polling: {budget_us: 0}'
daemon b "$there" 'session: {idle_ms: 600000}' 'polling: {budget_us: 0}'
server serve b "$ddperf" -s --socket "$(socket_of b)"

traced() { grep -q 'attached' "$tmp/trace-$1.log"; }
for name in a b; do
	background "trace-$name" strace -c -S calls -U calls,name -o "$tmp/calls-$name" -p "$(pid_of $name)"
	eventually 20 traced $name || fail "strace does not trace daemon $name"
done
"$ddperf" --socket "$(socket_of a)" -w 0 -S 1M -d 8 -c $((bytes >> 20)) "$there" write bw >"$tmp/perf.log" 2>&1 || fail ddperf

# messages NAME: that its associations sent and received.
messages() {
	ctl "$1" -j assoc | python3 -c '
import json, sys
print(sum(a["tx_segments"] + a["rx_segments"] for a in json.load(sys.stdin)))'
}
for name in a b; do
	n=$(messages $name)
	[ "$n" -gt $((bytes / 1400)) ] || fail "daemon $name: $n messages cannot be $bytes bytes in segments of 1400"
	kill -INT "$(pid_of trace-$name)"
	eventually 20 gone "$(pid_of trace-$name)" || fail 'strace does not end'
	calls=$(awk '$2 == "total" { print $1 }' "$tmp/calls-$name")
	awk '$2 ~ /mmsg$/ { printf "  %s %d\n", $2, $1 }' "$tmp/calls-$name"
	[ "$((calls * 4))" -lt "$n" ] || fail "daemon $name: $calls system calls for $n messages: $(cat "$tmp/calls-$name")"
	counts="${counts:-}daemon $name: $n messages, $calls system calls = 0.$(printf %03d $((calls * 1000 / n))) for each; "
done
echo "${counts%; }"
