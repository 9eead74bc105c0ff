#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: for any way to start it, the daemon runs with the setting of the allocator that it needs, in the process
# that was started, and with its environment.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_SANITIZERS" = none ] || skip "sanitizers replace malloc themselves"
addr=$(address 0)

# has NAME SETTING: the variable of a daemon is exactly that. glibc ends each setting with a NUL where the kernel shows
# the environment, so all of them become colons.
has() { tr '\0' : <"/proc/$(pid_of "$1")/environ" | grep -qE "(^|:)GLIBC_TUNABLES=$2:(\$|[A-Z])"; }

cached='glibc.malloc.tcache_max=4096:glibc.malloc.tcache_count=4000'

daemon_in=(env -i PROBE=kept)
daemon bare "$addr"
has bare "$cached" || fail 'without an environment: the setting is missing'
tr '\0' : <"/proc/$(pid_of bare)/environ" | grep -q PROBE=kept || fail 'the rest of the environment is lost'
[ "$(cat "/proc/$(pid_of bare)/comm")" = "$(basename "$ddpsctpd")" ] || fail 'the process has another name'
stop bare || fail "exit status $?"

daemon_in=(env -i GLIBC_TUNABLES=glibc.malloc.arena_max=2)
daemon other "$addr"
has other "glibc.malloc.arena_max=2:$cached" || fail 'with another setting: one of them is missing'
stop other || fail "exit status $?"

daemon_in=(env -i GLIBC_TUNABLES=glibc.malloc.tcache_max=512)
daemon own "$addr"
has own glibc.malloc.tcache_max=512 || fail 'the setting of the user is changed'
stop own || fail "exit status $?"
echo 'set where it was missing, kept where it was set'
