#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a program learns whether its session is in DTLS, which certificate its peer has shown, and which rule names the peer; a
# listener that demands encryption refuses clear text, one that demands a proven peer refuses others, with a reason in the journal,
# and accepts the rest.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_TRANSPORT" = user ] || skip "the transport $DDP_TRANSPORT has no DTLS"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # the end of the process frees the rest
a=$(address 0) b=$(address 1)
port=$((20000 + $$ % 40000))
for n in a b; do "$ddpctl" key "$tmp/$n" >"$tmp/key-$n" 2>&1 || fail "key $n"; done
finger() { sed -n 's/^fingerprint  //p' "$tmp/key-$1"; }
hex() { finger "$1" | tr -d :; }
security() { echo "security: {udp_port: $port, certificate: $tmp/$1/cert.pem, key: $tmp/$1/key.pem}"; }
rule() { printf 'peers:\n  rules:\n  - %s\n' "$*"; }
daemon a "$a" "$(security a)" "$(rule "$b name=two fingerprint=$(finger b)")"
daemon b "$b" "$(security b)" "$(rule "$a name=one fingerprint=$(finger a)")"
who() { timeout 120 "$bin/tests/system/who" "$@" >"$tmp/who.log" 2>&1 || fail "who $*: exit status $?"; }
who "$(socket_of a)" "$(socket_of b)" "$b" dtls two one "$(hex b)" "$(hex a)"
ctl b limit set peers.rules "$a name=anybody security=require" >"$tmp/set.log" 2>&1 || fail 'limit set'
who "$(socket_of a)" "$(socket_of b)" "$b" unproven two anybody "$(hex b)" "$(hex a)"
grep -q 'refused (who, .*: the program demands a peer that has proven who it is' "$tmp/b.log" || fail 'no reason in the journal'
who "$(socket_of a)" "$(socket_of a)" "$a" local - - - -
ctl a limit set peers.rules '' >"$tmp/set.log" 2>&1 || fail 'limit set'
ctl b limit set peers.rules "$a name=clear security=none" >"$tmp/set.log" 2>&1 || fail 'limit set'
# Not over the association that is up.
for id in $(ctl a -o assoc remote "$b" | sed 's/.*\bid \([0-9]*\).*/\1/'); do ctl a assoc abort "$id" >"$tmp/set.log" 2>&1 || fail 'assoc abort'; done
who "$(socket_of a)" "$(socket_of b)" "$b" none - clear - -
grep -q 'refused (who, .*: the program demands encryption, and the association is in clear text' "$tmp/b.log" || fail 'no reason in the journal'
for n in a b; do stop $n || fail "daemon $n: exit status $?"; done
