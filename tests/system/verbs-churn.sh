#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: threads that create, connect, move and destroy queue pairs and ids of rdma_cm in any order, against a process
# that is killed again and again, come to their end and leave nothing in the daemons.
# CHURN_LIVES is how many objects each thread creates.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
churn=$bin/tests/system/verbs_churn
[ -x "$churn" ] || skip 'needs verbs_churn, which is not built'

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
clean() { none_of a client listener qp mr && none_of b client listener qp mr; }

DDPVERBS_SOCKETS=$(socket_of a):$(socket_of b) timeout "$((300 + ${CHURN_LIVES:-1000} / 10))" \
	"$churn" "${CHURN_LIVES:-1000}" "$a" "$b" >"$tmp/churn.log" 2>&1 || fail "verbs_churn: status $?"
for what in connects requests sessions ends ready moved datagrams kills; do
	! grep -qE "(^|, )0 [a-z ]*$what" "$tmp/churn.log" || fail "no $what"
done
eventually 10 clean || fail 'verbs_churn leaves something in a daemon'
cat "$tmp/churn.log"
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
