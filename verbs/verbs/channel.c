/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/base/error.h"
#include "verbs/base/fork.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/cq.h"

/* The descriptor of a channel is an epoll instance with those of its CQs: programs wait for it
 * with poll() or epoll, and set O_NONBLOCK. The daemon rings that of a CQ; a CQ with completions
 * that the library itself made has a second one, which counts their events. */

enum { SHORT_MS = 1 }; /* a wait in which signals are held back */

struct channel {
	struct ibv_comp_channel ibv; /* first */
	unsigned generation;         /* of the process whose CQs it has */
	/* Of the members below, ibv.refcnt, and cq->given: events of a CQ that calls have returned.
	 */
	pthread_mutex_t lock;
	unsigned removals; /* of CQs */
	bool gone;         /* the daemon has ended: no more events */
};

static struct channel *channel_of(struct ibv_comp_channel *ibv)
{
	return (struct channel *)ibv;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->generation = fork_generation();
	ch->ibv.context = context;
	ch->ibv.fd = epoll_create1(EPOLL_CLOEXEC);
	if (ch->ibv.fd < 0) {
		free(ch);
		return NULL;
	}
	pthread_mutex_init(&ch->lock, NULL);
	return &ch->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (channel->refcnt > 0 && channel_of(channel)->generation == fork_generation())
		return EBUSY;
	close(channel->fd);
	pthread_mutex_destroy(&channel_of(channel)->lock);
	free(channel);
	return 0;
}

/* The instance is shared with the parent, with the CQs in it: the child gets its own. */
static int renew_epoll(struct channel *ch)
{
	const unsigned now = fork_generation();
	int r;

	if (ch->generation == now)
		return 0;
	r = fork_replace(ch->ibv.fd, epoll_create1(EPOLL_CLOEXEC));
	if (r)
		return r;
	pthread_mutex_init(&ch->lock, NULL);
	ch->ibv.refcnt = 0;
	ch->gone = false;
	ch->generation = now;
	return 0;
}

static int add_fd(const struct ibv_comp_channel *channel, struct cq *cq, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = cq};

	return epoll_ctl(channel->fd, EPOLL_CTL_ADD, fd, &ev) ? errno : 0;
}

int channel_add(struct ibv_comp_channel *channel, struct cq *cq)
{
	struct channel *ch = channel_of(channel);
	int r = renew_epoll(ch);

	if (r == 0)
		r = add_fd(channel, cq, ddp_cq_fd(cq->ddp));
	if (r)
		return r;
	if (cq->own_bell >= 0) /* again */
		add_fd(channel, cq, cq->own_bell);
	pthread_mutex_lock(&ch->lock);
	ch->gone = ch->gone && channel->refcnt > 0; /* the next daemon has the first one */
	channel->refcnt++;
	pthread_mutex_unlock(&ch->lock);
	return 0;
}

static int add_own_bell(const struct channel *ch, struct cq *cq)
{
	const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	int r;

	if (fd < 0)
		return errno;
	r = add_fd(&ch->ibv, cq, fd);
	if (r)
		close(fd);
	else
		cq->own_bell = fd;
	return r;
}

int channel_add_own_bell(struct ibv_comp_channel *channel, struct cq *cq)
{
	struct channel *ch = channel_of(channel);
	int r = 0;

	if (ch->generation != fork_generation())
		return error_unsupported("ibv_bind_mw", ERROR_PARENTS_OBJECT, ECHILD);
	pthread_mutex_lock(&ch->lock);
	if (cq->own_bell < 0)
		r = add_own_bell(ch, cq);
	pthread_mutex_unlock(&ch->lock);
	return r;
}

void channel_ring_own_bell(struct cq *cq)
{
	eventfd_write(cq->own_bell, 1);
}

void channel_remove(struct ibv_comp_channel *channel, struct cq *cq)
{
	struct channel *ch = channel_of(channel);

	pthread_mutex_lock(&ch->lock);
	epoll_ctl(channel->fd, EPOLL_CTL_DEL, ddp_cq_fd(cq->ddp), NULL);
	if (cq->own_bell >= 0)
		epoll_ctl(channel->fd, EPOLL_CTL_DEL, cq->own_bell, NULL);
	channel->refcnt--;
	ch->removals++;
	pthread_mutex_unlock(&ch->lock);
}

void channel_wait_acked(struct cq *cq)
{
	struct ibv_cq *c = &cq->ibv;

	pthread_mutex_lock(&c->mutex);
	while ((int32_t)(cq->given - c->comp_events_completed) > 0)
		pthread_cond_wait(&c->cond, &c->mutex);
	pthread_mutex_unlock(&c->mutex);
}

static bool may_wait(const struct ibv_comp_channel *channel)
{
	return !(fcntl(channel->fd, F_GETFL) & O_NONBLOCK);
}

/* The daemon has ended. The descriptors of all CQs would stay readable, and a program that polls
 * those of channels alone would call again and again. Threads that wait already get here, too.
 * After more removals the CQs may be those of the next daemon. */
static int end_channel(struct channel *ch, unsigned removals)
{
	pthread_mutex_lock(&ch->lock);
	if (!ch->gone && ch->removals == removals) {
		fork_replace(ch->ibv.fd, epoll_create1(EPOLL_CLOEXEC));
		ch->gone = true;
	}
	pthread_mutex_unlock(&ch->lock);
	errno = EIO;
	return -1;
}

static bool is_gone(struct channel *ch, unsigned *ret_removals)
{
	bool ret;

	pthread_mutex_lock(&ch->lock);
	ret = ch->gone;
	*ret_removals = ch->removals;
	pthread_mutex_unlock(&ch->lock);
	return ret;
}

/* An event of the daemon, or one of the library. */
static int take_ring(const struct cq *c)
{
	eventfd_t one;
	int r = ddp_get_cq_event(c->ddp, 0);

	if (r == -EAGAIN && c->own_bell >= 0 && eventfd_read(c->own_bell, &one) == 0)
		r = 0;
	return r;
}

/* Takes an event of a CQ that epoll_wait() has found, unless CQs were removed since there were so
 * many removals: it may be one of these. Another thread may have taken the event. */
static int take_event(struct channel *ch, struct cq *c, unsigned removals)
{
	int r = -EAGAIN, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* not with the lock */
	pthread_mutex_lock(&ch->lock);
	if (ch->removals == removals)
		r = take_ring(c);
	if (r == 0)
		c->given++;
	pthread_mutex_unlock(&ch->lock);
	pthread_setcancelstate(cancel, NULL);
	return r;
}

/* A program may have a handler that ends read(), which reads the channels of hardware: one without
 * SA_RESTART. Other handlers end ppoll() as well. This takes longer than a small message. */
static bool has_interrupting_handler(void)
{
	struct sigaction sa;

	for (int s = 1; s < NSIG; s++)
		if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL &&
		    sa.sa_handler != SIG_IGN && !(sa.sa_flags & SA_RESTART))
			return true;
	return false;
}

/* With this mask of signals. A handler may be gone after its signal, by SA_RESETHAND or because it
 * sets SIG_DFL: the wait begins with a look for it. A stop of the process ends epoll_wait(), but
 * not ppoll(). */
static int wait_long(int fd, const sigset_t *mask)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool ends;
	int n;

	do {
		ends = has_interrupting_handler();
		n = ppoll(&p, 1, NULL, mask);
	} while (n < 0 && errno == EINTR && !ends && !has_interrupting_handler());
	return n;
}

/* Signals are held back while the wait is short, until handlers are known. 0: another thread may
 * have the event. */
static int wait_for_cq(int fd, struct epoll_event *ev)
{
	sigset_t all, mask;
	int n;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	n = epoll_wait(fd, ev, 1, SHORT_MS);
	if (n <= 0)
		n = wait_long(fd, &mask) < 0 ? -1 : epoll_wait(fd, ev, 1, 0);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return n;
}

/* The next CQ with an event: 1. 0: another thread may have it, or the channel has ended. */
static int await_cq(const struct ibv_comp_channel *channel, struct epoll_event *ev)
{
	const int n = epoll_wait(channel->fd, ev, 1, 0);

	if (n != 0)
		return n;
	if (may_wait(channel))
		return wait_for_cq(channel->fd, ev);
	errno = EAGAIN;
	return -1;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct channel *ch = channel_of(channel);
	struct epoll_event ev;
	struct cq *c;
	unsigned removals;
	int n, r;

	if (ch->generation != fork_generation()) {
		error_unsupported("ibv_get_cq_event", ERROR_PARENTS_OBJECT, ECHILD);
		return -1;
	}
	for (;;) {
		if (is_gone(ch, &removals))
			return end_channel(ch, removals);
		n = await_cq(channel, &ev);
		if (n < 0)
			return -1;
		if (n == 0)
			continue;
		c = ev.data.ptr;
		r = take_event(ch, c, removals);
		if (r == 0)
			break;
		if (r != -EAGAIN) {
			error_of_call("ibv_get_cq_event", r);
			return end_channel(ch, removals);
		}
	}
	*cq = &c->ibv;
	*cq_context = c->ibv.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_broadcast(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
