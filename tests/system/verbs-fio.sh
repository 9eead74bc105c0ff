#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: fio's engine rdma runs unchanged with ddpverbs: Writes, Reads, and Sends that are faster than their receiver.
# It compares no data.
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs fio

cd "$tmp" || exit # it writes files
daemon a "$a"
daemon b "$b"
list_fio
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
