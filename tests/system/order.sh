#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a call takes effect after what the program has posted before it, between two daemons and within one.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
# The program does not free all; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

a=$(address 0) b=$(address 1)
# Daemons that do not poll; a peer that is stopped is waited for briefly.
lines=('polling: {budget_us: 0}' 'session: {connect_ms: 60000, close_ms: 3000}')
daemon a "$a" "${lines[@]}"
daemon b "$b" "${lines[@]}"
"$bin/tests/system/order" "$(socket_of a)" "$(socket_of b)" "$b" "$(pid_of a)" "$(pid_of b)" || fail 'two daemons'
"$bin/tests/system/order" "$(socket_of a)" "$(socket_of a)" "$a" "$(pid_of a)" "$(pid_of a)" || fail 'one daemon'
eventually 10 none_of a client cq || fail 'objects are left'
stop a || fail "daemon: exit status $?"
stop b || fail "daemon: exit status $?"
