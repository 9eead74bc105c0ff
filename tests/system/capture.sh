#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: two daemons send what RFC 5043 requires and what programs posted, according to a dissector that is not
# ours: adaptation indication 1 in INIT and INIT ACK, only unordered, unfragmented DATA with payload protocol 16 or 17,
# nothing malformed, correct checksums. The test covers ddping and every operation; capture.py checks each message.
# DDP_TRANSPORT=kernel: the same over the kernel's SCTP.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
[ "$(id -u)" -eq 0 ] || skip 'needs root, to capture on loopback'
needs ddpsctpd ddpctl ddping dumpcap tshark python3
[ -x "$bin/tests/system/whole" ] || skip 'needs tests/system/whole, which is not built'
# Ignore the Wireshark configuration of the user.
export HOME=$tmp/home PYTHONDONTWRITEBYTECODE=1

transport=$DDP_TRANSPORT
lua=$top_srcdir/etc/wireshark/ddp_sctp.lua
a=$(address 0) b=$(address 1) a2=$(address 2) b2=$(address 3)
case $transport in
kernel) packets='sctp' plain='' ;;
# In a capture on loopback a UDP_SEGMENT batch is one giant datagram, which dissectors cannot read.
*) packets='udp port 9899' plain='user: {gso: off}' ;;
esac

# begin NAME: starts the daemons and the capture; its file is the variable capture. dumpcap writes the head of the
# file when it listens. libpcap's buffer has a place of the longest packet for each packet: few, if that is 256 KiB.
begin() {
	daemon a "$a, $a2" "$plain"
	daemon b "$b, $b2" "$plain"
	capture=$tmp/$1.pcapng
	background dumpcap dumpcap -q -B 64 -s 66000 -i lo -w "$capture" -a duration:600 \
		-f "$packets and (host $a or host $a2) and (host $b or host $b2)"
	eventually 30 capturing
	[ -s "$capture" ] || skip "cannot capture: $(tail -n 1 "$tmp/dumpcap.log")"
}
capturing() { [ -s "$capture" ] || gone "$(pid_of dumpcap)"; }

# finish: stops the daemons, and the capture when it has seen the end of the association.
finish() {
	stop a || fail "daemon a: exit status $?"
	stop b || fail "daemon b: exit status $?"
	eventually 10 closed || fail 'the capture does not show the end of the association'
	stop dumpcap INT
	grep -q 'received/dropped .*/0 ' "$tmp/dumpcap.log" || fail "packets are missing: $(tail -n 1 "$tmp/dumpcap.log")"
}
closed() {
	tshark -Q -n -r "$capture" -Y 'sctp.chunk_type == 14' -T fields -e frame.number 2>>"$tmp/closed.log" | grep -q .
}

# judge KIND [POSTED]
judge() { python3 "$top_srcdir/tests/system/capture.py" "$lua" "$capture" "$transport" "$tmp/dissect.log" "$@" || fail "messages of $1"; }

begin ping
server pong b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of a)" -c 10 -i 0 -q -S 64 "$b" >"$tmp/ping.log" 2>&1 || fail ddping
"$ddping" --socket "$(socket_of a)" -c 3 -i 0 -q -S 200000 "$b" >>"$tmp/ping.log" 2>&1 || fail 'ddping of 200000 bytes'
stop pong
finish
judge ping

begin whole
DDP_POSTED=$tmp/posted "$bin/tests/system/whole" "$(socket_of a)" "$(socket_of b)" "$b" >"$tmp/whole.out" ||
	fail "$(grep -v ^ok "$tmp/whole.out")"
finish
judge whole "$tmp/posted"
