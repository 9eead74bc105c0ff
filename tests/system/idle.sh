#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: daemons that slept for a while accept the first association like busy ones. An idle session uses less than
# 4 KiB in each daemon besides its rings, also after it was used, and an idle association less than 8 KiB, and 64 KiB of
# addresses: 16384 of them 128 MiB and 1 GiB. Idle ones do not wake a daemon.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
unset MALLOC_PERTURB_ # it writes to memory that would otherwise never be touched
count=${IDLE_SESSIONS:-1000}

a=$(address 0) b=$(address 1)
daemon a "$a" 'sctp: {heartbeat_ms: 0}'
daemon b "$b" 'sctp: {heartbeat_ms: 0}'

anonymous() { sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of "$1")/status"; }
addresses() { sed -n 's/^VmSize:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of "$1")/status"; }
wakeups() { sed -n 's/^voluntary_ctxt_switches:[ \t]*//p' "/proc/$(pid_of "$1")/status"; }
logged() { grep -q "$1" "$tmp/idle.log"; }

# open PORT PORTS [ROUNDS]: opens the sessions. each[NAME]: the bytes of each in that daemon. room[NAME]: of addresses.
declare -A each room before mapped
open() {
	rm -f "$tmp/hold" && mkfifo "$tmp/hold"
	background idle sh -c "exec '$bin/tests/system/idle_sessions' '$(socket_of a)' '$(socket_of b)' '$b' $1 $count $2 ${3:-0} <'$tmp/hold'"
	exec 9>"$tmp/hold"
	eventually 20 logged listening || fail 'the program does not listen'
	for name in a b; do before[$name]=$(anonymous $name) mapped[$name]=$(addresses $name); done
	echo >&9
	eventually 100 logged open || fail 'the sessions did not open'
	# Not a race: what was in flight goes back to the system within two seconds.
	sleep 3
	for name in a b; do
		each[$name]=$((($(anonymous $name) - before[$name]) * 1024 / count))
		room[$name]=$((($(addresses $name) - mapped[$name]) * 1024 / count))
	done
}

close() {
	exec 9>&-
	eventually 20 none_of a qp || fail 'sessions are left'
	eventually 20 none_of a assoc || fail 'associations are left'
	eventually 20 none_of b assoc || fail 'associations are left'
}

# sleeps: the daemons are not woken while nothing happens. On a busy machine something may still happen: then they are
# watched again.
sleeps() { eventually 5 sleep_now || fail 'something ticks'; }
sleep_now() {
	local name woken most=0
	for name in a b; do before[$name]=$(wakeups $name); done
	sleep 5
	for name in a b; do
		woken=$(($(wakeups $name) - before[$name]))
		echo "daemon $name: $woken wakeups in 5 s"
		most=$((woken > most ? woken : most))
	done
	[ $most -lt 20 ]
}

# Not a race: the test needs a long sleep.
sleep 12
open 7000 1 40
declare -A session=([a]=${each[a]} [b]=${each[b]}) session_room=([a]=${room[a]} [b]=${room[b]})
sleeps
close
open 8000 $count
sleeps
close
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"

[ "$DDP_SANITIZERS" = none ] || exit 0
for name in a b; do
	echo "daemon $name: ${session[$name]} bytes for each of $count idle sessions"
	[ "${session[$name]}" -lt 4096 ] || fail 'an idle session is too large'
done
[ "${DDP_TRANSPORT:-user}" = user ] || exit 0
for name in a b; do
	echo "daemon $name: $((each[$name] - session[$name])) bytes for each of $count idle associations"
	[ $((each[$name] - session[$name])) -lt 8192 ] || fail 'an idle association is too large'
	echo "daemon $name: $((room[$name] - session_room[$name])) bytes of addresses for each"
	[ $((room[$name] - session_room[$name])) -lt 65536 ] || fail 'an idle association has too many addresses'
done
