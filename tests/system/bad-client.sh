#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a client that sends malformed records gets a reason and is disconnected; other clients are unaffected.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3

daemon a "$(address 0)"
"$bin/tests/system/bad_client" "$(socket_of a)" || fail 'bad_client'
row 5043-5.2.3-04: 513 bytes of private data are refused before anything is sent
row 5041-8.3.2-04: no registration of a device, nor beyond the end of a memfd
grep -q 'client [0-9]* (?, pid [0-9]*, uid [0-9]*): ended: .* sent before hello' "$tmp/a.log" || fail 'the log does not name a client without hello'
[ "$(grep -c ': ended: ' "$tmp/a.log")" -le 10 ] || fail 'a line for each bad record'
eventually 10 none_of a qp mr cq || fail 'objects are left'
stop a || fail "daemon: exit status $?"
grep -q 'more lines about clients that were ended were left out' "$tmp/a.log" || fail 'the log does not count what it left out'
