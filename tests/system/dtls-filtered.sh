#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: with a peer that a rule encrypts there is no clear text, whatever the rule says of it, where its port for DTLS is closed or
# drops all packets and every other one is open: not one packet reaches the other port, the program hears why, and the peer's own
# attempts in clear text are refused.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping openssl python3
[ "$DDP_TRANSPORT" = user ] || skip "the transport $DDP_TRANSPORT has no DTLS"
a=$(address 0) b=$(address 1) c=$(address 2) d=$(address 3)
port=$((20000 + $$ % 40000))
"$ddpctl" key "$tmp/key" >"$tmp/key.log" 2>&1 || fail 'no key'
finger=$(sed -n 's/^fingerprint  //p' "$tmp/key.log")
openssl rand -hex 32 >"$tmp/psk"
chmod 600 "$tmp/psk"

# One daemon in clear text has the addresses of three peers.
daemon peers "$b, $c, $d"
server ping peers "$ddping" -s --socket "$(socket_of peers)"
daemon a "$a" "security: {udp_port: $port, certificate: $tmp/key/cert.pem, key: $tmp/key/key.pem}" \
	"$(printf 'peers:\n  rules:\n' && printf '  - %s\n' "$b security=require" "$c ca=$tmp/key/cert.pem" "$d psk=$tmp/psk")"
server ping-a a "$ddping" -s --socket "$(socket_of a)"

packets() { ctl peers -o status | sed -n 's/.* rx_packets \([0-9]*\).*/\1/p'; }
# is_closed WHY PEER...: a reaches none of them, and they have got no packet.
is_closed() {
	local why=$1 n before
	shift
	before=$(packets)
	for n in "$@"; do background "ask-$n" "$ddping" --socket "$(socket_of a)" -q -c 1 "$n"; done
	for n in "$@"; do
		eventually 60 gone "$(pid_of "ask-$n")" || fail "$why: the connect to $n has no end"
		wait "$(pid_of "ask-$n")" && fail "$why: $n is reached"
		grep -q "no DTLS with $n: \|$n does not answer" "$tmp/ask-$n.log" || fail "$why: no reason: $(cat "$tmp/ask-$n.log")"
	done
	[ "$(packets)" = "$before" ] || fail "$why: clear text: $before packets before, $(packets) now"
}
is_closed 'a closed port' "$b" "$c" "$d"
background filter python3 -c '
import socket, sys
ports = []
for address in sys.argv[2:]:
    ports.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    ports[-1].bind((address, int(sys.argv[1])))
print("bound", flush=True)
import signal
signal.pause()' "$port" "$b" "$c" "$d"
eventually 20 grep -q bound "$tmp/filter.log" || fail 'the ports are not taken'
is_closed 'a port that drops all packets' "$b" "$c" "$d"

# The other direction: who begins in clear text hears the rule.
for n in $b $c $d; do
	"$ddping" --socket "$(socket_of peers)" -q -c 1 --bind "$n" "$a" >"$tmp/back.log" 2>&1 && fail "clear text from $n"
	grep -q "no clear text with $n (rule " "$tmp/back.log" || fail "$n hears no reason: $(cat "$tmp/back.log")"
done
ctl a limit set peers.rules "$b fingerprint=$finger" >"$tmp/set.log" 2>&1 || fail "limit set: $(cat "$tmp/set.log")"
is_closed 'a fingerprint, and a port that drops all packets' "$b"
# The same ports carry clear text where no rule forbids it, so the packets would have been counted.
before=$(packets)
ctl a limit set peers.rules '' >"$tmp/set.log" 2>&1 || fail 'limit set'
"$ddping" --socket "$(socket_of a)" -q -c 1 "$b" >"$tmp/clear.log" 2>&1 || fail "clear text: $(cat "$tmp/clear.log")"
[ "$(packets)" -gt "$before" ] || fail 'packets are not counted'
stop a || fail "daemon a: exit status $?"
stop peers || fail "daemon peers: exit status $?"
