#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a program of this folder, a test of the transport `kernel`: program.sh NAME. The program prints the promises it has verified.
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
program=$bin/tests/kernel/$1
[ -x "$program" ] || fail "$program is not built: that needs libsctp"
"$program" >"$tmp/$1.log" 2>&1 || fail "$1"
cat "$tmp/$1.log"
