#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: daemons that slept for a while accept the first association like busy ones. An idle session uses less than
# 32 KiB in each daemon besides its rings.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
unset MALLOC_PERTURB_ # it writes to memory that would otherwise never be touched
sessions=500

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"

anonymous() { sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of "$1")/status"; }
# shellcheck disable=SC2034 # by name, below
# shellcheck disable=SC2034 # used by name below
before_a=$(anonymous a) before_b=$(anonymous b)

# Not a race: the test needs a long sleep.
sleep 12
mkfifo "$tmp/hold"
background idle sh -c "exec '$bin/tests/system/idle_sessions' '$(socket_of a)' '$(socket_of b)' '$b' 7000 $sessions <'$tmp/hold'"
exec 9>"$tmp/hold"
opened() { grep -q open "$tmp/idle.log"; }
eventually 60 opened || fail 'the sessions did not open'

if [ "$DDP_SANITIZERS" = none ]; then
	for name in a b; do
		before=before_$name
		each=$((($(anonymous $name) - ${!before}) * 1024 / sessions))
		echo "daemon $name: $each bytes for each of $sessions idle sessions"
		[ $each -lt 32768 ] || fail 'an idle session is too large'
	done
fi
exec 9>&-
eventually 20 none_of a qp || fail 'sessions are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
