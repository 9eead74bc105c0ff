#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: servers of ddping, ddperf and ddpcp survive restarts of both daemons, in order and by SIGKILL. Each call of a
# client meanwhile ends with success or with a reason, and no byte is wrong. A copy goes on where it was. Clients are of
# another user where root may start them. DDP_RESTARTS: how many, 10 by default; DDP_RESTART_BYTES: of that copy.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddperf ddpcp

restarts=${DDP_RESTARTS:-10}
size=3000000
here=$(address 0) there=$(address 1)
quick='session: {connect_ms: 2000, close_ms: 500}'

as_other=()
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	socket_mode=0666
	chmod 0711 "$tmp"
fi

daemon a "$here" "$quick"
daemon b "$there" "$quick"
mkdir "$tmp/root"
server pong b "$ddping" -s -q --socket "$(socket_of b)"
server perf b "$ddperf" -s --socket "$(socket_of b)"
server copies b "$ddpcp" serve -q --socket "$(socket_of b)" --root "$tmp/root"

# call NAME COMMAND...: a call of a client, whose failure has a reason. One line for each in NAME.calls.
call() {
	local name=$1 said
	shift
	if said=$("${as_other[@]}" "$@" 2>&1 >/dev/null </dev/null); then
		echo good >>"$tmp/$name.calls"
	elif [ -n "$said" ]; then
		echo "bad: $(tail -n 1 <<<"$said")" >>"$tmp/$name.calls"
	else
		echo "silent: $*" >>"$tmp/$name.calls"
	fi
}

good() { [ "$(grep -c '^good' "$tmp/$1.calls")" -gt "$2" ]; }

# copy N: a file of random bytes there; the copy that succeeds has them.
copy() {
	head -c $size /dev/urandom >"$tmp/from.$1"
	call copy "$ddpcp" put --retry 0 --socket "$(socket_of a)" -q "$tmp/from.$1" "$there:to.$1"
	[ "$(tail -n 1 "$tmp/copy.calls")" != good ] || cmp "$tmp/from.$1" "$tmp/root/to.$1" || echo wrong >>"$tmp/copy.calls"
	rm -f "$tmp/from.$1" "$tmp/root/to.$1"
}

# clients: in a process of their own, until the file `enough` is there.
pings() { while [ ! -e "$tmp/enough" ]; do call ping "$ddping" --socket "$(socket_of a)" -q -c 50 -i 0.001 -S 40000 "$there"; done; }
measures() { while [ ! -e "$tmp/enough" ]; do call measure "$ddperf" --socket "$(socket_of a)" -n 2000 "$there" write bw; done; }
copies() {
	local n=0
	while [ ! -e "$tmp/enough" ]; do
		copy $n
		n=$((n + 1))
	done
}

# again NAME ADDRESS SIGNAL: restarts a daemon.
again() {
	local p
	p=$(pid_of "$1")
	kill "-$3" "$p"
	eventually 15 gone "$p" || fail "$1 does not end"
	wait "$p" 2>/dev/null
	cp "$tmp/$1.log" "$tmp/$1.before"
	daemon "$1" "$2" "$quick"
}

# A copy whose daemon is killed, and then that of its server, goes on. One that has ended before the kill shows nothing: then
# another one begins.
has_part_or_gone() { [ -n "$(find "$tmp/root" -name '.ddpcp-long*' -size +1M)" ] || gone "$(pid_of long)"; }
is_interrupted() {
	rm -f "$tmp/root/long"
	background long "${as_other[@]}" "$ddpcp" put --retry 600 --socket "$(socket_of a)" "$tmp/long" "$there:long"
	eventually 10 has_part_or_gone || fail 'no part of the file'
	again a "$here" KILL
	again b "$there" KILL
	eventually 60 gone "$(pid_of long)" || fail 'the copy does not end'
	wait "$(pid_of long)" || fail 'the copy failed'
	cmp "$tmp/long" "$tmp/root/long" || fail 'the copy is wrong'
	grep -q 'trying again' "$tmp/long.log"
}
head -c "${DDP_RESTART_BYTES:-200000000}" /dev/urandom >"$tmp/long"
eventually 10 is_interrupted || fail 'no copy was interrupted'
rm "$tmp/long" "$tmp/root/long"

for c in ping measure copy; do : >"$tmp/$c.calls"; done
background pings pings
background measures measures
background copying copies

for ((i = 0; i < restarts; i++)); do
	signal=TERM
	[ $((i / 2 % 2)) = 0 ] || signal=KILL
	if [ $((i % 2)) = 0 ]; then
		again b "$there" $signal
	else
		again a "$here" $signal
	fi
	for c in ping measure copy; do
		before=$(grep -c '^good' "$tmp/$c.calls")
		eventually 10 good $c "$before" || {
			tail -n 5 "$tmp/$c.calls"
			fail "no call of $c succeeds after restart $i"
		}
	done
	for s in pong perf copies; do
		! gone "$(pid_of $s)" || fail "$s did not survive restart $i"
	done
done
touch "$tmp/enough"
for c in pings measures copying; do
	eventually 60 gone "$(pid_of $c)" || fail "$c do not end"
done

! grep -h -e '^silent' -e '^wrong' -e 'not in group' -e 'WRONG DATA' -e ' --help' "$tmp"/*.calls || fail 'a call without a reason, or a wrong byte'
for c in ping measure copy; do
	echo "$c: $(grep -c '^good' "$tmp/$c.calls") good"
	grep '^bad' "$tmp/$c.calls" | sed 's/[0-9][0-9]*/N/g' | sort | uniq -c
done
