#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: somebody between two daemons who changes bytes of handshakes and of records, who replays, doubles, delays and drops
# datagrams, or gives one end another port, ends no session in DTLS and changes no byte; and a daemon that was killed is
# reached again, and programs with a session hear of that.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddpcp openssl python3
[ "$DDP_TRANSPORT" = user ] || skip 'needs the transport user'

a=$(address 0) b=$(address 1) to_a=$(address 2) to_b=$(address 3)
port=$((20000 + $$ % 40000))
for n in a b; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tmp/$n.key" -out "$tmp/$n.pem" -days 30 \
		-subj "/CN=$n" 2>>"$tmp/openssl.log" || fail 'no certificate'
	chmod 600 "$tmp/$n.key"
done
finger() { openssl x509 -in "$tmp/$1.pem" -noout -fingerprint -sha256 | sed 's/.*=//'; }
# knows NAME ADDRESS PEER: a daemon that speaks to the address by the certificate of PEER alone.
knows() {
	daemon "$1" "$2" 'user: {gso: off, mtu: 1500}' "security: {udp_port: $port, certificate: $tmp/$1.pem, key: $tmp/$1.key}" 'peers:' \
		'  rules:' "  - $3 name=between security=require fingerprint=$(finger "$4")"
}
end_of() { knows b "$b" "$to_b" a && server ping b "$ddping" -s --socket "$(socket_of b)"; }

head -c 3000000 /dev/urandom >"$tmp/file"
mkdir "$tmp/in"
is_ready() { grep -q ^ready "$tmp/between.log"; }

# begin MODE [SEED]: fresh daemons and somebody between them.
begin() {
	knows a "$a" "$to_a" b
	end_of
	server copy b "$ddpcp" --socket "$(socket_of b)" serve --root "$tmp/in"
	background between python3 "$top_srcdir/tests/system/dtls_between.py" "$1" $port "$a" "$to_a" "$to_b" "$b" "${2:-1}"
	eventually 20 is_ready || fail 'nobody is between'
}
# Daemons that end well wait for each other; dtls.sh looks at that.
finish() {
	local n
	for n in ping copy a b; do stop $n KILL 2>/dev/null; done
	stop between || fail 'the relay has failed'
	read -r _ seen _ changed < <(tail -n 1 "$tmp/between.log")
}
ask() { "$ddping" --socket "$(socket_of a)" -q -c 3 -i 0 "$to_a" >"$tmp/ask.log" 2>&1; }
copies() {
	rm -f "$tmp/in/one"
	"$ddpcp" --socket "$(socket_of a)" put "$tmp/file" "$to_a:one" >"$tmp/cp.log" 2>&1 || fail "$1: ddpcp: $(cat "$tmp/cp.log")"
	cmp "$tmp/file" "$tmp/in/one" || fail "$1: the file differs"
}
# Associations that were not closed by their ends.
count_ends() { ctl a event | grep assoc-down | grep -vc closed; }

for seed in 1 2; do
	begin flip-handshake $seed
	eventually 30 ask || fail "flip-handshake $seed: $(cat "$tmp/ask.log")"
	finish
	[ "$changed" -gt 0 ] || fail 'no datagram of a handshake was changed'
	echo "flip-handshake $seed: $changed of $seen datagrams"
done
for mode in flip-records replay late mix; do
	begin $mode
	eventually 30 ask || fail "$mode: $(cat "$tmp/ask.log")"
	before=$(count_ends)
	copies $mode
	ends=$(count_ends)
	finish
	[ "$ends" = "$before" ] || fail "$mode: an association has ended"
	[ "$changed" -gt 0 ] || fail "$mode: no datagram was changed"
	echo "$mode: $changed of $seen datagrams"
done
begin last-flight
eventually 30 ask || fail "last-flight: $(cat "$tmp/ask.log")"
finish
[ "$changed" = 2 ] || fail "last-flight: $changed were lost"

# One end has another port: the session goes on.
begin pass
background long "$ddping" --socket "$(socket_of a)" -c 300 -i 0.02 "$to_a"
pings() { [ "$(grep -c 'seq' "$tmp/long.log")" -ge "$1" ]; }
eventually 20 pings 20 || fail "no pings: $(cat "$tmp/long.log")"
kill -USR1 "$(pid_of between)"
long_ended() { gone "$(pid_of long)"; }
eventually 60 long_ended || fail 'the pings do not end'
wait "$(pid_of long)" || fail "the session has ended: $(tail -n 3 "$tmp/long.log")"
grep -q ^moved "$tmp/between.log" || fail 'it has not moved'
finish

# Either daemon is killed and begins again: the one that lives hears of it as soon as it speaks, and they reach each other.
for dead in a b; do
	begin pass
	background long "$ddping" --socket "$(socket_of a)" -c 100000 -i 0.05 "$to_a"
	eventually 20 pings 3 || fail "no pings: $(cat "$tmp/long.log")"
	if [ $dead = b ]; then other=a; else other=b; fi
	kill -KILL "$(pid_of $dead)"
	wait "$(pid_of $dead)" 2>/dev/null
	if [ $dead = b ]; then knows b "$b" "$to_b" a; else knows a "$a" "$to_a" b; fi
	heard() { ctl $other event | grep -q 'assoc-down.*aborted'; }
	# The pings of a speak at once, b no sooner than its heartbeat.
	[ $dead = a ] || eventually 20 heard || fail "$other has not heard it: $(ctl $other event)"
	eventually 30 ask || fail "after the end of $dead: $(cat "$tmp/ask.log")"
	finish
done
