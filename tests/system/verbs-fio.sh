#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: fio's engine rdma runs unchanged with ddpverbs: Writes, Reads, and Sends that are faster than their receiver.
# It compares no data.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs fio
size=${FIO_SIZE:-256m}
fio=(fio --ioengine=rdma --bs=64k "--size=$size" --iodepth=16)

cd "$tmp" || exit # it writes files
daemon a "$a"
daemon b "$b"
for verb in write read send; do
	port=$((port + 1))
	pair "fio-$verb" $port 'err= 0' "${fio[@]}" --name=server --rw=read --port=$port -- \
		"${fio[@]}" --name=client --rw=write --verb=$verb "--hostname=$a" --port=$port
done
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
