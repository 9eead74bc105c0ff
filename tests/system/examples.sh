#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the example programs work with two daemons of a user, and print a reason if no server listens.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3

# tiny_client destroys nothing; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"

for client in hello_client tiny_client; do
	DDP_SOCKET=$(socket_of b) server hello b "$bin/examples/hello_server" "$b"
	DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/$client" "$b" >"$tmp/$client.log" 2>&1 ||
		fail "$client: exit status $?"
	[ -s "$tmp/$client.log" ] || fail "$client prints nothing"
	eventually 10 gone "$(pid_of hello)" || stop hello
done

DDP_SOCKET=$(socket_of b) server counter b "$bin/examples/atomic_counter" -s
DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/atomic_counter" "$b" >"$tmp/atomic_counter.log" 2>&1 ||
	fail "atomic_counter: exit status $?"
eventually 10 gone "$(pid_of counter)" || stop counter
wait "$(pid_of counter)" || fail "atomic_counter -s: exit status $?"

DDP_SOCKET=$(socket_of b) server own b "$bin/examples/own_memory" -s
DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/own_memory" "$b" >"$tmp/own_memory.log" 2>&1 ||
	fail "own_memory: exit status $?"
eventually 10 gone "$(pid_of own)" || stop own
wait "$(pid_of own)" || fail "own_memory -s: exit status $?"
grep -q '^Potsdam: 1000 values, mean 283.00 K$' "$tmp/own.log" || fail 'own_memory -s: another struct'

DDP_SOCKET=$(socket_of b) server easy b "$bin/examples/easy"
DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/easy" "$b" >"$tmp/easy_client.log" 2>&1 || fail "easy: exit status $?"
eventually 10 gone "$(pid_of easy)" || stop easy
wait "$(pid_of easy)" || fail "easy as a server: exit status $?"
grep -qx 'The server has: Hello from the server' "$tmp/easy_client.log" || fail 'easy: another text'
grep -qx 'changed: Hello from the client' "$tmp/easy.log" || fail 'easy as a server: another text'

# The example of ddpclient(7), made of the text of the page. The library of a build with a sanitizer needs a program of such a build.
if [ "$DDP_SANITIZERS" = none ] && command -v "${CC:-cc}" >/dev/null && [ -e "$bin/.libs/libddpclient.so" ]; then
	for program in client server; do
		"$top_srcdir/scripts/check-blocks" -p ddpclient-$program "$top_srcdir" >"$tmp/$program.c" || fail "the blocks of $program"
		${CC:-cc} -I "$top_srcdir/client-lib/include" -o "$tmp/$program" "$tmp/$program.c" -L "$bin/.libs" -lddpclient \
			-Wl,-rpath,"$bin/.libs" >"$tmp/cc.log" 2>&1 || fail "ddpclient(7): $program does not compile"
	done
	DDP_SOCKET=$(socket_of b) server page b "$tmp/server"
	DDP_SOCKET=$(socket_of a) timeout 120 "$tmp/client" "$b" >"$tmp/page_client.log" 2>&1 || fail "ddpclient(7): exit status $?"
	grep -qx 'Written by the server.' "$tmp/page_client.log" || fail 'ddpclient(7): another text'
	stop page
fi

# Many clients of one thread; more than the server has receives at first.
DDP_SOCKET=$(socket_of b) server echo b "$bin/examples/echo_server"
for clients in 1 200; do
	DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/echo_clients" "$b" $clients >"$tmp/echo_clients.log" 2>&1 ||
		fail "echo_clients: exit status $?"
	grep -qx "$clients clients, 100 messages each, 0 wrong" "$tmp/echo_clients.log" || fail 'echo_clients: another count'
done
eventually 10 none_of b qp || fail 'echo_server keeps queue pairs of clients that have left'
stop echo || fail "echo_server: exit status $?"
grep -qE '^20100 messages, of at most [0-9]+ clients at a time, with (64|128|192|256) receives$' "$tmp/echo.log" ||
	fail 'echo_server: another count'

DDP_SOCKET=$(socket_of b) server rpc b "$bin/examples/rpc" -s
for client in 1 2; do
	DDP_SOCKET=$(socket_of a) background rpc$client timeout 120 "$bin/examples/rpc" "$b"
done
for client in 1 2; do
	wait "$(pid_of rpc$client)" || fail "rpc: exit status $?"
	for line in 'the square of 30 is 900' 'the sum of the numbers to 28 is 406' '222 primes are below 1400, the last is 1399' \
		'call 31: Function not implemented'; do
		grep -qx "$line" "$tmp/rpc$client.log" || fail "rpc: not '$line'"
	done
	[ "$(wc -l <"$tmp/rpc$client.log")" = 32 ] || fail 'rpc: not 32 replies'
done
stop rpc

for client in atomic_counter easy echo_clients hello_client own_memory rpc tiny_client; do
	DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/$client" "$b" >"$tmp/$client.log" 2>&1
	[ $? -eq 1 ] || fail "$client without a server"
	[ -s "$tmp/$client.log" ] || fail "$client prints no reason"
done
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
