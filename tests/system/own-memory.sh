#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: memory that a program had before is registered in place: a peer writes, reads and adds there, over the network
# and within one daemon, and no store of the program is lost.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
own_memory=$bin/tests/system/own_memory

[ "$DDP_SANITIZERS" = none ] || export OWN_ROUNDS=${OWN_ROUNDS:-1000}
a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
seed=${DDP_SEED:-$$}
echo "seed $seed"
timeout 300 "$own_memory" "$(socket_of a)" "$(socket_of b)" "$b" "$seed" >"$tmp/own.log" 2>&1 ||
	fail "own_memory over the network, seed $seed"
timeout 300 "$own_memory" "$(socket_of b)" "$(socket_of b)" "$b" "$seed" >"$tmp/own.log" 2>&1 ||
	fail "own_memory within one daemon, seed $seed"

# A daemon that is killed takes no byte with it.
for round in 1 2 3; do
	daemon "lost$round" "$(address 2)"
	timeout 120 "$bin/tests/system/own_lost" "$(socket_of "lost$round")" "$(pid_of "lost$round")" >"$tmp/own.log" 2>&1 ||
		fail "own_lost, round $round"
done

for name in a b; do
	eventually 20 none_of $name client session qp mr cq || fail "daemon $name keeps objects"
done
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
