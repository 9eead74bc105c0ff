#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Open MPI (package openmpi-bin) and MPICH (package mpich) over UCX: ranks of one daemon, and as many ranks of each of two
# daemons, exchange and compare data; UCX finds its peers by datagrams. MPI_RANKS, MPI_LARGEST and MPI_ROUNDS choose how many,
# the largest block, and how often; UCX_TLS the transports of UCX, empty for its own choice, which is shared memory in a host.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs mpirun.openmpi mpicc.openmpi mpirun.mpich mpicc.mpich
hosts
another_daemon

ranks=${MPI_RANKS:-2} rounds=${MPI_ROUNDS:-1}
limit=$((100 + ranks * 20))
tls=${UCX_TLS-rc_v,ud_v,self}
unset UCX_TLS
# Variables by env: -x of mpirun is for the ranks before the first colon.
# shellcheck disable=SC2034 # used by name
openmpi=(env ${tls:+"UCX_TLS=$tls"} mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ucx)
# shellcheck disable=SC2034 # used by name
mpich=(env ${tls:+"UCX_TLS=$tls"} mpirun.mpich)

# ranks_of MPI DAEMON...: as many of each.
ranks_of() {
	local mpi=$1 name words=()
	local -n start=$mpi
	shift
	for name in "$@"; do
		on "$name"
		[ ${#words[@]} -eq 0 ] || words+=(:)
		words+=(-np "$ranks" "${with[@]}" "$tmp/ranks.$mpi" "${MPI_LARGEST:-1048576}")
	done
	"${start[@]}" "${words[@]}" >"$tmp/mpi.log" 2>&1 || fail "$mpi with daemons $*: status $?"
	grep -q '^all data is right$' "$tmp/mpi.log" || fail "$mpi: the ranks do not say that their data is right"
	! grep ddpverbs: "$tmp/mpi.log" || fail "$mpi: ddpverbs prints"
	eventually 10 none_of a qp mr && eventually 10 none_of c qp mr || fail "$mpi leaves something in a daemon"
	echo "ran: $mpi, daemons $*"
}

for mpi in openmpi mpich; do
	"mpicc.$mpi" -O1 -I "$top_srcdir" -o "$tmp/ranks.$mpi" "$top_srcdir/tests/programs/mpi_ranks.c" || fail "$mpi: mpi_ranks.c does not build"
	for _ in $(seq "$rounds"); do
		ranks_of $mpi a
		ranks_of $mpi a c
	done
done
stop c || fail "daemon c: exit status $?"
hosts_end
version mpich "and openmpi-bin $(dpkg-query -W -f '${Version}' openmpi-bin): over UCX, $ranks ranks of one daemon and of each of two: ring, Alltoall, compared"
