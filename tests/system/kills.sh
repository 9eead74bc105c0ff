#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: programs and daemons that end by SIGKILL at any moment are noticed by those that are left, which keep nothing of
# them: no object, no descriptor, no memory. Prints how long it took to notice. DDP_KILLS: how many at least, 12
# by default.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddperf

kills=${DDP_KILLS:-12} most_growth=2048 # KiB
declare -A at=([a]=$(address 0) [b]=$(address 1)) kept=() warm=()
RANDOM=${DDP_SEED:-1}
soon='session: {connect_ms: 60000, idle_ms: 100}' # associations end soon, and so do their blocks

# unharmed HOST: the daemon has no more than after its first two rounds of sessions, which warm its caches: not a descriptor.
unharmed() {
	local fds kib was_fds was_kib
	[ "${warm[$1]-0}" -ge 2 ] || return 0
	read -r fds _ kib <<<"$(holds "$1")"
	: "${kept[$1]:=$fds $kib}"
	read -r was_fds was_kib <<<"${kept[$1]}"
	[ "$fds" -le "$was_fds" ] && [ "$kib" -le $((was_kib + most_growth)) ]
}

serve_both() { [ "$(count b listener)" = 2 ]; }
serve() {
	case $1 in
	pong) background pong "$ddping" -s -q --socket "$(socket_of b)" ;;
	perf) background perf "$ddperf" -s --socket "$(socket_of b)" ;;
	esac
}
begin() {
	case $1 in
	ping) background ping "$ddping" --socket "$(socket_of a)" -q -i 0.001 -c 1000000 -S 20000 "${at[b]}" ;;
	write) background write "$ddperf" --socket "$(socket_of a)" -t 600 -S 64K "${at[b]}" write bw ;;
	esac
}
sessions() { [ "$(count "$1" session)" = "$2" ]; }
# Both clients have a session. One that a server refused, because the last one has just ended, begins again.
both_work() {
	local client
	for client in ping write; do
		! gone "$(pid_of $client)" || begin $client
	done
	sessions a 2
}

all_end() { # the processes of these names have ended
	local name
	for name in "$@"; do gone "$(pid_of "$name")" || return 1; done
}

# noticed PARTY: by all that had to do with it.
noticed() {
	case $1 in
	ping | write) sessions a 1 && sessions b 1 ;;
	pong) all_end ping && sessions a 1 && sessions b 1 ;;
	perf) all_end write && sessions a 1 && sessions b 1 ;;
	a) all_end ping write && sessions b 0 ;;
	b) all_end ping write && sessions a 0 ;;
	esac
}
clean() { none_of a client session qp mr assoc && none_of b session assoc && unharmed a && unharmed b; }

counted a "${at[a]}" "$soon" && counted b "${at[b]}" "$soon"
for server in pong perf; do serve $server; done
parties=(ping write pong perf a b)

# all_well TEXT: the servers listen, and nothing is left.
all_well() {
	eventually 20 serve_both || fail "$1: the servers do not listen"
	eventually 20 clean || fail "$1: left: $(ctl a -o client qp mr) $(ctl b -o session) a: $(holds a), was ${kept[a]-}; b: $(holds b), was ${kept[b]-}"
}

# begins_again PARTY: what was killed, if it is no client.
begins_again() {
	case $1 in
	pong | perf) serve "$1" ;;
	a | b)
		unset "kept[$1]" "warm[$1]"
		counted "$1" "${at[$1]}" "$soon"
		;;
	esac
}

# kills PARTY TEXT: while both clients work.
kills() {
	local began client
	begin ping && begin write
	eventually 20 both_work || fail "$2: no session"
	sleep "0.$(printf %03d $((RANDOM % 300)))" # the moment is what is tried
	began=${EPOCHREALTIME/[^0-9]/}
	kill -KILL "$(pid_of "$1")"
	wait "$(pid_of "$1")" 2>/dev/null
	warm[a]=$((${warm[a]-0} + 1)) warm[b]=$((${warm[b]-0} + 1))
	eventually 20 noticed "$1" || fail "$2: not noticed: $(ctl a -o session) $(ctl b -o session)"
	echo "$1 $(((${EPOCHREALTIME/[^0-9]/} - began) / 1000))" >>"$tmp/times"
	for client in ping write; do
		kill "$(pid_of $client)" 2>/dev/null
		eventually 20 all_end $client || fail "$2: $client does not end"
	done
	begins_again "$1"
	all_well "$2"
}

# The rounds of a party end with one in which no heap has grown. With a leak of one block for each association there is none.
all_well 'at the beginning'
for party in "${parties[@]}"; do
	for ((i = 1, growing = 1; i <= kills / ${#parties[@]} || growing; i++)); do
		kills "$party" "kill $i of $party"
		growing=0
		for host in a b; do
			[ $host = "$party" ] || ! grows $host || growing=1 # what was killed has begun again
		done
		[ $i -lt $((kills / ${#parties[@]} + 8)) ] || [ $growing -eq 0 ] || fail "the heap grows with each kill of $party: a: $(holds a), b: $(holds b)"
	done
done
for host in a b; do stop $host || fail "daemon $host: exit status $?"; done
sort "$tmp/times" | awk '{ n[$1]++; if ($2 > most[$1]) most[$1] = $2 } END { for (v in n) printf "%s%s: %d times, noticed after %d ms at most", sep++ ? "; " : "", v, n[v], most[v]; print "" }'
