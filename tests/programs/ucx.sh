#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ucx_perftest (package ucx-utils): active messages, puts, gets and atomics below UCP, with rc_verbs; and tags, puts, gets and
# atomics of UCP, with queue pairs for datagrams that find the peers, and with what UCX chooses itself.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs ucx_perftest
hosts

exchange=() # of addresses, by TCP
[ "${VERBS_FAMILY:-4}" = 4 ] || exchange=(-6)
common=("${exchange[@]}" -d ddpsctp0:1 -x rc_verbs -n 2000 -w 100)
for test in am_lat am_bw put_lat put_bw get add_lat fadd cswap; do
	port=$((port + 1))
	size=64
	how=()
	case $test in
	add_lat | fadd | cswap) size=8 ;;
	get) how=(-D zcopy) size=4096 ;; # as the device offers it
	esac
	start $test $port ucx_perftest "${exchange[@]}" -p $port
	client $test '^Final:' ucx_perftest "${common[@]}" -p $port -t $test -s $size "${how[@]}" $a
	ended $test
done

# ucp NAME=VALUE TEST SIZE: with this in the environment of UCX.
ucp() {
	port=$((port + 1))
	start "$2" $port env "$1" ucx_perftest "${exchange[@]}" -p $port
	client "$2" '^Final:' env "$1" ucx_perftest "${exchange[@]}" -p $port -n 1000 -w 100 -t "$2" -s "$3" $a
	ended "$2"
}
for choice in UCX_TLS=rc_v,ud_v,self UCX_LOG_LEVEL=warn; do
	for test in tag_lat ucp_put_lat; do
		ucp $choice $test 64
	done
	for test in tag_bw ucp_put_bw ucp_get; do
		ucp $choice $test 65536
	done
	ucp $choice ucp_fadd 8
done
hosts_end
version ucx-utils "with rc_verbs: active messages, puts, gets, fetch-and-add, compare-and-swap; UCP: tags, puts, gets, fetch-and-add${exchange:+, with IPv6}"
