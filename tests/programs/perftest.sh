#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# perftest (package perftest): each program with rdma_cm and without, with events, and forms of work that
# tests/system/verbs-perftest.sh and verbs-sizes.sh leave out.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw
hosts
list_perftest_few

# ended_with_client OPTION...: the server of --run_infinitely ends after its client was killed.
ended_with_client() {
	local server client
	port=$((port + 1))
	on a
	background "$1-infinite" "${with[@]}" "$@" --run_infinitely -F -p $port
	server=$pid
	eventually 10 listens_or_gone $port "$server"
	on b
	background client "${with[@]}" "$@" --run_infinitely -F -p $port $a
	client=$pid
	eventually 20 runs || fail "$1 --run_infinitely: no session"
	kill -9 "$(pgrep -P "$client")" # timeout has one child, the program
	wait "$client"
	eventually 10 gone "$server" || fail "$1 --run_infinitely: its server does not end"
	eventually 10 clean || fail "$1 --run_infinitely leaves something in a daemon"
}
runs() { ctl b -o qp | grep -q 'state rts '; }
ended_with_client ib_write_bw
ended_with_client ib_read_bw
# A server of Sends only polls its receives, which the end of the peer flushes on an iWARP device alone.
export DDPVERBS_IWARP=1
ended_with_client ib_send_bw -R
unset DDPVERBS_IWARP

while read -r options; do
	# shellcheck disable=SC2086
	perftest 1 $options -n "$iterations"
done <<END
ib_write_bw -l 4
ib_write_bw -Q 1
ib_write_bw -t 1
ib_write_bw -N
ib_write_bw -m 1024 -s 100000
ib_write_bw -R -q 16 -b
ib_write_lat -I 64
ib_read_bw -o 1
ib_read_lat -x 0
ib_send_bw --use-srq -q 4 -R
ib_send_bw --post_list 10 --recv_post_list 10
ib_send_lat -s 12345
ib_atomic_bw -A CMP_AND_SWAP
END
hosts_end
version perftest "$((port - 10000)) runs of its programs for reliable connections"
