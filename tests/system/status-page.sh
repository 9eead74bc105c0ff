#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpmetrics serves a status page that needs nothing from elsewhere and whose policy runs no other script. At a loopback
# address it shows sums alone; at a UNIX socket associations, sessions, programs and the last errors. Requests that name another
# host are refused, lists are bounded, and without the daemon it says why. scripts/check-pages looks at it with a browser.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddping ddpmetrics python3
ddpmetrics=$bin/ddpmetrics
check() { PYTHONDONTWRITEBYTECODE=1 python3 "$top_srcdir/tests/system/status_page.py" "$@" >"$tmp/check.log" 2>&1 || fail "$*"; }

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"
server pong b "$ddping" -s --socket "$(socket_of b)"
background ping "$ddping" --socket "$(socket_of a)" -i 0.05 -c 100000 "$b"
eventually 10 grep -q 'bytes from' "$tmp/ping.log" || fail 'no session'
"$ddping" --socket "$(socket_of a)" -c 1 -p 777 "$b" >"$tmp/no.log" 2>&1 && fail 'a session with nobody'

background tcp "$ddpmetrics" --listen 127.0.0.1:0 --socket "$(socket_of a)" --timeout 60
background unix "$ddpmetrics" --listen "$tmp/http.sock" --socket "$(socket_of a)"
for name in tcp unix; do eventually 10 grep -q 'listening on' "$tmp/$name.log" || fail "$name does not listen"; done
port=$(sed -n 's/.*listening on 127\.0\.0\.1://p' "$tmp/tcp.log")

for where in "$port" "$tmp/http.sock"; do
	check page "$where"
	check hosts "$where"
done
check totals "$port" "$b" ddping
check all "$tmp/http.sock" ddping "$b"

# More sessions than a list has.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
mkfifo "$tmp/hold"
background many sh -c "exec '$bin/tests/system/idle_sessions' '$(socket_of a)' '$(socket_of b)' '$b' 7000 300 <'$tmp/hold'"
exec 9>"$tmp/hold"
eventually 20 grep -q listening "$tmp/many.log" || fail 'the program does not listen'
echo >&9
eventually 100 grep -q open "$tmp/many.log" || fail 'the sessions did not open'
check bounded "$tmp/http.sock" 200

stop a KILL 2>/dev/null
check down "$port" 'no daemon listens there'
check down "$tmp/http.sock" 'no daemon listens there'
daemon a "$(address 0)"
check page "$port"
stop tcp || fail "ddpmetrics: exit status $?"
stop unix || fail "ddpmetrics: exit status $?"
