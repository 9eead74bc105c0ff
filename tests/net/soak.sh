#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: sessions that do all operations for long over a link that loses packets, end and begin again, move every byte right,
# and leave memory and descriptors of the daemons as they were. Five programs with sessions to eight ports, which are eight
# associations, are replaced by others now and then; the last line has the latency of the first and of the last ones.
# SOAK_SECONDS [3600], SOAK_SESSIONS [500], SOAK_LINK (tests/net/net.sh) [lan with one packet of a thousand lost].
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/net/net.sh"
needs ddpsctpd ddpctl python3
seconds=${SOAK_SECONDS:-3600} sessions=${SOAK_SESSIONS:-500}
[ "$sessions" -ge 40 ] || fail "SOAK_SESSIONS=$sessions: 40 at least"
programs=5 ports=8 port=6100 most_growth=4096 # KiB
stay=$((seconds / 20 > 5 ? seconds / 20 : 5))

# The emulator ends by itself, far after the test.
# shellcheck disable=SC2046,SC2086
link $([ -n "${SOAK_LINK:-}" ] && link_keys "$SOAK_LINK" || echo $(link_keys lan) loss=1000) time=$((2 * seconds + 600))
host_daemon a
host_daemon b
server serve b "$bin/tests/net/soak" serve "$(socket_of b)" $port $ports

# state HOST: memory in KiB and descriptors of the daemon there.
state() {
	local of
	of=/proc/$(pid_of "$1")
	echo "$(sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB/\1/p' "$of/status") $(find "$of/fd" -mindepth 1 | wc -l)"
}

# client N: programs one after the other, each with its share of the sessions, until the time is up.
client() {
	local seed=$1 left
	while left=$((end - SECONDS)) && [ $left -gt 0 ]; do
		# They do not all change at a time.
		"$bin/tests/net/soak" run "$(socket_of a)" $host_b $port $ports $((sessions / programs)) \
			$((left < stay + $1 ? left : stay + $1)) "$seed" || return
		seed=$((seed + programs))
	done
}
nobody() { none_of a qp mr && [ "$(count b session)" = 0 ]; }

# One round of all, after which everything has its size.
end=$((SECONDS + stay))
for ((i = 0; i < programs; i++)); do background "warm$i" client "$i"; done
for ((i = 0; i < programs; i++)); do wait "$(pid_of "warm$i")" || fail "the first programs: $(tail -n 1 "$tmp/warm$i.log")"; done
eventually 30 nobody || fail 'sessions are left'
before=("$(state a)" "$(state b)")

end=$((SECONDS + seconds))
for ((i = 0; i < programs; i++)); do background "client$i" client $((i + 100)); done
up() { [ "$(count a assoc)" -ge $ports ]; }
eventually 60 up || fail "$(count a assoc) associations: $ports were expected"
for ((i = 0; i < programs; i++)); do wait "$(pid_of "client$i")" || fail "a program: $(tail -n 1 "$tmp/client$i.log")"; done
eventually 30 nobody || fail 'sessions are left'
! grep failed "$tmp/serve.log" || fail 'sessions have failed'

i=0
for host in a b; do
	read -r was_kib was_fds <<<"${before[i]}"
	read -r is_kib is_fds <<<"$(state $host)"
	[ "$is_kib" -le $((was_kib + most_growth)) ] || fail "daemon $host: $was_kib KiB of memory before, $is_kib after"
	[ "$is_fds" -le "$was_fds" ] || fail "daemon $host: $was_fds descriptors before, $is_fds after"
	echo "daemon $host: $was_kib KiB and $was_fds descriptors before, $is_kib and $is_fds after"
	i=$((i + 1))
done
again=$(ctl a -s status | sed -n 's/^retransmits *//p')
stop serve
stop a && stop b || fail 'a daemon fails'
unlink_hosts
python3 - "$again" "$tmp"/client*.log <<'END'
import re, statistics, sys

def total(what, text):
    return sum(int(n) for n in re.findall(rf'(\d+) {what}', text))

logs = [open(name).read() for name in sys.argv[2:]]
text = ''.join(logs)
first, last = ([re.search(r'median (\d+) us, p99 (\d+)', log.splitlines()[i]) for log in logs] for i in (0, -1))
print(', '.join(f'{total(w, text)} {w}' for w in ('sessions', 'Writes', 'Reads', 'Sends', 'atomics')), end='; ')
print(f'{sys.argv[1]} packets again; small round trips, median and p99 in us:', end=' ')
print(', at the end '.join(' '.join(str(statistics.median(int(m[i]) for m in part)) for i in (1, 2)) for part in (first, last)))
END
