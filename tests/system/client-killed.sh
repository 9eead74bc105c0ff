#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: kill -9 of a client frees all its objects, at both ends, and the daemons continue.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3

daemon a "$(address 0)"
daemon b "$(address 1)"
server pong b "$ddping" -s --socket "$(socket_of b)"

has_session() { [ "$(count "$1" session)" -gt 0 ]; }
mr_bytes() { ctl a -j status | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["mr_bytes"])'; }

for round in 1 2 3; do
	background ping "$ddping" --socket "$(socket_of a)" -i 0 -q -S 262144 "$(address 1)"
	eventually 10 has_session a || fail "round $round: no session"
	[ "$(mr_bytes)" -ge 524288 ] || fail "round $round: mr_bytes $(mr_bytes)"
	stop ping KILL
	eventually 10 none_of a session qp mr cq client || fail "round $round: objects are left: $(ctl a -j qp) $(ctl a -j mr)"
	[ "$(mr_bytes)" -eq 0 ] || fail "round $round: mr_bytes $(mr_bytes)"
	eventually 20 none_of b session || fail "round $round: the peer keeps the session"
done

# The server.
"$ddping" --socket "$(socket_of a)" -c 3 -i 0 -q "$(address 1)" >"$tmp/after.log" 2>&1 || fail 'ddping after that'
stop pong KILL
eventually 10 none_of b session qp mr cq client listener || fail 'objects of the server are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
