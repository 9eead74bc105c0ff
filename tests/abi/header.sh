#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the public header can be included alone, first and twice, in C99, C11 and C++11, without a
# warning.
set -u
top=${top_srcdir:-$(dirname "$0")/../..}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
printf '#include <ddp/ddp.h>\n#include <ddp/ddp.h>\nextern int nothing;\nint nothing = DDP_WC_SUCCESS;\n' >"$tmp/user.c"
cp "$tmp/user.c" "$tmp/user.cc"

for std in c99 c11 gnu11; do
	"${CC:-cc}" -std=$std -D_POSIX_C_SOURCE=200809L -Wall -Wextra -pedantic -Werror -fsyntax-only \
		-I"$top/client-lib/include" "$tmp/user.c" || exit 1
done
if command -v "${CXX:-c++}" >/dev/null; then
	for std in c++11 c++17; do
		"${CXX:-c++}" -std=$std -Wall -Wextra -pedantic -Werror -fsyntax-only \
			-I"$top/client-lib/include" "$tmp/user.cc" || exit 1
	done
else
	echo "no C++ compiler: C only"
fi
echo 'included in C99, C11 and C++'
