#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: perftest runs unchanged with ddpverbs, each program with rdma_cm and without, and leaves nothing in the
# daemons. Its programs compare no data.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs ib_write_bw ib_atomic_lat

daemon a "$a"
daemon b "$b"

bandwidth='ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw'
latency='ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat'
iterations=${ITERATIONS:-100}

# perftest ROWS PROGRAM OPTION...: with a port of its own; the client prints a row for each size.
perftest() {
	local rows=$1 name="${*:2}" came
	shift
	port=$((port + 1))
	start "$name" $port "$@" -F -p $port
	client "$name" '^ *#bytes' "$@" -F -p $port "$a"
	came=$(grep -cE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$tmp/$name-client.log")
	[ "$came" -eq "$rows" ] || fail "$name: $came rows, expected $rows"
	ended "$name"
}

for program in $bandwidth $latency; do
	perftest 1 $program -R -n "$iterations"
	perftest 1 $program -n "$iterations"
	case $program in ib_write_*) ;; *) perftest 1 $program -R -e -n "$iterations" ;; esac # Writes make no events
done
for program in $bandwidth; do
	perftest 1 $program -R -b -n "$iterations"
	perftest 1 $program -R -q 4 -n "$iterations"
	perftest 1 $program -q 4 -b -n "$iterations"
done
# All sizes, 2 bytes to 8 MiB.
for program in ib_{write,read,send}_{bw,lat}; do
	perftest 23 $program -R -a -n 5
	perftest 23 $program -a -n 5
done
# More messages than receives: the sender is as fast as the receiver.
perftest 1 ib_send_bw -R -n $((iterations * 20))
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
