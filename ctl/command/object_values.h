/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of the objects of the running daemon, for completion. */
#ifndef CTL_OBJECT_VALUES_H
#define CTL_OBJECT_VALUES_H

#include "ctl/field/field.h"
#include "util/complete.h"

/* The values of a key of all objects of one kind, each once, an id with a summary of its object.
 * where, is: a key and the value that the object must have; NULL: all objects. No candidates if the
 * daemon does not answer at once. */
void object_values_complete(const struct complete *c, const char *socket,
			    const struct field_object *obj, const struct field *f,
			    const char *where, const char *is);

#endif
