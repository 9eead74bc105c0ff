#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: floods of INIT, COOKIE ECHO, garbage, packets out of the blue and packets in the name of the peer end no
# session, keep no program from connecting, and leave no memory behind.
# By hand, FLOOD_FLOOR=0.8 FLOOD_SECONDS=5 FLOOD_ROUNDS=5: the session also keeps that part of its rate, compared with
# the same time in which the flooder computes instead; medians of rounds that take turns. FLOOD_FAMILY=6: over IPv6, in
# a network namespace. FLOOD_COVERED=1: the session is in DTLS, and so are the packets of FLOOD_KINDS.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3
if [ "${FLOOD_FAMILY-}" = 6 ] && [ -z "${FLOOD_INSIDE-}" ]; then
	unshare --map-root-user --net true 2>/dev/null || skip "needs a network namespace"
	FLOOD_INSIDE=1 exec unshare --map-root-user --net bash "$0"
fi
[ "$DDP_TRANSPORT" = user ] || skip 'needs the transport user'
seconds=${FLOOD_SECONDS:-0.5} rounds=${FLOOD_ROUNDS:-1} floor=${FLOOD_FLOOR:-}
kinds=${FLOOD_KINDS:-'init cookie garbage blue mix forged'}

a=$(address 0) b=$(address 1)
if [ -n "${FLOOD_INSIDE-}" ]; then
	a=fd00::a b=fd00::b
	ip link set lo up && ip -6 address add $a/128 dev lo && ip -6 address add $b/128 dev lo &&
		ip -6 route add local fd00:200::/24 dev lo && sysctl -q net.ipv6.ip_nonlocal_bind=1 || fail 'no IPv6'
fi
own=() udp_port=9899
if [ -n "${FLOOD_COVERED-}" ]; then
	needs openssl
	udp_port=$((20000 + $$ % 40000))
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tmp/key" -out "$tmp/pem" -days 30 \
		-subj /CN=flood 2>"$tmp/openssl.log" || fail 'no certificate'
	chmod 600 "$tmp/key"
	own=("security: {udp_port: $udp_port, certificate: $tmp/pem, key: $tmp/key}" 'peers:' '  rules:'
		'  - 127.0.0.0/8 name=all security=require')
fi
daemon a "$a" "${own[@]}"
daemon b "$b" "${own[@]}"
server ping b "$ddping" -s --socket "$(socket_of b)" --port 6999

mkfifo "$tmp/commands"
background pump sh -c "exec '$bin/tests/system/pump' '$(socket_of a)' '$(socket_of b)' '$b' <'$tmp/commands'"
exec 9>"$tmp/commands"
is_open() { grep -q ^port "$tmp/pump.log"; }
eventually 20 is_open || fail 'no session'
port=$(sed -n 's/^port //p' "$tmp/pump.log")
peer_port=$(ctl a -o assoc | sed -n 's/.* local [^ ]*:\([0-9]*\) .*/\1/p' | head -n 1)

# measure WORDS...: the flooder with these words, while the session transfers; the rate to $rate.
lines=1
more() { [ "$(wc -l <"$tmp/pump.log")" -gt $lines ]; }
measure() {
	echo "$bin/tests/system/flooder $* >>$tmp/flooder.out" >&9
	eventually 120 more || fail "$*: no end"
	lines=$((lines + 1))
	rate=$(tail -n 1 "$tmp/pump.log" | cut -d' ' -f1)
}



measure spin "$b" $udp_port "$port" "$seconds" # warm
: >"$tmp/rates"
for ((i = 0; i < rounds; i++)); do
	for kind in $kinds; do
		last=
		[ "$kind" != forged ] || last="$a $peer_port"
		measure spin "$b" $udp_port "$port" "$seconds"
		without=$rate
		# shellcheck disable=SC2086 # several words or none
		measure "$kind" "$b" $udp_port "$port" "$seconds" $last
		echo "$kind $rate $without" >>"$tmp/rates"
		[ -n "$floor" ] || "$ddping" --socket "$(socket_of a)" -c 1 --port 6999 "$b" >"$tmp/ping.out" ||
			fail "no connection after $kind"
	done
done
exec 9>&-
survived() { grep -q '^ok .*survived' "$tmp/pump.log"; }
eventually 20 survived || fail 'the session has not survived'

sort "$tmp/flooder.out" | awk '$1 != "spin:" { n[$1] += $2; s[$1] += $5 }
	END { for (k in n) printf "%s %.0f packets/s\n", k, n[k] / s[k] }'
ctl b -o -s status | tr ' ' '\n' | paste -d' ' - - | grep -E '^(rx_packets|bad|unknown|over|refused|unanswered|transport_b)'
python3 - "$tmp/rates" "$floor" <<'P' || fail 'the session is too slow'
import statistics, sys
rates = {}
for line in open(sys.argv[1]):
    kind, with_flood, without = line.split()
    rates.setdefault(kind, []).append((float(with_flood), float(without)))
low = False
for kind, r in rates.items():
    flooded, quiet = (statistics.median(x[i] for x in r) for i in (0, 1))
    ratio = flooded / quiet if quiet else 1
    low |= bool(sys.argv[2]) and ratio < float(sys.argv[2])
    if sys.argv[2]:
        print(f'{kind}: {flooded:.0f} MB/s, {quiet:.0f} MB/s without it: {ratio:.2f}')
sys.exit(low)
P
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
echo 'the session survived every flood'
