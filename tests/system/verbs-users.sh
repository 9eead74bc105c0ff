#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpverbs needs no privilege. Programs of one user run with the daemons of another one, and leave nothing in
# them. rping -V, ibv_rc_pingpong -c and ver_rc_compare_swap compare the data. Only root can start programs of two users.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs setpriv rping ibv_rc_pingpong ib_write_bw qperf fio
[ "$(id -u)" -eq 0 ] || skip 'needs root, to start programs as two other users'

# Copies that both users can read: the project may be in a folder of root.
mkdir -p "$tmp/bin/.libs" "$tmp/bin/verbs" "$tmp/run" "$tmp/work"
cp -L "$library" "$bin/.libs/libddpclient.so.1" "$tmp/bin/.libs/"
cp "$bin/verbs/ddpverbs" "$tmp/bin/verbs/"
cp "$ddpsctpd" "$tmp/bin/"
chmod -R a+rX "$tmp"
bin=$tmp/bin library=$tmp/bin/.libs/libddpverbs.so.0 ddpsctpd=$tmp/bin/ddpsctpd

nothing=(--clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs)
# shellcheck disable=SC2034 # used by the functions of lib.sh and verbs-lib.sh
{
	daemon_in=(setpriv --reuid=65532 --regid=65532 "${nothing[@]}")
	as_user=(setpriv --reuid=65533 --regid=65533 "${nothing[@]}" env "LD_LIBRARY_PATH=$bin/.libs")
	socket_mode=0666
}
socket_of() { echo "$tmp/run/$1.sock"; }
chown 65532 "$tmp/run" && chown 65533 "$tmp/work" && "${as_user[@]}" true && "${daemon_in[@]}" true ||
	skip 'needs root that may become other users'

cd "$tmp/work" || exit # fio writes files
daemon a "$a"
daemon b "$b"
pair rping 7174 'rdma-ping-29' rping -s -a "$a" -C 30 -V -v -- rping -c -a "$a" -C 30 -V -v

start pingpong $port ibv_rc_pingpong -c -g 0 -n 100 -p $port
[ "$(stat -c %u "$(socket_of a)")" = 65532 ] || fail 'the daemon is not of its user'
ctl a -n -o client | grep -q 'uid 65533' || fail 'the program is not of the other user'
client pingpong 'iters in' ibv_rc_pingpong -c -g 0 -n 100 -p $port "$a"
ended pingpong
# Not in user-mode Linux: perftest ends where this folder is missing, and fio starts many processes.
if [ -d /proc/bus/pci ]; then
	port=$((port + 1))
	pair ib_write_bw $port '^ *#bytes' ib_write_bw -R -n 100 -F -p $port -- ib_write_bw -R -n 100 -F -p $port "$a"
	port=$((port + 1))
	fio=(fio --ioengine=rdma --bs=64k --size=8m --iodepth=16)
	pair fio $port 'err= 0' "${fio[@]}" --name=server --rw=read --port=$port -- \
		"${fio[@]}" --name=client --rw=write --verb=read "--hostname=$a" --port=$port
fi
port=$((port + 1))
start qperf $port qperf -lp $port
client qperf 'msg_rate += ' qperf "$a" -lp $port -t 1 -cm 1 ver_rc_compare_swap
client quit '' qperf "$a" -lp $port quit
ended qperf
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
