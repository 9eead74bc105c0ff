#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: changed rules of peers that refuse one direction end the sessions that began in it, with the rule as the reason, and no
# others: sessions of the other direction go on over the same association. What is allowed again begins again.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

declare -A at=([a]=$(address 0) [b]=$(address 1))
daemon a "${at[a]}"
daemon b "${at[b]}"
mkfifo "$tmp/orders"
background directions sh -c 'exec "$@" <"$0"' "$tmp/orders" "$bin/tests/system/directions" "$(socket_of a)" "${at[a]}" \
	"$(socket_of b)" "${at[b]}"
exec 9>"$tmp/orders"

orders=0
has_done() { grep -qx "order $orders" "$tmp/directions.log" || gone "$(pid_of directions)"; }
# order WORDS: of directions.c, which has to carry it out.
order() {
	orders=$((orders + 1))
	echo "$*" >&9
	eventually 20 has_done && ! gone "$(pid_of directions)" || fail "order $orders: $*"
}
rules() { ctl "$1" limit set peers.rules "$2" >"$tmp/set.log" 2>&1 || fail "limit set: $(cat "$tmp/set.log")"; }

order open 0
order open 1
[ "$DDP_TRANSPORT" != user ] || [ "$(count a assoc)" = 1 ] || fail "not one association: $(ctl a -d assoc)"

# refuse DAEMON WORD N: session N has begun in the direction that the rule of that daemon refuses, and the other one has not.
refuse() {
	local peer=a
	[ "$1" = b ] || peer=b
	rules "$1" "${at[$peer]} name=one $2=none"
	order ends "$3" "$1"
	tail -n 2 "$tmp/directions.log" | grep -q '(rule one, set by ddpctl)\(; the association was lost\)\?$' || fail "no rule: $(tail -n 2 "$tmp/directions.log")"
	order goes $((1 - $3))
	rules "$1" ''
	order open "$3"
	order goes "$3"
}
refuse b accept 0
refuse b connect 1
refuse a connect 0
refuse a accept 1

# Both directions: the association ends.
[ "$DDP_TRANSPORT" != user ] || [ "$(count a assoc)" = 1 ] || fail "not one association: $(ctl a -d assoc)"
rules b "${at[a]} name=one accept=none connect=none"
order over b
eventually 20 none_of b assoc || fail 'the association goes on'
exec 9>&-
wait "$(pid_of directions)" || fail directions
for name in a b; do stop $name || fail "daemon $name: exit status $?"; done
