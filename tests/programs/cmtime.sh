#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Thousands of sessions at once (package rdmacm-utils): cmtime asks for all of them before it takes an answer.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs cmtime
hosts 'session: {connect_ms: 10000}' # the default

sessions=${CMTIME_SESSIONS:-4000}
start cmtime 18515 cmtime -b $a -p 18515 -c "$sessions"
client cmtime '^destroy ' cmtime -s $a -p 18515 -c "$sessions"
! grep -E 'event:|fail' "$tmp/cmtime-client.log" || fail 'not all sessions are established'
kill "$(pid_of cmtime)" # it goes on listening
ended cmtime 143
hosts_end
version rdmacm-utils "cmtime with $sessions sessions at once: all established"
