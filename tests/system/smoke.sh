#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: two daemons on one machine carry pings and a file without a changed byte, ddpctl shows both ends, and both
# daemons stop with status 0.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddpcp python3

a=$(address 0) b=$(address 1)
# ddpctl may start slowly, and looks at an idle association.
daemon a "$a" 'session: {connect_ms: 60000, idle_ms: 60000}'
daemon b "$b" 'session: {connect_ms: 60000, idle_ms: 60000}'

server pong b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of a)" -c 20 -i 0 -S 4096 "$b" >"$tmp/ping.log" 2>&1 || fail 'ddping'
"$ddping" --socket "$(socket_of a)" -c 2 -i 0 -S 1M -q "$b" >>"$tmp/ping.log" 2>&1 || fail 'ddping with 1 MiB'
[ "$(grep -c 'bytes from' "$tmp/ping.log")" -eq 20 ] || fail 'ddping did not report 20 rounds'

ctl a -j assoc | python3 -c '
import json, sys
(assoc,) = json.load(sys.stdin)
text = json.dumps(assoc)
assert sys.argv[1] in text and sys.argv[2] in text, text' "$a" "$b" || fail 'ddpctl assoc'

# Both journals have a line for the begin and the end of the session, with program, user, peer, traffic and reason.
line() { eventually 5 grep -qE "$2" "$tmp/$1.log" || fail "no line in the log of $1: $2"; }
time='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z ddpsctpd: info: '
for end in "a $b by.this.side" "b $a by.the.peer"; do
	read -r name peer how <<<"$end"
	line "$name" "${time}qp [0-9]+: session with ${peer//./\\.}:[0-9]+ began on assoc 1 stream [0-9]+ \\(ddping, pid [0-9]+, uid $(id -u)\\)"
	line "$name" "session with ${peer//./\\.}:[0-9]+ ended .* after [0-9.]+ s, [0-9]{5,} bytes sent, [0-9]{5,} received \\(ddping, .*: ended $how"
done

head -c 5000001 /dev/urandom >"$tmp/sent"
mkdir "$tmp/in"
server copy b "$ddpcp" --socket "$(socket_of b)" serve --root "$tmp/in"
"$ddpcp" --socket "$(socket_of a)" put "$tmp/sent" "$b:received" >"$tmp/cp.log" 2>&1 || fail 'ddpcp'
cmp "$tmp/sent" "$tmp/in/received" || fail 'the file differs'

# A copy replaces a file and nothing else, also at the end of a link.
mkfifo "$tmp/fifo" && ln -s fifo "$tmp/link" || fail mkfifo
for there in fifo link; do
	"$ddpcp" --socket "$(socket_of a)" get "$b:received" "$tmp/$there" >"$tmp/cp.log" 2>&1 && fail "ddpcp get replaces a $there"
	grep -q 'not a regular file' "$tmp/cp.log" || fail 'ddpcp get gives no reason'
done
[ -p "$tmp/fifo" ] && [ -L "$tmp/link" ] || fail 'the FIFO or the link was replaced'
row 5043-7.2-01: daemons with one address each

for name in pong copy; do stop $name; done
eventually 10 none_of b qp mr client || fail 'objects are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
