/* SPDX-License-Identifier: BSD-2-Clause */
/* What the objects of the running daemon have, for completion. */
#ifndef CTL_OBJECT_VALUES_H
#define CTL_OBJECT_VALUES_H

#include "ctl/field/field.h"
#include "util/complete.h"

/* The values of a key of all objects of one kind, each once, an id with what its object is. where,
 * is: a key and the value that the object must have; NULL: all objects. Nothing if the daemon does
 * not answer at once. */
void object_values_complete(const struct complete *c, const char *socket,
			    const struct field_object *obj, const struct field *f,
			    const char *where, const char *is);

#endif
