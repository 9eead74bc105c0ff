#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a program that shares one processor with its daemon registers, deregisters, forks, posts and waits without
# keeping the daemon or its own threads from running: with an ordinary policy, with a real-time one, and with a tenth of
# the processor. What a host does not allow, scripts/check-kernel runs in its guest, where all of it has to run.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddperf taskset chrt python3
one_cpu=$bin/tests/system/one_cpu
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
a=$(address 0)
daemon_in=(taskset -c "$cpu")
daemon a "$a"

# The guest of scripts/check-kernel names itself.
left() {
	[ -z "${DDP_GUEST:-}" ] || fail "the guest of check-kernel must run the case '$1': $2"
	echo "the case '$1' runs in scripts/check-kernel alone: $2"
}

# run POLICY [COMMAND...]
run() {
	local policy=$1
	shift
	timeout -s KILL 400 "$@" "$one_cpu" "$(socket_of a)" "$a" "$cpu" "$policy" >"$tmp/one_cpu.log" 2>&1 && cat "$tmp/one_cpu.log"
}

run other || fail 'an ordinary policy'

# Write latency polls memory, not a queue. Each side may use 3 s of processor.
# shellcheck disable=SC2016
latency() {
	local little=(sh -c 'ulimit -t 3 && exec "$@"' -)
	background server "${little[@]}" "$@" "$ddperf" -s --socket "$(socket_of a)" --once
	eventually 20 grep -q listen "$tmp/server.log" || fail 'ddperf -s does not listen'
	timeout -s KILL 200 "${little[@]}" "$@" "$ddperf" --socket "$(socket_of a)" --warm-up 0 -n 200 "$a" write lat >"$tmp/latency.log" 2>&1 &&
		wait "$pid"
}

if chrt -f 1 true 2>"$tmp/chrt.txt"; then
	run fifo || fail 'a real-time policy'
	latency taskset -c "$cpu" chrt -f 1 || fail 'latency with a real-time policy'
else
	left fifo "$(cat "$tmp/chrt.txt")"
fi

# a_tenth: makes a group with a tenth of a processor, and prints its folder.
a_tenth() {
	local group top=/sys/fs/cgroup
	if [ -e $top/cpu/cpu.cfs_quota_us ]; then
		group=$top/cpu/ddp-one-cpu-$$
		mkdir "$group" && echo 10000 >"$group/cpu.cfs_quota_us" && echo "$group"
		return
	fi
	if [ -n "${DDP_GUEST:-}" ] && ! [ -e $top/cgroup.controllers ]; then
		top=$tmp/cgroup
		mkdir "$top" && mount -t cgroup2 cgroup2 "$top" || return
	fi
	group=$top/ddp-one-cpu-$$
	echo +cpu >$top/cgroup.subtree_control && mkdir "$group" && echo '10000 100000' >"$group/cpu.max" && echo "$group"
}

if group=$(a_tenth 2>"$tmp/group.txt") && [ -n "$group" ]; then
	# shellcheck disable=SC2016
	run other sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group"
	status=$?
	rmdir "$group"
	[ $status -eq 0 ] || fail 'a tenth of a processor'
	[ "${group#"$tmp"}" = "$group" ] || umount "$tmp/cgroup"
else
	left quota "no group: $(cat "$tmp/group.txt")"
fi
eventually 10 none_of a qp mr cq pd client || fail 'objects are left'
stop a || fail "daemon a: exit status $?"
