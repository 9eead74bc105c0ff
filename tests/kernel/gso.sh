#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the transport `user` uses UDP_SEGMENT if the peer says that it takes batches, as another daemon does, also
# beside a tunnel of the kernel (net.sctp.udp_port). It does not if a kernel is the receiver, over veth. The kernel
# receives everything and does not crash.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddping python3 sysctl
DDP_TRANSPORT=user
mtu=1500
small="user: {mtu: $mtu}"

# watch HOST DEVICE: sets the variables packets and longest from the capture.
watch() {
	background watch ip netns exec "$1" python3 -u "$top_srcdir/tests/kernel/longest.py" "$2"
	eventually 20 grep -q watching "$tmp/watch.log" || fail 'cannot watch'
}
seen() {
	stop watch || fail "watching: $(cat "$tmp/watch.log")"
	read -r packets longest < <(tail -n 1 "$tmp/watch.log")
	echo "$*: $packets packets, the longest of $longest bytes"
	[ "$packets" -ge 40 ] || fail "only $packets packets"
}

# shown NAME: the column gso of ddpctl for the association.
shown() { ctl "$1" -d -o assoc | sed -n '1s/.* gso \([a-z]*\).*/\1/p'; }

# between WORDS EXPECTED LINE: two daemons of host a, on its loopback. Only the length of the packets shows whether
# they were cut.
between() {
	local idle='session: {connect_ms: 60000, idle_ms: 600000}' # ddpctl shows the association on a slow machine, too
	daemon_at a 127.0.0.1 "$3" "$idle"
	daemon_in=(ip netns exec a)
	daemon other 127.0.0.2 "$3" "$idle"
	daemon_in=()
	server pong other "$ddping" -s --socket "$(socket_of other)"
	watch a lo
	"$ddping" --socket "$(socket_of a)" -c 10 -i 0 -S 100000 -q 127.0.0.2 >"$tmp/ping.log" 2>&1 || fail ddping
	got=$(shown a)
	[ "$got" = "$2" ] || fail "$1: ddpctl shows gso $got"
	seen "$1"
	case $2 in
	yes) [ "$longest" -gt $mtu ] || fail 'no batch' ;;
	no) [ "$longest" -le $mtu ] || fail 'a batch' ;;
	esac
	stop pong
	stop a || fail "daemon a: exit status $?"
	stop other || fail "daemon other: exit status $?"
}

hosts
between 'loopback' yes "$small"
# Another port than that of the daemons, which could not bind it.
at a sysctl -q net.sctp.udp_port=9898 || fail 'no tunnel'
between 'loopback with a tunnel' yes "$small"
between 'loopback with a tunnel, switched off' no "user: {mtu: $mtu, gso: off}"
at a sysctl -q net.sctp.udp_port=0 || fail 'the tunnel stays'

at b sysctl -q net.sctp.udp_port=9899 net.sctp.encap_port=9899 || fail 'no tunnel'
background peer ip netns exec b python3 -u "$top_srcdir/tests/kernel/peer.py" "$(addr b)" 5043
eventually 20 grep -q listening "$tmp/peer.log" || fail 'no peer'
daemon_at a "$(addr a)"
watch a link1
"$bin/tests/kernel/flood" "$(socket_of a)" "$(addr b)" 5043 40 || fail flood
[ "$(shown a)" = no ] || fail "veth: ddpctl shows gso $(shown a)"
eventually 30 grep -q received "$tmp/peer.log" || fail 'the peer did not receive the end'
seen "veth, followed by a kernel's tunnel"
[ "$longest" -le $mtu ] || fail 'a batch'
[ "$(sed -n 's/^received //p' "$tmp/peer.log")" -gt $((40 * 65536)) ] || fail 'data is missing'
stop a || fail "daemon a: exit status $?"
