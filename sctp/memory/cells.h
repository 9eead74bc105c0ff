/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of the pool cut into cells of 256 bytes: queued data is a chain of cells. Any free cell
 * serves for any data, so that memory that was dropped is memory that can be used. A block whose
 * cells are all free goes back to the pool at once.
 */
#ifndef SCTP_CELLS_H
#define SCTP_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/memory/pool.h"

enum { SCTP_CELL = 256, SCTP_CELL_DATA = 240 };

struct sctp_cell {
	struct sctp_cell *next;
	uint16_t off, len; /* the bytes that are used */
	uint8_t index;     /* in its block */
	_Alignas(16) uint8_t data[SCTP_CELL_DATA];
};

struct sctp_cells {
	const struct sctp_account *account;
	struct list partial, full; /* blocks */
	uint32_t used, free;       /* cells */
};

/* Does not allocate. */
void sctp_cells_init(struct sctp_cells *c, const struct sctp_account *account);

/* Frees all cells. */
void sctp_cells_deinit(struct sctp_cells *c);

/* Makes sure that the next n calls of sctp_cells_get() succeed; they must follow. False: no memory,
 * and no change. */
bool sctp_cells_reserve(struct sctp_cells *c, uint32_t n);

/* An empty cell: next, off and len are 0. */
struct sctp_cell *sctp_cells_get(struct sctp_cells *c);

/* Frees a chain. */
void sctp_cells_put(struct sctp_cells *c, struct sctp_cell *chain);

#endif
