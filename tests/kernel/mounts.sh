# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# What each guest begins with; sourced by its init, a script of sh. The root is the host's, read-only; all
# that is written goes to memory.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C

# mount_folder FOLDER SEEN: shows a folder of the host at its usual place. Where a folder on the way cannot be
# searched, as a home of mode 0700 cannot, an empty one goes on top of it.
mount_folder() {
	if ! mkdir -p "$1" 2>/dev/null; then
		over=$1
		while [ ! -d "$over" ]; do over=${over%/*}; done
		mount -t tmpfs tmpfs "$over" && mkdir -p "$1" || return
	fi
	mount -t hostfs -o "ro,$2" hostfs "$1"
}

# mount_all: /proc, /sys, /dev; memory at /tmp, /run, /root and /var; the folders of guest_prepare. The kernel has
# mounted /dev already.
#
# Files of the host's root may seem to belong to somebody else, if our kernel is in a namespace of users: so no program
# may change who runs it, mount before all.
mount_all() {
	setpriv --no-new-privs mount -t hostfs -o remount,ro,nosuid hostfs / || return
	mount -t proc proc /proc && mount -t sysfs sysfs /sys || return
	mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev || return
	mkdir -p /dev/shm /dev/pts && ln -sfn /proc/self/fd /dev/fd || return
	mount -t devpts devpts /dev/pts && mount -t tmpfs tmpfs /dev/shm || return
	mount -t tmpfs -o mode=0755 tmpfs /run && mkdir /run/guest && mount -t hostfs -o "ro,$DDP_GUEST" hostfs /run/guest || return
	for folder in /tmp /root /var; do
		mount -t tmpfs -o mode=0755 tmpfs $folder || return
	done
	mkdir /var/tmp /var/log /var/lib && chmod 1777 /tmp /var/tmp /dev/shm
	while read -r folder && read -r seen; do
		mount_folder "$folder" "$seen" || return
	done </run/guest/folders
}

# load MODULE...: of the guest's kernel. The root has no place for them where modprobe looks, so it is shown another.
load() {
	if [ ! -d /run/uml ]; then
		mkdir -p /run/uml/lib && ln -s /usr/lib/uml/modules /run/uml/lib/modules || return
	fi
	modprobe -d /run/uml -a "$@"
}
