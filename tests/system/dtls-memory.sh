#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: no core dump of a daemon has its private key, a pre-shared key, the master secret of a connection or the keys of its
# records: each copy in memory is in mappings that the kernel leaves out of dumps.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl openssl python3
[ "$DDP_TRANSPORT" = user ] || skip "the transport $DDP_TRANSPORT has no DTLS"
[ "$DDP_SANITIZERS" = none ] || skip 'the memory of a sanitizer is too large to be read'
b=$(address 1)
port=$((20000 + $$ % 40000))
"$ddpctl" key "$tmp/key" >"$tmp/key.log" 2>&1 || fail 'no key'
openssl rand -hex 32 >"$tmp/psk"
chmod 600 "$tmp/psk"
daemon b "$b" "security: {udp_port: $port, certificate: $tmp/key/cert.pem, key: $tmp/key/key.pem}" \
	"$(printf 'peers:\n  rules:\n  - %s\n' "192.0.2.1 psk=$tmp/psk")"

# A connection whose keys the other end tells, which lasts until the memory has been read.
mkfifo "$tmp/input"
exec 9<>"$tmp/input"
background client sh -c 'input=$1; shift; exec openssl s_client "$@" <"$input"' - "$tmp/input" -connect "$b:$port" -dtls1_2 \
	-cipher ECDHE-ECDSA-AES128-GCM-SHA256 -msg -keylogfile "$tmp/keys" -cert "$tmp/key/cert.pem" -key "$tmp/key/key.pem"
eventually 20 grep -q 'Cipher is ECDHE-ECDSA-AES128-GCM-SHA256' "$tmp/client.log" || fail "no connection"

private=$(openssl pkey -in "$tmp/key/key.pem" -noout -text 2>"$tmp/pkey.log" | sed -n '/^priv:/,/^pub:/s/^ //p' | tr -d ' :\n' | sed 's/^00//')
[ ${#private} -gt 56 ] || fail 'the private key is not known'
python3 "$top_srcdir/tests/system/dtls_dump.py" "$(pid_of b)" "private=$private" "psk=$(cat "$tmp/psk")" \
	"record:keys=$tmp/keys,$tmp/client.log" >"$tmp/found.log" 2>&1 || {
	grep -q 'PermissionError' "$tmp/found.log" && skip 'the memory of the daemon cannot be read'
	fail 'the memory of the daemon'
}
for n in private psk record-client record-server; do
	grep -q "^$n dumped [0-9]* hidden [1-9]" "$tmp/found.log" || fail "$n is not in memory: the search finds nothing"
done
grep -q '^record-master' "$tmp/found.log" || fail 'no master secret was searched'
grep 'dumped [1-9]' "$tmp/found.log" && fail 'a core dump has these'
kill "$(pid_of client)"
stop b || fail "daemon b: exit status $?"
