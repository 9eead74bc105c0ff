#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: etc/wireshark/ddp_sctp.lua shows what is in every message, golden vectors and malformed ones, over UDP and over
# IP, alone and bundled; RPC over RDMA is seen where it is and nowhere else. No daemon, no privilege.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs tshark python3
# Whatever the user of this machine has set up in Wireshark.
export HOME=$tmp/home PYTHONDONTWRITEBYTECODE=1

plugins=$HOME/.local/lib/wireshark/plugins
mkdir -p "$plugins"
python3 "$top_srcdir/tests/system/dissector.py" "$top_srcdir/etc/wireshark/ddp_sctp.lua" \
	"$top_srcdir/tests/unit/vectors.json" "$tmp" || fail 'what the dissector sees'

# As it is installed.
cp "$top_srcdir/etc/wireshark/ddp_sctp.lua" "$plugins"
tshark -G plugins 2>"$tmp/plugins.log" | grep -qF "$plugins/ddp_sctp.lua" || fail 'tshark does not load it from its folder'
got=$(tshark -Q -n -r "$tmp/udp.pcap" -Y 'ddp_sctp.ird == 16 && ddp_sctp.private == 68:69' -T fields -e ddp_sctp.ord 2>>"$tmp/plugins.log" | xargs)
[ "$got" = 8 ] || fail "installed in the folder of a user, it sees ORD '$got'"
