#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: every operation of the library does what its manual page says, with all bytes compared, between two daemons
# and inside one. It also works with a daemon without the extensions.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
whole=$bin/tests/system/whole

a=$(address 0) b=$(address 1) c=$(address 2)
daemon a "$a"
daemon b "$b"
daemon c "$c" 'session: {enhanced: off, extensions: off}'
"$whole" "$(socket_of a)" "$(socket_of b)" "$b" "$(socket_of c)" "$c" || fail 'between two daemons'
"$whole" "$(socket_of b)" "$(socket_of b)" "$b" || fail 'inside one daemon'
for name in a b c; do
	eventually 10 none_of $name qp mr mw cq srq pd session || fail "daemon $name: objects are left"
	stop $name || fail "daemon $name: exit status $?"
done
