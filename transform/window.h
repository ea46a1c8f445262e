/* Windows: a reduction axis whose range has a constant length and moves with other axes. */
#ifndef NEO_TRANSFORM_WINDOW_H
#define NEO_TRANSFORM_WINDOW_H
#include "ir/prove.h"
#include "transform/transform.h"

/* The start of the axis' range that moves with other axes, and from which its end is a constant
 * away: lo = max(base, ...), hi = min(base + length, ...), the shortest such length. False: there is
 * none. */
bool neo_window_of(neo_module *m, const neo_axis_rec *axis, neo_expr *base, int64_t *length);

#endif
