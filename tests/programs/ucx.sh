#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# UCX below UCP (package ucx-utils): active messages, puts, gets and atomics of ucx_perftest run with rc_verbs.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs ucx_perftest
hosts

common=(-d ddpsctp0:1 -x rc_verbs -n 2000 -w 100)
for test in am_lat am_bw put_lat put_bw get add_lat fadd cswap; do
	port=$((port + 1))
	size=64
	how=()
	case $test in
	add_lat | fadd | cswap) size=8 ;;
	get) how=(-D zcopy) size=4096 ;; # as the device offers it
	esac
	start $test $port ucx_perftest -p $port
	client $test '^Final:' ucx_perftest "${common[@]}" -p $port -t $test -s $size "${how[@]}" $a
	ended $test
done
hosts_end
version ucx-utils 'with rc_verbs: active messages, puts, gets, fetch-and-add, compare-and-swap'
