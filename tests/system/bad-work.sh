#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: an invalid request completes with the status of its error, and other requests continue, between two
# daemons and inside one.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
"$bin/tests/system/bad_work" "$(socket_of a)" "$(socket_of b)" "$b" 6000 || fail 'between two daemons'
"$bin/tests/system/bad_work" "$(socket_of a)" "$(socket_of a)" "$a" 6000 || fail 'inside one daemon'
row 5041-3-10 5040-7-01: requests that are posted after the end of a stream are flushed
row 5040-3.2-05: both ends report a failed Write, with the same Terminate
"$bin/tests/system/bad_entries" "$(socket_of a)" "$a" 6001 || fail 'entries of an incorrect library'
eventually 10 none_of a qp mr cq listener || fail 'objects are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
