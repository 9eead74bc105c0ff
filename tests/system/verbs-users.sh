#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpverbs needs no privilege. Programs of one user run with the daemons of another one, and leave nothing in
# them. rping -V, ibv_rc_pingpong -c and ver_rc_compare_swap compare the data. Only root can start programs of two users.
# verbs-users-perftest.sh has perftest.
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs setpriv ibv_devinfo ibv_rc_pingpong rping ucmatose udaddy rdma_server rdma_xserver cmtime qperf fio

two_users
daemon a "$a"
daemon b "$b"
start pingpong $port ibv_rc_pingpong -c -g 0 -n 100 -p $port
[ "$(stat -c %u "$(socket_of a)")" = 65532 ] || fail 'the daemon is not of its user'
ctl a -n -o client | grep -q 'uid 65533' || fail 'the program is not of the other user'
client pingpong 'iters in' ibv_rc_pingpong -c -g 0 -n 100 -p $port "$a"
ended pingpong

list_devices
list_rdmacm
list_pingpong
list_cmtime
# In user-mode Linux processes are slow.
if [ -d /run/guest ]; then
	list_qperf rc_lat rc_bw rc_rdma_write_poll_lat ver_rc_compare_swap
else
	list_qperf
fi
FIO_SIZE=${FIO_SIZE:-8m} list_fio
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
