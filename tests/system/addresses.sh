#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: where the addresses of the daemon are limited, it leaves most of them to the memory of programs. Many idle
# associations take little of the memory that is for messages in flight.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_SANITIZERS" = none ] || skip 'a sanitizer needs addresses itself'

# A little more than a power of two.
daemon_in=(bash -c 'ulimit -v 8650000 && exec "$@"' daemon)
limits='limits: {listeners: 4000, qps: 4000, memory: 4GiB}' b=$(address 1)
daemon a "$(address 0)" "$limits"
daemon b "$b" "$limits"
# opens N PORTS BYTES: sessions of idle associations, one for each port, with ends that register so much memory.
opens() {
	timeout 300 "$bin/tests/system/idle_sessions" "$(socket_of a)" "$(socket_of b)" "$b" 7000 "$1" "$2" 0 "$3" \
		>"$tmp/idle.log" 2>&1 <<<'' && grep -q '^open' "$tmp/idle.log"
}
opens 1 1 $((1 << 30)) || fail 'a region of 1 GiB'
associations=3000
[ "$DDP_TRANSPORT" = user ] || associations=500 # each, and each port, is a descriptor
opens $associations $associations 64 || fail "$associations associations"
for name in a b; do stop $name || fail "daemon $name: exit status $?"; done
