#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: with the default limits 10,000 idle sessions of three programs use less than 100 MB of a daemon, and less than
# 256 MiB of limits.memory: the test opens a part of them, MANY_SESSIONS opens more.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
[ "$DDP_SANITIZERS" = none ] || skip 'sanitizers use more memory'
unset MALLOC_PERTURB_ # it writes to memory that would otherwise never be touched
each=$((${MANY_SESSIONS:-1500} / 3)) depth=16

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"

resident() { sed -n 's/^Rss:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of "$1")/smaps_rollup"; }
charged() {
	ctl "$1" -j limit | python3 -c 'import json, sys
print(max(row["used"] for row in json.load(sys.stdin) if row["name"] == "memory"))'
}
logged() { grep -q "$2" "$tmp/$1.log"; }

declare -A rss memory
for n in 1 2 3; do
	mkfifo "$tmp/hold$n"
	background "idle$n" sh -c "exec '$bin/tests/system/idle_sessions' '$(socket_of a)' '$(socket_of b)' '$b' $((7000 + n)) $each 1 1 64 $depth <'$tmp/hold$n'"
	exec {hold}>"$tmp/hold$n"
	holds[n]=$hold
	eventually 20 logged "idle$n" listening || fail 'a program does not listen'
done
for name in a b; do rss[$name]=$(resident $name) memory[$name]=$(charged $name); done
for hold in "${holds[@]}"; do echo >&"$hold"; done
for n in 1 2 3; do eventually 100 logged "idle$n" open || fail 'the sessions did not open'; done

few() { [ $((($(resident "$1") - rss[$1]) * 1024 / (3 * each))) -lt 10000 ]; }
for name in a b; do
	memory[$name]=$((($(charged $name) - memory[$name]) / (3 * each)))
	[ "${memory[$name]}" -lt 26843 ] || fail "daemon $name: ${memory[$name]} bytes are charged for each"
	eventually 5 few $name || fail "daemon $name: $((($(resident $name) - rss[$name]) / (3 * each))) KiB of memory for each"
	echo "daemon $name: $(resident $name) KiB in all, ${memory[$name]} bytes charged for each of $((3 * each)) sessions"
done
for hold in "${holds[@]}"; do exec {hold}>&-; done
eventually 20 none_of a qp || fail 'sessions are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
