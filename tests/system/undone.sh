#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a program whose daemon is killed gets one completion for each request that it has posted. UNDONE: how often,
# 5 by default.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ -x "$bin/tests/system/undone" ] || skip 'needs tests/system/undone, which is not built'

daemon b "$(address 1)"
for ((i = 0; i < ${UNDONE:-5}; i++)); do
	daemon a "$(address 0)"
	background undone "$bin/tests/system/undone" "$(socket_of a)" "$(socket_of b)" "$(address 1)"
	eventually 20 grep -q '^ok works' "$tmp/undone.log" || fail 'nothing works'
	kill -KILL "$(pid_of a)"
	wait "$(pid_of undone)" || fail 'not one completion for each request'
done
