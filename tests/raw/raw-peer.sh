#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: for any input of a peer, the daemon does what RFC 5043, 5041, 5040, 7306 and 6581 require. The raw peer is
# written from these texts alone; raw_peer -l lists its cases.
# Usage: raw-peer.sh [CASE...]
# shellcheck source=tests/system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

raw=$bin/tests/raw/raw_peer
[ -x "$raw" ] || skip 'needs tests/raw/raw_peer, which is not built'

# Small packets, so that a message of a few kilobytes has several segments, and short timeouts, because cases wait for
# them.
user='user: {mtu: 1500}'
quick='session: {pending_max: 8, close_ms: 2000'

a=$(address 0) b=$(address 1) c=$(address 2)
daemon a "$a" "$user" "$quick}" 'limits: {events: 16}'
daemon b "$b" "$user" "$quick, extensions: off, enhanced: off}"
# Only one case speaks to it: on a busy machine no program answers that fast.
daemon c "$c" "$user" "$quick, answer_ms: 200}"
"$raw" "$(address 3)" "$(socket_of a)" "$a" "$(socket_of b)" "$b" "$(socket_of c)" "$c" "$@" || fail 'the raw peer'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
stop c || fail "daemon c: exit status $?"
