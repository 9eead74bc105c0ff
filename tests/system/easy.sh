#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the calls of ddp_easy.h do what ddp_easy(3) says, and leave nothing in the daemons.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"
timeout 300 "$bin/tests/system/easy" "$(socket_of a)" "$(socket_of b)" "$b" "$(address 2)" >"$tmp/easy.log" 2>&1 ||
	fail "easy: exit status $?"
for name in a b; do
	eventually 10 none_of "$name" qp cq mr mw listener || fail "objects are left in $name"
done

background orphan timeout 300 "$bin/tests/system/easy" "$(socket_of a)" "$(socket_of b)" "$b" - orphan
eventually 10 grep -qx 'ok waits' "$tmp/orphan.log" || fail 'no connection'
stop a KILL
wait "$(pid_of orphan)" || fail "easy without its daemon: exit status $?"
stop b || fail "daemon b: exit status $?"
