#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: sessions and clients of one daemon cannot access or disturb each other with keys, handles or unread events.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3

a=$(address 0) b=$(address 1)
few='limits: {events: 16}'
daemon a "$a"
daemon b "$b" "$few"
"$bin/tests/system/apart" "$(socket_of a)" "$(socket_of b)" "$b" || fail apart
"$bin/tests/system/foreign" "$(socket_of b)" "$b" || fail foreign
row 5042-6.4.3-01: a client that does not read its events does not disturb others, and goes on itself
eventually 10 none_of b qp mr cq pd client || fail 'objects are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
