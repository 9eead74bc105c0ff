/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/daemon.h"

#include <stdio.h>
#include <sys/random.h>

#include "daemon/base/descriptors.h"
#include "daemon/base/log.h"
#include "daemon/base/sdnotify.h"
#include "daemon/base/version.h"
#include "daemon/net/association.h"
#include "daemon/net/link_state.h"
#include "daemon/net/listening.h"
#include "daemon/net/peers.h"
#include "daemon/net/transports.h"
#include "daemon/objects/sessions/assoc_events.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/holes.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/objects/memory/unmapping.h"
#include "daemon/service/attach.h"
#include "daemon/service/server.h"
#include "daemon/service/stop.h"
#include "daemon/turn.h"

enum {
	MAX_CLIENTS = 8192,
	CLIENTS_KEPT = 512, /* for ddpctl beyond limits.clients, and for administrators */
	OWN_MAPS = 1024,
	MAX_ASSOCS = 65535,
	MAX_REGIONS = 1 << 20,
};

/* ---- start ---- */

static void keep_alive(struct timer *t)
{
	struct daemon *d = list_entry(t, struct daemon, watchdog);

	sdnotify_alive();
	timer_set(&d->worker.timers, t, d->worker.now_ms + d->watchdog_ms);
}

static int start_worker(struct daemon *d)
{
	struct worker *w = &d->worker;

	worker_init(w, d, MAX_ASSOCS);
	w->assoc_events = &assoc_events;
	return event_loop_new(&turn_hooks, w, d->cfg.polling.budget_us, &w->loop);
}

/* vm.max_map_count, less our own and the bell pages: who uses up the maps can still attach. */
static uint64_t maps_for_clients(void)
{
	unsigned long n = 65530;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");

	if (f) {
		if (fscanf(f, "%lu", &n) != 1)
			n = 65530;
		fclose(f);
	}
	return n > OWN_MAPS + MAX_CLIENTS ? n - OWN_MAPS - MAX_CLIENTS : 0;
}

/* Of all users together, where the host or a table has less than the limits of many. */
static void set_totals(struct acct *a)
{
	acct_set_total(a, ACCT_MAPS, maps_for_clients());
	acct_set_total(a, ACCT_CLIENTS, MAX_CLIENTS - CLIENTS_KEPT);
	acct_set_total(a, ACCT_RESERVE, CLIENTS_KEPT / 2);
}

static int make_holes(struct daemon *d)
{
	int r = holes_new(getrandom, &d->worker.holes);

	if (r == HOLES_E_UNSEEN) {
		log_warn("limits.sparse_bytes has no effect: mincore() is not permitted, or this "
			 "kernel does not tell holes");
		return 0;
	}
	return r;
}

static int make_tables(struct daemon *d)
{
	int r = start_worker(d);

	idtab_init(&d->clients, MAX_CLIENTS);
	timer_init(&d->watchdog, keep_alive);
	stop_init(d);
	if (!r)
		r = stags_new(MAX_REGIONS, getrandom, &d->stags);
	if (!r)
		r = acct_new(&d->cfg.limits, &d->acct);
	if (!r)
		r = make_holes(d);
	if (!r)
		r = peers_new(&d->worker, getrandom);
	if (r)
		log_err("out of memory at start");
	else
		set_totals(d->acct);
	return r;
}

static void start_clock(struct daemon *d)
{
	struct worker *w = &d->worker;

	w->now_ms = d->started_ms = event_loop_now_ms(w->loop);
	d->watchdog_ms = sdnotify_watchdog_ms();
	if (d->watchdog_ms)
		timer_set(&w->timers, &d->watchdog, w->now_ms);
}

static void log_started(const struct daemon *d)
{
	const struct config *cfg = &d->cfg;
	char text[256], port[64] = "";

	if (d->udp_port)
		snprintf(port, sizeof(port), ", UDP port %u", d->udp_port);
	if (cfg->security.udp_port)
		snprintf(port + strlen(port), sizeof(port) - strlen(port), ", DTLS on port %u",
			 cfg->security.udp_port);
	listening_text(&d->worker, text, sizeof(text));
	log_info("ddpsctpd %s: clients at %s, peers at %s%s", DAEMON_VERSION, cfg->socket.path,
		 *text ? text : "no address yet", port);
}

int daemon_start(struct daemon *d, const struct config *cfg)
{
	*d = (struct daemon){.cfg = *cfg, .said = *cfg};
	sdnotify_fds(&d->passed);
	if (make_tables(d) || transports_open(&d->worker) || listening_open(&d->worker) ||
	    server_open(d, &d->server))
		return -1;
	start_clock(d);
	if (link_state_open(&d->worker, async_port)) {
		log_err("out of memory at start");
		return -1;
	}
	descriptors_divide(d->acct, d->worker.max_conns);
	log_started(d);
	return 0;
}

void daemon_report_status(const struct daemon *d, const char *more)
{
	sdnotify_status("clients at %s, transport %s%s", d->cfg.socket.path, d->transport, more);
}

int daemon_run(struct daemon *d)
{
	daemon_report_status(d, "");
	sdnotify_ready();
	return event_loop_run(d->worker.loop);
}

/* ---- stop ---- */

void daemon_stop(struct daemon *d)
{
	struct worker *w = &d->worker;

	if (d->stopping) {
		event_loop_stop(w->loop);
		return;
	}
	log_info("stopping: %u associations, operations have %u ms to finish", w->assocs.used,
		 d->cfg.session.stop_ms);
	sdnotify_stopping();
	server_stop(d->server);
	stop_begin(d);
}

static void free_assocs(struct worker *w)
{
	uint32_t pos = 0;
	struct association *assoc;

	while ((assoc = idtab_next(&w->assocs, &pos)))
		association_free(assoc);
}

void daemon_free(struct daemon *d)
{
	attach_free_all(d);
	free_assocs(&d->worker);
	server_close(d->server);
	link_state_close(&d->worker);
	listening_close(&d->worker);
	transports_close(&d->worker);
	event_loop_free(d->worker.loop);
	unmapping_finish(&d->worker);
	acct_free(d->acct);
	holes_free(d->worker.holes);
	peers_free(&d->worker);
	stags_free(d->stags);
	idtab_deinit(&d->clients);
	worker_deinit(&d->worker);
}
