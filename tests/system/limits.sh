#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: every limit applies to each user separately, and affects nothing else.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
# The program does not end its session; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# The numbers of limits.c.
a=$(address 0)
daemon a "$a" 'limits:' '  clients: 5' '  pds: 3' '  mrs: 5' '  mr_bytes: 2MiB' '  mws: 3' '  cqs: 4' '  qps: 4' \
	'  srqs: 2' '  listeners: 2' '  qp_wr: 100' '  cqe: 300'
# For another user.
chmod 0711 "$tmp"
chmod 0666 "$(socket_of a)"
"$bin/tests/system/limits" "$(socket_of a)" "$a" || fail limits
eventually 10 none_of a client pd mr mw cq qp srq listener || fail 'objects are left'
stop a || fail "daemon: exit status $?"

# ddpctl always gets in; other programs get a refusal that names the limit.
b=$(address 1)
daemon b "$b" 'limits: {clients: 1}'
# The daemon may not have noticed yet that the last ddpctl has ended.
one() { background one "$ddping" -s --socket "$(socket_of b)"; }
listens() {
	! gone "$(pid_of one)" || one
	[ "$(count b listener)" = 1 ]
}
one
eventually 20 listens || fail 'no listener'
for _ in {1..20}; do
	ctl b client >"$tmp/out" || fail 'ddpctl beyond limits.clients'
	if "$ddping" -s --socket "$(socket_of b)" >"$tmp/two" 2>&1; then fail 'a client beyond limits.clients'; fi
	grep -q 'has 1 of 1 clients (limits.clients)' "$tmp/two" || fail "not the reason: $(cat "$tmp/two")"
done
# They are few: silent connections take the reserve, not the daemon, and make room for ddpctl.
python3 - "$(socket_of b)" "$ddpctl" <<'END' || fail 'the reserve is not bounded, or ddpctl does not get in'
import select, socket, subprocess, sys, time
held = []
for i in range(20):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    held.append(s)
ended, end = [], time.monotonic() + 120
while len(ended) < 12 and time.monotonic() < end:
    ended = select.select(held, [], [], 0.1)[0]
    time.sleep(0.01)
more = select.select([s for s in held if s not in ended], [], [], 0.5)[0]
for i in range(10):
    subprocess.run([sys.argv[2], '--socket', sys.argv[1], 'client'], check=True, stdout=subprocess.DEVNULL)
sys.exit(len(ended) != 12 or bool(more))
END
stop b || fail "daemon: exit status $?"

# Associations that a user opened; those of another user are none of them.
d=$(address 3) e=$(address 4)
socket_mode=0666
daemon d "$d" 'limits: {associations: 3}' 'session: {connect_ms: 60000, idle_ms: 60000}' # they are counted afterwards
daemon e "$e"
# opens N PORT [COMMAND...]: sessions of so many associations.
opens() {
	local n=$1 port=$2
	shift 2
	timeout 300 "$@" "$bin/tests/system/idle_sessions" "$(socket_of d)" "$(socket_of e)" "$e" "$port" "$n" "$n" >"$tmp/opens.log" 2>&1 <<<''
}
! opens 4 7000 || fail 'an association beyond limits.associations'
grep -q 'has 3 of 3 associations that it opened (limits.associations)' "$tmp/opens.log" || fail "not the reason: $(cat "$tmp/opens.log")"
[ "$(ctl d -o limit | sed -n 's/.* name associations used \([0-9]*\) max 3 .*/\1/p')" = 3 ] || fail 'ddpctl limit'
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	opens 3 8000 setpriv --reuid=60001 --regid=60001 --clear-groups || fail "another user: $(cat "$tmp/opens.log")"
fi
for name in d e; do stop $name || fail "daemon $name: exit status $?"; done

# It also gets in where the memory of its user is used up.
c=$(address 2)
daemon c "$c" 'limits: {memory: 1MiB}'
full() { ! "$ddping" --socket "$(socket_of c)" -s >"$tmp/full" 2>&1 </dev/null; }
# One that finds the memory of a ddpctl still taken, which has just ended, begins again.
begin() { background "ping$1" "$ddping" --socket "$(socket_of c)" -s -p $((7000 + $1)); }
all_listen() { # the first N
	! gone "$(pid_of "ping$1")" || begin "$1"
	[ "$(count c listener)" = "$1" ]
}
for n in {1..9}; do
	begin "$n"
	eventually 10 all_listen "$n" || fail "ping$n does not listen"
done
full && grep -q "bytes of the daemon's memory.*(limits.memory)" "$tmp/full" || fail "not the reason: $(cat "$tmp/full")"
ctl c limit | grep -q '^ *[0-9]* *memory .* [1-9][0-9]*$' || fail 'ddpctl beyond limits.memory, or the refusal is not counted'
stop c || fail "daemon: exit status $?"
