/* The analytic model's schedules of groups; each is searched for once. Private to tools/pipeline.
 *
 * The model's choice for a contraction is the best of hundreds of candidates, and takes longer than
 * all other steps before its machine code. The search runs on the group in a module of its own
 * (fusion/extract.h), so its result depends on the key alone: the bytes of that module, the
 * machine, and the build of the compiler. A choice with the same key is taken from this
 * compilation, or from the cache of compiled code (tools/cache/code.h), where it is a text. A
 * search leaves nothing in the compilation's module, so that later stages give the same with and
 * without it.
 *
 * A choice from the cache is checked to be legal for the group, or else searched for anew; every
 * choice is also legal in the compilation's module. The result of a search in which a proof was
 * given up, which is reported, is not cached. */
#pragma once
#include "tools/pipeline/compile.h"

/* The analytic model's choice, which is legal for the group. Uses the cache if it is open. */
neo_schedule neo_compile_search(neo_compilation *c, const neo_group *g, const neo_machine *machine);
