#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: an association has one address at each end unless programs name several. One of several paths carries the
# data. When it fails during 1 GiB of Writes, another one replaces it, and no byte and no session is lost; it recovers
# automatically. ddpctl and programs can choose the primary path. When all paths fail, programs get an event.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddping

# Short timeouts, so that the test is fast; not shorter, because a guest beside other work stands still for some tenths of a
# second, and a path that misses one timeout has failed for now. P and A as in ddp_multihoming(7).
rto_ms=1000 heartbeat_ms=500 P=2
A=$((2 * P)) # with two paths
hosts 2
for host in a b; do
	daemon_at $host "$(addr $host 1), $(addr $host 2)" "sctp:
  rto_min_ms: $rto_ms
  rto_max_ms: $rto_ms
  heartbeat_ms: $heartbeat_ms
  path_max_retrans: $P"
done
a1=$(addr a 1) a2=$(addr a 2) b1=$(addr b 1) b2=$(addr b 2)

# Processes are slow in the guest, so polling uses few of them.

# paths_are N NAME [KEY VALUE]...: N paths have these values.
paths_are() {
	local lines
	mapfile -t lines < <(ctl "$2" -o path "${@:3}")
	[ "${#lines[@]}" -eq "$1" ]
}
# soon WORDS... -- COMMAND...: within a time that is much longer than all configured timeouts.
soon() {
	local words=
	while [ "$1" != -- ]; do
		words="$words $1"
		shift
	done
	shift
	eventually 60 "$@" || fail "not within 60 s:$words: $(ctl a path; ctl b path)"
}

# --- one address, although there are two ---

server pong b "$ddping" -s --socket "$(socket_of b)"
background ping "$ddping" --socket "$(socket_of a)" -i 0.1 "$b1"
soon a session with b -- paths_are 1 b state active
paths_are 1 a || fail "a: $(ctl a path)"
paths_are 1 a address "$b1" || fail "a uses another address: $(ctl a path)"
# b knows the addresses of a's INIT, a knows those of the INIT ACK.
paths_are 1 b || fail "b knows more than one address: $(ctl b path)"
row 5043-7.2-02: hosts with two addresses each: by default each end of an association knows one of the other
stop ping INT || fail "ddping: $(cat "$tmp/ping.log")"
stop pong
none_left() { paths_are 0 a && paths_are 0 b; }
soon no association is left -- none_left

# --- two paths ---

mkfifo "$tmp/commands"
background writer sh -c "exec '$bin/tests/kernel/path_write' '$(socket_of a)' '$(socket_of b)' $a1,$a2 $b1,$b2 <'$tmp/commands'"
writer=$pid
exec 9>"$tmp/commands"
log=$tmp/writer.log
# said WORDS: a line of its output begins with them.
said() { [[ $'\n'$(<"$log") == *$'\n'"$1"* ]]; }
# mib: its progress in MiB.
mib() {
	local line n=0
	while read -r line; do
		case $line in 'at '*) n=${line#at } ;; esac
	done <"$log"
	echo $n
}
reached() { [ "$(mib)" -ge "$1" ] || gone "$writer"; }
# more N: until N more MiB are written and compared.
more() {
	local to=$(($(mib) + $1))
	soon "the writer reaches $to MiB" -- reached $to
	[ "$(mib)" -ge $to ] || fail "the writer has ended at $(mib) MiB"
}
sessions_live() { [ "$(count a session)" = 1 ] && [ "$(count b session)" = 1 ]; }

soon the writer begins -- said 'at 0'
for host in a b; do
	soon "two active paths at $host" -- paths_are 2 $host state active
	paths_are 1 $host primary yes || fail "$host: $(ctl $host path)"
done
paths_are 1 a primary yes address "$b1" || fail "the first address is not the primary one: $(ctl a path)"
assoc=$(ctl a -o path primary yes | sed 's/^path assoc \([0-9]*\) .*/\1/')

# sent N: bytes that host a has sent over the link.
sent() { at a awk -v link="link$1:" '$1 == link { print $10 }' /proc/net/dev; }
# carries N OTHER: link N carries all the data, and the other one only heartbeats.
carries() {
	local on off
	on=$(sent "$1") off=$(sent "$2")
	more 64
	on=$(($(sent "$1") - on)) off=$(($(sent "$2") - off))
	echo "64 MiB: $on bytes over link $1, $off over link $2"
	[ $on -ge $((64 << 20)) ] || fail "link $1 had $on bytes of 64 MiB"
	[ $off -lt $((1 << 20)) ] || fail "link $2 had $off bytes"
}
carries 1 2

# --- the primary one fails in the middle ---

more 16
link 1 down
echo "link 1 goes down at $(mib) MiB"
soon the writer gets the event -- said "path a: inactive: path to $b1 does not answer any more; 1 of 2 paths is active"
paths_are 1 a state inactive address "$b1" || fail "ddpctl: $(ctl a path)"
paths_are 1 a state active address "$b2" || fail "ddpctl: $(ctl a path)"
carries 2 1
sessions_live || fail 'a session was lost'
link 1 up
soon the path is back -- paths_are 2 a state active
soon the writer gets the next event -- said "path a: active: path to $b1 "
more 64
sessions_live || fail 'a session was lost'

# --- the primary path ---

ctl a path set-primary "$assoc" "$b2" || fail "set-primary: exit status $?"
paths_are 1 a primary yes address "$b2" || fail "ddpctl: $(ctl a path)"
more 16
carries 2 1
echo "primary $b1" >&9
soon the writer has chosen -- said "ok primary $b1"
paths_are 1 a primary yes address "$b1" || fail "ddpctl: $(ctl a path)"
more 16
carries 1 2
ctl a path set-primary "$assoc" 10.9.9.9 2>/dev/null
[ $? -eq 5 ] || fail 'an address that the peer has not: not status 5'
link 2 down
soon the other path is inactive -- paths_are 1 a state inactive address "$b2"
ctl a path set-primary "$assoc" "$b2" 2>"$tmp/inactive.log"
[ $? -eq 1 ] || fail 'an inactive path: not status 1'
grep -q 'is not active' "$tmp/inactive.log" || fail "an inactive path: $(cat "$tmp/inactive.log")"
link 2 up
soon both paths work -- paths_are 2 a state active

[ "$(mib)" -ge 1024 ] || more $((1024 - $(mib)))
echo "$(mib) MiB written and compared over both paths"
row 5043-7.2-05: a path fails in the middle of 1 GiB of Writes and another carries on without loss, while both work one carries all
row 4296-2.1.3-02: Writes to one STag reach the same memory before, while and after the path changes

# --- no path is left ---

more 16
disturb 1 loss 100%
disturb 2 loss 100%
over() { gone "$writer"; }
soon the writer gets the event that no path is left -- over
wait "$writer"
status=$?
[ $status -eq 3 ] || fail "the writer: exit status $status"
said 'lost a: Connection timed out: 10.7.1.2 does not answer any more; the association was lost' || fail "a: $(grep lost "$log")"
said 'lost b: Connection timed out: ' || fail "b: $(grep lost "$log")"
soon no session is left -- none_of a session
soon no session is left at b -- none_of b session
exec 9>&-
disturb 1
disturb 2
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
echo "$(mib) MiB; no path is left: configured $(((A + 1) * rto_ms)) ms, reported $(sed -n 's/^a: //p' "$log")"
