#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: floods over IPv6 end no session either, and keep no program from connecting.
export FLOOD_FAMILY=6 FLOOD_KINDS=${FLOOD_KINDS:-init cookie mix forged}
# shellcheck source=flood.sh
. "${top_srcdir:-.}/tests/system/flood.sh"
