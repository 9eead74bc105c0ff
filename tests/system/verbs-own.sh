#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: programs of our own for libibverbs and librdmacm, for what the programs of verbs.sh do not use, find the
# right bytes and results with ddpverbs at two devices, and leave nothing in the daemons.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_SANITIZERS" = none ] || skip 'programs are preloaded, which sanitizers do not allow'
library=$bin/.libs/libddpverbs.so.0
[ -e "$library" ] || skip 'needs ddpverbs, which is not built'

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"

clean() { none_of a client listener qp mr && none_of b client listener qp mr; }

on_both=(env DDPVERBS_LIBRARY="$library" timeout 200 "$bin/verbs/ddpverbs" -s "$(socket_of a)" -s "$(socket_of b)")

# run PROGRAM [ARGUMENT...]: at both devices.
run() {
	"${on_both[@]}" "$bin/tests/system/$1" "${@:2}" >"$tmp/$1.log" 2>&1 || fail "$1: status $?"
	cat "$tmp/$1.log"
	eventually 10 clean || fail "$1 leaves something in a daemon"
}

run verbs_objects
run verbs_states
run verbs_datagrams
run verbs_ud 0 0
run verbs_ud 0 1
run verbs_udp "$a" "$b"
run verbs_words
! grep -q ddpverbs: "$tmp/verbs_words.log" || fail "verbs_words: $(grep ddpverbs: "$tmp/verbs_words.log")"
run verbs_access "$a" "$b"
DDPVERBS_IWARP=1 run verbs_access "$a" "$b"
run verbs_enhanced
run verbs_cm "$a" "$b"
run verbs_events "$a" "$b"
run verbs_late
run verbs_unaccepted
run verbs_errors
DDPVERBS_IWARP=1 run verbs_errors
run verbs_self
DDPVERBS_IWARP=1 run verbs_self
run verbs_others
DDPVERBS_IWARP=1 run verbs_others
run verbs_fork
run verbs_dl
DDPVERBS_IWARP=1 run verbs_cm "$a" "$b"
DDPVERBS_IWARP=1 run verbs_events "$a" "$b"
DDPVERBS_IWARP=1 run verbs_states
DDPVERBS_IWARP=1 run verbs_datagrams

# Names of values are those of the libraries that this one stands for.
names=(/usr/bin/python3 "$top_srcdir/tests/system/verbs_names.py")
if "${names[@]}" >"$tmp/names" 2>/dev/null; then
	"${on_both[@]}" "${names[@]}" >"$tmp/own_names" || fail 'verbs_names.py'
	diff "$tmp/names" "$tmp/own_names" || fail 'names of values differ from those of libibverbs'
	echo 'names of values are those of libibverbs'
fi

# Programs that end at any point. The children of some live on for two minutes and keep the connections of their parents open;
# when these have ended, too, the daemons hold nothing of them.
background ends "${on_both[@]/#200/1500}" "$bin/tests/system/verbs_ends" "$a"
eventually 100 grep -q '^ended' "$tmp/ends.log" || fail 'verbs_ends does not end'
eventually 20 clean || fail 'programs that ended leave something in a daemon'
cat "$tmp/ends.log"
stop ends
# A program that is linked with the library needs no launcher, and not the libraries that this one stands for.
DDPVERBS_SOCKETS=$(socket_of a):$(socket_of b) timeout 200 "$bin/tests/system/verbs_linked" >"$tmp/linked.log" 2>&1 ||
	fail "verbs_linked: status $?"
! LD_LIBRARY_PATH=$bin/.libs ldd "$bin/tests/system/.libs/verbs_linked" | grep -E 'libibverbs|librdmacm' ||
	fail 'verbs_linked needs a library of hardware'

# waits NAME COMMAND...: starts a program, which prints that it waits.
waits() {
	background "$@"
	eventually 20 grep -q waiting "$tmp/$1.log" || fail 'the program does not wait'
}

# Of two devices, one whose daemon is killed.
daemon d "$(address 3)"
waits number env DDPVERBS_LIBRARY="$library" timeout 200 "$bin/verbs/ddpverbs" -s "$(socket_of a)" -s "$(socket_of d)" \
	"$bin/tests/system/verbs_number" "$a" "$(address 3)"
kill -KILL "$(pid_of d)" && wait "$(pid_of d)" 2>/dev/null
wait "$(pid_of number)" || fail "a session whose peer's daemon is killed: status $?"

# The device of a daemon that is killed.
daemon c "$(address 2)"
background gone env DDPVERBS_LIBRARY="$library" timeout 200 "$bin/verbs/ddpverbs" -s "$(socket_of c)" \
	"$bin/tests/system/verbs_gone" "$(address 2)"
eventually 20 grep -q waiting "$tmp/gone.log" || fail 'the program does not wait'
kill -KILL "$(pid_of c)" && wait "$(pid_of c)" 2>/dev/null
wait "$(pid_of gone)" || fail "a program at a daemon that is killed: status $?"

# The same of a program that goes on with the next daemon.
daemon c "$(address 2)"
background again env DDPVERBS_LIBRARY="$library" timeout 200 "$bin/verbs/ddpverbs" -s "$(socket_of c)" \
	"$bin/tests/system/verbs_again" "$(address 2)" "$(address 2)"
says_or_gone() { grep -q "$1" "$tmp/again.log" || gone "$(pid_of again)"; }
for life in 1 2 3 4 5; do
	eventually 60 says_or_gone "^waiting $life" && ! gone "$(pid_of again)" || fail "the program does not wait: life $life"
	kill -KILL "$(pid_of c)" && wait "$(pid_of c)" 2>/dev/null
	eventually 60 says_or_gone "^closed $life" && ! gone "$(pid_of again)" || fail "the program does not close the device: life $life"
	daemon c "$(address 2)"
done
wait "$(pid_of again)" || fail "a program at a daemon that starts again: status $?"
eventually 10 none_of c client listener qp mr || fail 'verbs_again leaves something in a daemon'
cat "$tmp/again.log"
stop c || fail "daemon c: exit status $?"

# A daemon that does not answer is in the way of no call for another one.
"${on_both[@]}" "$bin/tests/system/verbs_stuck" "$a" "$(pid_of b)" || fail "a program beside a daemon that is stopped: status $?"
kill -CONT "$(pid_of b)"
eventually 10 clean || fail 'verbs_stuck leaves something in a daemon'

# The device of a daemon that ends.
background end "${on_both[@]}" "$bin/tests/system/verbs_objects" end
eventually 20 grep -q waiting "$tmp/end.log" || fail 'the program does not wait'
stop b || fail "daemon b: exit status $?"
wait "$(pid_of end)" || fail "a program at a daemon that ends: status $?"
stop a || fail "daemon a: exit status $?"
