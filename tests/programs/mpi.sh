#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Open MPI over libfabric (packages openmpi-bin, python3-mpi4py): ranks of one daemon exchange and compare data, and then as
# many ranks of each of two daemons. MPI_RANKS, MPI_LARGEST and MPI_ROUNDS choose how many, the largest block, and how often.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs mpirun
/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip 'needs python3-mpi4py'
# libfabric calls a process 127.0.0.1 if its daemon has that and no other address of IPv4.
options=() also=
[ "${VERBS_FAMILY-}" != 6 ] || options=('loopback: off') also=', with IPv6 and "loopback: off"'
hosts "${options[@]}"
another_daemon "${options[@]}"

ranks=${MPI_RANKS:-2} rounds=${MPI_ROUNDS:-1}
limit=$((100 + ranks * 20))
ofi=(--allow-run-as-root --oversubscribe --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm')
work=(/usr/bin/python3 "$top_srcdir/tests/programs/mpi_ranks.py" "${MPI_LARGEST:-1048576}")

# ranks_of DAEMON...: as many of each.
ranks_of() {
	local name words=()
	for name in "$@"; do
		on "$name"
		[ ${#words[@]} -eq 0 ] || words+=(:)
		words+=(-np "$ranks" "${with[@]}" "${work[@]}")
	done
	mpirun "${ofi[@]}" "${words[@]}" >"$tmp/mpi.log" 2>&1 || fail "mpirun with daemons $*: status $?"
	grep -q '^all data is right$' "$tmp/mpi.log" || fail 'the ranks do not say that their data is right'
	eventually 10 none_of a qp mr && eventually 10 none_of c qp mr || fail 'mpirun leaves something in a daemon'
}

for _ in $(seq "$rounds"); do
	ranks_of a
	ranks_of a c
done
stop c || fail "daemon c: exit status $?"
hosts_end
version openmpi-bin "mtl ofi with mtl_ofi_provider_include set to verbs;ofi_rxm, $ranks ranks of one daemon and of each of two$also: ring, Allreduce, Alltoall, compared"
