/* 16-byte accesses of a GPU's threads, for contiguous elements along an axis. A buffer starts at a
 * multiple of 16 bytes (the arena's offsets do, and the runtime copies a caller's tensor that does
 * not), unless the form starts inside of its tensor. Alignment of an access then follows from its
 * offset being a sum of multiples. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

enum { NEO_VECTOR_BYTES = 16 };

/* Does the form start at a multiple of 16 bytes in the tensor? */
bool neo_vector_start(neo_module *m, const neo_form *f, neo_tensor t);
/* Is e a multiple of n, for all sizes? */
bool neo_vector_multiple(neo_module *m, neo_expr e, int64_t n);
/* For n elements along `axis` from a multiple of n on: is each load of e one aligned access, or of
 * the same element for all, and does no condition separate the elements? *some: there is a load of
 * the first kind. */
bool neo_vector_reads(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis, int64_t n,
                      bool *some);

/* Is that so in all stages: for n steps of their last own axes (rows), or for n neighbouring points
 * of the last shared axis (columns)? Results must be contiguous too, extents must be multiples of
 * n, and something must be read. */
bool neo_vector_rows(neo_module *m, const neo_form *f, int64_t n);
bool neo_vector_columns(neo_module *m, const neo_form *f, int64_t n);

/* Does the form access 16 aligned contiguous bytes of t along some axis? Other tensors are better
 * left without an alignment: their addresses then take fewer registers. */
bool neo_vector_tensor(neo_module *m, const neo_form *f, neo_tensor t);

/* Elements of a 16-byte access of a map along its last shared axis; 0: there is none, or the form
 * is no map. */
int64_t neo_vector_map(neo_module *m, const neo_form *f);
