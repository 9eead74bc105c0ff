#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the rsockets of librdmacm run unchanged with ddpverbs, although they read members of ids that are librdmacm's
# own (verbs/cm/cm_id.h): rstream compares its data, for messages of one part and of many, blocking and not, and leaves nothing
# in the daemons. Not -T a: there rstream fails with POLLHUP if its peer has sent everything and ended already.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs rstream

daemon a "$a"
daemon b "$b"

# rstream SIZE COUNT OPTION...: its sizes are plain numbers.
rstream() {
	local rstream=(rstream -p $((port += 1)) -S "$1" -C "$2" -I 2 -T v "${@:3}")
	start "rstream-$*" $port "${rstream[@]}" -b "$a"
	ctl a -o listener | grep -q "port $port " || fail "rstream $*: it does not listen at the daemon"
	client "rstream-$*" "^custom .* $2 " "${rstream[@]}" -s "$a"
	! grep -iE 'fail|error|AF_IB' "$tmp/rstream-$*.log" "$tmp/rstream-$*-client.log" || fail "rstream $*: words of an error"
	ended "rstream-$*"
}

rstream 64 100
rstream 1000 100 -T b
rstream 65536 50
rstream 65536 50 -T n
rstream 1000000 10
rstream 1000000 10 -T b
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
