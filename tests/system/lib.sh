# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Common functions of the system tests. Each daemon has its own configuration, socket and addresses, so that tests can
# run at the same time. Bash scripts source this file in the build folder, which make check sets. At the end a test
# stops all processes that it started, by process id.

set -u
export LC_ALL=C
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
DDP_SANITIZERS=${DDP_SANITIZERS:-none}
# The transport of all daemons, so that tests do not depend on the host's kernel; empty: as in the configuration.
DDP_TRANSPORT=${DDP_TRANSPORT-user}

bin=$(cd "$top_builddir" && pwd)
ddpsctpd=$bin/ddpsctpd
ddpctl=$bin/ddpctl
# shellcheck disable=SC2034 # used by the tests
ddping=$bin/ddping ddperf=$bin/ddperf ddpcp=$bin/ddpcp

tmp=$(mktemp -d "${TMPDIR:-/tmp}/ddp.XXXXXX")
children=

# gone PID: the process has ended, waited for or not.
gone() {
	local state
	state=$(sed -n 's/^State:[ \t]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ]
}

# eventually SECONDS COMMAND...: tries until it is true; false when the time is over. SECONDS are those of an idle machine:
# other tests run at the same time, so it tries six times as long; ten times where each try is slow, as in a guest.
eventually() {
	local tries=$(($1 * 6 * 20)) until=$((SECONDS + $1 * 10))
	shift
	while [ $tries -gt 0 ] && [ $SECONDS -le $until ]; do
		if "$@"; then return 0; fi
		sleep 0.05
		tries=$((tries - 1))
	done
	"$@"
}

cleanup() {
	local pid
	for pid in $children; do
		gone "$pid" || kill -TERM "$pid" 2>/dev/null
	done
	for pid in $children; do
		eventually 5 gone "$pid" || kill -KILL "$pid" 2>/dev/null
	done
	wait
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# The last line of a log is what scripts/check shows.
skip() {
	echo "$*"
	exit 77
}

fail() {
	local log
	echo "FAILED: $*"
	for log in "$tmp"/*.log; do
		[ ! -s "$log" ] || sed "s,^,  ${log##*/}: ," "$log" | tail -n 30
	done
	exit 1
}

# row ID...: WORDS: the result of the checks above, for rows of tests/conformance/rows.tsv. docs/conformance.md
# contains the words, so they must be the same in each run.
row() { echo "row $*"; }

# needs PROGRAM...: of the build, or of the machine.
needs() {
	local p
	for p in "$@"; do
		case $p in
		ddpsctpd | ddpctl | ddping | ddperf | ddpcp | ddpmetrics) [ -x "$bin/$p" ] || skip "needs $p, which is not built" ;;
		*) command -v "$p" >/dev/null || skip "needs $p" ;;
		esac
	done
}

# background NAME COMMAND...: its output goes to NAME.log; its process id to the variable pid.
background() {
	local name=$1
	shift
	: >"$tmp/$name.log" # by this shell, so that nobody finds the words of an earlier process of that name
	"$@" >"$tmp/$name.log" 2>&1 </dev/null &
	pid=$!
	children="$children $pid"
	echo $pid >"$tmp/$name.pid"
}

pid_of() { cat "$tmp/$1.pid"; }

# address N (0..3): a loopback address that no other running test has.
address() {
	local n=$((($$ * 4 + $1) % 16777216))
	echo "127.$((n >> 16)).$((n >> 8 & 255)).$((n & 255))"
}

socket_of() { echo "$tmp/$1.sock"; }

# configure NAME ADDRESS [LINE...]: writes NAME.yaml; further lines of YAML are taken as they are. All daemons have the
# transport DDP_TRANSPORT, unless that is empty, and time for a server that a busy machine does not run for seconds.
socket_mode=0600
configure() {
	local name=$1 addr=$2
	shift 2
	{
		printf 'listen: [%s]\nsocket:\n  path: %s\n  mode: %s\n' "$addr" "$(socket_of "$name")" $socket_mode
		[ -z "$DDP_TRANSPORT" ] || echo "transport: $DDP_TRANSPORT"
		[ "$(id -u)" = 0 ] || echo "admin: [0, $(id -u)]"
		case $* in *session:*) ;; *) echo 'session: {connect_ms: 60000}' ;; esac
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >"$tmp/$name.yaml"
}

answers() { "$ddpctl" --socket "$(socket_of "$1")" status >/dev/null 2>&1; }
answers_or_gone() { answers "$1" || gone "$(pid_of "$1")"; }

# reconfigured NAME ADDRESS LINE...: another configuration, which the daemon has read when this returns.
has_reloaded() { [ "$(grep -c 'reload: \(done\|refused\)' "$tmp/$1.log")" -gt "$2" ]; }
reconfigured() {
	local before
	before=$(grep -c 'reload: \(done\|refused\)' "$tmp/$1.log")
	configure "$@"
	kill -HUP "$(pid_of "$1")"
	eventually 10 has_reloaded "$1" "$before" || fail "daemon $1 does not reload"
}

# daemon NAME ADDRESS [LINE...]: starts one and waits until it answers. The words of daemon_in come before its command.
daemon_in=()
daemon() {
	configure "$@"
	background "$1" "${daemon_in[@]}" "$ddpsctpd" --foreground --config "$tmp/$1.yaml"
	# Not asked again: where limits.clients is 1, the daemon may not have noticed the end of the first ddpctl.
	eventually 20 answers_or_gone "$1" && ! gone "$(pid_of "$1")" || fail "daemon $1 does not answer"
}

# counted NAME ADDRESS [LINE...]: a daemon whose heap is counted, for holds.
counted() {
	local daemon_in=()
	[ "$DDP_SANITIZERS" != none ] || [ ! -f "$bin/tests/system/.libs/blocks.so" ] ||
		daemon_in=(env LD_PRELOAD="$bin/tests/system/.libs/blocks.so" BLOCKS_FILE="$tmp/$1.blocks")
	rm -f "$tmp/$1.blocks"
	unset "blocks_before[$1]"
	daemon "$@"
}

# holds NAME: descriptors, blocks of the heap (0: sanitizers count them, or this C library is another one) and KiB of memory of
# a daemon that `counted` started. Without work the first two are the same again.
holds() {
	local proc blocks=0
	proc=/proc/$(pid_of "$1")
	[ ! -f "$tmp/$1.blocks" ] || blocks=$(od -An -td8 "$tmp/$1.blocks" | tr -d ' ')
	echo "$(find "$proc/fd" -mindepth 1 | wc -l) $blocks $(sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB/\1/p' "$proc/status")"
}

# grows NAME: whether the heap of a daemon that `counted` started has more blocks than at the last call, or this is the first one.
# What happens for the first time may allocate for good, in any round of a test; but a leak grows in each.
declare -A blocks_before=()
blocks_of() { holds "$1" | cut -d ' ' -f 2; }
# Blocks may still go. Their number is final if it is not larger than before, or was the same ten times.
has_final_blocks() {
	local last=$blocks
	blocks=$(blocks_of "$1")
	if [ "$blocks" = "$last" ]; then same=$((same + 1)); else same=0; fi
	[ "$blocks" -le "${blocks_before[$1]-$blocks}" ] || [ $same -ge 10 ]
}
grows() {
	local blocks='' same=0 r=0
	eventually 1 has_final_blocks "$1"
	[ "$blocks" -gt "${blocks_before[$1]:--1}" ] || r=1
	blocks_before[$1]=$blocks
	return $r
}

# stop NAME [SIGNAL]: ends it and returns its exit status.
stop() {
	local p
	p=$(pid_of "$1")
	kill "-${2:-TERM}" "$p" 2>/dev/null
	if ! eventually 15 gone "$p"; then
		kill -KILL "$p"
		fail "$1 does not stop"
	fi
	wait "$p"
}

# ctl NAME ARGUMENT...
ctl() {
	local name=$1
	shift
	"$ddpctl" --socket "$(socket_of "$name")" "$@"
}

# valid KIND=FILE...: what ddpctl -j printed is as etc/schema/ddpctl.json says.
valid() { python3 "$top_srcdir/tests/system/schema.py" "$top_srcdir/etc/schema/ddpctl.json" "$@" || fail 'not as the schema says'; }

# valid_tool KIND=FILE...: the same of a tool's -j and etc/schema/tools.json.
valid_tool() { python3 "$top_srcdir/tests/system/schema.py" "$top_srcdir/etc/schema/tools.json" "$@" || fail 'not as the schema says'; }

# count NAME OBJECT: how many of them the daemon has; ddpctl itself is no client.
count() {
	local shown line n=0
	shown=$(ctl "$1" -o "$2") || return
	while read -r line; do
		case $line in '' | *' comm ddpctl '*) ;; *) n=$((n + 1)) ;; esac
	done <<<"$shown"
	echo $n
}

none_of() {
	local name=$1 object
	shift
	for object in "$@"; do
		[ "$(count "$name" "$object")" = 0 ] || return 1
	done
}

# server NAME DAEMON COMMAND...: starts a tool that listens, and waits until its listener is there.
server() {
	local name=$1 at=$2 before
	shift 2
	before=$(count "$at" listener)
	background "$name" "$@"
	eventually 10 more_listeners "$at" "$before" || fail "$name does not listen"
}
more_listeners() { [ "$(count "$1" listener)" -gt "$2" ]; }
