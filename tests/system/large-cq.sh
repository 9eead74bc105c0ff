#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a completion queue takes memory for what its queue pairs can use, however many entries the program asks for.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
# The program does not free all; the end of the process does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

daemon a "$(address 0)"
"$bin/tests/system/large_cq" "$(socket_of a)" "$(address 0)" || fail 'large queues'
eventually 10 none_of a client cq || fail 'objects are left'
stop a || fail "daemon: exit status $?"
