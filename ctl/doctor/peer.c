/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/doctor/peer.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "ctl/doctor/tool_run.h"

enum { OUTPUT_MAX = 8192 };

static unsigned number_of(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) ? (unsigned)json_object_get_int(v) : 0;
}

static void read_rounds(struct json_object *o, struct peer_rounds *ret)
{
	struct json_object *v;

	ret->sent = number_of(o, "sent");
	ret->good = number_of(o, "good");
	if (json_object_object_get_ex(o, "rtt_median_us", &v))
		ret->rtt_us = json_object_get_double(v);
	if (json_object_object_get_ex(o, "error", &v) && v)
		snprintf(ret->reason, sizeof(ret->reason), "%s", json_object_get_string(v));
}

/* Rounds of several packets of each size show a path that loses some, or large ones. */
void peer_ping(const char *socket, const char *host, struct peer_rounds *ret)
{
	char *const argv[] = {"ddping",   "--json",       "-c",  "5",          "-i",
			      "0.02",     "-S",           "16K", "-W",         "2",
			      "--socket", (char *)socket, "--",  (char *)host, NULL};
	char out[OUTPUT_MAX];
	int status = tool_run(BINDIR, argv, out, sizeof(out));
	const char *begin = strchr(out, '{');
	struct json_object *o = begin ? json_tokener_parse(begin) : NULL;

	memset(ret, 0, sizeof(*ret));
	ret->tried = status >= 0;
	if (status < 0)
		snprintf(ret->reason, sizeof(ret->reason), "ddping: %s", strerror(-status));
	else if (o)
		read_rounds(o, ret);
	else
		snprintf(ret->reason, sizeof(ret->reason), "%.*s", (int)strcspn(out, "\n"), out);
	ret->works = status == 0 && o && ret->good == ret->sent && ret->sent > 0;
	json_object_put(o);
}
