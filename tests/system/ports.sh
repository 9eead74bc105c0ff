#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promises: the daemon chooses a free port for port 0; programs can ask for addresses and ports; listeners of one user
# share a port and its association by service keys; malformed and unknown keys are refused; programs that listen and
# connect to each other share one association. A request for a port whose listener has ended waits for the next one,
# unless relisten_ms is 0.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
# The program does not free all; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

a=$(address 0) b=$(address 1)
daemon a "$a" 'session: {connect_ms: 60000, idle_ms: 60000, relisten_ms: 0}'
daemon b "$b" 'session: {connect_ms: 60000, idle_ms: 60000, relisten_ms: 60000}'
# For another user.
chmod 0711 "$tmp"
chmod 0666 "$(socket_of a)" "$(socket_of b)"
"$bin/tests/system/ports" "$(socket_of a)" "$a" "$(socket_of b)" "$b" || fail 'two daemons'
"$bin/tests/system/ports" "$(socket_of a)" "$a" "$(socket_of a)" "$a" || fail 'one daemon'

# What was refused is in the journal of both sides, and the association shows its last error.
grep -q 'stream [0-9]*: session request of .* refused: no program listens' "$tmp/a.log" || fail 'no refusal in the log'
ctl a -d assoc | grep -q '^last_error  .*: session request of .* refused: ' || fail 'ddpctl assoc shows no error'
grep -q "no session with .*: the peer's daemon refused: " "$tmp/a.log" "$tmp/b.log" || fail 'no failure in the log of the peer'
eventually 10 none_of a client listener || fail 'objects are left'
stop a || fail "daemon: exit status $?"
stop b || fail "daemon: exit status $?"
