#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: MPI runs unchanged with ddpverbs: two ranks at each of two daemons exchange messages of 1 byte to 64 KiB in a ring and
# all to all, and compare every byte (Open MPI over UCX, mpi4py). When a rank is killed the program ends with an error, and the
# daemons keep nothing.
# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
needs mpirun.openmpi
/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip 'needs python3-mpi4py'

daemon a "$a"
daemon b "$b"

# UCX_TLS keeps UCX from using shared memory instead; -x of mpirun would set it for the ranks before the first colon only.
mkdir "$tmp/mpi"
mpi=(env "TMPDIR=$tmp/mpi" 'UCX_TLS=rc_v,ud_v,self' timeout 300 mpirun.openmpi --allow-run-as-root --oversubscribe
	--bind-to none --mca pml ucx)

# run PROGRAM...: two ranks at each daemon. The exit status is that of mpirun.
run() {
	local name ranks=()
	for name in a b; do
		on $name
		[ ${#ranks[@]} -eq 0 ] || ranks+=(:)
		ranks+=(-np 2 "${with[@]}" /usr/bin/python3 "$@")
	done
	"${mpi[@]}" "${ranks[@]}" >"$tmp/ranks.log" 2>&1
}

run "$top_srcdir/tests/programs/mpi_ranks.py" 65536 || fail "mpirun: status $?"
grep -q '^all data is right$' "$tmp/ranks.log" || fail 'the ranks do not say that their data is right'
! grep ddpverbs: "$tmp/ranks.log" || fail 'ddpverbs prints'
grep -q "session with $b:.* began" "$tmp/a.log" || fail 'the ranks have not used both daemons'
eventually 10 clean || fail 'mpirun leaves something in a daemon'
echo 'ran: 2 ranks at each of 2 daemons'

# The others wait for a message of the killed one. mpirun has the exit status of a shell for its first rank that a signal ended.
cat >"$tmp/killed.py" <<-'END'
	import os, signal
	from mpi4py import MPI
	world = MPI.COMM_WORLD
	if world.allgather(world.rank) == list(range(4)) and world.rank == 0:
	    print("all are connected", flush=True)
	world.Barrier()
	if world.rank == 3:
	    os.kill(os.getpid(), signal.SIGKILL)
	world.recv(source=3)
END
run "$tmp/killed.py"
status=$?
grep -q '^all are connected$' "$tmp/ranks.log" || fail "mpirun: status $status before a rank is killed"
[ $status -eq 137 ] || fail "mpirun: status $status when a rank is killed, expected 137"
eventually 10 clean || fail 'the ranks keep something in a daemon when one of them is killed'
echo 'ran: a rank is killed'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
