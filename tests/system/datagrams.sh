#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: datagrams of one program reach queue pairs of another by number, with their bytes and both addresses; those that
# nobody receives are counted, and their senders neither fail nor wait.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
datagrams=$bin/tests/system/datagrams

a=$(address 0)
daemon a "$a"
"$datagrams" "$(socket_of a)" "$(socket_of a)" "$a" "$a" || fail 'inside one daemon'
eventually 10 none_of a qp mr mw cq srq pd session || fail 'objects are left'
stop a || fail "exit status $?"
