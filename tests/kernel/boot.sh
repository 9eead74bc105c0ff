# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Boots user-mode Linux on the host's own file system. Bash scripts of the host source this file. README.md describes
# the rights of the guest and how the host is protected.
#
#   guest_prepare FOLDER...            once: folders that the guest sees at their usual place, readable or not
#   guest_boot INIT SECONDS [WORD...]  boots; the console is standard output; the exit status is that of timeout
#   guest_forget                       removes the files of guest_prepare
#
# INIT is an executable script of the host, which is copied. It begins with
#   . "$DDP_GUEST/mounts.sh"
# and finds the files of the folder $guest_dir, where a test may leave more before it boots, in /run/guest. WORDs go
# to the kernel's command line; those like NAME=VALUE that the kernel does not know are in INIT's environment.

guest_source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
guest_memory=${GUEST_MEMORY:-1G}
guest_dir=

# The user of the guest's kernel: nobody instead of root, who could write everywhere. The kernel runs in a PID namespace.
# Without it, the guest's processes would continue as processes of the host if the guest's kernel was killed. The first
# process of the namespace is a shell that ends with the guest's kernel; then the host's kernel ends all others.
guest_user=()
guest_apart=(unshare --pid --fork --kill-child)
if [ "$(id -u)" -eq 0 ]; then
	guest_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs)
else
	guest_apart+=(--user --map-current-user)
fi

# The environment of the guest's kernel: xstate.c and clock.c say why.
guest_preload=()

# guest_needs: prints what the host lacks.
guest_needs() {
	local program
	for program in linux.uml modprobe setpriv timeout unshare; do
		command -v $program >/dev/null || { echo "needs $program" && return 1; }
	done
	"${guest_apart[@]}" true 2>/dev/null || { echo 'needs namespaces of processes: kernel.unprivileged_userns_clone=1, or root' && return 1; }
	[ -d /usr/lib/uml/modules ] || { echo 'needs /usr/lib/uml/modules' && return 1; }
}

# Whether the guest's user can read all of a folder that it needs.
guest_reads() {
	local hidden
	hidden=$("${guest_user[@]}" find "$1" \( -name .git -o -path "$1/build*" \) -prune -o \
		\( -type f -o -type d \) ! -readable -print -quit 2>/dev/null) && [ -z "$hidden" ]
}

# guest_copy FOLDER TO FOLDER...: copies, with an empty folder for each of the folders inside it.
guest_copy() {
	local from=$1 to=$2 inner
	shift 2
	mkdir "$to" && tar -C "$from" --exclude=.git --exclude='./build*' --exclude='*.o' -cf - . | tar -C "$to" -xf - || return
	for inner in "$@"; do
		case $inner in "$from"/*) mkdir -p "$to/${inner#"$from"/}" || return ;; esac
	done
	chmod -R u+w,a+rX "$to"
}

# guest_library NAME: compiles NAME.c and preloads it into the guest's kernel.
guest_library() {
	# shellcheck disable=SC2086 # CC may be a command with arguments
	${CC:-cc} -shared -fPIC -o "$guest_dir/$1.so" "$guest_source/$1.c" || return
	guest_preload=(LD_PRELOAD="${guest_preload[*]#LD_PRELOAD=} $guest_dir/$1.so")
}

# The file "folders" has pairs of lines: a folder, and the source of its mount.
guest_prepare() {
	local folder n=0 seen
	guest_dir=$(mktemp -d /var/tmp/ddp-guest.XXXXXX) && chmod 0755 "$guest_dir" || return
	mkdir "$guest_dir/home" && cp "$guest_source/mounts.sh" "$guest_dir/" || return
	[ "$(id -u)" -ne 0 ] || chown nobody "$guest_dir/home" || return
	if grep -q amx_tile /proc/cpuinfo; then
		guest_library xstate || return
	fi
	[ "${GUEST_CLOCK:-real}" = real ] || guest_library clock || return
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

# Also ends guests that still run: killing the first process of a namespace ends all others.
guest_forget() {
	local process
	for process in "$guest_dir"/boot.*/process; do
		[ ! -s "$process" ] || kill -KILL "$(cat "$process")"
	done
	case $guest_dir in /var/tmp/ddp-guest.*) rm -rf "$guest_dir" ;; esac
	guest_dir=
}

# The kernel has its memory in an unnamed file in /dev/shm or /tmp, and its control socket in HOME.
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
