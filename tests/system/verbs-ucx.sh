#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: UCX runs unchanged with ddpverbs, with its transport for reliable connections alone and with what it chooses
# itself: a program of ours sends by tag, stream and active message, puts, gets and adds, 1 byte to 1 MiB, and compares every
# byte; and ucp_client_server, the example of its package, says what it says with hardware. Its source is in
# /usr/share/doc/libucx-dev/examples, or in $UCX_EXAMPLES where the system leaves documents out; without it our program runs
# alone.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs cc pkg-config
pkg-config --exists ucx 2>/dev/null || skip 'needs libucx-dev'
examples=${UCX_EXAMPLES:-/usr/share/doc/libucx-dev/examples}

# build SOURCE PROGRAM
build() {
	# shellcheck disable=SC2046
	cc -w -O1 -o "$tmp/$2" "$1" $(pkg-config --cflags --libs ucx) || fail "$1 does not build"
}
build "$top_srcdir/tests/system/ucx_bytes.c" ucx_bytes

daemon a "$a"
daemon b "$b"

used_device() { grep -q 'INFO .* ep_cfg.*rc_verbs/ddpsctp0' "$1"; }

# The environment of UCX is in $ucx.
our_program() {
	port=$((port + 1))
	as_user=(env "${ucx[@]}")
	start ucx_bytes $port "$tmp/ucx_bytes" "$a" $port
	client ucx_bytes '^atomics: all data is right' "$tmp/ucx_bytes" "$a" $port client
	used_device "$tmp/ucx_bytes-client.log" || fail 'ucx_bytes: UCX has not used the device'
	[ "$(grep -c 'all data is right' "$tmp/ucx_bytes-client.log")" -eq 6 ] || fail 'ucx_bytes: not all ways were tried'
	ended ucx_bytes
}

# Its server waits for the next client until a signal ends it. UCX tells it of the end of the client by rdma_cm and of messages by a
# completion queue, in another thread: on a busy machine it may hear of the end first, drop the last messages (the client's are in the
# memory of the server's queue pair then, as with hardware) and fail. Then the example runs again.
example() {
	port=$((port + 1))
	as_user=(env "${ucx[@]}")
	start ucp $port stdbuf -oL "$tmp/ucp" -l "$a" -p $port "$@"
	client ucp '^Client: iteration #10' "$tmp/ucp" -a "$a" -p $port "$@"
	used_device "$tmp/ucp-client.log" || fail "ucp_client_server $*: UCX has not used the device"
	twice() { [ "$(grep -c 'UCP TEST SUCCESS' "$tmp/ucp.log")" -eq 2 ]; } # the first and the last message
	twice_or_reset() { twice || grep -q '^server failed on iteration' "$tmp/ucp.log"; }
	eventually 20 twice_or_reset || fail "ucp_client_server $*: the server has not received"
	kill "$(pid_of ucp)"
	wait "$(pid_of ucp)"
	eventually 10 clean || fail "ucp_client_server $* leaves something in a daemon"
	twice && echo "ran: ucp_client_server $*"
}

ucx=(UCX_LOG_LEVEL=info 'UCX_TLS=\rc_verbs,self')
our_program
ucx=(UCX_LOG_LEVEL=info)
our_program
if [ -e "$examples/ucp_client_server.c" ]; then
	build "$examples/ucp_client_server.c" ucp
	for api in tag stream am; do
		example -c $api -s 1048576 -i 10 || example -c $api -s 1048576 -i 10 || example -c $api -s 1048576 -i 10 ||
			fail "ucp_client_server -c $api: the server misses the last messages each time"
	done
else
	echo "left out: ucp_client_server, which is not in $examples"
fi
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
