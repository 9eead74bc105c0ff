#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libfabric's fabtests, where PATH has them (Debian has no package; build the tag of its libfabric): each pair of fabtests.list
# ends as the list says, and so does fi_ubertest with the cases of fabtests.uber. A pair that does not is run a second time:
# libfabric 1.17 may end with SIGSEGV when a session ends (ddpverbs(7)), and a busy machine may need more than the limit.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs fi_msg_pingpong fi_ubertest
hosts
list=$top_srcdir/tests/programs/fabtests.list
limit=${FABTESTS_LIMIT:-200}

# pair_verdict COMMAND...: 61 is ENODATA, 38 ENOSYS: not offered.
pair_verdict() {
	local provider='verbs;ofi_rxm' status=0 server_status=0
	case " $* " in *\ msg\ * | *' fi_msg'* | *' fi_cm_data '*) provider=verbs ;; esac
	port=$((port + 1))
	on a
	background fab "${with[@]}" "$@" -p "$provider" -s $a -B $port
	eventually 2 listens_or_gone $port "$pid"
	on b
	"${with[@]}" "$@" -p "$provider" -s $b -P $port $a >"$tmp/fab-client.log" 2>&1 || status=$?
	[ $status -eq 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" || server_status=$?
	case $status:$server_status in
	0:0) echo PASS ;;
	61:* | 38:* | *:61 | *:38) echo SKIP ;;
	*) echo "FAIL ($status, $server_status)" ;;
	esac
}

passed=0 wrong=0 again=0
while IFS='	' read -r verdict words _; do
	case $verdict in '' | '#'*) continue ;; esac
	# shellcheck disable=SC2254 # a pattern
	[ -z "${FABTESTS_ONLY-}" ] || case $words in $FABTESTS_ONLY) ;; *) false ;; esac || continue
	# shellcheck disable=SC2086
	pair_verdict $words >"$tmp/verdict" # by this shell, whose children it ends
	got=$(<"$tmp/verdict")
	if [ "${got%% *}" != "$verdict" ]; then
		echo "$words: $got, expected $verdict; again"
		again=$((again + 1))
		# shellcheck disable=SC2086
		pair_verdict $words >"$tmp/verdict"
		got=$(<"$tmp/verdict")
	fi
	case $got in PASS) passed=$((passed + 1)) ;; esac
	[ "${got%% *}" = "$verdict" ] && continue
	echo "$words: $got, expected $verdict"
	tail -n 3 "$tmp/fab.log" "$tmp/fab-client.log"
	wrong=$((wrong + 1))
done <"$list"
offered=$(grep -c '^\(PASS\|FAIL\)' "$list")
words="$passed of $offered pairs"
[ $again -eq 0 ] || words="$words ($again at the second time)"

if [ -z "${FABTESTS_ONLY-}" ]; then
	limit=400
	on a
	background uber "${with[@]}" fi_ubertest -x
	eventually 10 listens_or_gone 2710 "$pid"
	on b
	"${with[@]}" fi_ubertest -u "$top_srcdir/tests/programs/fabtests.uber" $a >"$tmp/uber-client.log" 2>&1 || wrong=$((wrong + 1))
	cases=$(grep -c 'result: Success' "$tmp/uber-client.log")
	of=$(sed -n 's,^Starting test 1 / \([0-9]*\):.*,\1,p' "$tmp/uber-client.log")
	[ "$cases" = "$of" ] || tail -n 4 "$tmp/uber-client.log"
	words="$words, $cases of $of cases of fi_ubertest"
fi
[ $wrong -eq 0 ] || fail "$wrong results differ from the list: $words"
hosts_end
version libfabric1 "fabtests: $words"
