# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# First steps of each guest. Its init, an sh script, sources this file. The root is the host's, read-only; all written
# files are in memory.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin HOME=/root LC_ALL=C

# mount_folder FOLDER SEEN: shows a folder of the host at its usual place. If a parent folder cannot be searched, like a
# home of mode 0700, an empty folder is mounted over it.
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
# In a user namespace, files of the host's root may have other owners: so no set-user-ID program may run, especially
# mount.
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

# load MODULE...: loads modules of the guest's kernel. The root has no folder for them, so modprobe gets another one.
load() {
	if [ ! -d /run/uml ]; then
		mkdir -p /run/uml/lib && ln -s /usr/lib/uml/modules /run/uml/lib/modules || return
	fi
	modprobe -d /run/uml -a "$@"
}
