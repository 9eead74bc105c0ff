#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpctl key makes a key that only its owner reads and a certificate, never over a file that exists, and prints lines with
# which two hosts speak in DTLS: the commands and the file of docs/deploy.md, with folders and addresses of this test.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping openssl python3
python3 -c 'import jsonschema' 2>/dev/null || skip "needs python3-jsonschema"
a=$(address 0) b=$(address 1)
port=$((20000 + $$ % 40000))

# The umask of the administrator neither opens the key nor closes the certificate.
(umask 0 && "$ddpctl" key "$tmp/open") >"$tmp/key.log" 2>&1 || fail 'no key with umask 0'
[ "$(stat -c %a "$tmp/open/key.pem")" = 600 ] || fail 'the key is open'
(umask 077 && "$ddpctl" key "$tmp/closed") >"$tmp/key.log" 2>&1 || fail 'no key with umask 077'
[ "$(stat -c %a "$tmp/closed/cert.pem")" = 644 ] || fail 'the certificate is closed'

# As OpenSSL reads both.
openssl x509 -in "$tmp/open/cert.pem" -noout -text >"$tmp/text.log" 2>&1 || fail 'no certificate'
grep -q 'ASN1 OID: prime256v1' "$tmp/text.log" || fail 'the kind of the key'
grep -q "Subject: CN = $(hostname | cut -d . -f 1)\$" "$tmp/text.log" || fail 'the name'
openssl verify -CAfile "$tmp/open/cert.pem" "$tmp/open/cert.pem" >"$tmp/verify.log" 2>&1 || fail 'the signature'
openssl x509 -in "$tmp/open/cert.pem" -noout -pubkey >"$tmp/public.cert"
openssl pkey -in "$tmp/open/key.pem" -pubout >"$tmp/public.key" 2>>"$tmp/verify.log"
cmp "$tmp/public.cert" "$tmp/public.key" || fail 'key and certificate do not belong together'
cmp -s "$tmp/open/key.pem" "$tmp/closed/key.pem" && fail 'two hosts have the same key'

# Files that exist stay, each of them, and no half of a pair is left behind.
for kept in key.pem cert.pem; do
	mkdir "$tmp/half" && echo mine >"$tmp/half/$kept"
	"$ddpctl" key "$tmp/half" >"$tmp/half.log" 2>&1 && fail "$kept: overwritten"
	grep -q "$tmp/half/$kept: File exists" "$tmp/half.log" || fail "$kept: $(cat "$tmp/half.log")"
	[ "$(cat "$tmp/half/$kept")" = mine ] || fail "$kept is another one"
	[ "$(ls "$tmp/half")" = $kept ] || fail "left behind: $(ls "$tmp/half")"
	rm -r "$tmp/half"
done
ln -s "$tmp/elsewhere" "$tmp/closed/link.pem" && mkdir "$tmp/linked" && ln -s "$tmp/elsewhere" "$tmp/linked/key.pem"
"$ddpctl" key "$tmp/linked" >"$tmp/linked.log" 2>&1 && fail 'follows a link'
[ ! -e "$tmp/elsewhere" ] || fail 'a key elsewhere'
"$ddpctl" key "$tmp/a b" >"$tmp/quote.log" 2>&1 && fail 'a path that needs quotes'
grep -q 'the path has characters other than' "$tmp/quote.log" || fail "$(cat "$tmp/quote.log")"

# show prints the same rule; JSON has it, too.
"$ddpctl" key show "$tmp/open/cert.pem" >"$tmp/show.log" || fail 'show'
finger=$(openssl x509 -in "$tmp/open/cert.pem" -noout -fingerprint -sha256 | sed 's/.*=//')
grep -q "^fingerprint  $finger\$" "$tmp/show.log" || fail "the fingerprint: $(cat "$tmp/show.log")"
grep -q "security=require fingerprint=$finger\$" "$tmp/show.log" || fail "the rule: $(cat "$tmp/show.log")"
"$ddpctl" -j key show "$tmp/open/cert.pem" >"$tmp/show.json" || fail 'show -j'
"$ddpctl" -j key "$tmp/json" >"$tmp/key.json" || fail 'key -j'
valid key-list="$tmp/show.json" key-list="$tmp/key.json"
"$ddpctl" key show "$tmp/open/key.pem" >"$tmp/wrong.log" 2>&1 && fail 'shows a key as a certificate'
grep -q 'has no certificate in PEM' "$tmp/wrong.log" || fail "$(cat "$tmp/wrong.log")"
"$ddpctl" key one two >"$tmp/wrong.log" 2>&1
[ $? -eq 2 ] || fail 'two folders: not status 2'

# Two hosts by docs/deploy.md. block N: the Nth block of its section Encryption.
[ "$DDP_TRANSPORT" = user ] || exit 0
block() {
	sed -n '/^## Encryption/,/^## /p' "$top_srcdir/docs/deploy.md" |
		awk -v want="$1" '/^```/ { n++; next } n == 2 * want - 1'
}
[ "$(block 1 | sed 's/  *#.*//' | head -n 1)" = 'sudo ddpctl key' ] || fail 'docs/deploy.md begins with something else'
for n in a b; do "$ddpctl" key "$tmp/$n" >"$tmp/said-$n" || fail "key $n"; done
rule_of() { sed -n 's/^  - //p' "$tmp/said-$1" | sed "s/^.* name=/$2 name=/; s/^ADDRESS/$2/"; }

# The file of the document, for host $1 with its peer $2 at $3.
file_of() {
	block 2 | sed "s,/etc/ddpsctpd/,$tmp/$1/,g; s,9900,$port,; s,192.0.2.2,$3,
		s,FINGERPRINT,$(sed -n 's/^fingerprint  //p' "$tmp/said-$2"),"
}
daemon a "$a" "$(file_of a b "$b")"
daemon b "$b" "$(file_of b a "$a")"
server ping b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of a)" -q -c 3 -i 0 "$b" >"$tmp/ask.log" 2>&1 || fail 'no ping by the file of the document'
ctl a -dj assoc >"$tmp/assoc.log" || fail 'assoc'
grep -q '"security": *"dtls"' "$tmp/assoc.log" || fail "not in DTLS: $(cat "$tmp/assoc.log")"

# The printed lines as they are: that of the own file, and the rule with an address of this test.
for n in a b; do stop $n || fail "daemon $n: exit status $?"; done
stop ping || :
lines() { sed -n '/^security: /p' "$tmp/said-$1" | sed "s,9900,$port,"; }
daemon a "$a" "$(lines a)" "peers: {rules: [$(rule_of b "$b")]}"
daemon b "$b" "$(lines b)" "peers: {rules: [$(rule_of a "$a")]}"
server ping b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of a)" -q -c 3 -i 0 "$b" >"$tmp/ask.log" 2>&1 || fail 'no ping by the printed lines'
ctl a -dj assoc >"$tmp/assoc.log" || fail 'assoc'
grep -q '"security": *"dtls"' "$tmp/assoc.log" || fail "not in DTLS: $(cat "$tmp/assoc.log")"

# doctor says until when the certificate is valid, and finds a key that others can read and a certificate that is not there.
ctl a doctor >"$tmp/doctor.log" 2>&1
grep -q "^ok *certificate: $tmp/a/cert.pem expires on 20" "$tmp/doctor.log" || fail 'doctor: no expiry'
grep -q "^ok *key: $tmp/a/key.pem: only its owner reads it" "$tmp/doctor.log" || fail 'doctor: the key'
chmod 644 "$tmp/a/key.pem"
mv "$tmp/a/cert.pem" "$tmp/a/gone.pem"
ctl a doctor >"$tmp/doctor.log" 2>&1
[ $? -eq 1 ] || fail 'doctor is content with an open key'
grep -A1 "^WRONG *key: $tmp/a/key.pem: others can read this key, mode 0644" "$tmp/doctor.log" | grep -q 'chmod 600' || fail 'doctor: no remedy for the key'
grep -q "^WRONG *certificate: $tmp/a/cert.pem: No such file" "$tmp/doctor.log" || fail 'doctor: no finding for the certificate'
for n in a b; do stop $n || fail "daemon $n: exit status $?"; done
