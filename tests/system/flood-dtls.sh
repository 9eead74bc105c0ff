#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: floods of hellos, of pieces of handshakes, of handshakes that do not go on and of records of links that nobody has
# end no session in DTLS, keep no program from connecting, and leave no link behind.
export FLOOD_COVERED=1 FLOOD_KINDS=${FLOOD_KINDS:-hello flight half record dtls}
# shellcheck source=flood.sh
. "${top_srcdir:-.}/tests/system/flood.sh"
