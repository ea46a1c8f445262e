/* Networks of a compilation (network/network.h): cut when the front is done, compiled actor by
 * actor (build.c), and linked into the model's library. Private to tools/pipeline. */
#pragma once
#include "tools/pipeline/compile.h"

/* Cuts each training entry, if the options ask for it. NEO_ARGUMENT, with a text in c->why: nothing
 * trains. (network.c) */
neo_status neo_compile_cut(neo_compilation *c) NEO_MUST_CHECK;
/* The beginning of a network's names: the library's prefix, and the entry's name unless that is
 * "step". (network_record.c) */
const char *neo_network_base(neo_compilation *c, const neo_network *n);
/* The network as the library's header declares it. (network_record.c) */
neo_plan_network neo_network_declared(neo_compilation *c, const neo_network *n);
/* Adds the object with the network's record to c->network_objects. (network.c) */
neo_status neo_network_link(neo_compilation *c, const neo_network *n,
                            const char *base) NEO_MUST_CHECK;
/* Adds the constant <base>_net, whose actors' records are <base>_n<k>_model, to the LLVM module.
 * (network_record.c) */
void neo_network_record(neo_compilation *c, const neo_network *n, const char *base, neo_llvm *l);
