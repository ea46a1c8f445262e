/* Private to tools/pipeline: the analytic model's schedules of groups, each searched for once.
 *
 * The model's choice for a contraction is the best of hundreds of candidates, which takes longer than
 * all else that is done for a kernel before its machine code. The search runs on the group in a module
 * of its own (fusion/extract.h), so what it finds depends on nothing but the key: the bytes of that
 * module, the machine, and the build of the compiler. A choice with the same key is taken from this
 * compilation, or from the cache of compiled code (tools/cache/code.h), where it is as text. Nothing
 * of a search stays in the compilation's module, so that what is made afterwards is the same,
 * whether there was one or not.
 *
 * What is read from the cache is legal for the group before it is used, or it is searched for anew;
 * and whatever was found is legal in the compilation's module, too. A search in which a proof was given up, which is reported, is not kept. */
#pragma once
#include "tools/pipeline/compile.h"

/* The analytic model's choice: legal for the group. The cache is used where it is open. */
neo_schedule neo_compile_search(neo_compilation *c, const neo_group *g, const neo_machine *machine);
