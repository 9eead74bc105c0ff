#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: what rules of peers demand is kept: associations with certificates of a fingerprint are in DTLS, and their packets show
# no text of a program; another certificate is refused by a sentence with the rule at both ends, and so is clear text. A
# configuration that cannot be kept is refused.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddperf ddpcp openssl

a=$(address 0) b=$(address 1) c=$(address 2) d=$(address 3)
port=$((20000 + $$ % 40000))
name_key() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tmp/$1.key" -out "$tmp/$1.pem" -days 30 \
		-subj "/CN=$1" 2>>"$tmp/openssl.log" || fail "a certificate: $(cat "$tmp/openssl.log")"
	chmod 600 "$tmp/$1.key"
}
for n in a b c; do name_key $n; done
finger() { openssl x509 -in "$tmp/$1.pem" -noout -fingerprint -sha256 | sed 's/.*=//'; }
security() { echo "security: {udp_port: $port, certificate: $tmp/$1.pem, key: $tmp/$1.key}"; }
rules() {
	echo 'peers:'
	echo '  rules:'
	printf '  - %s\n' "$@"
}

# refused WORDS LINE...: a daemon with these lines does not start.
refused() {
	local words=$1
	shift
	configure wrong "$a" "$@"
	"$ddpsctpd" -n --config "$tmp/wrong.yaml" >"$tmp/wrong.log" 2>&1 && fail "accepted: $*"
	grep -q "$words" "$tmp/wrong.log" || fail "$*: $(cat "$tmp/wrong.log")"
}
if [ "$DDP_TRANSPORT" != user ]; then
	refused 'security.udp_port: the transport kernel has no DTLS' "$(security a)"
	exit 0
fi
refused 'security.certificate and security.key are missing' "security: {udp_port: $port}"
refused 'the same as user.udp_port' 'security: {udp_port: 9899, certificate: /a, key: /b}'
refused 'which no transport here has' "$(rules "$b security=require")"
refused 'which no transport here can verify' "$(rules "$b ca=/etc/ca.pem")"

# A key that others can read: the daemon says so and does not start.
chmod 644 "$tmp/c.key"
configure open "$a" "$(security c)"
"$ddpsctpd" --foreground --config "$tmp/open.yaml" >"$tmp/open.log" 2>&1 && fail 'starts with an open key'
grep -q "$tmp/c.key: others can read this key" "$tmp/open.log" || fail "the open key: $(cat "$tmp/open.log")"
chmod 600 "$tmp/c.key"

# a and b know each other; for c both have the certificate of somebody else; d has none.
gso='user: {gso: off}' # a batch on loopback is one giant datagram, which dissectors cannot read
socket_mode=0666
daemon a "$a" "$gso" "$(security a)" "$(rules "$b name=two security=require fingerprint=$(finger b)" \
	"$c name=three fingerprint=$(finger b)")"
socket_mode=0600
daemon b "$b" "$gso" "$(security b)" "$(rules "$a name=one security=require fingerprint=$(finger a)" \
	"$c name=three fingerprint=$(finger a)" "$d name=four security=require")"
daemon c "$c" "$gso" "$(security c)" "$(rules "$b name=two fingerprint=$(finger b)")"
daemon d "$d" "$gso"
for n in b c d; do server ping-$n $n "$ddping" -s --socket "$(socket_of $n)"; done

# A capture of everything that these hosts send to b, if the system permits one.
capture=$tmp/dtls.pcapng
captures=no
capturing() { [ -s "$capture" ] || gone "$(pid_of dumpcap)"; }
if command -v dumpcap >/dev/null; then
	background dumpcap dumpcap -q -B 32 -i lo -w "$capture" -a duration:600 -f "udp and host $b"
	eventually 30 capturing
	[ ! -s "$capture" ] || captures=yes
fi

ask() { "$ddping" --socket "$(socket_of "$1")" -q -c 3 -i 0 "$2" >"$tmp/ask.log" 2>&1; }

# In DTLS: pings, a measurement, a file.
ask a "$b" || fail "no ping: $(cat "$tmp/ask.log")"
ctl a -dj assoc >"$tmp/assoc.log" || fail 'assoc'
grep -q "\"udp_port\": *$port\b" "$tmp/assoc.log" || fail "not on port $port: $(cat "$tmp/assoc.log")"
for n in '"security": *"dtls"' '"rule": *"two"' "\"fingerprint\": *\"$(finger b)\""; do
	grep -q "$n" "$tmp/assoc.log" || fail "not $n: $(cat "$tmp/assoc.log")"
done
ctl a stats prometheus >"$tmp/stats.log" || fail 'stats'
grep 'assoc_sessions{' "$tmp/stats.log" | grep 'security="dtls"' | grep -q 'rule="two"' || fail "no labels: $(grep assoc_ "$tmp/stats.log")"
server perf b "$ddperf" -s --socket "$(socket_of b)"
"$ddperf" --socket "$(socket_of a)" -w 0.1 -t 1 -S 64K "$b" write bw >"$tmp/perf.log" 2>&1 || fail "ddperf: $(cat "$tmp/perf.log")"
text='the quick brown fox jumps over the lazy dog'
for ((i = 0; i < 2000; i++)); do echo "$text"; done >"$tmp/text"
mkdir "$tmp/in"
server copy b "$ddpcp" --socket "$(socket_of b)" serve --root "$tmp/in"
background shown "$ddpctl" --socket "$(socket_of a)" capture "$tmp/shown.pcapng"
begun() { grep -q ^capturing "$tmp/shown.log"; }
eventually 10 begun || fail "no capture: $(cat "$tmp/shown.log")"
"$ddpcp" --socket "$(socket_of a)" put "$tmp/text" "$b:one" >"$tmp/cp.log" 2>&1 || fail "ddpcp: $(cat "$tmp/cp.log")"
cmp "$tmp/text" "$tmp/in/one" || fail 'the file differs'
[ $captures = no ] || ! grep -qa 'quick brown fox' "$capture" || fail 'the packets show the text'
# Administrators see the packets as they are before they are sealed, and nobody else does.
eventually 10 grep -qa 'quick brown fox' "$tmp/shown.pcapng" || fail 'an administrator does not see the text'
stop shown INT
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$ddpctl" --socket "$(socket_of a)" capture - >"$tmp/rights.log" 2>&1
	[ $? -eq 4 ] && grep -q 'no administrator of the daemon (admin)' "$tmp/rights.log" || fail "somebody else captures: $(head -c 200 "$tmp/rights.log")"
else
	echo 'nobody else tried to capture: needs root and setpriv'
fi

# Another certificate: the sentence of each end that refuses, with the rule and its line.
line_of() { grep -n "name=$2" "$tmp/$1.yaml" | cut -d : -f 1; }
ask a "$c" && fail 'a speaks to somebody else'
grep -q "no DTLS with $c: $c has another identity (rule three, line $(line_of a three) of $tmp/a.yaml)" "$tmp/ask.log" ||
	fail "a does not say why: $(cat "$tmp/ask.log")"
ask c "$b" && fail 'b speaks to somebody else'
grep -q "no DTLS with $b: .*access denied" "$tmp/ask.log" || fail "c does not hear it: $(cat "$tmp/ask.log")"
ctl b event >"$tmp/events.log"
grep -q "assoc-refuse .*$c has another identity (rule three, line $(line_of b three) of $tmp/b.yaml)" "$tmp/events.log" ||
	fail "b has no event: $(cat "$tmp/events.log")"

# Clear text where the rules demand more, in both directions.
ask d "$b" && fail 'b speaks in clear text'
grep -q "no clear text with $d (rule four" "$tmp/ask.log" || fail "d does not hear it: $(cat "$tmp/ask.log")"
ask b "$d" && fail 'b begins in clear text'
# Clear text where they do not: the same text is in the packets, so the capture would have shown it.
ctl b limit set peers.rules '' >"$tmp/set.log" 2>&1 || fail "limit set: $(cat "$tmp/set.log")"
"$ddpcp" --socket "$(socket_of d)" put "$tmp/text" "$b:two" >"$tmp/cp.log" 2>&1 || fail "ddpcp of d: $(cat "$tmp/cp.log")"
[ "$(ctl b -o assoc remote "$d" security clear state up | wc -l)" = 1 ] || fail "not in clear text: $(ctl b -d assoc)"
if [ $captures = yes ]; then
	eventually 20 grep -qa 'quick brown fox' "$capture" || fail 'the capture sees nothing'
	stop dumpcap INT
else
	echo 'the packets were not looked at: no dumpcap, or no right to capture on loopback'
fi
for n in a b c d; do stop $n || fail "daemon $n: exit status $?"; done
