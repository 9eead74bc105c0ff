#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: with ddpverbs each address of a daemon is a GID that programs can use, of as many as a daemon has, and also one
# that is valid on a link alone. In a namespace, for its addresses.
if [ -z "${VERBS_GIDS-}" ] && unshare -rn true 2>/dev/null; then
	VERBS_GIDS=1 exec unshare -rn "$0" "$@"
fi
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ip
[ "$DDP_SANITIZERS" = none ] || skip 'programs are preloaded, which sanitizers do not allow'
library=$bin/.libs/libddpverbs.so.0
[ -e "$library" ] || skip 'needs ddpverbs, which is not built'
[ -n "${VERBS_GIDS-}" ] || skip 'needs a network namespace'
ip link set lo up || fail 'no loopback'
ip link add lan type veth peer name lan2 || skip 'needs virtual interfaces'
for i in lan lan2; do ip link set $i addrgenmode none up || fail 'no link'; done

# at INTERFACE ADDRESS: without the time in which IPv6 looks for another owner.
at() {
	local nodad=nodad
	[ "$2" != "${2/:/}" ] || nodad=
	ip address add dev "$1" "$2" $nodad || fail "no address $2"
}

# run FROM TO ADDRESS...: at the devices of both daemons.
run() {
	DDPVERBS_LIBRARY=$library timeout 200 "$bin/verbs/ddpverbs" -s "$(socket_of a)" -s "$(socket_of b)" \
		"$bin/tests/system/verbs_gids" "$@" || fail "verbs_gids: status $?"
}

# ends: nothing is left, and both daemons end well.
ends() {
	local i
	for i in a b; do
		eventually 10 none_of $i client listener qp mr || fail "verbs_gids leaves something in daemon $i"
		stop $i || fail "daemon $i: exit status $?"
	done
}

# 32 addresses with those of the loopback, which one of both has.
many=()
for i in {1..27}; do
	at lan "10.88.$i.1/24"
	at lan2 "10.88.$i.2/24"
	many+=("10.88.$i.1")
done
for i in 1 2 3; do
	at lan "fd88::$i/64"
	at lan2 "fd88::1$i/64"
	many+=("fd88::$i")
done
daemon a lan
daemon b lan2
run 0 0 "${many[@]}"
run 1 0 "${many[@]}"
ends

# Of a link: the first GID, and others.
for i in 1 2 11 12; do at lan "fe80::$i/64"; done
daemon a '"fe80::1%lan", 10.88.1.1, "fe80::2%lan"'
daemon b '"fe80::11%lan", 10.88.1.2, "fe80::12%lan"'
run 0 0 fe80::1%lan 10.88.1.1 fe80::2%lan
run 0 1 fe80::11%lan 10.88.1.2 fe80::12%lan
run 1 0 fe80::1%lan 10.88.1.1 fe80::2%lan
ends
