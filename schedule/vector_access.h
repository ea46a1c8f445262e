/* Accesses of 16 bytes by a GPU's threads: neighbouring elements along an axis, read or written as
 * one. A buffer begins at a multiple of 16 bytes there (the arena's offsets do, and the runtime
 * copies a caller's tensor that does not), unless the form begins elsewhere in its tensor; the rest
 * follows from offsets being sums of multiples. */
#ifndef NEO_SCHEDULE_VECTOR_ACCESS_H
#define NEO_SCHEDULE_VECTOR_ACCESS_H
#include "fusion/form.h"
#include "schedule/schedule.h"

enum { NEO_VECTOR_BYTES = 16 };

/* Does the form begin at a multiple of 16 bytes in the tensor? */
bool neo_vector_start(neo_module *m, const neo_form *f, neo_tensor t);
/* Is e a multiple of n, for all sizes? */
bool neo_vector_multiple(neo_module *m, neo_expr e, int64_t n);
/* Of n elements along `axis` from a multiple of n on: does each load of e read them side by side
 * from a multiple of their size, or the same element for all, and no condition tell them apart?
 * *some: there is a load of the first kind. */
bool neo_vector_reads(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis, int64_t n,
                      bool *some);

/* Do all stages, n steps of their last own axes at a time, and so with all n neighbouring points of
 * the last shared axis; and is there anything to read? What they write lies side by side too, and
 * there is no rest. */
bool neo_vector_rows(neo_module *m, const neo_form *f, int64_t n);
bool neo_vector_columns(neo_module *m, const neo_form *f, int64_t n);

/* Does the form read or write 16 bytes of t side by side along some axis, from a multiple of them
 * on? What is not is better left with what is known of all memory: addresses then keep a form that
 * takes fewer registers. */
bool neo_vector_tensor(neo_module *m, const neo_form *f, neo_tensor t);

/* Elements of 16 bytes that a map may take side by side along its last shared axis; 0: it cannot, or
 * the form is no map. */
int64_t neo_vector_map(neo_module *m, const neo_form *f);

#endif
