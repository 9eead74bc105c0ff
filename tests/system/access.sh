#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a peer writes, reads and changes only what both the queue pair and the region or window permit, between two
# daemons and inside one.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
timeout 300 "$bin/tests/system/access" "$(socket_of a)" "$(socket_of b)" "$b" 6000 || fail 'between two daemons'
timeout 300 "$bin/tests/system/access" "$(socket_of a)" "$(socket_of a)" "$a" 6000 || fail 'inside one daemon'
eventually 10 none_of a qp mr cq listener || fail 'objects are left'
eventually 10 none_of b qp mr cq listener || fail 'objects are left'
