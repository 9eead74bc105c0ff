#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a network of peers takes no more than its limits say: associations, session requests that wait, requests in a second,
# memory for segments before an Accept. Other networks and programs here do not feel it, the administrator sees it, and what a
# peer leaves is free again.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3

b=$(address 0)
a=$(address 1)
IFS=. read -r _ x y _ <<<"$a"
other=127.$((x ^ 128)).$y.9 # of another network
network=127.$x.$y.0/24
daemon b "$b" 'peers: {early_bytes: 2MiB, associations: 48, requests: 64}' 'session: {answer_ms: 600000, connect_ms: 60000}'

# peer NETWORK FIELD
peer() {
	ctl b -j peer | python3 -c 'import json, sys; print(([p[sys.argv[2]] for p in json.load(sys.stdin) if p["network"] == sys.argv[1]] or [0])[0])' "$@"
}
holds() { [ "$(peer "$1" "$2")" = "$3" ]; }
resident() { sed -n 's/^VmRSS:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of b)/status"; }

# greedy NAME KIND ADDRESS N: until it is stopped.
greedy() {
	background "$1" "$bin/tests/system/greedy" "$2" "$3" "$b" "$port" "$4"
	eventually 30 grep -q '^up' "$tmp/$1.log" || fail "greedy $2"
}

background listener "$bin/tests/system/greedy" listen "$(socket_of b)"
eventually 20 grep -q port "$tmp/listener.log" || fail 'the listener'
port=$(sed -n 's/^port //p' "$tmp/listener.log")

# Segments before the Accept: 23 MB offered.
before=$(resident)
greedy early early "$a" 40
[ "$(peer "$network" early_bytes)" -le $((2 << 20)) ] || fail "$(peer "$network" early_bytes) bytes before the Accept"
[ "$(peer "$network" refused_early)" -gt 0 ] || fail 'no segment was refused'
grown=$(($(resident) - before))
[ "$DDP_SANITIZERS" != none ] || [ $grown -lt 10240 ] || fail "the daemon has grown by $grown KiB"
ctl b event >"$tmp/events.log"
[ "$(grep -c 'peer-limit' "$tmp/events.log")" = 1 ] || fail 'the limit is not one event'
grep -q "network of peers at its limit: $network has .* (peers.early_bytes)" "$tmp/b.log" || fail 'no line in the log'
stop early
eventually 10 holds all early_bytes 0 || fail 'the memory stays'
greedy one early "$other" 1
grep -q 'ended 0' "$tmp/one.log" || fail 'another network gets no memory'
stop one

# Associations.
greedy assocs assocs "$a" 60
grep -q '^up 48,' "$tmp/assocs.log" || fail 'the limit of associations'
[ "$(peer "$network" refused_associations)" -ge 12 ] || fail 'refused associations are not counted'
daemon c "$other"
server ping b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of c)" -q -c 3 -i 0 "$b" >"$tmp/ping-c.log" 2>&1 || fail 'another network is refused'
"$ddping" --socket "$(socket_of b)" -q -c 3 -i 0 "$b" >"$tmp/ping-b.log" 2>&1 || fail 'a program of this daemon is refused'
stop assocs
eventually 10 holds "$network" associations 0 || fail 'associations stay'

# Session requests that wait, and in a second.
greedy requests requests "$a" 100
eventually 10 holds "$network" refused_requests 36 || fail "$(peer "$network" refused_requests) requests were refused"
holds "$network" requests 64 || fail "$(peer "$network" requests) requests wait"
stop requests
eventually 10 holds "$network" requests 0 || fail 'requests stay'
ctl b limit set peers.requests_per_s 10 >"$tmp/set.log" 2>&1 || fail 'limit set'
greedy rate requests "$a" 60
rate_is_kept() { [ "$(peer "$network" refused_rate)" -ge 30 ]; }
eventually 10 rate_is_kept || fail "$(peer "$network" refused_rate) requests beyond the rate"
stop rate

# A rule for a prefix: none of its hosts, and the other end reports the reason.
ctl b limit set peers.rules "127.$((x ^ 128)).0.0/16 associations=0" >"$tmp/set.log" 2>&1 || fail 'limit set'
eventually 10 holds "127.$((x ^ 128)).$y.0/24" associations 0 || fail 'the association of c stays'
"$ddping" --socket "$(socket_of c)" -q -c 1 "$b" >"$tmp/ping-none.log" 2>&1 && fail 'the rule has no effect'
grep -q 'no room for more, or not for this network' "$tmp/ping-none.log" || fail 'no reason'
for name in b c; do stop $name || fail "daemon $name fails"; done
