#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Open MPI over libfabric (packages openmpi-bin, python3-mpi4py): ranks of one daemon exchange and compare data.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs mpirun
/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip 'needs python3-mpi4py'
hosts

ranks=${MPI_RANKS:-2}
on a
"${with[@]}" mpirun --allow-run-as-root --oversubscribe -np "$ranks" --mca pml cm --mca mtl ofi \
	--mca mtl_ofi_provider_include 'verbs;ofi_rxm' /usr/bin/python3 "$top_srcdir/tests/programs/mpi_ranks.py" \
	>"$tmp/mpi.log" 2>&1 || fail "mpirun: status $?"
grep -q '^all data is right$' "$tmp/mpi.log" || fail 'the ranks do not say that their data is right'
eventually 10 clean || fail 'mpirun leaves something in a daemon'
hosts_end
version openmpi-bin "mtl ofi with mtl_ofi_provider_include set to verbs;ofi_rxm, $ranks ranks: ring, Allreduce, Alltoall, compared"
