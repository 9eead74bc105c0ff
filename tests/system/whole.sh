#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: every operation that the library has gives what its manual page says, with all bytes compared, between
# two daemons and within one; and a daemon that has the extensions switched off is understood.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
whole=$bin/tests/system/whole

a=$(address 0) b=$(address 1) c=$(address 2)
daemon a "$a"
daemon b "$b"
daemon c "$c" 'session: {enhanced: off, extensions: off}'
"$whole" "$(socket_of a)" "$(socket_of b)" "$b" "$(socket_of c)" "$c" || fail 'between two daemons'
"$whole" "$(socket_of b)" "$(socket_of b)" "$b" || fail 'within one daemon'
for name in a b c; do
	eventually 10 none_of $name qp mr mw cq srq pd session || fail "daemon $name: objects are left"
	stop $name || fail "daemon $name: exit status $?"
done
