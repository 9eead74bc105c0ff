#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: programs that do not use RFC 6581 and RFC 7306 give the same results with session.enhanced and
# session.extensions off, at one daemon or at both.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddpcp python3
# tiny_client destroys nothing; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

head -c 1000001 /dev/urandom >"$tmp/sent"
mkdir "$tmp/in"

# programs NAME ADDRESS: from daemon a to daemon b; their results go to NAME.result.
programs() {
	local b=$2
	{
		server pong b "$ddping" -s --socket "$(socket_of b)"
		"$ddping" --socket "$(socket_of a)" -c 5 -i 0 -q -S 70000 "$b" 2>&1 | grep -o '[0-9]* received'
		stop pong
		server copy b "$ddpcp" --socket "$(socket_of b)" serve --root "$tmp/in"
		"$ddpcp" --socket "$(socket_of a)" put "$tmp/sent" "$b:received" >"$tmp/cp.log" 2>&1
		echo "ddpcp put $?"
		"$ddpcp" --socket "$(socket_of a)" get "$b:received" "$tmp/back" >>"$tmp/cp.log" 2>&1
		echo "ddpcp get $?"
		stop copy
		cmp "$tmp/sent" "$tmp/in/received" && cmp "$tmp/sent" "$tmp/back" && echo 'the same file'
		rm -f "$tmp/in/received" "$tmp/back"
		for client in hello_client tiny_client; do
			DDP_SOCKET=$(socket_of b) server hello b "$bin/examples/hello_server" "$b"
			DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/$client" "$b" 2>&1
			echo "$client $?"
			eventually 10 gone "$(pid_of hello)" || stop hello
		done
	} >"$tmp/$1.result"
}

off='session: {enhanced: off, extensions: off}'
on='session: {enhanced: on, extensions: on}'
for pair in on-on off-off on-off off-on; do
	for end in a b; do
		case $end-$pair in a-on-* | b-*-on) set -- "$on" ;; *) set -- "$off" ;; esac
		if [ $end = a ]; then daemon a "$(address 0)" "$1"; else daemon b "$(address 1)" "$1"; fi
	done
	programs $pair "$(address 1)"
	diff "$tmp/on-on.result" "$tmp/$pair.result" || fail "$pair: other results"
	stop a || fail "$pair: daemon a: exit status $?"
	stop b || fail "$pair: daemon b: exit status $?"
done
grep -q 'the same file' "$tmp/on-on.result" && [ "$(grep -c ' 0$' "$tmp/on-on.result")" -eq 4 ] ||
	fail "results: $(cat "$tmp/on-on.result")"
row 5043-6.5-03 5043-6.5-04: programs give the same results with all extensions off, at one end or both
