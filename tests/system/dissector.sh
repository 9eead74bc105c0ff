#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: etc/wireshark/ddp_sctp.lua dissects every message, golden vectors and malformed ones, over UDP and over IP,
# alone and bundled. It recognizes RPC over RDMA, and only that. The test needs no daemon and no privilege.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs tshark python3
# Ignore the Wireshark configuration of the user.
export HOME=$tmp/home PYTHONDONTWRITEBYTECODE=1

plugins=$HOME/.local/lib/wireshark/plugins
mkdir -p "$plugins"
python3 "$top_srcdir/tests/system/dissector.py" "$top_srcdir/etc/wireshark/ddp_sctp.lua" \
	"$top_srcdir/tests/unit/vectors.json" "$tmp" || fail 'the dissector'

# Installed as a plugin.
cp "$top_srcdir/etc/wireshark/ddp_sctp.lua" "$plugins"
tshark -G plugins 2>"$tmp/plugins.log" | grep -qF "$plugins/ddp_sctp.lua" || fail 'tshark does not load it from its folder'
got=$(tshark -Q -n -r "$tmp/udp.pcap" -Y 'ddp_sctp.ird == 16 && ddp_sctp.private == 68:69' -T fields -e ddp_sctp.ord 2>>"$tmp/plugins.log" | xargs)
[ "$got" = 8 ] || fail "installed in the folder of a user, it sees ORD '$got'"
