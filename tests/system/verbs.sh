#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: programs that were built for libibverbs and librdmacm run unchanged with ddpverbs, and leave nothing in the
# daemons. Here: the programs of ibverbs-utils and rdmacm-utils; verbs-perftest.sh, verbs-qperf.sh and verbs-fio.sh have
# the others.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs ibv_devinfo ibv_rc_pingpong rping ucmatose rdma_server rdma_xserver cmtime
rdma_port=7471 # of those that take no other

daemon a "$a"
daemon b "$b"

# shows PATTERN COMMAND...: at daemon a.
shows() {
	local pattern=$1
	shift
	on a
	"${with[@]}" "$@" >"$tmp/shows.log" 2>&1 || fail "$*: status $?"
	grep -q -- "$pattern" "$tmp/shows.log" || fail "$* does not show '$pattern'"
	echo "ran: $*"
}
shows '^ *ddpsctp0 ' ibv_devices
shows 'state:.*PORT_ACTIVE' ibv_devinfo -v
shows 'link_layer:.*Ethernet' ibv_devinfo -d ddpsctp0 -i 1

# As README.md has it. -V compares the data.
pair rping 7174 'rdma-ping-9:' rping -s -a "$a" -v -- rping -c -a "$a" -C 10 -v
pair rping-V 7174 'rdma-ping-99' rping -s -a "$a" -C 100 -V -v -- rping -c -a "$a" -C 100 -V -v
pair rping-q $port 'rdma-ping-99' rping -q -s -a "$a" -p $port -C 100 -V -v -- rping -q -c -a "$a" -p $port -C 100 -V -v
pair ucmatose $rdma_port 'return status 0' ucmatose -b "$a" -C 100 -S 1000 -- ucmatose -s "$a" -C 100 -S 1000
pair rdma_client $rdma_port 'end 0' rdma_server -s "$a" -- rdma_client -s "$a"
pair rdma_xclient $rdma_port 'end 0' rdma_xserver -- rdma_xclient -s "$a"

# Its server does not end by itself.
start cmtime $((port + 1)) cmtime -b "$a" -p $((port + 1))
client cmtime '^destroy ' cmtime -s "$a" -p $((port + 1)) -c 100
! grep -E 'event:|fail' "$tmp/cmtime-client.log" || fail 'cmtime: errors'
kill "$(pid_of cmtime)"
ended cmtime 143

# Without rdma_cm; -c compares the data.
for options in '' -c -e -N '-e -N -c'; do
	port=$((port + 2))
	# shellcheck disable=SC2086
	pair "ibv_rc_pingpong $options" $port 'iters in' ibv_rc_pingpong $options -g 0 -n 200 -p $port -- \
		ibv_rc_pingpong $options -g 0 -n 200 -p $port "$a"
done

# No daemon: no device, and a sentence.
DDPVERBS_LIBRARY=$library "$bin/verbs/ddpverbs" -s "$tmp/absent.sock" ibv_devices >"$tmp/absent.log" 2>&1
grep -q "ddpverbs: no device: .*absent.sock" "$tmp/absent.log" || fail 'no sentence about a missing daemon'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
