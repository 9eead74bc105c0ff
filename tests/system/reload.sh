#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: on SIGHUP a daemon reads its configuration again. Keys that may change do, and no session ends. The log
# names keys that need a restart with both values. An error in the file is logged with its place and changes nothing.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping

log=$tmp/b.log
a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
server pong b "$ddping" -s --socket "$(socket_of b)"
background steady "$ddping" --socket "$(socket_of a)" -i 0.01 "$b"
rounds() { grep -c 'bytes from' "$tmp/steady.log"; }
has_rounds() { [ "$(rounds)" -gt "$1" ]; }
eventually 10 has_rounds 0 || fail 'no rounds'

# logged N WORDS: N lines of the log have them.
logged() { [ "$(grep -cF -- "$2" "$log")" -eq "$1" ]; }
reloads=0
# reload [LINE...]: daemon b reads a configuration with these lines, to the end.
reload() {
	configure b "$b" "$@"
	hang_up 'reload: done'
}
# hang_up WORDS: until the log has one more line with them.
hang_up() {
	local before
	before=$(grep -cF "$1" "$log")
	kill -HUP "$(pid_of b)"
	eventually 10 logged $((before + 1)) "$1" || fail "no further line '$1'"
	reloads=$((reloads + 1))
}

# Nothing has changed.
reload
logged 1 'reload: done, values that wait for a restart: 0' || fail 'something has changed'

# A limit below the current use: the listener stays; the refusal of another one names the limit.
second() { timeout 120 "$ddping" -s -p 5044 --socket "$(socket_of b)"; }
reload 'limits:' '  listeners: 1'
logged 1 'reload: limits.listeners: 1, was 1024; at once' || fail 'the change is not logged'
second >"$tmp/second.log" 2>&1 && fail 'a second listener although 1 is the limit'
grep -qF 'limits.listeners' "$tmp/second.log" || fail 'the limit is not named'
[ "$(count b listener)" = 1 ] || fail 'not one listener'

# A higher limit permits a second listener.
reload 'limits:' '  listeners: 2'
server second b "$ddping" -s -p 5044 --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of a)" -p 5044 -c 3 -i 0 "$b" >"$tmp/ping.log" 2>&1 || fail 'the second listener'
stop second

# The level of the log.
logged 0 'ddpsctpd: debug: ' || fail 'debug lines at level info'
reload 'log: {level: debug}'
ctl b status >"$tmp/status.log" || fail status
eventually 10 grep -qF 'ddpsctpd: debug: client ' "$log" || fail 'no debug lines at level debug'

# Mode of the socket.
[ "$(stat -c %a "$(socket_of b)")" = 600 ] || fail 'the mode at the start'
sed -i 's/mode: .*/mode: 0640/' "$tmp/b.yaml"
hang_up 'reload: done'
[ "$(stat -c %a "$(socket_of b)")" = 640 ] || fail 'the mode did not change'

# What needs a restart.
reload 'user: {udp_port: 19899}' 'session: {enhanced: off}'
logged 1 'warning: reload: user.udp_port: stays 9899: a restart is required for 19899' || fail 'udp_port'
logged 1 'warning: reload: session.enhanced: stays on: a restart is required for off' || fail enhanced
logged 1 'reload: done, values that wait for a restart: 2' || fail 'not two values that need a restart'
"$ddping" --socket "$(socket_of a)" -c 3 -i 0 "$b" >"$tmp/ping.log" 2>&1 || fail 'the port changed'

# A file with an error; a missing file.
reload 'limits:' '  listeners: 1'
configure b "$b" 'limits:' '  listeners: 7' '  mrs: many'
hang_up 'reload: refused: the configuration is unchanged'
line=$(grep -n 'mrs: many' "$tmp/b.yaml")
logged 1 "error: $tmp/b.yaml:${line%%:*}:8: limits.mrs: many is not a number: 1 to 65535" || fail 'the error is not logged'
second >"$tmp/second.log" 2>&1 && fail 'part of a file with an error took effect'
rm "$tmp/b.yaml"
hang_up 'reload: refused: the configuration is unchanged'
logged 1 "error: $tmp/b.yaml: cannot be read: No such file or directory" || fail 'the missing file is not logged'

# The first session has continued.
eventually 10 has_rounds "$(rounds)" || fail 'the first session no longer works'
[ "$(count a session)" = 1 ] || fail 'not the one session'
kill -INT "$(pid_of steady)"
wait "$(pid_of steady)" || fail "ddping: exit status $?"
stop pong
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
echo "$reloads reloads, one session through all of them"
