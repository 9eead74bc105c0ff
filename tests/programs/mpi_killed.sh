#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A rank is killed while others send to it and wait for it: Open MPI over UCX and over libfabric, MPICH (packages openmpi-bin, mpich).
# The program ends with an error, and the daemons keep nothing. MPI_RANKS chooses how many at each of two daemons.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs mpirun.openmpi mpicc.openmpi mpirun.mpich mpicc.mpich
hosts
another_daemon

ranks=${MPI_RANKS:-2}
limit=100
# Variables by env: -x of mpirun is for the ranks before the first colon.
openmpi=(mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none)
# shellcheck disable=SC2034 # used by name
ucx=(env 'UCX_TLS=rc_v,ud_v,self' "${openmpi[@]}" --mca pml ucx)
# shellcheck disable=SC2034 # used by name
ofi=("${openmpi[@]}" --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm')
# shellcheck disable=SC2034 # used by name
mpich=(env 'UCX_TLS=rc_v,ud_v,self' mpirun.mpich)

# killed HOW PROGRAM: timeout ends a rank that hangs with status 124.
killed() {
	local -n start=$1
	local name words=() status
	for name in a c; do
		on $name
		[ ${#words[@]} -eq 0 ] || words+=(:)
		words+=(-np "$ranks" "${with[@]}" "$2")
	done
	"${start[@]}" "${words[@]}" >"$tmp/killed.log" 2>&1
	status=$?
	grep -q '^all are connected$' "$tmp/killed.log" || fail "$1: status $status before a rank is killed"
	[ $status -ne 0 ] && [ $status -ne 124 ] || fail "$1: status $status when a rank is killed"
	eventually 20 none_of a qp mr && eventually 20 none_of c qp mr || fail "$1: the ranks keep something in a daemon"
	echo "ran: $1, status $status"
}

for mpi in openmpi mpich; do
	"mpicc.$mpi" -O1 -o "$tmp/killed.$mpi" "$top_srcdir/tests/programs/mpi_killed.c" || fail "$mpi: mpi_killed.c does not build"
done
killed ucx "$tmp/killed.openmpi"
killed ofi "$tmp/killed.openmpi"
killed mpich "$tmp/killed.mpich"
stop c || fail "daemon c: exit status $?"
hosts_end
version openmpi-bin "over UCX and mtl ofi, and mpich $(dpkg-query -W -f '${Version}' mpich): a rank of $ranks at each of two daemons is killed, the program ends with an error"
