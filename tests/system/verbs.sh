#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: programs that were built for libibverbs and librdmacm run unchanged with ddpverbs, and leave nothing in the
# daemons.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_SANITIZERS" = none ] || skip 'the programs are not built with sanitizers'
library=$bin/.libs/libddpverbs.so.0
[ -e "$library" ] || skip 'needs ddpverbs, which is not built'
needs ibv_devinfo ibv_rc_pingpong rping ucmatose rdma_server rdma_xserver ib_write_bw

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
on_a=(env DDPVERBS_LIBRARY="$library" timeout 100 "$bin/verbs/ddpverbs" -s "$(socket_of a)")
on_b=(env DDPVERBS_LIBRARY="$library" timeout 100 "$bin/verbs/ddpverbs" -s "$(socket_of b)")

# Sessions, queues, regions: nothing of a program is left.
clean() { none_of a client listener qp mr && none_of b client listener qp mr; }

# pair NAME WORDS SERVER... -- CLIENT...: both end well, and the client prints the words.
pair() {
	local name=$1 words=$2 server=() status
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	server "$name" a "${on_a[@]}" "${server[@]}"
	"${on_b[@]}" "$@" >"$tmp/$name-client.log" 2>&1 || fail "$name: client: status $?"
	grep -qE -- "$words" "$tmp/$name-client.log" || fail "$name: the client does not print '$words'"
	wait "$(pid_of "$name")"
	status=$?
	[ $status -eq 0 ] || fail "$name: server: status $status"
	eventually 10 clean || fail "$name leaves something in a daemon"
	rm "$tmp/$name.log" "$tmp/$name-client.log"
	echo "ran: $name"
}

# perftest PROGRAM OPTION...: with a port of its own. They compare no data. With -R a server listens twice, and its
# client does not wait for the second time: then hardware refuses it, too, and both are run again.
port=18600
perftest() {
	local name="$*" program=$1 try
	shift
	for try in 1 2 3 4 5 6; do
		port=$((port + 1))
		background "$name" "${on_a[@]}" "$program" -F -n 100 -p $port "$@"
		eventually 20 listens $port || fail "$name: the server does not listen"
		if "${on_b[@]}" "$program" -F -n 100 -p $port "$@" "$a" >"$tmp/$name-client.log" 2>&1; then
			wait "$(pid_of "$name")" || fail "$name: server: status $?"
			eventually 10 clean || fail "$name leaves something in a daemon"
			rm "$tmp/$name.log" "$tmp/$name-client.log"
			echo "ran: $name"
			return
		fi
		grep -q REJECTED "$tmp/$name-client.log" || fail "$name: client"
		kill "$(pid_of "$name")"
		wait "$(pid_of "$name")"
		eventually 10 clean || fail "$name leaves something in a daemon"
	done
	fail "$name: refused $try times"
}

# listens PORT: at TCP, or in a daemon.
listens() {
	awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && index($2, port) { found = 1 } END { exit !found }' \
		/proc/net/tcp /proc/net/tcp6 || [ "$(count a listener)" -gt 0 ]
}

"${on_a[@]}" ibv_devices | grep -q ddpsctp0 || fail 'ibv_devices does not show the device'
"${on_a[@]}" ibv_devinfo -v | grep -q 'state:.*PORT_ACTIVE' || fail 'ibv_devinfo -v'

# These compare what arrives.
pair rping 'rdma-ping-99' rping -s -a "$a" -C 100 -V -v -- rping -c -a "$a" -C 100 -V -v
pair ucmatose 'return status 0' ucmatose -b "$a" -C 100 -S 1000 -- ucmatose -s "$a" -C 100 -S 1000
pair rdma_client 'end 0' rdma_server -s "$a" -- rdma_client -s "$a"
pair rdma_xclient 'end 0' rdma_xserver -- rdma_xclient -s "$a"

for program in ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat; do
	perftest $program -R
	perftest $program
done

# Without rdma_cm: the server listens at a TCP port, and has a listener for its queue pair.
pair ibv_rc_pingpong 'iters in' ibv_rc_pingpong -g 0 -n 200 -p 18599 -- ibv_rc_pingpong -g 0 -n 200 -p 18599 "$a"
pair ibv_rc_pingpong-e 'iters in' ibv_rc_pingpong -e -g 0 -n 200 -p 18598 -- ibv_rc_pingpong -e -g 0 -n 200 -p 18598 "$a"

# No daemon: no device, and a sentence.
DDPVERBS_LIBRARY=$library "$bin/verbs/ddpverbs" -s "$tmp/absent.sock" ibv_devices >"$tmp/absent.log" 2>&1
grep -q "ddpverbs: no device: .*absent.sock" "$tmp/absent.log" || fail 'no sentence about a missing daemon'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
