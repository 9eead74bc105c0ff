#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the data of two daemons arrive without a changed byte, however a link disturbs packets in both directions.
# Usage: netem.sh WORD...   words of tc-netem(8)
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddping ddpcp
hosts
# A fifth of all packets may be lost, and the same packet several times in a row.
patient=('sctp: {init_ms: 60000, path_max_retrans: 20, rto_max_ms: 1000}' 'session: {connect_ms: 60000, answer_ms: 60000}')
daemon_at a "$(addr a)" "${patient[@]}"
daemon_at b "$(addr b)" "${patient[@]}"
disturb 1 "$@"

server pong b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of a)" -c 20 -i 0 -S 20000 -W 60 -q "$(addr b)" >"$tmp/ping.log" 2>&1 || fail ddping
head -c 1000001 /dev/urandom >"$tmp/sent"
mkdir "$tmp/in"
server copy b "$ddpcp" --socket "$(socket_of b)" serve --root "$tmp/in"
"$ddpcp" --socket "$(socket_of a)" put "$tmp/sent" "$(addr b):received" >"$tmp/cp.log" 2>&1 || fail 'ddpcp put'
cmp "$tmp/sent" "$tmp/in/received" || fail 'the file differs'
"$ddpcp" --socket "$(socket_of a)" get "$(addr b):received" "$tmp/back" >>"$tmp/cp.log" 2>&1 || fail 'ddpcp get'
cmp "$tmp/sent" "$tmp/back" || fail 'the file differs on its way back'

# The link has disturbed packets.
udp=$(($(counter a snmp Udp:InCsumErrors) + $(counter b snmp Udp:InCsumErrors)))
sctp=$(($(counter a sctp/snmp SctpChecksumErrors) + $(counter b sctp/snmp SctpChecksumErrors)))
case $1 in
loss) [ "$(lost 1)" -gt 0 ] || fail 'nothing was lost' ;;
corrupt) [ $((udp + sctp)) -gt 0 ] || fail 'nothing was corrupted' ;;
esac
echo "$*: lost $(lost 1), wrong checksums $udp of UDP and $sctp of SCTP; $(grep rtt "$tmp/ping.log")"
stop pong
stop copy
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
