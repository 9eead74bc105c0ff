#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: hostile local programs, whatever they send, write into shared memory or do to their descriptors, and whenever
# they stop or end, crash no daemon, change no byte of another user's client, and leave nothing behind: no client, no
# object, no descriptor, no charge.
# CHAOS_SECONDS is how long, CHAOS_SEED repeats what was drawn (but not how it interleaved).
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
for program in chaos rounds; do
	[ -x "$bin/tests/system/$program" ] || skip "needs tests/system/$program, which is not built"
done
seconds=${CHAOS_SECONDS:-$([ "$DDP_SANITIZERS" = none ] && echo 15 || echo 90)}
seed=${CHAOS_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "$seconds seconds, seed $seed"

a=$(address 0) b=$(address 1)
chmod 755 "$tmp" # for programs of another user
socket_mode=0666
limits='limits: {memory: 256MiB}'
daemon a "$a" "$limits" 'session: {connect_ms: 3000, idle_ms: 0}'
daemon b "$b" "$limits" 'session: {connect_ms: 60000, idle_ms: 0}'

descriptors() { find "/proc/$(pid_of "$1")/fd" -type l | wc -l; }
as_before() { [ "$(descriptors a)" -le "$1" ] && [ "$(descriptors b)" -le "$2" ]; }
# uncharged NAME: no user has memory or objects.
uncharged() {
	ctl "$1" -j user | python3 -c '
import json, sys
charged = [u for u in json.load(sys.stdin) if u["mrs"] or u["mr_bytes"] or u["qps"]]
sys.exit(f"charged: {charged}" if charged else 0)'
}

before_a=$(descriptors a) before_b=$(descriptors b)
good() {
	while [ ! -e "$tmp/over" ]; do
		timeout 120 "$bin/tests/system/rounds" "$(socket_of a)" "$(socket_of b)" "$b" 20 || return 1
		echo >>"$tmp/good.rounds"
	done
	echo 'the good client is well'
}
: >"$tmp/good.rounds"
background good good
timeout $((seconds * 6 + 60)) "$bin/tests/system/chaos" "$seconds" "$seed" "$(socket_of a)" "$a" "$b" >"$tmp/chaos.log" 2>&1
status=$?
touch "$tmp/over"
grep '^#' "$tmp/chaos.log"
tail -n 1 "$tmp/chaos.log"
for name in a b; do
	gone "$(pid_of $name)" || continue
	grep -A 30 -E 'ERROR: |runtime error' "$tmp/$name.log"
	wait "$(pid_of $name)"
	fail "daemon $name has ended with status $?, seed $seed"
done
eventually 20 gone "$(pid_of good)" || fail 'the good client hangs'
tail -n 1 "$tmp/good.log" | grep -q 'is well' || fail "the good client: $(tail -n 1 "$tmp/good.log")"
echo "the good client: $(($(wc -l <"$tmp/good.rounds") * 20)) rounds"
ended=$(date +%s%3N)
for name in a b; do
	eventually 30 none_of $name client session qp mr mw cq srq pd listener assoc || fail "daemon $name keeps objects, seed $seed"
done
echo "all objects were gone $(($(date +%s%3N) - ended)) ms later"
eventually 10 as_before "$before_a" "$before_b" ||
	fail "descriptors: $before_a, $before_b before, $(descriptors a), $(descriptors b) now, seed $seed"
for name in a b; do
	uncharged $name || fail "daemon $name counts what is gone, seed $seed"
	stop $name || fail "daemon $name: exit status $?"
done
[ $status -eq 0 ] || fail "chaos: exit status $status, seed $seed"
