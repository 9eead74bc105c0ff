#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: SIGTERM and SIGINT end a daemon with status 0 and its socket goes away, also with clients attached
# and a transfer under way; the clients are told.
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
eventually 10 gone "$(pid_of ping)" || fail 'ddping does not notice that its daemon is gone'
wait "$(pid_of ping)" && fail 'ddping calls that a success'
[ -s "$tmp/ping.log" ] || fail 'ddping says nothing'

# The other side learns of it too.
eventually 20 none_of b session qp || fail 'the peer keeps the session'
stop b || fail "exit status $?"
[ ! -e "$(socket_of b)" ] || fail 'the socket is still there'
