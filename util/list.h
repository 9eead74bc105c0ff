/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intrusive circular doubly linked list. The link lives in the object, so that linking does not
 * allocate; an unlinked link points at itself.
 */
#ifndef UTIL_LIST_H
#define UTIL_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *prev;
};

#define LIST_INIT(name)                                                                            \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}

#define list_entry(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

#define list_foreach(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)

/* The current element may be removed and freed in the body. */
#define list_foreach_safe(it, head)                                                                \
	for (struct list *it = (head)->next, *it##_next = it->next; it != (head);                  \
	     it = it##_next, it##_next = it->next)

static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/* True if the link is a member of some list. */
static inline bool list_linked(const struct list *link)
{
	return link->next != link;
}

static inline void list_add_tail(struct list *head, struct list *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

/* Removing an unlinked link has no effect. */
static inline void list_del(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

/* The first link, taken out of the list; NULL if there is none. */
static inline struct list *list_pop(struct list *head)
{
	struct list *link = head->next;

	if (link == head)
		return NULL;
	list_del(link);
	return link;
}

/* Before an object is freed: no list holds it by this link; or its own list is empty. */
static inline void list_assert_out(const struct list *l)
{
	assert(l->next == l && l->prev == l);
	(void)l;
}

/* Appends all links of `from` to the list; `from` is empty afterward. */
static inline void list_splice_tail(struct list *head, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = head->prev;
	head->prev->next = from->next;
	from->prev->next = head;
	head->prev = from->prev;
	list_init(from);
}

#endif
