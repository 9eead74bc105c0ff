#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: no size, offset or value that a program or another version of the daemon relies on has changed
# (layout.golden), and every struct of the public header and of the local protocol is held.
set -u
top=${top_srcdir:-$(dirname "$0")/../..}
golden=$top/tests/abi/layout.golden
[ "$(getconf LONG_BIT)" = 64 ] || { echo 'the golden file is of LP64 machines' && exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

{
	echo '#include <stddef.h>'
	sed -n 's/^# \(.*\.h\)$/#include "\1"/p' "$golden"
	awk '
		function check(what, value) {
			printf "_Static_assert(%s == %s, \"%s was %s\");\n", what, value, what, value
		}
		/^#/ || !NF { next }
		$2 == "=" { check($1, $3); next }
		$1 ~ /\./ { split($1, p, "."); check("offsetof(struct " p[1] ", " p[2] ")", $2); next }
		{ check("sizeof(struct " $1 ")", $2) }' "$golden"
} >"$tmp/layout.c"
asserts=$(grep -c Static "$tmp/layout.c")
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -I"$top" -I"$top/client-lib/include" "$tmp/layout.c" || exit 1

status=0
for header in $(sed -n 's/^# \(.*\.h\)$/\1/p' "$golden"); do
	for name in $(sed -n 's/^struct \([a-z_]*\) {$/\1/p' "$top/$header"); do
		[ "$name" = ring ] && continue # one side's private view
		grep -q "^$name " "$golden" || { echo "$header: struct $name is not held" && status=1; }
	done
done

# The check can fail.
sed 's/\(sizeof(struct ddp_wc) == \)[0-9]*/\11/' "$tmp/layout.c" >"$tmp/wrong.c"
if "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -I"$top" -I"$top/client-lib/include" "$tmp/wrong.c" 2>/dev/null; then
	echo 'a wrong size is not noticed'
	status=1
fi
echo "$asserts sizes, offsets and values"
exit $status
