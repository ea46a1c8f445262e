/* Private to transform: the second half of neo_pass_cse. */
#ifndef NEO_TRANSFORM_VALUE_REUSE_H
#define NEO_TRANSFORM_VALUE_REUSE_H
#include "ir/ir.h"

/* Expressions of d that are elements of tensors which d reads become reads of them (value_reuse.c shows
 * it). */
void neo_reuse_values(neo_module *m, neo_def d);

#endif
