#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Datagrams (packages ibverbs-utils, rdmacm-utils, perftest, qperf, ucx-utils): each program that sends them between two hosts,
# and at one. ib_send_bw sends faster than they leave, and waits for all: it has as many as a queue pair may have waiting.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs ibv_ud_pingpong udaddy ib_send_lat qperf ucx_perftest
hosts

datagrams() {
	local test options
	for options in '' -e '-s 4096' '-s 1 -r 50'; do
		port=$((port + 1))
		# shellcheck disable=SC2086
		pair "ibv_ud_pingpong $options" $port 'iters in' ibv_ud_pingpong $options -g 0 -n 1000 -p $port -- \
			ibv_ud_pingpong $options -g 0 -n 1000 -p $port "$a"
	done
	perftest 1 ib_send_lat -c UD -n 1000
	perftest 1 ib_send_lat -c UD -R -n 1000
	perftest 1 ib_send_lat -c UD -s 4096 -n 1000
	perftest 1 ib_send_bw -c UD -s 256 -n 300 -r 512
	pair udaddy 7174 'return status 0' udaddy -b "$a" -S 4000 -- udaddy -s "$a" -S 4000
	list_qperf ud_lat ud_bw ud_bi_bw
	for test in am_lat am_bw; do
		port=$((port + 1))
		start ud_verbs-$test $port ucx_perftest -p $port
		client ud_verbs-$test '^Final:' ucx_perftest -d ddpsctp0:1 -x ud_verbs -n 2000 -w 100 -p $port -t $test -s 64 $a
		ended ud_verbs-$test
	done
}
datagrams
# shellcheck disable=SC2034 # used by client: both are at one daemon
client_at=a
datagrams
hosts_end
version ibverbs-utils "and perftest, qperf, rdmacm-utils, ucx-utils: ibv_ud_pingpong, ib_send_lat and ib_send_bw -c UD, udaddy, qperf ud_lat, ud_bw and ud_bi_bw, ucx_perftest -x ud_verbs, at two daemons and at one"
