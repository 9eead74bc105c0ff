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
grep -q 'it does not read' "$tmp/b.log" || fail 'the log does not report the unread events'
row 5042-6.4.3-01 5040-8.1.2-01: a client that leaves more events unread than limits.events is disconnected
eventually 10 none_of b qp mr cq pd client || fail 'objects are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
