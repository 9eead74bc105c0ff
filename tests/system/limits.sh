#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: every limit applies to each user separately, and affects nothing else.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
# The program does not end its session; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# The numbers of limits.c.
a=$(address 0)
daemon a "$a" 'limits:' '  clients: 5' '  pds: 3' '  mrs: 5' '  mr_bytes: 2MiB' '  mws: 3' '  cqs: 4' '  qps: 4' \
	'  srqs: 2' '  listeners: 2' '  qp_wr: 64' '  cqe: 256'
# For another user.
chmod 0711 "$tmp"
chmod 0666 "$(socket_of a)"
"$bin/tests/system/limits" "$(socket_of a)" "$a" || fail limits
eventually 10 none_of a client pd mr mw cq qp srq listener || fail 'objects are left'
stop a || fail "daemon: exit status $?"
