#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the transport `user` follows the path MTU while data flows, over IPv4 and IPv6: a link behind a router that
# becomes narrow, with ICMP messages or silently; an interface of the host itself. No session is lost, no byte changes,
# and only what was in flight is fragmented. Forged ICMP messages change nothing, for later associations either. A peer
# that is killed is noticed at once.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddping python3 sysctl
DDP_TRANSPORT=user

# Hosts a and b, and the router r between them: link1 and link2.
for host in a r b; do
	ip netns add $host && at $host ip link set lo up || fail "no host $host"
done
link() { # N HOST HOST
	ip link add "link$1" netns "$2" type veth peer name "link$1" netns "$3" || fail "no link $1"
	for host in "$2" "$3"; do
		n=1
		[ "$host" = r ] || n=2
		at "$host" ip address add "10.7.$1.$n/24" dev "link$1" &&
			at "$host" ip address add "fd07:$1::$n/64" dev "link$1" nodad &&
			at "$host" ip link set "link$1" up || fail "no link $1 in $host"
		# Packets have the length on the link that they have at the sender.
		at "$host" ethtool -K "link$1" tx off gso off tso off >/dev/null 2>&1
	done
}
link 1 a r
link 2 b r
for host in a b; do
	n=1
	[ $host = a ] || n=2
	at $host ip route add default via 10.7.$n.1 && at $host ip -6 route add default via fd07:$n::1 || fail 'no route'
done
at r sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.icmp_ratelimit=0 ||
	fail 'r is no router'
a4=10.7.1.2 b4=10.7.2.2 a6=fd07:1::2 b6=fd07:2::2

# link2 MTU: at both of its ends. b knows it; a has to find out.
link2() {
	at r ip link set link2 mtu "$1" && at b ip link set link2 mtu "$1" || fail "link2 has not the MTU $1"
}
# silent add|del: the router sends no ICMP messages about packets that are too long.
silent() {
	at r ip rule "$1" ipproto icmp pref 1 blackhole && at r ip -6 rule "$1" ipproto ipv6-icmp pref 1 blackhole ||
		fail "ip rule $1"
}

now() {
	local up _
	read -r up _ </proc/uptime
	echo $((${up%.*} * 1000 + 1${up#*.} * 10 - 1000))
}
mtu() { ctl a -o path | sed -n 's/.* mtu \([0-9]*\).*/\1/p'; }
# The search ends within 16 bytes.
mtu_is() { [ "$(mtu)" != "" ] && [ "$(mtu)" -le "$1" ] && [ "$(mtu)" -ge $(($1 - 20)) ]; }
fragments() { # in all hosts
	local sum=0 host n
	for host in a r b; do
		n=$(at $host awk '$1 == "Ip:" && $2 ~ /^[0-9]/ { print $20 }' /proc/net/snmp)
		sum=$((sum + n + $(at $host awk '$1 == "Ip6FragCreates" { print $2 }' /proc/net/snmp6)))
	done
	echo $sum
}

# writer FROM TO: writes through the association until it is stopped.
writer() {
	rm -f "$tmp/commands"
	mkfifo "$tmp/commands"
	background writer sh -c "exec '$bin/tests/kernel/path_write' '$(socket_of a)' '$(socket_of b)' $1 $2 <'$tmp/commands'"
	exec 9>"$tmp/commands"
	eventually 60 grep -q '^at 0' "$tmp/writer.log" || fail 'the writer does not begin'
}
mib() { sed -n 's/^at //p' "$tmp/writer.log" | tail -n 1; }
reached() { [ "$(mib)" -ge "$1" ] || gone "$(pid_of writer)"; }
more() {
	local to=$(($(mib) + $1))
	eventually 120 reached $to && [ "$(mib)" -ge $to ] || fail "the writer is at $(mib) MiB: $(ctl a path)"
}
end_writer() {
	exec 9>&-
	eventually 60 gone "$(pid_of writer)" && wait "$(pid_of writer)" || fail "the writer: $(tail -n 2 "$tmp/writer.log")"
}

# narrow WORDS MTU COMMAND...: the command makes the path narrow while data flows.
narrow() {
	local words=$1 size=$2 began before after
	shift 2
	more 16
	before=$(fragments)
	began=$(now)
	"$@"
	eventually 60 mtu_is "$size" || fail "$words: the path MTU is $(mtu), not $size"
	after=$(now)
	more 16
	eventually 60 mtu_is "$size" || fail "$words: the path MTU is $(mtu) again, not $size"
	echo "$words: MTU $(mtu) after $((after - began)) ms, $(($(fragments) - before)) fragments"
	before=$(fragments)
	more 32
	[ "$(fragments)" = "$before" ] || fail "$words: $(($(fragments) - before)) fragments later"
}

for host in a b; do
	n=1
	[ $host = a ] || n=2
	# The next program has an association of its own.
	daemon_at $host "10.7.$n.2, 'fd07:$n::2'" 'session: {idle_ms: 0, connect_ms: 60000}'
done

# IPv6 first: an interface with less than 1280 bytes loses its addresses.
for family in IPv6 IPv4; do
	from=$a4 to=$b4 narrowest=800
	[ $family = IPv4 ] || from=$a6 to=$b6 narrowest=1280
	writer $from $to
	eventually 20 mtu_is 1500 || fail "$family: the path MTU is $(mtu)"
	more 16
	[ "$(fragments)" = "${last:-0}" ] || fail "$family: $(fragments) fragments on a path that did not change"
	silent add
	narrow "$family, a black hole" 1400 link2 1400
	narrow "$family, another" $narrowest link2 $narrowest
	silent del
	end_writer
	link2 1500
	writer $from $to
	eventually 20 mtu_is 1500 || fail "$family: the path MTU of the next association is $(mtu)"
	narrow "$family, a router that says it" 1400 link2 1400
	narrow "$family, our own interface" 1300 at a ip link set link1 mtu 1300
	end_writer
	at a ip link set link1 mtu 1500 && link2 1500 || fail 'the links stay narrow'
	at a ip route flush cache
	at a ip -6 route flush cache
	last=$(fragments)
done

# --- forged ICMP messages, from the router, with the right addresses and UDP ports ---

writer $a4 $b4
eventually 20 mtu_is 1500 || fail "the path MTU is $(mtu)"
at r python3 - $a4 $b4 10000 <<'P' || fail 'no messages'
import os, socket, struct, sys
a, b, n = socket.inet_aton(sys.argv[1]), socket.inet_aton(sys.argv[2]), int(sys.argv[3])
def checksum(p):
    s = sum(struct.unpack(f'!{len(p) // 2}H', p))
    s = (s >> 16) + (s & 0xffff)
    return ~(s + (s >> 16)) & 0xffff
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
for i in range(n):
    ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 1500, i & 0xffff, 0x4000, 64, 17, 0, a, b)
    udp = struct.pack('!4H', 9899, 9899, 1480, 0)
    sctp = struct.pack('!2H4s', 49152 + i % 16384, 5043, os.urandom(4)) + bytes(8)
    code, mtu = ((4, 552 + i % 900), (3, 0), (2, 0), (1, 0))[i % 4]
    icmp = struct.pack('!BBHHH', 3, code, 0, 0, mtu) + ip + udp + sctp
    raw.sendto(icmp[:2] + struct.pack('!H', checksum(icmp)) + icmp[4:], (sys.argv[1], 0))
P
more 32
mtu_is 1500 || fail "forged messages: the path MTU is $(mtu)"
at a ip route get $b4 | grep -q 'mtu [0-9]' || fail 'the kernel did not believe a forged message: nothing was tested'
end_writer
server pong b "$ddping" -s --socket "$(socket_of b)" -p 5051
background ping "$ddping" --socket "$(socket_of a)" -i 0.1 -p 5051 $b4
eventually 20 mtu_is 1500 || fail "forged messages: the path MTU of the next association is $(mtu)"
stop ping INT || fail 'ddping'
stop pong
echo '10000 forged ICMP messages changed nothing'

# --- a peer that is killed ---

at a ip route flush cache
server pong b "$ddping" -s --socket "$(socket_of b)" -p 5052
background ping "$ddping" --socket "$(socket_of a)" -i 0.02 -p 5052 $b4
eventually 20 grep -q seq=10 "$tmp/ping.log" || fail 'no session'
kill -KILL "$(pid_of b)"
began=$(now)
eventually 30 gone "$(pid_of ping)" || fail 'nobody noticed that the peer was killed'
echo "a killed peer: noticed within $(($(now) - began)) ms"
grep -q 'nothing listens on UDP port 9899 of 10.7.2.2 any more' "$tmp/a.log" || fail 'for another reason'
grep -q 'assoc [0-9]*: path MTU decreased: largest DDP segment now [0-9]* bytes' "$tmp/a.log" || fail 'no line about the MTU'
stop a || fail "daemon a: exit status $?"
