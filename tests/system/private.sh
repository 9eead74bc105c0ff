#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpsctpd --private runs beside others without a file. ddpverbs --private runs a command with daemons of its own,
# passes on its exit status and its signals, says why calls failed, refuses a wrong number, is not disturbed by another
# one, and leaves nothing, also when one of the processes is killed.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping
mkdir "$tmp/work"
export TMPDIR=$tmp/work
unset XDG_RUNTIME_DIR

# Processes with the mark. Those that have ended have no environment.
marked() { grep -lzxF "MARK=$1" /proc/[0-9]*/environ 2>/dev/null; }
nothing_of() { [ -z "$(marked "$1")" ] && [ -z "$(ls "$TMPDIR")" ]; }
nothing_left() { # after WORDS: no process with the mark, no file
	eventually 10 nothing_of "$1" || fail "$1: left: $(marked "$1") $(ls "$TMPDIR")"
	[ -z "$(find /dev/shm -maxdepth 1 -name 'ddp*' 2>/dev/null)" ] || fail "$1: shared memory is left"
	echo "nothing left: $1"
}

# ---- the daemon ----

# As a script uses it: the pipe of its line holds its life.
mkfifo "$tmp/fifo"
background reader env MARK=daemon bash -c '
	exec 3< <(exec "$1" --private 2>"$2/one.log"); read -r -u 3 one
	exec 4< <(exec "$1" --private --join "${one##*DDP_PORT=}" 2>"$2/two.log"); read -r -u 4 two
	printf "%s\n" "$one" "$two" >"$2/lines.new" && mv "$2/lines.new" "$2/lines"
	read -r forever <"$2/fifo"' bash "$ddpsctpd" "$tmp"
eventually 20 test -e "$tmp/lines" || fail 'no lines of private daemons'
one=$(sed -n 1p "$tmp/lines") two=$(sed -n 2p "$tmp/lines")
case $one in "DDP_SOCKET=$TMPDIR/"*" DDP_ADDRESS=127.0.0.1 DDP_PORT="*) ;; *) fail "the line is $one" ;; esac
case $two in *" DDP_ADDRESS=127.0.0.2 DDP_PORT=${one##*DDP_PORT=}") ;; *) fail "the line of the second one is $two" ;; esac
# shellcheck disable=SC2086
{
	background pong env $two "$ddping" -s
	eventually 10 sh -c "env $two '$ddpctl' -o listener | grep -q 'port 5043 '" || fail 'ddping does not listen'
	env $one "$ddping" -c 1 127.0.0.2 >"$tmp/ping.log" || fail 'private daemons do not reach each other'
	kill -HUP "$(env $two "$ddpctl" -j status | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')"
	env $one "$ddping" -c 1 127.0.0.2 >"$tmp/ping.log" || fail 'a reload disturbs a private daemon'
}
kill "$(pid_of pong)"
kill -KILL "$(pid_of reader)"
nothing_left daemon
"$ddpsctpd" --join 9 >"$tmp/join.log" 2>&1
[ $? -eq 64 ] && grep -q 'needs --private' "$tmp/join.log" || fail '--join without --private'

# ---- ddpverbs ----

[ "$DDP_SANITIZERS" = none ] || exit 0 # programs are preloaded
export DDPVERBS_LIBRARY=$bin/.libs/libddpverbs.so.0 DDPVERBS_DAEMON=$ddpsctpd DDPVERBS_RUNNER=$bin/verbs/ddpverbs-private
[ -e "$DDPVERBS_LIBRARY" ] || exit 0
verbs=$bin/verbs/ddpverbs
# expect STATUS WORDS ARGUMENT...
expect() {
	local status=$1 words=$2 got
	shift 2
	"$verbs" "$@" >"$tmp/said.log" 2>&1
	got=$?
	[ $got -eq "$status" ] || fail "ddpverbs $*: status $got, expected $status"
	[ -z "$words" ] || grep -qF -- "$words" "$tmp/said.log" || fail "ddpverbs $* does not say '$words'"
}
for n in 0 65 100 x -1 1x; do expect 2 "-n $n: the number of daemons is 1 to 64" --private -n $n true; done
expect 2 '-n 2 is for daemons that --private starts' -n 2 true
expect 2 '-s names a daemon' --private -s /tmp/x true
expect 2 'no such option' --privat true
expect 7 '' --private sh -c 'exit 7'
expect 127 'No such file' --private "$tmp/absent"
expect 143 '' --private sh -c 'kill $$'
expect 137 '' --private sh -c 'kill -9 $$'
# The program keeps what is preloaded already.
# shellcheck disable=SC2016
LD_PRELOAD=libm.so.6 expect 0 "$DDPVERBS_LIBRARY:libm.so.6" --private sh -c 'echo $LD_PRELOAD'
expect 0 '127.0.0.1 127.0.0.2 127.0.0.3' --private -n 3 sh -c 'echo $DDPVERBS_ADDRESSES'
# shellcheck disable=SC2016
expect 0 'all 64' --private -n 64 sh -c 'n=0 IFS=:; for s in $DDPVERBS_SOCKETS; do DDP_SOCKET=$s "$0" status >/dev/null && n=$((n + 1)); done; echo all $n' "$ddpctl"
if command -v rping >/dev/null; then
	expect 0 'rdma-ping-2' --private -n 2 sh -c 'rping -s -a 127.0.0.1 -C 3 & server=$!
		until "$0" -o listener | grep -q "port 7174 "; do kill -0 $server || exit; done
		rping -c -v -a 127.0.0.1 -I 127.0.0.2 -C 3; wait' "$ddpctl"
	expect 255 'connect error: nothing listens on this port' --private rping -c -a 127.0.0.1
fi
[ -z "$(ls "$TMPDIR")" ] || fail "files are left: $(ls "$TMPDIR")"

# start NAME: three daemons, and a command with a child; its sockets are in NAME.sockets.
start() {
	# shellcheck disable=SC2016
	background "$1" env MARK="$1" "$verbs" --private -n 3 sh -c '
		trap "exit 9" TERM
		sleep 1000 & setsid sleep 1000 &
		echo $$ >"$0.command"; echo "$DDPVERBS_SOCKETS" >"$0.new"; mv "$0.new" "$0.sockets"; wait' "$tmp/$1"
	eventually 20 test -e "$tmp/$1.sockets" || fail "$1: the command does not run"
}
second_of() { cat "/proc/$(pid_of "$1")/task/$(pid_of "$1")/children"; }
# ends NAME STATUS: with nothing left.
ends() {
	local status
	wait "$(pid_of "$1")"
	status=$?
	[ $status -eq "$2" ] || fail "$1: status $status, expected $2"
	nothing_left "$1"
}
start term && kill "$(pid_of term)" && ends term 9
start killed && kill -KILL "$(pid_of killed)" && ends killed 137
start second && kill -KILL "$(second_of second)" && ends second 137
start command && kill -KILL "$(cat "$tmp/command.command")" && ends command 137
start one-daemon
lost=$(DDP_SOCKET=$(cut -d : -f 2 "$tmp/one-daemon.sockets") "$ddpctl" -j status | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')
kill -KILL "$lost"
eventually 10 gone "$lost" || fail 'a daemon cannot be killed'
kill "$(pid_of one-daemon)"
ends one-daemon 9
grep -q 'the daemon of ddpsctp1 was ended by signal 9' "$tmp/one-daemon.log" || fail 'nothing is said of the killed daemon'

# Two at once: neither reaches the other.
start first
start other
first=$(cut -d : -f 1 "$tmp/first.sockets") other=$(cut -d : -f 2 "$tmp/other.sockets") second=$(cut -d : -f 2 "$tmp/first.sockets")
background pong "$ddping" -s --socket "$first"
eventually 10 sh -c "'$ddpctl' --socket '$first' -o listener | grep -q 'port 5043 '" || fail 'ddping does not listen'
"$ddping" --socket "$second" -c 1 127.0.0.1 >"$tmp/ping.log" || fail 'no way between two daemons of a command'
! "$ddping" --socket "$other" -c 1 127.0.0.1 >"$tmp/ping.log" 2>&1 || fail 'a way to the daemon of another command'
kill "$(pid_of pong)" "$(pid_of first)" "$(pid_of other)"
wait "$(pid_of first)"
[ $? -eq 9 ] || fail 'the first of two: its status'
ends other 9
