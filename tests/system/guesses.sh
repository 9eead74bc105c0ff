#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: who guesses STags gets 100 sessions at once, and later ones slowly; sessions that exist and other networks do not
# feel it, and the administrator sees it. The guesser's own daemon charges its user.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3

a=$(address 0)
b=$(address 1)
IFS=. read -r _ x y _ <<<"$a"
other=127.$((x ^ 128)).$y.9 # of another network
d=$(address 2)
for name in a b d; do daemon $name "${!name}"; done
daemon c "$other"

# counted NAME FIELD: of the daemon's status.
counted() { ctl "$1" -j status | python3 -c 'import json, sys; print(json.load(sys.stdin)[0][sys.argv[1]])' "$2"; }

"$bin/tests/system/guesses" "$(socket_of a)" "$(socket_of b)" "$b" 100 >"$tmp/first.log" 2>&1 || fail 'the first hundred'
[ "$(counted b guesses)/$(counted b slowed)" = 100/0 ] || fail "after 100: $(counted b guesses) guesses, $(counted b slowed) slow sessions"
of_user() { ctl "$1" -j user | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["guesses"])'; }
[ "$(of_user a)" = 100 ] || fail "the guesser's daemon charges its user with $(of_user a)"
# Another daemon of the network: its user has a hundred of its own. A guess is forgotten after a second, so a slow machine
# needs more of them.
all=100
one_is_slow() {
	"$bin/tests/system/guesses" "$(socket_of d)" "$(socket_of b)" "$b" 8 >"$tmp/more.log" 2>&1 || fail 'guesses after them'
	all=$((all + 8))
	slow=$(counted b slowed)
	[ "$slow" -ge 1 ]
}
eventually 10 one_is_slow || fail 'no session had to wait'
[ "$(counted b guesses)" = $all ] || fail "$(counted b guesses) guesses of $all"
ctl b -o event >"$tmp/events.log"
grep -q "event guesses assoc .* remote $d:.* reason more than 100 requests" "$tmp/events.log" || fail 'no event'
grep -q 'are slow: more than 100 requests' "$tmp/b.log" || fail 'no line in the log'

server ping b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of c)" -q -c 3 -i 0 "$b" >"$tmp/ping-c.log" 2>&1 || fail 'another network is refused'
[ "$(counted b slowed)" = "$slow" ] || fail 'another network is slow'
"$ddping" --socket "$(socket_of a)" -q -c 1 "$b" >"$tmp/ping-a.log" 2>&1 || fail 'the network is shut out'
for name in a b c d; do stop $name || fail "daemon $name fails"; done
