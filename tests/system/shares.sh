#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a user's program that always has data to send gets its share of the bandwidth beside eight busy sessions of another
# user, and about as much as the other user: inside one daemon, in one association, and in associations of their own.
# A share is counted in bytes, so other work on this machine changes it only where it keeps the program from posting: it posts
# 2,048 Writes ahead. Beside programs of another user that have the daemon do other work, a share is counted in bytes for each
# second that the daemon runs, of those without that work. So it is beside floods of datagrams inside one daemon, to numbers of
# queue pairs and to a free one. To another daemon they have a share of the bytes, and that daemon counts those that it drops.
#   SHARES_FLOOR    the least share of the first user in percent of the bytes of both, or of the daemon's time [25; 50 is even]
#   SHARES_SECONDS  how long to count [1]
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3 setpriv
[ "$(id -u)" -eq 0 ] || skip 'needs root, to be several users'
[ "$DDP_SANITIZERS" = none ] || skip 'sanitizers leave the program too little of the processor to post ahead'
floor=${SHARES_FLOOR:-25} seconds=${SHARES_SECONDS:-1}
mine=65531 other=65532 server=65533
stay=0 # programs of both that go on

chmod 0711 "$tmp"
socket_mode=0666
a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"

# neighbor UID NAME WORD...: a program of that user.
neighbor() {
	local uid=$1 name=$2
	shift 2
	background "$name" setpriv --reuid="$uid" --regid="$uid" --clear-groups env "LD_LIBRARY_PATH=$bin/.libs" \
		"$neighbor" "$@"
}
neighbor=$bin/tests/system/neighbor
[ ! -x "$bin/tests/system/.libs/neighbor" ] || neighbor=$bin/tests/system/.libs/neighbor
ready() { [ "$(grep -c '^ready' "$tmp/$1.log")" -eq "$2" ]; }
is_ready() { eventually 20 ready "$1" "$2" || fail "$1 is not ready"; }
end() {
	local name
	for name; do kill "$(pid_of "$name")"; done
	eventually 10 alone || fail 'programs do not end'
}
alone() { [ "$(ctl a -j client | python3 -c "import json, sys
print(sum(c['uid'] in ($mine, $other) for c in json.load(sys.stdin)))")" -eq "$stay" ]; }

# sent: the bytes of both users so far.
sent() {
	ctl a -j user | python3 -c "import json, sys
sent = {u['uid']: u['tx_bytes'] for u in json.load(sys.stdin)}
print(sent.get($mine, 0), sent.get($other, 0))"
}

# share HOW: of the bytes that both send from now on.
share() {
	local before after of both
	read -ra before < <(sent)
	sleep "$seconds" # the measurement itself
	read -ra after < <(sent)
	of=$((after[0] - before[0])) both=$((after[0] - before[0] + after[1] - before[1]))
	[ $both -gt 0 ] || fail "$1: nobody sends"
	echo "$1: $((of / 1000000)) of $((both / 1000000)) MB, $((100 * of / both)) %"
	[ $((100 * of)) -ge $((floor * both)) ] || fail "$1: $((100 * of / both)) % of the bytes of both users"
}

# rate: bytes that the first user sends while the daemon runs for 10 ms.
rate() {
	local before after run
	read -ra before < <(sent)
	run=$(ticks)
	sleep "$seconds" # the measurement itself
	read -ra after < <(sent)
	run=$(($(ticks) - run))
	echo $(((after[0] - before[0]) / (run > 0 ? run : 1)))
}
ticks() { awk '{ print $14 + $15 }' "/proc/$(pid_of a)/stat"; }

# beside KIND...: eight programs of the other user do that again and again. Other work on this machine makes the daemon slower
# as well: what counts is the best of three rounds.
beside() {
	local kind=$1 best=0 alone with n
	shift
	for ((n = 0; n < 3 && best < floor; n++)); do
		alone=$(rate)
		run_eight "$kind" "$@"
		with=$(rate)
		end others{1..8}
		[ "$alone" -gt 0 ] || fail "$kind: the program alone does not send"
		best=$((100 * with / alone > best ? 100 * with / alone : best))
	done
	echo "beside $kind: $best % of the bytes for the same time of the daemon"
	[ $best -ge $floor ] || fail "beside $kind: $best % of the bytes for the same time of the daemon"
}
run_eight() {
	local i
	for i in {1..8}; do neighbor $other "others$i" "$1" "$(socket_of a)" "${@:2}"; done
	for i in {1..8}; do is_ready "others$i" 1; done
}

ports=(7000 7001 7002 7003 7004 7005 7006 7007 7008)
for name in a b; do
	neighbor $server "serve_$name" serve "$(socket_of $name)" "${ports[@]}"
	is_ready "serve_$name" 1
done

for how in loop association; do
	to=$b programs=8
	[ $how = association ] || to=$a programs=1
	neighbor $other others bulk "$(socket_of a)" "$to" 7000 $programs $((8 / programs)) 65536 64
	is_ready others $programs
	neighbor $mine mine bulk "$(socket_of a)" "$to" 7000 1 1 65536 2048
	is_ready mine 1
	share "$how"
	end mine others
done

neighbor $mine mine bulk "$(socket_of a)" "$a" 7000 1 1 65536 2048
is_ready mine 1
stay=1
beside bells
for kind in connect query attach qps cqs; do beside $kind "$a" 7000; done

# counted OBJECT COUNTER: the sum of daemon b is above 0.
counted() {
	ctl b -j "$1" | python3 -c "import json, sys; sys.exit(sum(o['$2'] or 0 for o in json.load(sys.stdin)) == 0)"
}
free=16777215 # all programs have lower numbers
beside flood "$a" 0
beside flood "$a" $free
stay=0
end mine
neighbor $server sink sink "$(socket_of b)"
is_ready sink 1
neighbor $mine mine bulk "$(socket_of a)" "$b" 7000 1 1 65536 2048
is_ready mine 1
stay=1
run_eight flood "$b" "$(sed -n 's/^number //p' "$tmp/sink.log")"
share datagrams
end others{1..8}
eventually 10 counted qp rx_dropped || fail 'datagrams without a receive are not counted'
run_eight flood "$b" $free
share "datagrams to a free number"
end others{1..8}
eventually 10 counted peer lost_datagrams || fail 'datagrams to a free number are not counted'
stay=0
end mine
kill "$(pid_of sink)"

others=()
for port in "${ports[@]:1}"; do
	neighbor $other "other$port" bulk "$(socket_of a)" "$b" "$port" 1 1 65536 64
	others+=("other$port")
done
for name in "${others[@]}"; do is_ready "$name" 1; done
neighbor $mine mine bulk "$(socket_of a)" "$b" 7000 1 1 65536 2048
is_ready mine 1
share associations
end mine "${others[@]}"
for name in serve_a serve_b; do kill "$(pid_of $name)"; done
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
