#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a reload changes certificate, key and rules. New associations take the new ones; sessions that the rules do not allow
# any more end with that reason, others go on. Files that cannot be used leave those before in use, and the journal says why.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping
[ "$DDP_TRANSPORT" = user ] || skip "the transport $DDP_TRANSPORT has no DTLS"
a=$(address 0) b=$(address 1) c=$(address 2)
port=$((20000 + $$ % 40000))

new_key() { "$ddpctl" key "$tmp/$1" >"$tmp/key-$1" || fail "key $1"; }
finger() { sed -n 's/^fingerprint  //p' "$tmp/key-$1"; }
for n in a b c newer; do new_key $n; done
security() { echo "security: {udp_port: $port, certificate: $tmp/$1/cert.pem, key: $tmp/$1/key.pem}"; }
rules() {
	echo 'peers:'
	echo '  rules:'
	printf '  - %s\n' "$@"
}

to_b() { echo "$b name=two security=require fingerprint=$(finger "$1")"; }
from() { echo "$1 name=$2 security=require fingerprint=$(finger "$2")"; }
daemon a "$a" "$(security a)" "$(rules "$(to_b b)")"
daemon c "$c" "$(security c)" "$(rules "$(to_b b)")"
daemon b "$b" "$(security b)" "$(rules "$(from "$a" a)" "$(from "$c" c)")"
server ping b "$ddping" -s --socket "$(socket_of b)"

# Sessions of both, which last until they are ended.
pings() { background "ping-$1" "$ddping" --socket "$(socket_of "$1")" -q -c 1000000 -i 0.02 "$b"; }
in_dtls() { ctl "$1" -o assoc remote "$b" state up security dtls 2>/dev/null | grep -q 'sessions 1'; }
for n in a c; do
	pings $n
	eventually 10 in_dtls $n || fail "no session of $n: $(cat "$tmp/ping-$n.log")"
done
id_of() { ctl "$1" -o assoc remote "$b" state up | sed 's/.*\bid \([0-9]*\).*/\1/'; }
first=$(id_of a)

# Files that cannot be used: a key of another certificate.
sed "s,$tmp/b/key,$tmp/c/key," <<<"$(security b)" >"$tmp/mixed"
reconfigured b "$b" "$(cat "$tmp/mixed")" "$(rules "$(from "$a" a)" "$(from "$c" c)")"
grep -q "error: reload: security: $tmp/c/key.pem: is not the key of the certificate" "$tmp/b.log" || fail 'the mixed files are taken'
ask() { "$ddping" --socket "$(socket_of "$1")" -q -c 3 -i 0 "$b" >"$tmp/ask.log" 2>&1; }
ask a || fail "the files before are not in use: $(cat "$tmp/ask.log")"

# b has a new certificate: both sessions go on.
reconfigured b "$b" "$(security newer)" "$(rules "$(from "$a" a)" "$(from "$c" c)")"
for n in a c; do in_dtls $n || fail "the session of $n has ended: $(cat "$tmp/ping-$n.log")"; done
[ "$(id_of a)" = "$first" ] || fail 'the association of a is another one'

# a does not know it: b begins no new association with it, and what is up goes on.
server ping-back a "$ddping" -s --socket "$(socket_of a)"
"$ddping" --socket "$(socket_of b)" -q -c 1 "$a" >"$tmp/back.log" 2>&1 && fail 'a takes a certificate that it does not know'
grep -q 'access denied' "$tmp/back.log" || fail "no reason: $(cat "$tmp/back.log")"
ask a || fail "the association that is up has no keys any more: $(cat "$tmp/ask.log")"
[ "$(id_of a)" = "$first" ] || fail 'the association of a is another one'

# a knows it: the session with the old one ends with the rule, a new one has the new one; c goes on with the old one.
reconfigured a "$a" "$(security a)" "$(rules "$(to_b newer)")"
eventually 10 gone "$(pid_of ping-a)" || fail 'the session with the old certificate goes on'
grep -q "$b has another identity (rule two, line $(grep -n name=two "$tmp/a.yaml" | cut -d : -f 1) of $tmp/a.yaml)" "$tmp/ping-a.log" ||
	fail "no reason: $(cat "$tmp/ping-a.log")"
ask a || fail "a does not reach b with its new certificate: $(cat "$tmp/ask.log")"
ctl a -d -o assoc remote "$b" state up | grep -q "fingerprint $(finger newer)" || fail "another certificate: $(ctl a -d assoc)"
in_dtls c || fail "the session of c has ended: $(cat "$tmp/ping-c.log")"

# A renewed certificate in files of the same names is read, too.
rm "$tmp/newer/"*.pem
new_key newer
reconfigured b "$b" "$(security newer)" "$(rules "$(from "$a" a)" "$(from "$c" c)")"
reconfigured a "$a" "$(security a)" "$(rules "$(to_b newer)")"
ask a || fail "the renewed certificate is not in use: $(cat "$tmp/ask.log")"
ctl a -d -o assoc remote "$b" state up | grep -q "fingerprint $(finger newer)" || fail "another certificate: $(ctl a -d assoc)"

# Also while another key waits for a restart.
waits() { security newer | sed "s/udp_port: $port/udp_port: $((port + 1))/"; }
reconfigured b "$b" "$(waits)" "$(rules "$(from "$a" a)" "$(from "$c" c)")"
reads() { grep -c "reload: security: .* was read" "$tmp/b.log"; }
before=$(reads)
reconfigured b "$b" "$(waits)" "$(rules "$(from "$a" a)" "$(from "$c" c)")"
[ "$(reads)" -gt "$before" ] || fail 'while a UDP port waits for a restart, the certificate is not read again'
reconfigured b "$b" "$(security newer)" "$(rules "$(from "$a" a)" "$(from "$c" c)")"

# A rule that is new while a program connects in clear text holds when the association is up.
d=$(address 3)
daemon d "$d"
server ping-d d "$ddping" -s --socket "$(socket_of d)"
kill -STOP "$(pid_of d)"
background early "$ddping" --socket "$(socket_of a)" -q -c 1 "$d"
connecting() { ctl a -o assoc remote "$d" 2>/dev/null | grep -q connecting; }
eventually 10 connecting || fail "a does not connect: $(cat "$tmp/early.log")"
reconfigured a "$a" "$(security a)" "$(rules "$(to_b newer)" "$d name=later security=require")"
kill -CONT "$(pid_of d)"
eventually 30 gone "$(pid_of early)" || fail 'the connect has no end'
grep -q "$d.*(rule later, line" "$tmp/early.log" || fail "clear text in spite of the rule: $(cat "$tmp/early.log")"
stop d || fail "daemon d: exit status $?"

# b does not know c any more: its session ends with that rule.
reconfigured b "$b" "$(security newer)" "$(rules "$(from "$a" a)" "$c name=c accept=none")"
eventually 10 gone "$(pid_of ping-c)" || fail 'the session of c goes on'
grep -q "$c may not connect to port [0-9]* (rule c" "$tmp/ping-c.log" || fail "no reason: $(cat "$tmp/ping-c.log")"
ask a || fail "a has lost b: $(cat "$tmp/ask.log")"
for n in a b c; do stop $n || fail "daemon $n: exit status $?"; done
