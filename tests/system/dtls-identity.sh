#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a peer is who its rule says, by a CA and a name, or by a pre-shared key. A certificate that is expired or not valid yet, of
# another CA, with a chain that is not whole or not valid, or with another name is refused by a sentence that names the rule and its
# line, in the journal of the end that refuses and in the program's reason; the other end hears that it was refused. So is another
# key. Files of keys that others can read are refused, and a reload reads all files again. A certificate of ours that is expired is a
# warning. Who knows only older protocols or suites is refused.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping openssl
[ "$DDP_TRANSPORT" = user ] || skip "the transport $DDP_TRANSPORT has no DTLS"
a=$(address 0) b=$(address 1)
port=$((20000 + $$ % 40000))
ssl() { openssl "$@" >>"$tmp/openssl.log" 2>&1; }

# ---- certificates ----

# new_ca NAME: one that `issue` signs with.
new_ca() {
	mkdir "$tmp/$1.ca" && : >"$tmp/$1.ca/index" && echo 1000 >"$tmp/$1.ca/serial"
	cat >"$tmp/$1.conf" <<-END
		[ca]
		default_ca = this
		[this]
		database = $tmp/$1.ca/index
		serial = $tmp/$1.ca/serial
		new_certs_dir = $tmp/$1.ca
		certificate = $tmp/$1.pem
		private_key = $tmp/$1.key
		default_md = sha256
		policy = any
		unique_subject = no
		[any]
		commonName = supplied
	END
}
new_request() {
	ssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tmp/$1.key" -out "$tmp/$1.csr" -subj "/CN=$1" ||
		fail "a request of $1"
	chmod 600 "$tmp/$1.key"
}
# issue NAME CA EXTENSIONS [START END]: years in which it is valid.
issue() {
	[ -e "$tmp/$1.csr" ] || new_request "$1"
	printf '%b\n' "$3" >"$tmp/$1.ext"
	ssl ca -batch -notext -config "$tmp/$2.conf" -in "$tmp/$1.csr" -out "$tmp/$1.pem" -extfile "$tmp/$1.ext" \
		-startdate "${4:-2020}0101000000Z" -enddate "${5:-2049}0101000000Z" || fail "a certificate of $1"
}
is_ca='basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign'
for n in root elsewhere; do
	new_ca $n
	ssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tmp/$n.key" -out "$tmp/$n.pem" -days 30 -subj "/CN=$n" ||
		fail "the CA $n"
done
new_ca middle
issue middle root "$is_ca"
new_ca old
issue old root "$is_ca" 2020 2021
issue a root "subjectAltName=IP:$a"
issue b middle "subjectAltName=DNS:b.rack.example,IP:$b"
cat "$tmp/middle.pem" >>"$tmp/b.pem"
issue b-alone middle "subjectAltName=DNS:b.rack.example"
issue b-elsewhere elsewhere "subjectAltName=DNS:b.rack.example"
issue b-other root 'subjectAltName=DNS:other.example'
issue b-expired root 'subjectAltName=DNS:b.rack.example' 2020 2021
issue b-early root 'subjectAltName=DNS:b.rack.example' 2048 2049
issue b-old old 'subjectAltName=DNS:b.rack.example'
cat "$tmp/old.pem" >>"$tmp/b-old.pem"

# ---- two daemons ----

security() { echo "security: {udp_port: $port, certificate: $tmp/$1.pem, key: $tmp/$1.key}"; }
rule() { printf 'peers:\n  rules:\n  - %s\n' "$*"; }
line_of() { grep -n "name=$2" "$tmp/$1.yaml" | cut -d : -f 1; }

one() { rule "$a name=one ca=$tmp/root.pem"; }
two() { rule "$b name=two ca=$tmp/root.pem host=$1"; }
daemon a "$a" "$(security a)" "$(two b.rack.example)"
daemon b "$b" "$(security b)" "$(one)"
server ping b "$ddping" -s --socket "$(socket_of b)"
# The server waits for the next daemon b.
listens() { ctl b -o listener port 5043 2>/dev/null | grep -q .; }
# With another handshake: associations of before are ended, and the files of a were read since.
fresh() {
	local id before
	before=$(grep -c 'reload: \(done\|refused\)' "$tmp/a.log")
	kill -HUP "$(pid_of a)"
	eventually 10 has_reloaded a "$before" || fail 'daemon a does not reload'
	for id in $(ctl a -o assoc | sed -n 's/.*\bid \([0-9]*\) .*/\1/p'); do ctl a assoc abort "$id"; done
}
ask() {
	fresh
	"$ddping" --socket "$(socket_of a)" -q -c 1 "$b" >"$tmp/ask.log" 2>&1
}

# works WHY
works() { ask || fail "$1: $(cat "$tmp/ask.log")"; }

# refused WORDS...: a says so with its rule, to the program and in its journal.
refused() {
	local sentence
	sentence="$b $* (rule two, line $(line_of a two) of " # the path of a long sentence is cut
	ask && fail "accepted: $*"
	grep -qF "no DTLS with $b: $sentence" "$tmp/ask.log" || fail "the program hears: $(cat "$tmp/ask.log"), not: $sentence"
	ctl a event | grep 'assoc-refuse' | grep -qF "$sentence" || fail "no event: $sentence"
	eventually 10 grep -qF "$sentence" "$tmp/a.log" || fail "not in the log of a: $sentence"
}
works 'chain and name'
[ "$(ctl a -o assoc remote "$b" state up security dtls rule two | wc -l)" = 1 ] || fail "$(ctl a -d assoc)"

# ---- certificates that are wrong ----

shows() { reconfigured b "$b" "$(security "$1")" "$(one)"; }
wrong() {
	shows "$1"
	shift
	refused "$@"
}
wrong b-other 'has a certificate without the name b.rack.example'
wrong b-alone "has a certificate for which $tmp/root.pem does not vouch: unable to get local issuer certificate"
wrong b-elsewhere "has a certificate for which $tmp/root.pem does not vouch: unable to get local issuer certificate"
wrong b-old "has a certificate for which $tmp/root.pem does not vouch: certificate has expired"
wrong b-early 'has a certificate that is not valid yet'
grep -q 'b-early.pem: this certificate of ours is not valid yet' "$tmp/b.log" || fail 'no warning of b'
wrong b-expired 'has a certificate that is expired'
grep -q 'b-expired.pem: this certificate of ours is expired' "$tmp/b.log" || fail 'no warning of b'
eventually 10 grep -q "association of $a:$port refused: the peer refused the connection: alert 49, access denied" "$tmp/b.log" ||
	fail 'b does not hear it'

# The end that is asked judges, too: the one that asks hears that it was refused.
shows b
reconfigured b "$b" "$(security b)" "$(rule "$a name=one ca=$tmp/root.pem host=other.example")"
ask && fail 'b accepts another name'
grep -q "no DTLS with $b: .*access denied" "$tmp/ask.log" || fail "a does not hear it: $(cat "$tmp/ask.log")"
sentence="$a has a certificate without the name other.example (rule one, line $(line_of b one) of "
ctl b event | grep assoc-refuse | grep -qF "$sentence" || fail "no event of b: $(ctl b event)"

# All hosts of a rack; the address, if there is no host.
shows b
reconfigured a "$a" "$(security a)" "$(two .rack.example)"
works 'a name of the rack'
reconfigured a "$a" "$(security a)" "$(rule "$b name=two ca=$tmp/root.pem")"
works 'its address'
reconfigured a "$a" "$(security a)" "$(two .other.example)"
refused 'has a certificate without the name .other.example'

# A daemon whose own certificate is expired begins, and says so.
stop b || fail "daemon b: exit status $?"
daemon b "$b" "$(security b-expired)" "$(one)"
grep -q 'b-expired.pem: this certificate of ours is expired' "$tmp/b.log" || fail "no warning: $(cat "$tmp/b.log")"
eventually 20 listens || fail "the server does not listen again: $(cat "$tmp/ping.log")"
reconfigured a "$a" "$(security a)" "$(two b.rack.example)"
refused 'has a certificate that is expired'

# ---- pre-shared keys ----

for n in psk another; do
	openssl rand -hex 32 >"$tmp/$n"
	chmod 600 "$tmp/$n"
done
by_key() { rule "$1 name=$2 psk=$tmp/$3"; }
reconfigured a "$a" "$(security a)" "$(by_key "$b" two psk)"
reconfigured b "$b" "$(security b)" "$(by_key "$a" one psk)"
works 'the same key'
reconfigured b "$b" "$(security b)" "$(by_key "$a" one another)"
ask && fail 'another key'
hears() { grep -q "$b does not answer .*: it says that it has $1\|no DTLS with $b: .*the peer sent alert $2" "$tmp/ask.log"; }
hears 'another pre-shared key' 115 || fail "no reason: $(cat "$tmp/ask.log")"
# Who has a certificate lacks the key.
reconfigured b "$b" "$(security b)" "$(one)"
ask && fail 'a certificate instead of a key'
# It may have waited for the handshake of before.
hears 'none of our suites: one end wants certificates' 40 || hears 'another pre-shared key' 115 || fail "no reason: $(cat "$tmp/ask.log")"

# Others can read it: the rules before stay.
chmod 644 "$tmp/another"
reconfigured b "$b" "$(security b)" "$(by_key "$a" one another)"
grep -q "$tmp/another: others can read this key" "$tmp/b.log" || fail "the open key: $(cat "$tmp/b.log")"
ctl b limit set peers.rules "$a psk=$tmp/another" >"$tmp/set.log" 2>&1 && fail 'takes an open key'
reconfigured a "$a" "$(security a)" "$(two b.rack.example)"
works 'the rules before'
chmod 600 "$tmp/another"

# Only keys: no certificate is needed.
stop b || fail "daemon b: exit status $?"
daemon b "$b" "security: {udp_port: $port}" "$(by_key "$a" one psk)"
eventually 20 listens || fail "the server does not listen again: $(cat "$tmp/ping.log")"
reconfigured a "$a" "$(security a)" "$(by_key "$b" two psk)"
works 'without a certificate'
configure wrong "$b" "security: {udp_port: $port}" "$(by_key "$a" one psk)" "  - 192.0.2.1 security=require"
"$ddpsctpd" -n --config "$tmp/wrong.yaml" >"$tmp/wrong.log" 2>&1 && fail 'a rule without a certificate'
grep -q 'needs a certificate of this host (security.certificate)' "$tmp/wrong.log" || fail "$(cat "$tmp/wrong.log")"

# ---- older protocols and suites ----

stop b || fail "daemon b: exit status $?"
daemon b "$b" "$(security b)"
# speaks WORD...: a client of OpenSSL with these.
speaks() {
	timeout 20 openssl s_client -connect "$b:$port" -cert "$tmp/a.pem" -key "$tmp/a.key" "$@" </dev/null >"$tmp/client.log" 2>&1
	grep -q 'Cipher is ECDHE\|Cipher is DHE\|Cipher is AES' "$tmp/client.log"
}
speaks -dtls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256 || fail "no foreign client: $(cat "$tmp/client.log")"
speaks -dtls1 -cipher 'ALL:@SECLEVEL=0' && fail 'DTLS 1.0'
grep -q 'alert protocol version' "$tmp/client.log" || fail "DTLS 1.0 is refused otherwise: $(cat "$tmp/client.log")"
for suite in ECDHE-ECDSA-AES128-SHA256 ECDHE-ECDSA-AES128-SHA ECDHE-ECDSA-CHACHA20-POLY1305; do
	speaks -dtls1_2 -cipher "$suite" && fail "the suite $suite"
	grep -q 'handshake failure' "$tmp/client.log" || fail "$suite is refused otherwise: $(cat "$tmp/client.log")"
done
stop b || fail "daemon b: exit status $?"

# serves WORD...: a server of OpenSSL in the place of b.
mkfifo "$tmp/input"
exec 9<>"$tmp/input" # it ends with its input
serves() {
	background server sh -c 'input=$1; shift; exec openssl s_server "$@" <"$input"' - "$tmp/input" -accept "$b:$port" -cert "$tmp/b.pem" -cert_chain "$tmp/middle.pem" -key "$tmp/b.key" "$@"
	eventually 20 grep -q ACCEPT "$tmp/server.log" || fail "no server: $(cat "$tmp/server.log")"
}
reconfigured a "$a" "$(security a)" "$(two b.rack.example)"
for words in '-dtls1 -cipher ALL:@SECLEVEL=0' '-dtls1_2 -cipher ECDHE-ECDSA-AES128-SHA256'; do
	# shellcheck disable=SC2086 # several words
	serves $words
	ask && fail "a speaks to a server with $words"
	grep -q "no DTLS with $b: \|$b does not answer .*: it says that it has no" "$tmp/ask.log" || fail "no reason: $(cat "$tmp/ask.log")"
	stop server KILL
done
stop a || fail "daemon a: exit status $?"
