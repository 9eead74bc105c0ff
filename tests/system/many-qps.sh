#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the queue pairs that the daemon announces fit into the default limits of one user; of a hold counts what is used.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
# The program does not free all; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

daemon a "$(address 0)"
"$bin/tests/system/many_qps" "$(socket_of a)" || fail 'queue pairs'
daemon b "$(address 1)" 'limits: {held: 0}'
"$bin/tests/system/many_qps" "$(socket_of b)" "$(address 1)" || fail 'holds without a pool'
stop b || fail "daemon: exit status $?"
eventually 10 none_of a client qp || fail 'objects are left'
stop a || fail "daemon: exit status $?"
