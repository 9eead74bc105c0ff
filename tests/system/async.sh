#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: asynchronous events report failures between two daemons and within one, and the end of the daemon.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
# The program does not free all; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
"$bin/tests/system/async" "$(socket_of a)" "$(socket_of b)" "$b" || fail 'two daemons'
"$bin/tests/system/async" "$(socket_of a)" "$(socket_of a)" "$a" || fail 'one daemon'
eventually 10 none_of a client cq || fail 'objects are left'

background watcher "$bin/tests/system/async" -w "$(socket_of a)" 1
eventually 10 grep -q ready "$tmp/watcher.log" || fail 'the watcher does not begin'
stop a || fail "daemon: exit status $?"
eventually 10 gone "$pid" || fail 'the end of the daemon was not reported'
[ "$(tail -n 1 "$tmp/watcher.log")" = 'device gone' ] || fail 'another event came'
stop b || fail "daemon: exit status $?"
