#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: memory that can neither be shared nor adopted works as a region, over the network and within one daemon. A
# program whose agent stops, ends or writes malformed data harms only itself.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
programs=$bin/tests/system

a=$(address 0) b=$(address 1) c=$(address 2) d=$(address 3)
daemon a "$a"
daemon d "$d"
# A limit that a busy machine keeps, and one that makes malformed answers end soon.
daemon b "$b" 'session: {connect_ms: 60000, agent_ms: 5000}'
daemon c "$c" 'session: {connect_ms: 60000, agent_ms: 200}'

# run NAME PROGRAM...: side by side, because most of the time they wait for timers.
runs=
run() {
	background "run-$1" timeout 300 "$programs/$2" "${@:3}"
	runs="$runs $1"
}
run network agent_memory "$(socket_of a)" "$(socket_of d)" "$d"
run inside agent_memory "$(socket_of d)" "$(socket_of d)" "$d"
run stop-network agent_ends stop "$(socket_of a)" "$(socket_of b)" "$b"
run stop-inside agent_ends stop "$(socket_of b)" "$(socket_of b)" "$b"
for lane in 0 1; do
	run malformed-network-$lane agent_ends malformed "$(socket_of a)" "$(socket_of c)" "$c" $lane
	run malformed-inside-$lane agent_ends malformed "$(socket_of c)" "$(socket_of c)" "$c" $lane
done
for name in $runs; do
	wait "$(pid_of "run-$name")" || fail "$name"
done
for name in a b c d; do
	eventually 20 none_of $name client session qp mr cq || fail "daemon $name keeps objects"
done
for name in a b c d; do
	stop $name || fail "daemon $name: exit status $?"
done
