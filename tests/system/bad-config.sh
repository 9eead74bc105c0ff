#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a daemon that cannot start with its configuration prints one line with the error and its place, and
# exits with status 78 if the file is wrong, and with 1 if something else is in its way.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

# refused STATUS WORDS...: x.yaml makes the daemon exit with it and one line that has all the words.
refused() {
	local status expected=$1
	shift
	timeout 120 "$ddpsctpd" --foreground --config "$tmp/x.yaml" >"$tmp/out.log" 2>&1 </dev/null
	status=$?
	[ $status -eq "$expected" ] || fail "$* : exit status $status instead of $expected"
	grep -v ' info: ' "$tmp/out.log" >"$tmp/errors"
	[ "$(wc -l <"$tmp/errors")" -eq 1 ] || fail "$* : not one line"
	local word
	for word in "$@"; do
		grep -qiF -- "$word" "$tmp/errors" || fail "the message does not contain '$word'"
	done
	[ ! -e "$(socket_of x)" ] || fail "$* : a socket is left"
}

a=$(address 0)

configure x "$a" 'user:' '  udp_prt: 9899'
refused 78 "$tmp/x.yaml" udp_prt udp_port

configure x "$a" 'user:' '  udp_port: 99999'
refused 78 "$tmp/x.yaml" udp_port 65535

configure x "$a" 'user: [1, 2'
refused 78 "$tmp/x.yaml"

configure x 'not_an address'
refused 78 'not_an address'

sed 's/^  mode: .*/&\n  group: no-such-group-here/' <(configure x "$a" && cat "$tmp/x.yaml") >"$tmp/y" && mv "$tmp/y" "$tmp/x.yaml"
refused 78 no-such-group-here

printf 'listen: [%s]\nsocket:\n  path: %s\n' "$a" "$tmp/none/x.sock" >"$tmp/x.yaml"
refused 1 "the folder $tmp/none does not exist"

long=$tmp/$(printf '%0120d' 0)
printf 'listen: [%s]\nsocket:\n  path: %s\n' "$a" "$long" >"$tmp/x.yaml"
refused 78 socket path

rm "$tmp/x.yaml"
refused 78 "$tmp/x.yaml"

# The UDP port of another daemon on the same address; and its socket.
daemon first "$a"
configure x "$a"
refused 1 9899 "$a"
configure x "$(address 1)"
sed "s,path: .*,path: $(socket_of first)," "$tmp/x.yaml" >"$tmp/y" && mv "$tmp/y" "$tmp/x.yaml"
refused 1 "$(socket_of first)"
answers first || fail 'the first daemon no longer answers'
stop first || fail "exit status $?"
