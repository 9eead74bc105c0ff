#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: libfabric's provider verbs runs unchanged with ddpverbs, and fi_pingpong -c finds the right data. libfabric does
# not use loopback addresses: the daemons have others, in a namespace of this test.
if [ -z "${VERBS_FABRIC-}" ] && unshare -rn true 2>/dev/null; then
	VERBS_FABRIC=1 exec unshare -rn "$0" "$@"
fi
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs fi_pingpong ip nsenter
[ -n "${VERBS_FABRIC-}" ] || skip 'needs a network namespace'
a=198.51.100.1 b=198.51.100.2

# The second host. Its first process has begun when it is in another namespace.
background other unshare -n sleep 600
other=$pid
apart() { [ "$(readlink "/proc/$other/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
eventually 10 apart || fail 'no second namespace'
at_other=(nsenter -t "$other" -n)
ip link add left type veth peer name right || skip 'needs virtual interfaces'
ip link set right netns "$other" || fail 'no link'
ip addr add $a/24 dev left && ip link set left up || fail "no address $a"
"${at_other[@]}" ip addr add $b/24 dev right && "${at_other[@]}" ip link set right up || fail "no address $b"

daemon a $a
# shellcheck disable=SC2034 # used by the functions of lib.sh and verbs-lib.sh
daemon_in=("${at_other[@]}")
daemon b $b
start fi_pingpong $port fi_pingpong -p verbs -e msg -c -I 5 -B $port
as_user=("${at_other[@]}")
client fi_pingpong '^1m ' fi_pingpong -p verbs -e msg -c -I 5 -P $port $a
ended fi_pingpong
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
