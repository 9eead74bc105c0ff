/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The setting of glibc's allocator that usrsctp needs: it allocates and frees 2 KiB buffers all the
 * time, which glibc caches per thread only if GLIBC_TUNABLES says so. Without the setting the
 * daemon needs 1.4 times as much CPU. glibc reads the variable only when a program starts.
 */
#ifndef DAEMON_TUNABLES_H
#define DAEMON_TUNABLES_H

/*
 * Adds the setting to the environment and executes this program again, in the same process, with
 * argv. Call it before anything is opened. Returns if the environment sets the size of the
 * cache already, if this process must not trust its environment, or if executing fails, which is
 * logged.
 */
void tunables_apply(char **argv);

#endif
