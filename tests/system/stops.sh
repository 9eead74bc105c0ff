#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a daemon or program that is stopped (SIGSTOP) harms nobody else: sessions that are not its own go on, the
# other daemons answer, and afterwards nothing is left. Its own session goes on, or ends with a reason. Each is stopped
# until the others have done 300 rounds, or DDP_STOP_ROUNDS; DDP_STOP_SECONDS: at least so long.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping

seconds=${DDP_STOP_SECONDS:-0} wanted=${DDP_STOP_ROUNDS:-300} most_growth=2048 # KiB
declare -A at=([a]=$(address 0) [b]=$(address 1) [c]=$(address 2)) kept=()

# Clients by the daemons at their ends: ab is a program of a, and its server one of b.
begin() { background "$1" "$ddping" --socket "$(socket_of "${1:0:1}")" -i 0.002 -c 100000000 -W 60 -S 2000 "${at[${1:1:1}]}"; }
rounds() { grep -c 'bytes from' "$tmp/$1.log"; }
has_done() { [ "$(rounds "$1")" -ge "$2" ]; }
works() {
	local goal=$(($(rounds "$1") + wanted))
	eventually 20 has_done "$1" $goal
}

# Descriptors and memory, as kills.sh compares them.
unharmed() {
	local host fds kib was_fds was_kib
	for host in a b c; do
		read -r fds _ kib <<<"$(holds $host)"
		read -r was_fds _ was_kib <<<"${kept[$host]}"
		[ "$fds" -le "$was_fds" ] && [ "$kib" -le $((was_kib + most_growth)) ] || return 1
	done
}
sessions() { [ "$(count a session)" = 2 ] && [ "$(count b session)" = 2 ] && [ "$(count c session)" = 2 ]; }

# others_go_on PARTY: while it is stopped. The arrays `hosts` and `others` name the daemons and the clients.
others_go_on() {
	local host client until=$((SECONDS + seconds)) before
	before=$(cat "$tmp"/??.log | grep -c 'bytes from')
	while :; do
		for host in "${hosts[@]}"; do answers "$host" || fail "$1 is stopped: daemon $host does not answer"; done
		for client in "${others[@]}"; do works "$client" || fail "$1 is stopped: $client does not go on: $(tail -n 2 "$tmp/$client.log")"; done
		[ $SECONDS -lt $until ] || break
	done
	echo "$1 stopped: the others did $(($(cat "$tmp"/??.log | grep -c 'bytes from') - before)) rounds"
}

goes_on_or_ended() { gone "$(pid_of "$1")" || has_done "$1" "$2"; }

# goes_on PARTY CLIENT: its session goes on, or has ended with a reason; then it begins again.
goes_on() {
	local reason
	eventually 30 goes_on_or_ended "$2" $(($(rounds "$2") + wanted)) ||
		fail "$1 goes on, but $2 neither goes on nor ends: $(tail -n 3 "$tmp/$2.log")"
	gone "$(pid_of "$2")" || return 0
	reason=$(grep '^ddping: ' "$tmp/$2.log") || fail "$2 ended without a reason"
	echo "  $2 ended: $reason"
	begin "$2" && works "$2" || fail "after $1 was stopped: $2 has no new session"
}

# stopped PARTY DAEMON... -- CLIENT...: those that have nothing to do with it.
stopped() {
	local party=$1 client hosts=() others
	shift
	while [ "$1" != -- ]; do
		hosts+=("$1")
		shift
	done
	shift
	others=("$@")
	kill -STOP "$(pid_of "$party")"
	others_go_on "$party"
	kill -CONT "$(pid_of "$party")"
	for client in ab ac bc; do goes_on "$party" $client; done
	for client in "${others[@]}"; do
		! grep -q '^ddping: ' "$tmp/$client.log" || fail "$client ended because $party was stopped"
	done
	eventually 20 sessions || fail "after $party was stopped: sessions: $(ctl a -o session) $(ctl b -o session) $(ctl c -o session)"
	eventually 20 unharmed || fail "after $party was stopped: a: $(holds a), was ${kept[a]}; b: $(holds b), was ${kept[b]}; c: $(holds c), was ${kept[c]}"
}

# heaps_settle ARGUMENT...: stops it, as stopped(), again each time that a heap has grown: a leak would grow with each stop.
heaps_settle() {
	local host growing
	for _ in {1..5}; do
		stopped "$@"
		growing=
		for host in a b c; do ! grows $host || growing="$growing $host"; done
		[ -n "$growing" ] || return 0
	done
	fail "with each stop of $1 there are more blocks in the heaps of$growing: a: $(holds a), b: $(holds b), c: $(holds c)"
}

for host in a b c; do counted $host "${at[$host]}"; done
for host in b c; do server pong$host $host "$ddping" -s -q --socket "$(socket_of $host)"; done
for client in ab ac bc; do begin $client; done
for client in ab ac bc; do works $client || fail "$client has no session"; done
for host in a b c; do
	kept[$host]=$(holds $host)
	grows $host
done
heaps_settle a b c -- bc
heaps_settle b a c -- ac
heaps_settle ab a b c -- ac bc
heaps_settle pongb a b c -- ac bc
for client in ab ac bc; do
	kill "$(pid_of $client)"
	eventually 20 gone "$(pid_of $client)" || fail "$client does not end"
done
for host in a b c; do eventually 20 none_of $host session qp || fail "daemon $host: a session is left"; done
for host in a b c; do stop $host || fail "daemon $host: exit status $?"; done
