#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the calls of ddp_easy.h do what ddp_easy(3) says, and leave nothing in the daemons. A listener survives
# restarts of its daemon, also one that refuses it at first.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"
timeout 300 "$bin/tests/system/easy" "$(socket_of a)" "$(socket_of b)" "$b" "$(address 2)" >"$tmp/easy.log" 2>&1 ||
	fail "easy: exit status $?"
for name in a b; do
	eventually 10 none_of "$name" qp cq mr mw listener || fail "objects are left in $name"
done

background orphan timeout 300 "$bin/tests/system/easy" "$(socket_of a)" "$(socket_of b)" "$b" - orphan
eventually 10 grep -qx 'ok waits' "$tmp/orphan.log" || fail 'no connection'
stop a KILL
wait "$(pid_of orphan)" || fail "easy without its daemon: exit status $?"
stop b || fail "daemon b: exit status $?"

daemon a "$(address 0)"
daemon b "$b"
background survivor timeout 300 "$bin/tests/system/easy" "$(socket_of a)" "$(socket_of b)" "$b" - survive
visits() { grep -c '^ok visited' "$tmp/survivor.log"; }
# While nobody may listen, it waits.
refused() { [ "$(grep -c ': LISTEN$' "$tmp/b.log")" -ge 3 ]; }
visited() { [ "$(visits)" -gt "$(($1 + 2))" ]; }
eventually 10 visited 0 || fail 'no visit'
for signal in TERM KILL; do
	kill -$signal "$(pid_of b)"
	eventually 15 gone "$(pid_of b)" || fail 'b does not end'
	daemon b "$b" 'ports: ["1-65535 60011"]' 'log: {level: debug}'
	eventually 20 refused || fail 'it is not refused'
	stop b || fail "daemon b: exit status $?"
	daemon b "$b"
	before=$(visits)
	eventually 20 visited "$before" || fail "no visit after SIG$signal"
done
! gone "$(pid_of survivor)" || fail 'the listener did not survive'
