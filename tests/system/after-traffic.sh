#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: associations that carried bulk data at the same time use less than 64 KiB each when they are idle again.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_SANITIZERS" = none ] || skip 'sanitizers keep memory that was freed'
[ "${DDP_TRANSPORT:-user}" = user ] || skip 'the buffers are those of the kernel'
unset MALLOC_PERTURB_ # it writes to memory that would otherwise never be touched
programs=16 ports=2 rounds=${TRAFFIC_ROUNDS:-40} bytes=1048576

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"

anonymous() { sed -n 's/^Pss_Anon:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of "$1")/smaps_rollup"; }
logged() { grep -q "$2" "$tmp/$1.log"; }

declare -A before
for n in $(seq $programs); do
	mkfifo "$tmp/hold$n"
	background "idle$n" sh -c "exec '$bin/tests/system/idle_sessions' '$(socket_of a)' '$(socket_of b)' '$b' $((7000 + n * ports)) $ports \
		$ports $rounds $bytes <'$tmp/hold$n'"
	exec {hold}>"$tmp/hold$n"
	holds[n]=$hold
	eventually 20 logged "idle$n" listening || fail 'a program does not listen'
done
for name in a b; do before[$name]=$(anonymous $name); done
for n in $(seq $programs); do echo >&"${holds[n]}"; done
for n in $(seq $programs); do eventually 100 logged "idle$n" open || fail 'the sessions did not end their traffic'; done
[ "$(count a assoc)" = $((programs * ports)) ] || fail 'not an association for each session'

small() { [ $((($(anonymous "$1") - before[$1]) / (programs * ports))) -lt 64 ]; }
for name in a b; do
	eventually 5 small $name || fail "daemon $name: $((($(anonymous $name) - before[$name]) / (programs * ports))) KiB for each"
done
for hold in "${holds[@]}"; do exec {hold}>&-; done
eventually 20 none_of a qp || fail 'sessions are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
