#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: with ddpverbs messages of 1 byte to 1 MiB, both ways at once, wait for receives that are late, and arrive in order
# with their bytes. DDP_SLOW_MESSAGES: how many each way [20000]; scripts/check-long sends a million.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_SANITIZERS" = none ] || skip 'programs are preloaded, which sanitizers do not allow'
library=$bin/.libs/libddpverbs.so.0
[ -e "$library" ] || skip 'needs ddpverbs, which is not built'
messages=${DDP_SLOW_MESSAGES:-20000}

daemon a "$(address 0)"
daemon b "$(address 1)"
env DDPVERBS_LIBRARY="$library" timeout $((200 + messages / 200)) "$bin/verbs/ddpverbs" -s "$(socket_of a)" -s "$(socket_of b)" \
	"$bin/tests/system/verbs_slow" "$messages" || fail "verbs_slow: status $?"
clean() { none_of a client qp mr && none_of b client qp mr; }
eventually 10 clean || fail 'verbs_slow leaves something in a daemon'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
