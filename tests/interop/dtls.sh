#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a foreign stack, libusrsctp over OpenSSL's DTLS, has a session with a daemon by RFC 8261: with checksums if it
# does not know RFC 9653, and without if it does. A rule names its certificate; another certificate gets no session.
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping openssl
[ "$DDP_TRANSPORT" = user ] || skip 'needs the transport user'
peer=$bin/tests/interop/dtls_usrsctp
[ -x "$peer" ] || skip 'without usrsctp, which is not here'

a=$(address 0) b=$(address 1) c=$(address 2)
port=$((20000 + $$ % 40000))
for n in a b c; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tmp/$n.key" -out "$tmp/$n.pem" -days 30 \
		-subj "/CN=$n" 2>>"$tmp/openssl.log" || fail 'no certificate'
	chmod 600 "$tmp/$n.key"
done
finger=$(openssl x509 -in "$tmp/b.pem" -noout -fingerprint -sha256 | sed 's/.*=//')
daemon a "$a" "security: {udp_port: $port, certificate: $tmp/a.pem, key: $tmp/a.key}" 'peers:' '  rules:' \
	"  - $b security=require fingerprint=$finger" "  - $c security=require fingerprint=$finger"
server ping a "$ddping" -s --socket "$(socket_of a)" --port 6999

# meets ADDRESS NAME MODE: the foreign peer at this address, with the certificate of this name.
meets() { timeout 100 "$peer" "$1" "$a" $port 6999 "$tmp/$2.pem" "$tmp/$2.key" "$3" >"$tmp/peer.log" 2>&1; }
for mode in crc zero; do
	meets "$b" b $mode || fail "$mode: $(cat "$tmp/peer.log")"
	cat "$tmp/peer.log"
done
meets "$c" c crc && fail 'somebody else has a session'
grep -q 'the daemon has ended DTLS' "$tmp/peer.log" || fail "somebody else: $(cat "$tmp/peer.log")"
ctl a event | grep -q 'assoc-up' || fail "the daemon saw no association: $(ctl a event)"
stop a || fail "daemon a: exit status $?"
