#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: two programs of one daemon reach each other at its address, over the loop transport and without
# a packet, IPv4 and IPv6.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddpcp python3

a=$(address 0)
hosts=$a
if [ -e /proc/net/if_inet6 ] && grep -q '^0*1 ' /proc/net/if_inet6; then
	# All tests share ::1, so the UDP port must differ from that of other tests.
	daemon a "$a, \"::1\"" "user: {udp_port: $((20000 + $$ % 40000))}"
	hosts="$a ::1"
else
	daemon a "$a"
fi

packets() {
	ctl a -j status | python3 -c 'import json, sys; s = json.load(sys.stdin)[0]; print(s["tx_packets"] + s["rx_packets"])'
}

server pong a "$ddping" -s --socket "$(socket_of a)"
mkdir "$tmp/in"
server copy a "$ddpcp" --socket "$(socket_of a)" serve --root "$tmp/in"
head -c 3000001 /dev/urandom >"$tmp/sent"
for host in $hosts; do
	"$ddping" --socket "$(socket_of a)" -c 20 -i 0 -S 100000 -q "$host" >"$tmp/ping.log" 2>&1 || fail "ddping $host"
	ctl a -j assoc | python3 -c '
import json, sys
assert all(a["backend"] == "loop" for a in json.load(sys.stdin))' || fail "$host: another backend"
	case $host in *:*) name="[$host]:" ;; *) name="$host:" ;; esac
	"$ddpcp" --socket "$(socket_of a)" put "$tmp/sent" "${name}received" >"$tmp/cp.log" 2>&1 || fail "ddpcp $host"
	cmp "$tmp/sent" "$tmp/in/received" || fail "$host: the file differs"
	rm "$tmp/in/received"
done
[ "$(packets)" -eq 0 ] || fail "$(packets) packets"
stop a || fail "exit status $?"
echo "at $hosts"
