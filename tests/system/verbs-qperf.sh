#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: qperf runs unchanged with ddpverbs, with rdma_cm and without, and leaves nothing in the daemons. Its server
# has a child for each client. ver_rc_compare_swap compares what it finds.
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs qperf

daemon a "$a"
daemon b "$b"
list_qperf
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
