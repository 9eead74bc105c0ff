#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddp.hpp compiles without a warning as C++17 and C++20 with the compilers that are here, does what ddp_cpp(7) says,
# leaves no object at a daemon, and its example works.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
CXX=${CXX:-c++}
needs ddpsctpd ddpctl "${CXX%% *}"

flags=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Werror "-I$top_srcdir/client-lib/include")
{
	printf '#include <cstring>\n#include <ddp/ddp.hpp>\nint main()\n{\n'
	sed -n '/^\.EX/,/^\.EE/{/^\./!p}' "$top_srcdir/man/ddp_cpp.7"
	echo '}'
} >"$tmp/page.cc"
sources=("$tmp/page.cc" "$top_srcdir/tests/system/cpp_calls.cc" "$top_srcdir/examples/hello.cc")
# Once: not in a guest with one slow processor, nor with a sanitizer.
[ -d /run/guest ] || [ "$DDP_SANITIZERS" != none ] || for compiler in g++ clang++; do
	for standard in c++17 c++20; do
		for source in "${sources[@]}"; do
			! command -v $compiler >/dev/null ||
				$compiler -std=$standard "${flags[@]}" -fsyntax-only "$source" >"$tmp/compiler.log" 2>&1 ||
				fail "$compiler -std=$standard: $source"
		done
	done
done
sanitize=()
[ "$DDP_SANITIZERS" = none ] || sanitize=("-fsanitize=${DDP_SANITIZERS// /}")
for source in "${sources[@]}"; do
	$CXX -std=c++17 "${flags[@]}" "${sanitize[@]}" -o "$tmp/$(basename "$source" .cc)" "$source" "$bin/.libs/libddpclient.so" \
		"-Wl,-rpath,$bin/.libs" >"$tmp/compiler.log" 2>&1 || fail "$CXX: $source"
done

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"
timeout 300 "$tmp/cpp_calls" "$(socket_of a)" "$(socket_of b)" "$b" >"$tmp/calls.log" 2>&1 || fail "cpp_calls: exit status $?"

DDP_SOCKET=$(socket_of b) server hello b "$tmp/hello" -s
DDP_SOCKET=$(socket_of a) timeout 120 "$tmp/hello" "$b" >"$tmp/greet.log" 2>&1 || fail "hello: exit status $?"
eventually 10 gone "$(pid_of hello)" || stop hello
wait "$(pid_of hello)" || fail "hello -s: exit status $?"
grep -qx 'the server has: Hello, memory of another program!' "$tmp/greet.log" || fail 'hello: another text'
grep -qx 'the client wrote: Hello, memory of another program!' "$tmp/hello.log" || fail 'hello -s: another text'
DDP_SOCKET=$(socket_of a) timeout 120 "$tmp/hello" "$b" >"$tmp/greet.log" 2>&1
[ $? -eq 1 ] || fail 'hello without a server'
grep -q '^hello: connect error: ..*' "$tmp/greet.log" || fail 'hello without a server: no reason'

for name in a b; do
	eventually 10 none_of "$name" client qp cq pd mr listener || fail "objects are left in $name"
	stop "$name" || fail "daemon $name: exit status $?"
done
