#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# OpenSHMEM of Open MPI (packages openmpi-bin, libopenmpi-dev) over UCX: processing elements of one daemon, and as many of each of
# two daemons, put, get and add to the memory of each other, and compare. MPI_RANKS and MPI_LARGEST choose how many, and the
# largest block. UCX_TLS keeps UCX from using shared memory instead.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs oshrun oshcc
oshcc -O1 -I "$top_srcdir" -o "$tmp/shmem_pes" "$top_srcdir/tests/programs/shmem_pes.c" || fail 'shmem_pes.c does not build'
hosts
another_daemon

ranks=${MPI_RANKS:-2}
limit=$((100 + ranks * 20))
# Without this, shmem_finalize() of Open MPI 4.1.4 ends with SIGSEGV, over TCP without ddpverbs, too: free() calls a function of a
# part that is unloaded, opal_mem_hooks_release_hook.
whole=(--mca memory ^patcher) tls=rc_v,ud_v,self
# Variables by env: -x of oshrun is for the elements before the first colon.
start=(env "UCX_TLS=$tls" SHMEM_SYMMETRIC_SIZE=64M oshrun --allow-run-as-root --oversubscribe "${whole[@]}" --mca spml ucx)

# elements_of DAEMON...: as many of each.
elements_of() {
	local name words=()
	for name in "$@"; do
		on "$name"
		[ ${#words[@]} -eq 0 ] || words+=(:)
		words+=(-np "$ranks" "${with[@]}" "$tmp/shmem_pes" "${MPI_LARGEST:-1048576}")
	done
	"${start[@]}" "${words[@]}" >"$tmp/shmem.log" 2>&1 || fail "oshrun with daemons $*: status $?"
	grep -q '^all data is right$' "$tmp/shmem.log" || fail 'the elements do not say that their data is right'
	! grep ddpverbs: "$tmp/shmem.log" || fail 'ddpverbs prints'
	eventually 10 none_of a qp mr && eventually 10 none_of c qp mr || fail 'oshrun leaves something in a daemon'
}

elements_of a
elements_of a c
stop c || fail "daemon c: exit status $?"
hosts_end
version openmpi-bin "OpenSHMEM over UCX, $ranks elements of one daemon and of each of two: put, get, atomics, compared"
