#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: perftest runs unchanged with ddpverbs with all its sizes of messages, and leaves nothing in the daemons. Its
# programs compare no data.
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs ib_write_bw ib_send_lat

daemon a "$a"
daemon b "$b"
list_perftest_sizes
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
