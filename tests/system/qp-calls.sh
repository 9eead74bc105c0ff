#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: calls and requests keep their promises at their limits, between two daemons and within one.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
# The program does not free all; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
"$bin/tests/system/qp_calls" "$(socket_of a)" "$(socket_of b)" "$b" || fail 'two daemons'
"$bin/tests/system/qp_calls" "$(socket_of a)" "$(socket_of a)" "$a" || fail 'one daemon'
eventually 10 none_of a client cq || fail 'objects are left'
stop a || fail "daemon: exit status $?"
stop b || fail "daemon: exit status $?"
