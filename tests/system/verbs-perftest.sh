#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: perftest runs unchanged with ddpverbs, each program with rdma_cm and without, and leaves nothing in the
# daemons. Its programs compare no data. verbs-sizes.sh has all sizes.
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs ib_write_bw ib_atomic_lat

daemon a "$a"
daemon b "$b"
list_perftest
# More messages than receives: the sender is as fast as the receiver.
perftest 1 ib_send_bw -R -n $((iterations * 20))
# More messages on their way than the daemon holds for late receives: the sender waits.
for cm in '' -R; do
	# shellcheck disable=SC2086
	perftest 1 ib_send_bw $cm -r 1 -n $((iterations * 5))
	# shellcheck disable=SC2086
	perftest 1 ib_send_bw $cm -r 1 -b -s 200000 -n $((iterations * 2))
done
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
