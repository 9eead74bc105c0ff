#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: memory that can neither be shared nor adopted works as a region, over the network and within one daemon. A
# program whose agent stops, ends or writes malformed data harms only itself.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
programs=$bin/tests/system

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
timeout 300 "$programs/agent_memory" "$(socket_of a)" "$(socket_of b)" "$b" >"$tmp/agent.log" 2>&1 ||
	fail "agent_memory over the network"
timeout 300 "$programs/agent_memory" "$(socket_of b)" "$(socket_of b)" "$b" >"$tmp/agent.log" 2>&1 ||
	fail "agent_memory within one daemon"

# A limit that a busy machine keeps, and one that makes malformed answers end soon.
for run in stop:5000 malformed:200; do
	stop b || fail "daemon b: exit status $?"
	daemon b "$b" "session: {connect_ms: 60000, agent_ms: ${run#*:}}"
	for at in a b; do
		timeout 300 "$programs/agent_ends" "${run%:*}" "$(socket_of $at)" "$(socket_of b)" "$b" >"$tmp/agent.log" 2>&1 ||
			fail "${run%:*}, with peers at daemon $at"
		for name in a b; do
			eventually 20 none_of $name client session qp mr cq || fail "daemon $name keeps objects"
		done
	done
done
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
