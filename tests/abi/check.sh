#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the interfaces between separately built programs do not change by accident: layouts and values, the
# exported symbols, and a public header that compiles alone as C11 and C++17.
set -u
export LC_ALL=C
top_builddir=${top_builddir:-.}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
CC=${CC:-cc} CXX=${CXX:-c++}
header=$top_srcdir/client-lib/include/ddp/ddp.h
easy=$top_srcdir/client-lib/include/ddp/ddp_easy.h
map=$top_srcdir/client-lib/libddpclient.map
golden=$top_srcdir/tests/abi/abi.golden
golden_ctl=$top_srcdir/tests/abi/ctl.golden
library=${DDP_LIBRARY:-$top_builddir/.libs/libddpclient.so}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
failed() {
	echo "FAILED: $*"
	status=1
}

"$top_builddir/tests/abi/abi" >"$tmp/abi" || exit 1
grep -qx 'sizeof(void \*) 8' "$tmp/abi" || { echo 'the golden layout is that of 64-bit machines' && exit 77; }
diff -u "$golden" "$tmp/abi" ||
	failed 'layout or values changed; if that is meant, change the version and run tests/abi/abi >tests/abi/abi.golden'

# The records for ddpctl: members may be added at the end of their structs, nothing else may change.
"$top_builddir/tests/abi/abi" ctl >"$tmp/ctl" || exit 1
if ! diff -u "$golden_ctl" "$tmp/ctl" >"$tmp/ctl.diff"; then
	cat "$tmp/ctl.diff"
	if grep -q '^-[^-]' "$tmp/ctl.diff"; then
		failed 'a member of ipc/ctl.h moved or is gone; if that is meant, change CTL_VERSION and run tests/abi/abi ctl >tests/abi/ctl.golden'
	else
		failed 'ipc/ctl.h has new members; the version stays: run tests/abi/abi ctl >tests/abi/ctl.golden'
	fi
fi

# Every struct of the headers is in a golden file, except the private views of a ring, the shape of a record,
# and the part of records whose members are listed with each of them.
sed -n 's/^struct \([a-z_]*\) {$/\1/p' "$header" "$easy" "$top_srcdir"/ipc/{agent,ring,wqe,msg,msg_hdr,msg_qp,ctl,packet_ring}.h | grep -vx -e ring -e packet_ring -e msg_shape -e ctl_flow | sort >"$tmp/structs"
sed -n 's/^struct \([a-z_]*\):.*/\1/p' "$golden" "$golden_ctl" | sort >"$tmp/known"
diff "$tmp/structs" "$tmp/known" || failed 'structs of the headers (<) and of the golden file (>) differ'

# Library, map and header name the same calls.
sed -n 's/^[ \t]*\(ddp_[a-z0-9_]*\);.*/\1/p' "$map" | sort >"$tmp/map"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$tmp/exported"
$CC -E -P -I"$top_srcdir/client-lib/include" "$easy" | grep -o '\<ddp_[a-z0-9_]* *(' | tr -d ' (' | sort -u >"$tmp/prototypes"
[ -s "$tmp/map" ] || failed 'the map is empty'
diff "$tmp/map" "$tmp/exported" || failed 'map (<) and exported symbols (>) differ'
diff "$tmp/map" "$tmp/prototypes" || failed 'map (<) and prototypes (>) differ'

# Each stanza of the map has its line in the symbols file of the package.
sed -n 's/^\(LIBDDP_[0-9.]*\) {$/\1/p' "$map" >"$tmp/stanzas"
sed -n 's/^ (symver)\(LIBDDP_[0-9.]*\) .*/\1/p' "$top_srcdir/debian/libddpclient1.symbols" >"$tmp/packaged"
diff "$tmp/stanzas" "$tmp/packaged" || failed 'stanzas of the map (<) and of debian/libddpclient1.symbols (>) differ'

# The header needs no other header before it, and only standard C.
echo '#include <ddp/ddp_easy.h>' >"$tmp/alone.c"
cp "$tmp/alone.c" "$tmp/alone.cc"
flags="-pedantic -Wall -Wextra -Werror -fsyntax-only -I$top_srcdir/client-lib/include"
# shellcheck disable=SC2086
$CC -std=c11 $flags "$tmp/alone.c" || failed 'the header as C11'
if command -v "${CXX%% *}" >/dev/null; then
	# shellcheck disable=SC2086
	$CXX -std=c++17 $flags "$tmp/alone.cc" || failed 'the header as C++17'
fi

[ $status -ne 0 ] || echo "$(wc -l <"$tmp/known") structs, $(wc -l <"$tmp/map") calls, unchanged"
exit $status
