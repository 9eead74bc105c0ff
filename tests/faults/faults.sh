#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: an allocation or system call of daemon, libddpclient or libddpverbs that fails once ends in success or in a
# reason, and leaves nothing: no object, charge, descriptor, mapping or block. Prints how many were tried. FAULTS: how
# many, drawn by DDP_SEED; 30 by default, 0: all, which takes five minutes.
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
[ "$DDP_SANITIZERS" = none ] || skip "sanitizers replace malloc themselves"
[ -f "$bin/tests/faults/.libs/hook.so" ] || skip 'needs the C library glibc'

sockets=$(mktemp -d "$tmp/XXXX")
timeout -k 10 7000 python3 "$top_srcdir/tests/faults/faults.py" "$bin" "$sockets" "$(address 0)" "$(address 1)" \
	"${FAULTS:-30}" "${DDP_SEED:-$RANDOM}" "${FAULTS_WORDS:-}" || fail 'an allocation or a call that fails'
