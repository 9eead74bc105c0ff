#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the library exports what its map lists, each with its version, and what the public header
# declares; nothing else.
set -u
top=${top_srcdir:-$(dirname "$0")/../..}
lib=${top_builddir:-.}/.libs/libddpclient.so
[ -e "$lib" ] || { echo "needs the shared library ($lib)" && exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Names with their version: from the map, and from the library.
awk '/^[A-Z]/ { version = $1 } /^[ \t]+ddp_[a-z0-9_]+;/ { sub(/;.*/, "", $1); print $1 "@@" version }' \
	"$top/client-lib/libddpclient.map" | sort >"$tmp/map"
nm -D --defined-only "$lib" | awk '$2 != "A" { print $3 }' | grep -v '^__[a-z]*san' | sort >"$tmp/lib"
sed 's/@.*//' "$tmp/map" >"$tmp/map.names"

# Names of the functions that the header declares, as the compiler sees them.
"${CC:-cc}" -E -P -I"$top/client-lib/include" "$top/client-lib/include/ddp/ddp.h" | tr -d '\n' | tr ';{}' '\n\n\n' |
	grep -o '\bddp_[a-z0-9_]*(' | tr -d '(' | sort -u >"$tmp/header"

status=0
for pair in 'map lib' 'map.names header'; do
	# shellcheck disable=SC2086
	set -- $pair
	if ! diff "$tmp/$1" "$tmp/$2" >"$tmp/diff"; then
		echo "$1 (<) and $2 (>) differ:"
		grep '^[<>]' "$tmp/diff"
		status=1
	fi
done
echo "$(wc -l <"$tmp/map") calls"
exit $status
