#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: 10 000 rounds (or ROUNDS) of connect, transfer and disconnect leak no descriptor, no mapping and no memory
# in either daemon; nor do rounds that each use a new association.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
rounds=$bin/tests/system/rounds
[ -x "$rounds" ] || skip 'needs tests/system/rounds, which is not built'

# The first rounds are not compared: an association touches memory for each stream that it uses for the first time.
many=${ROUNDS:-10000} few=300 warm=5000
[ "$many" -ge $few ] || few=$many warm=$many
[ "$DDP_SANITIZERS" = none ] || many=1000 few=50 warm=500

daemon a "$(address 0)"
daemon b "$(address 1)"

# What a daemon holds: descriptors, mappings, resident KiB. The STag table does not count: it is one large mapping,
# and random STags touch more of its pages over time.
holds() {
	local p
	p=$(pid_of "$1")
	echo "$(find "/proc/$p/fd" -type l | wc -l) $(wc -l <"/proc/$p/maps") $(awk '
		$1 == "Size:" { large = $2 > 65536 }
		$1 == "Rss:" && !large { sum += $2 }
		END { print sum }' "/proc/$p/smaps")"
}

run() { # COUNT ADDRESS-OF-B
	timeout 400 "$rounds" "$(socket_of a)" "$(socket_of b)" "$2" "$1" >"$tmp/rounds.log" 2>&1 ||
		fail "$1 rounds"
	for name in a b; do
		eventually 20 none_of $name client session qp mr cq assoc || fail "daemon $name keeps objects"
	done
}

compare() { # DAEMON, BEFORE, WHAT
	local fds maps rss now
	read -r fds maps rss <<<"$2"
	now=$(holds "$1")
	read -r fds_now maps_now rss_now <<<"$now"
	echo "daemon $1, $3: descriptors $fds -> $fds_now, mappings $maps -> $maps_now, resident $rss -> $rss_now KiB"
	[ "$fds_now" -le "$fds" ] || fail "daemon $1: descriptors are left"
	[ "$DDP_SANITIZERS" = none ] || return 0
	[ "$maps_now" -le $((maps + 8)) ] || fail "daemon $1: mappings are left"
	# The heap may keep the memory of one or two associations, 3 MiB each.
	[ "$rss_now" -le $((rss + 8192)) ] || fail "daemon $1: memory is left"
}

run $warm "$(address 1)"
before_a=$(holds a) before_b=$(holds b)
run $many "$(address 1)"
compare a "$before_a" "$many rounds"
compare b "$before_b" "$many rounds"

# With session.idle_ms 0 an association ends with its last session: each round opens a new one.
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
brief='session:
  idle_ms: 0'
daemon a "$(address 2)" "$brief"
daemon b "$(address 3)" "$brief"
run 100 "$(address 3)"
before_a=$(holds a) before_b=$(holds b)
run $few "$(address 3)"
compare a "$before_a" "$few associations"
compare b "$before_b" "$few associations"
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
row 4296-2.1.2-07: Writes to the address and key that a registration returned, in each round
row 5041-6.2-02: with session.idle_ms 0 an association ends with its last session
echo "$many rounds and $few associations leak nothing"
