#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: programs that were built for libibverbs and librdmacm run unchanged with ddpverbs, and leave nothing in the
# daemons. Here: the programs of ibverbs-utils and rdmacm-utils; verbs-perftest.sh, verbs-sizes.sh, verbs-qperf.sh and
# verbs-fio.sh have the others.
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs ibv_devinfo ibv_rc_pingpong rping ucmatose udaddy rdma_server rdma_xserver cmtime

daemon a "$a"
daemon b "$b"
list_devices
# As README.md has it.
pair rping 7174 'rdma-ping-9:' rping -s -a "$a" -v -- rping -c -a "$a" -C 10 -v
list_rdmacm
list_cmtime
list_pingpong

# No daemon: no device, and a sentence.
DDPVERBS_LIBRARY=$library "$bin/verbs/ddpverbs" -s "$tmp/absent.sock" ibv_devices >"$tmp/absent.log" 2>&1
grep -q "ddpverbs: no device: .*absent.sock" "$tmp/absent.log" || fail 'no sentence about a missing daemon'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
