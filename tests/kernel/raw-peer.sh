#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: what tests/raw/raw-peer.sh says also holds for the transport kernel. The raw peer is on host a; the three daemons
# are on host b, with an address each, and live through all cases.
# Usage: raw-peer.sh [CASE...]
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl sysctl

raw=$bin/tests/raw/raw_peer
[ -x "$raw" ] || skip 'needs tests/raw/raw_peer, which is not built'

hosts
at b sysctl -q net.sctp.udp_port=9899 || fail 'no tunnel'
at b ip link set link1 gso_max_size 1500 || fail "no gso_max_size"
quick='session: {pending_max: 8, close_ms: 2000'
args=()
# daemon_with NAME SESSION: on host b, with the next address of it.
daemon_with() {
	local addr=10.7.1.$((10 + ${#args[@]}))
	at b ip address add "$addr/24" dev link1 || fail "no address $addr"
	daemon_in=(ip netns exec b)
	daemon "$1" "$addr" 'kernel: {udp_port: 9899}' "$2"
	daemon_in=()
	args+=("$(socket_of "$1")" "$addr")
}
daemon_with one "$quick}"
daemon_with off "$quick, extensions: off, enhanced: off}"
daemon_with hasty "$quick, answer_ms: 200}"
at a "$raw" "$(addr a)" "${args[@]}" "$@" || fail 'the raw peer'
for name in one off hasty; do
	stop $name || fail "daemon $name: exit status $?"
done
