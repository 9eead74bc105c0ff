#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: who begins handshakes of DTLS with hosts that do not answer has half of them at most, and gets a reason. Another user
# has a share of the rest: its programs reach their peers, although 31 other hosts that they ask do not answer. When the handshakes
# are over, all is as before.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping openssl python3
[ "$DDP_TRANSPORT" = user ] || skip 'the transport kernel has no DTLS'
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # the program keeps its sessions until it ends

a=$(address 0) b=$(address 1)
port=$((20000 + $$ % 40000))
silent=$((0x7f800000 + $$ % 0x3fff * 0x200)) # no test has these addresses, and this one has them at its own port
hosts=400
dotted() { echo "$(($1 >> 24)).$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))"; }

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tmp/key" -out "$tmp/pem" -days 30 -subj /CN=x \
	2>"$tmp/openssl.log" || fail 'a certificate'
chmod 600 "$tmp/key"
socket_mode=0666
starts() { daemon "$1" "$2" "security: {udp_port: $port, certificate: $tmp/pem, key: $tmp/key}" 'peers: {rules: [127.0.0.0/8 security=require]}'; }
starts a "$a" && starts b "$b"
server ping b "$ddping" -s --socket "$(socket_of b)"
background silent python3 -c '
import ipaddress, signal, socket, sys
first, n, port = map(int, sys.argv[1:])
held = []
for i in range(n):
    held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    held[-1].bind((str(ipaddress.ip_address(first + i)), port))
print("silent", flush=True)
signal.pause()' $silent $hosts $port
eventually 20 grep -q silent "$tmp/silent.log" || fail 'no silent hosts'

ask() { "$@" "$ddping" --socket "$(socket_of a)" -q -c 1 "$b" >"$tmp/ask.log" 2>&1; }
# opens NAME FIRST N [COMMAND...]: until its input ends.
opens() {
	local name=$1 first=$2 n=$3
	shift 3
	mkfifo "$tmp/$name.in"
	background "$name" "$@" sh -c 'exec "$@" <"$0"' "$tmp/$name.in" "$bin/tests/system/handshakes" "$(socket_of a)" \
		"$(dotted "$first")" "$n"
}
said() { grep -q begun "$tmp/$1.log" || gone "$(pid_of "$1")"; }

going() { ctl a -o assoc | grep -c ' connecting '; } # its handshakes; the other associations are up
# Handshakes end after a time: a round in which one has ended meanwhile says nothing, and the next one is with a new daemon,
# which has no connection with the peer.
for ((round = 0; ; round++)); do
	[ $round -lt 10 ] || fail 'in each round handshakes ended before their number was judged'
	rm -f "$tmp/greedy.in" "$tmp/greedy.log"
	opens greedy $silent $hosts
	exec 8>"$tmp/greedy.in"
	eventually 20 said greedy
	if grep -q "has 128 of 128 handshakes of DTLS (security)" "$tmp/greedy.log" && ! ask; then
		break
	fi
	[ "$(going)" -lt 128 ] || fail "the greedy user gets another one: $(cat "$tmp/greedy.log")"
	exec 8>&-
	wait "$(pid_of greedy)" || fail handshakes
	stop a || fail "daemon a: exit status $?"
	starts a "$a"
done
grep -q 'has 128 of 128 handshakes of DTLS' "$tmp/ask.log" || fail "no reason: $(cat "$tmp/ask.log")"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 0711 "$tmp"
	other=(setpriv --reuid=60001 --regid=60001 --clear-groups)
	opens modest $((silent + hosts - 31)) 31 "${other[@]}"
	exec 7>"$tmp/modest.in"
	eventually 20 said modest
	grep -q '31 begun: all' "$tmp/modest.log" || fail "another user does not get 31: $(cat "$tmp/modest.log")"
	ask "${other[@]}" || fail "another user is not served: $(cat "$tmp/ask.log")"
	exec 7>&-
	wait "$(pid_of modest)" || fail 'the other user'
fi
exec 8>&-
wait "$(pid_of greedy)" || fail handshakes
eventually 30 ask || fail "the handshakes do not end: $(cat "$tmp/ask.log")"
for n in a b; do stop $n || fail "daemon $n: exit status $?"; done
