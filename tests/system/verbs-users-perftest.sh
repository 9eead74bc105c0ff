#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: perftest needs no privilege with ddpverbs. Its programs of one user run with the daemons of another one, and
# leave nothing in them. Only root can start programs of two users.
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs setpriv ib_write_bw ib_atomic_lat

two_users
daemon a "$a"
daemon b "$b"
iterations=${ITERATIONS:-20}
# In user-mode Linux processes are slow.
if [ -d /run/guest ]; then
	list_perftest_few
else
	list_perftest
	for program in ib_{write,read,send}_bw; do
		perftest 23 $program -R -a -n 5
	done
fi
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
