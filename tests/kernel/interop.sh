#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: daemons of two transports interoperate over UDP, whichever opens the association, in every operation. Linux's
# SCTP joins packets that it then cannot cut; `ddpctl doctor` finds that, and with its remedy they arrive one by one.
# Usage: interop.sh TRANSPORT-A TRANSPORT-B
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddperf python3
hosts

# doctor HOST: its finding about the link: "False REMEDY" or "True None".
doctor() {
	at "$1" "$ddpctl" --socket "$(socket_of "$1")" -j doctor | python3 -c '
import json, sys
print(*[(f["ok"], f["remedy"]) for f in json.load(sys.stdin) if f["check"] == "gso link1"][0])'
}

# alone HOST: the remedy of doctor, as root.
alone() {
	local found remedy
	found=$(doctor "$1")
	remedy=${found#False }
	[ "$remedy" != "$found" ] || fail "doctor of $1: $found"
	# shellcheck disable=SC2086 # words
	at "$1" $remedy || fail "$remedy"
	[ "$(doctor "$1")" = 'True None' ] || fail "doctor of $1, after the remedy: $(doctor "$1")"
}

# bulk FROM TO: joined packets have no checksum, and TO refuses each of them.
bulk() {
	local speed refused
	server ddperf "$2" "$ddperf" -s --socket "$(socket_of "$2")"
	"$ddperf" --socket "$(socket_of "$1")" -j -S 64K -d 4 -t 2 -w 0 "$(addr "$2")" write bw >"$tmp/bulk.log" 2>&1 || fail bulk
	speed=$(sed -n 's/.*"bandwidth_mean_mb_per_s":[[:space:]]*\([0-9.]*\).*/\1/p' "$tmp/bulk.log")
	refused=$(ctl "$2" -o -s status | tr ' ' '\n' | paste -d' ' - - | sed -n 's/^bad_crc //p')
	echo "from $1 to $2: $speed MB/s, timeouts of Linux: $(counter "$1" sctp/snmp SctpT3Retransmits), refused: $refused"
	[ "$refused" = 0 ] || fail 'joined packets arrived'
	stop ddperf
}

# A daemon with the transport kernel needs the kernel's UDP tunnel.
DDP_TRANSPORT=
[ "$1" = kernel ] && kernel=a user=b || kernel=b user=a
for host in a b; do
	transport=$1
	shift
	[ "$transport" != kernel ] || at $host sysctl -q net.sctp.udp_port=9899 || fail 'no tunnel'
	daemon_at $host "$(addr $host)" "transport: $transport" 'kernel: {udp_port: 9899}'
done
alone $kernel
bulk $kernel $user
"$bin/tests/system/whole" "$(socket_of a)" "$(socket_of b)" "$(addr b)" || fail whole
for name in a b; do
	eventually 10 none_of $name qp mr mw cq srq pd session || fail "daemon $name: objects are left"
	stop $name || fail "daemon $name: exit status $?"
done
