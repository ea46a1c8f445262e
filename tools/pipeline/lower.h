/* For compile.c: kernels of groups, the stage of kernels. */
#pragma once
#include "tools/pipeline/compile.h"

/* Chooses the schedule of a group and adds its kernel to the compilation's. A status that is no
 * NEO_OK is as in compile.h. */
neo_status neo_compile_group(neo_compilation *c, const neo_group *g) NEO_MUST_CHECK;
/* Gives group g the kernel of an earlier group that computes the same; false: there is none. */
bool neo_compile_share(neo_compilation *c, size_t g);
/* Remarks on group g if it compares each element with every key (keyed.c). */
void neo_compile_report_keyed(neo_compilation *c, size_t g);

/* Corrects the price of group g. Fusion computed it for all points of the loops; a kernel of a sum
 * by keys visits its terms once. */
void neo_compile_price(neo_compilation *c, size_t g);
