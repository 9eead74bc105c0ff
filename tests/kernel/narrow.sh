#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a path that takes only small packets carries data from the start. One that becomes narrow, silently, and takes
# no fragments ends the session with the reason at both ends and once in each journal; the next session has data at once.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddping
DDP_TRANSPORT=user

hosts 1
# Packets have the length on the link that they have at the sender.
for host in a b; do
	at $host ethtool -K link1 tx off gso off tso off gro off >/dev/null 2>&1
	daemon_at $host "$(addr $host)" 'session: {idle_ms: 0}'
done
b=$(addr b)

# takes MTU: the interface of b drops what is longer, and a does not notice.
takes() { at b ip link set link1 mtu "$1" || fail "the link of b has not the MTU $1"; }
ping() { "$ddping" --socket "$(socket_of a)" -S 60000 "$@" "$b"; }

takes 700
server pong b "$ddping" -s --socket "$(socket_of b)"
ping -c 5 >"$tmp/narrow.log" 2>&1 || fail "a path of 700 from the start: $(tail -n 1 "$tmp/narrow.log")"
takes 1500

background ping "$ddping" --socket "$(socket_of a)" -S 60000 -i 0.02 -W 60 "$b"
eventually 60 grep -q seq=10 "$tmp/ping.log" || fail 'no session'
mtu() { ctl a -o path | sed -n 's/.* mtu \([0-9]*\).*/\1/p'; }
full() { [ "$(mtu)" = 1500 ]; }
eventually 60 full || fail "the path MTU is $(mtu)"
takes 1300
eventually 100 gone "$(pid_of ping)" || fail "no reason: $(ctl a path)"
grep -q 'packets of 1[0-9]* bytes no longer arrive, those of 1[0-9]* bytes do' "$tmp/ping.log" ||
	fail "the client: $(tail -n 3 "$tmp/ping.log")"
eventually 60 grep -q 'packets of 1[0-9]* bytes no longer arrive' "$tmp/pong.log" || fail "the server: $(cat "$tmp/pong.log")"
for host in a b; do
	[ "$(grep -c 'assoc [0-9]*: down.*no longer arrive' "$tmp/$host.log")" = 1 ] || fail "$host does not say it once"
done
[ "$(grep -c 'have to be smaller' "$tmp/a.log")" -le 2 ] || fail 'the size goes up and down'

ping -c 5 >"$tmp/next.log" 2>&1 || fail "the next session: $(tail -n 1 "$tmp/next.log")"
echo "ended: $(grep -o 'packets of [0-9]* bytes no longer arrive, those of [0-9]* bytes do' "$tmp/ping.log" | head -n 1)"
