#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: iSCSI over iSER runs unchanged with ddpverbs: tgtd offers a disk at one daemon, libiscsi logs in through the
# other one, and its own tests of reading, writing and comparing pass; the file behind the disk then has the bytes that they
# write. When tgtd has ended, nothing is left in the daemons.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs tgtd tgtadm iscsi-inq iscsi-test-cu

iser=3260 control=$((port % 30000 + 1)) # tgtd's own option for the port of iSER is refused by its parser
target=iqn.2026-01.net.example:disk
initiators=iqn.2026-01.net.example
url="iscsi://$a:$iser/$target/1?iser"
export TGT_IPC_SOCKET=$tmp/tgt
truncate -s 16M "$tmp/disk"
daemon a "$a"
daemon b "$b"

# tgtadm configures tgtd, which admits an initiator by its address and its name together.
admin() { tgtadm -C $control --lld iser "$@" >"$tmp/tgtadm.log" 2>&1; }
admin_or_fail() { admin "$@" || fail "tgtadm $*"; }

on a
background tgtd "${with[@]}" tgtd -f -C $control --iscsi "portal=127.0.0.1:$((port + 2))" --iser pool_sz_mb=128
eventually 20 admin --mode target --op show || fail 'tgtd does not answer'
admin_or_fail --mode target --op new --tid 1 --targetname $target
admin_or_fail --mode logicalunit --op new --tid 1 --lun 1 --backing-store "$tmp/disk"
admin_or_fail --mode target --op bind --tid 1 --initiator-address ALL
for name in iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-inq $initiators:test; do
	admin_or_fail --mode target --op bind --tid 1 --initiator-name "$name"
done

# libiscsi 1.19 takes a connection's memory as it comes from malloc() and believes that it is zero; this makes it so.
export MALLOC_PERTURB_=255

# initiator WORDS PROGRAM...: prints the words, an extended regular expression. libiscsi gives up after a second without an
# answer, which a busy machine may need: then it tries again.
initiator() {
	local words=$1 log=$tmp/initiator.log
	shift
	on b
	for _ in {1..20}; do
		"${with[@]}" "$@" "$url" >"$log" 2>&1
		grep -qE "$words" "$log" && return
		grep -q 'revents is not POLLIN' "$log" || break
	done
	fail "$1 does not print '$words'"
}

# suites TESTS SUITE...: all of them pass.
suites() {
	initiator "^ *tests +$1 +$1 +$1 +0 " iscsi-test-cu --dataloss -i $initiators:test -t "$(printf 'SCSI.%s,' "${@:2}")"
}

initiator '^Product:VIRTUAL-DISK' iscsi-inq
[ "$DDP_TRANSPORT" = kernel ] || suites 40 OrWrite Read12 Read16 Verify16 WriteSame16 WriteVerify16 # the guest is slow
suites 5 Write16
head -c 128K /dev/zero | tr '\0' '\246' | cmp -n 128K - "$tmp/disk" || fail 'the disk has something else than was written'

unset MALLOC_PERTURB_
# Not by force: tgtd would crash if it has not noticed yet that the last initiator is gone.
eventually 10 admin --mode logicalunit --op delete --tid 1 --lun 1 || fail 'tgtd keeps the disk'
eventually 10 admin --mode target --op delete --tid 1 || fail 'tgtd keeps the target'
admin --mode system --op delete
ended tgtd
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
