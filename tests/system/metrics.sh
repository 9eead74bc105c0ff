#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpmetrics serves the metrics of a daemon with sessions in the text format of Prometheus, at loopback addresses and
# UNIX sockets only. Clients that are silent, slow, many or send garbage do not keep others from being served. Without the
# daemon it says why, and it recovers with the daemon.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddpmetrics python3 promtool
ddpmetrics=$bin/ddpmetrics
check() { python3 "$top_srcdir/tests/system/metrics.py" "$@"; }

# Addresses that others can reach are refused, and what is no address.
refused() {
	"$ddpmetrics" --listen "$1" --socket "$(socket_of a)" >"$tmp/refused.log" 2>&1
	[ $? -eq 2 ] || fail "--listen $1: not status 2"
	grep -q "$2" "$tmp/refused.log" || fail "--listen $1: no reason"
}
for where in 0.0.0.0:9899 192.0.2.1 '[::]:9899' '[2001:db8::1]' '[::ffff:192.0.2.1]:9899'; do
	refused "$where" 'only loopback addresses'
done
for where in '' localhost:9899 127.0.0.1:99999 127.0.0.1:x '[::1' here.sock; do refused "$where" 'is not ADDRESS:PORT'; done
: >"$tmp/file"
refused "$tmp/file" 'is not a socket'
[ -f "$tmp/file" ] || fail 'a file was removed'
refused "/$(printf '%0200d' 0)" 'at most 107 characters'

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"
server pong b "$ddping" -s --socket "$(socket_of b)"
background ping "$ddping" --socket "$(socket_of a)" -i 0.05 -c 100000 "$b"
eventually 10 grep -q 'bytes from' "$tmp/ping.log" || fail 'no session'

background tcp "$ddpmetrics" --listen 127.0.0.1:0 --socket "$(socket_of a)" --timeout 60
background unix "$ddpmetrics" --listen "$tmp/http.sock" --socket "$(socket_of a)" --timeout 60
background short "$ddpmetrics" --listen 127.0.0.1:0 --socket "$(socket_of a)" --timeout 0.5
for name in tcp unix short; do eventually 10 grep -q 'listening on' "$tmp/$name.log" || fail "$name does not listen"; done
port_of() { sed -n 's/.*listening on 127\.0\.0\.1://p' "$tmp/$1.log"; }
port=$(port_of tcp)
refused "$tmp/http.sock" 'another program listens'

for where in "$port" "$tmp/http.sock"; do check format "$where" >"$tmp/format" || fail "format at $where"; done
ctl a stats prometheus >"$tmp/stats" || fail 'stats prometheus'
diff <(grep '^#' "$tmp/stats") <(grep '^#' "$tmp/format" | grep -v ' ddpsctpd_up ') >"$tmp/diff.log" ||
	fail 'ddpctl stats prometheus has other metrics'
promtool check metrics <"$tmp/format" >"$tmp/promtool.log" 2>&1 || fail 'promtool check metrics'
check dashboard "$tmp/format" "$top_srcdir/etc/grafana/ddpsctpd.json" >"$tmp/rules.yaml" || fail 'the dashboard'
promtool check rules "$tmp/rules.yaml" >"$tmp/promtool.log" 2>&1 || fail 'promtool: expressions of the dashboard'

for what in requests garbage many slow; do check "$what" "$port" >"$tmp/check.log" 2>&1 || fail "$what"; done

# What a program carried is still counted when the program has ended.
ctl a -j user >"$tmp/before.json"
stop ping
eventually 10 none_of a qp || fail 'the queue pair of ddping stays'
ctl a -j user >"$tmp/after.json"
check user "$tmp/before.json" "$tmp/after.json" || fail 'the traffic of the user'
ctl a turn >"$tmp/turn.log" || fail 'ddpctl turn'
[ "$(wc -l <"$tmp/turn.log")" -eq 22 ] || fail 'ddpctl turn: not 21 lines and their head'

# A daemon that is silent, one that was killed, and a new one.
kill -STOP "$(pid_of a)"
check down "$(port_of short)" 'no reply within' >"$tmp/check.log" 2>&1 || fail 'a silent daemon'
kill -CONT "$(pid_of a)"
check up "$port" >"$tmp/check.log" 2>&1 || fail 'the daemon goes on'
stop a KILL 2>/dev/null
check down "$port" 'no daemon listens there' >"$tmp/check.log" 2>&1 || fail 'a daemon that was killed'
daemon a "$(address 0)"
check up "$port" >"$tmp/check.log" 2>&1 || fail 'a new daemon'
grep -q 'the daemon answers again' "$tmp/tcp.log" || fail 'the log does not say that the daemon is back'

stop tcp || fail "ddpmetrics: exit status $?"
stop unix || fail "ddpmetrics: exit status $?"
stop short || fail "ddpmetrics: exit status $?"
[ ! -e "$tmp/http.sock" ] || fail 'the socket stays'
stop pong
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
