# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Boots user-mode Linux on the host's own file system. Sourced by bash scripts of the host; README.md tells
# what the guest may do and why it cannot hurt the host.
#
#   guest_prepare FOLDER...            once: what the guest is to see at its usual place, readable or not
#   guest_boot INIT SECONDS [WORD...]  boots; the console is standard output; the exit status is that of timeout
#   guest_forget                       removes what guest_prepare made
#
# INIT is an executable script of the host, which is copied. It begins with
#   . "$DDP_GUEST/mounts.sh"
# and finds the files of the folder $guest_dir, where a test may leave more before it boots, in /run/guest. WORDs go
# to the kernel's command line; those like NAME=VALUE that the kernel does not know are in INIT's environment.

guest_source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
guest_memory=${GUEST_MEMORY:-1G}
guest_dir=

# The guest's kernel is a process of this user: nobody if we are root, who could write to everything. And in a
# namespace of processes: when a kernel of user mode ends in any way but its own, its processes would go on as
# processes of the host, where their system calls meet the host's kernel. The shell that is the first there ends
# with it, and then the host's kernel ends them all.
guest_user=()
guest_apart=(unshare --pid --fork --kill-child)
if [ "$(id -u)" -eq 0 ]; then
	guest_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs)
else
	guest_apart+=(--user --map-current-user)
fi

# What the guest's kernel needs in its environment: xstate.c says why.
guest_preload=()

# guest_needs: says what is missing on the host.
guest_needs() {
	local program
	for program in linux.uml modprobe setpriv timeout unshare; do
		command -v $program >/dev/null || { echo "needs $program" && return 1; }
	done
	"${guest_apart[@]}" true 2>/dev/null || { echo 'needs namespaces of processes: kernel.unprivileged_userns_clone=1, or root' && return 1; }
	[ -d /usr/lib/uml/modules ] || { echo 'needs /usr/lib/uml/modules' && return 1; }
}

# Whether the guest's user can read all of a folder but what it need not see.
guest_reads() {
	local hidden
	hidden=$("${guest_user[@]}" find "$1" \( -name .git -o -path "$1/build*" \) -prune -o \
		\( -type f -o -type d \) ! -readable -print -quit 2>/dev/null) && [ -z "$hidden" ]
}

# guest_copy FOLDER TO FOLDER...: with an empty place for each of the folders that lies in it.
guest_copy() {
	local from=$1 to=$2 inner
	shift 2
	mkdir "$to" && tar -C "$from" --exclude=.git --exclude='./build*' --exclude='*.o' -cf - . | tar -C "$to" -xf - || return
	for inner in "$@"; do
		case $inner in "$from"/*) mkdir -p "$to/${inner#"$from"/}" || return ;; esac
	done
	chmod -R u+w,a+rX "$to"
}

# The file "folders" has pairs of lines: a folder, and what is mounted there.
guest_prepare() {
	local folder n=0 seen
	guest_dir=$(mktemp -d /var/tmp/ddp-guest.XXXXXX) && chmod 0755 "$guest_dir" || return
	mkdir "$guest_dir/home" && cp "$guest_source/mounts.sh" "$guest_dir/" || return
	[ "$(id -u)" -ne 0 ] || chown nobody "$guest_dir/home" || return
	if grep -q amx_tile /proc/cpuinfo; then
		guest_preload=(LD_PRELOAD="$guest_dir/xstate.so")
		"${CC:-cc}" -shared -fPIC -o "$guest_dir/xstate.so" "$guest_source/xstate.c" || return
	fi
	: >"$guest_dir/folders"
	for folder in "$@"; do
		seen=$folder
		if ! guest_reads "$folder"; then
			seen=$guest_dir/copy$((n += 1))
			guest_copy "$folder" "$seen" "$@" || return
		fi
		printf '%s\n' "$folder" "$seen" >>"$guest_dir/folders"
	done
}

# Ends guests that still run, too: killing what keeps the processes of one apart ends them all.
guest_forget() {
	local process
	for process in "$guest_dir"/boot.*/process; do
		[ ! -s "$process" ] || kill -KILL "$(cat "$process")"
	done
	case $guest_dir in /var/tmp/ddp-guest.*) rm -rf "$guest_dir" ;; esac
	guest_dir=
}

# The kernel has its memory in a file without a name in /dev/shm or /tmp, and its control socket in HOME.
guest_boot() {
	local init=$1 seconds=$2 boot
	shift 2
	boot=$(mktemp -d "$guest_dir/boot.XXXXXX") && cp "$init" "$boot/init" && chmod 0755 "$boot" "$boot/init" || return 125
	timeout -s KILL "$seconds" sh -c 'echo $$ >"$0/process" && exec "$@"' "$boot" "${guest_apart[@]}" sh -c '"$@"; exit $?' guest "${guest_user[@]}" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$guest_dir/home" "${guest_preload[@]}" \
		linux.uml mem="$guest_memory" rootfstype=hostfs rootflags=/ ro init="$boot/init" con=null con0=fd:0,fd:1 \
		quiet oops=panic DDP_GUEST="$guest_dir" "$@" </dev/null 2>&1 | sed -u 's/\r*$//'
	set -- "${PIPESTATUS[0]}"
	rm -rf "$boot"
	return "$1"
}
