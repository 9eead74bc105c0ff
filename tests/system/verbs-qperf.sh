#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: qperf runs unchanged with ddpverbs, with rdma_cm and without, and leaves nothing in the daemons. Its server
# has a child for each client. ver_rc_compare_swap compares what it finds.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs qperf

daemon a "$a"
daemon b "$b"
start qperf $port qperf -lp $port
for cm in 0 1; do
	for test in rc_lat rc_bw rc_rdma_write_poll_lat rc_rdma_write_bw ver_rc_compare_swap; do
		client "qperf-$test" '(latency|bw|msg_rate) += ' qperf "$a" -lp $port -t 1 -cm $cm $test
		eventually 10 clean || fail "qperf -cm $cm $test leaves something in a daemon"
		echo "ran: qperf -cm $cm $test"
	done
done
client quit '' qperf "$a" -lp $port quit
ended qperf
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
