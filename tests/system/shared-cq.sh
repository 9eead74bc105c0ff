#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: queue pairs that share a full completion queue wait for room and continue when any of them frees it.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
# The program destroys nothing; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

a=$(address 0)
daemon a "$a"
"$bin/tests/system/shared_cq" "$(socket_of a)" "$a" 6000 || fail 'shared_cq'
stop a || fail "daemon: exit status $?"
