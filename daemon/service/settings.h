/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of the configuration by ddpctl while the daemon serves. */
#ifndef DAEMON_SERVICE_SETTINGS_H
#define DAEMON_SERVICE_SETTINGS_H

struct client;
struct ctl_set;
struct reply;

/* Changes a key until the daemon restarts or a reload changes it. 0, or a refusal: not the
 * administrator (EPERM), no such key (ENOENT), it needs a restart (EBUSY), the value is not
 * acceptable (EINVAL), another version (EPROTONOSUPPORT), it cannot take effect (EIO). */
int settings_set(struct client *c, const struct ctl_set *req, struct reply *rep);

#endif
