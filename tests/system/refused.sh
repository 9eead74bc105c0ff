#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a program beyond limits.clients learns which limit refuses it, whether the daemon closes the connection
# before or after the program has sent its first record. ddpctl gets in, unless it uses up its reserve, too.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

daemon a "$(address 0)" 'limits:' '  clients: 1'
"$bin/tests/system/refused" "$(socket_of a)" "$(pid_of a)" >"$tmp/refused.log" 2>&1 || fail refused
[ "$(grep -c '^ddp_open: .*limits.clients' "$tmp/refused.log")" -eq 3 ] || fail 'ddp_open() does not name the limit'
[ "$(grep -c '^ddpctl: .*limits.clients' "$tmp/refused.log")" -eq 2 ] || fail 'ddpctl does not name the limit'
stop a || fail "daemon: exit status $?"
