/* The kernels of groups, in the stage of kernels. */
#pragma once
#include "tools/pipeline/compile.h"

/* Chooses the schedule of a group and adds its kernel to the compilation's. */
neo_status neo_compile_group(neo_compilation *c, const neo_group *g) NEO_MUST_CHECK;
/* Gives the g-th group the kernel of an earlier one that computes the same; false: there is none. */
bool neo_compile_share(neo_compilation *c, size_t g);
/* Remarks on the g-th group where it compares each element with every key (keyed.c). */
void neo_compile_report_keyed(neo_compilation *c, size_t g);

/* Corrects the price of group g, which fusion made for all points of its loops, by what the kernel of its
 * schedule visits: a sum by keys goes over its terms once. */
void neo_compile_price(neo_compilation *c, size_t g);
