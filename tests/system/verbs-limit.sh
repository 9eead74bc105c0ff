#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: who is refused by a limit learns it: ddpverbs prints a sentence, without -d; the journal has a line, ddpctl limit
# counts, and ddpctl doctor has a finding.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs ibv_rc_pingpong python3

daemon a "$a" 'limits: {qps: 1}'
ctl a doctor | grep -q '^ok *limits: no request was refused' || fail 'doctor finds a refusal before there is one'
start one $port ibv_rc_pingpong -g 0 -p $port
on a
! "${with[@]}" ibv_rc_pingpong -g 0 -p $((port + 1)) >"$tmp/two.log" 2>&1 || fail 'a queue pair beyond limits.qps'
[ "$(grep -c '^ddpverbs: ibv_create_qp: .*has 1 of 1 queue pairs (limits.qps)' "$tmp/two.log")" = 1 ] || fail 'no sentence'
[ "$(grep -c 'refused: .*(limits.qps)' "$tmp/a.log")" = 1 ] || fail 'not one line in the journal'
ctl a -j limit | python3 -c '
import json, sys
rows = {row["name"]: row["refused"] for row in json.load(sys.stdin)}
sys.exit(rows["qps"] != 1 or rows["cqs"] != 0)' || fail 'the refusal is not counted'
ctl a doctor | grep -q '^WRONG *limits: 1 requests of uid .* refused by qps: 1 of 1 are in use' || fail 'no finding of doctor'

# Memory that the daemon has for a user: the program ends at once, and says which limit and its value.
daemon c "$(address 2)" 'limits: {memory: 2MiB}'
on c
! "${with[@]}" ibv_rc_pingpong -g 0 -r 60000 -p $((port + 2)) >"$tmp/memory.log" 2>&1 || fail 'a queue pair beyond limits.memory'
grep -q '^ddpverbs: ibv_create_[a-z]*: .*of 2097152 bytes of the daemon.s memory and asks for [0-9]* more (limits.memory)' "$tmp/memory.log" ||
	fail "no sentence: $(cat "$tmp/memory.log")"
stop c || fail "daemon c: exit status $?"
kill -TERM "$(pid_of one)"
stop a || fail "daemon: exit status $?"
