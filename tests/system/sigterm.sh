#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: SIGTERM and SIGINT end a daemon with status 0, and it removes its socket, also during a transfer; its
# clients get an error.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3

daemon idle "$(address 0)"
stop idle || fail "exit status $?"
[ ! -e "$(socket_of idle)" ] || fail 'the socket is still there'

daemon a "$(address 0)"
daemon b "$(address 1)"
server pong b "$ddping" -s --socket "$(socket_of b)"
background ping "$ddping" --socket "$(socket_of a)" -i 0 -q -S 65536 "$(address 1)"
has_session() { [ "$(count "$1" session)" -gt 0 ]; }
eventually 10 has_session a || fail 'no session'

stop a INT || fail "exit status $? with clients"
[ ! -e "$(socket_of a)" ] || fail 'the socket is still there'
eventually 10 gone "$(pid_of ping)" || fail 'ddping does not detect the end of its daemon'
wait "$(pid_of ping)" && fail 'ddping exits with status 0'
[ -s "$tmp/ping.log" ] || fail 'ddping prints nothing'

# The other daemon ends the session, too.
eventually 20 none_of b session qp || fail 'the peer keeps the session'
stop b || fail "exit status $?"
[ ! -e "$(socket_of b)" ] || fail 'the socket is still there'
