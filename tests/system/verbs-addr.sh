#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: with ddpverbs each call of rdma_cm with each kind of address has an answer, the one of the table in
# verbs_addr.c, and none waits without end. In a namespace, so that no address has a way but those of loopback.
if [ -z "${VERBS_ADDR-}" ] && unshare -rn true 2>/dev/null; then
	VERBS_ADDR=1 exec unshare -rn "$0" "$@"
fi
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ip
[ "$DDP_SANITIZERS" = none ] || skip 'programs are preloaded, which sanitizers do not allow'
library=$bin/.libs/libddpverbs.so.0
[ -e "$library" ] || skip 'needs ddpverbs, which is not built'
[ -n "${VERBS_ADDR-}" ] || skip 'needs a network namespace'
ip link set lo up || fail 'no loopback'

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
DDPVERBS_LIBRARY=$library timeout 200 "$bin/verbs/ddpverbs" -s "$(socket_of a)" -s "$(socket_of b)" \
	"$bin/tests/system/verbs_addr" "$a" "$b" || fail "verbs_addr: status $?"
for i in a b; do
	eventually 10 none_of $i client listener qp mr || fail "verbs_addr leaves something in daemon $i"
	stop $i || fail "daemon $i: exit status $?"
done
