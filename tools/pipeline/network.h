/* Networks of a compilation (network/network.h): cut when the front is done, compiled actor by
 * actor when the model's objects are made, and linked into its library. Private to tools/pipeline. */
#pragma once
#include "tools/pipeline/compile.h"

/* Cuts each training entry, if the options ask for it. NEO_ARGUMENT, with a text in c->why: nothing
 * trains. (network.c) */
neo_status neo_compile_cut(neo_compilation *c) NEO_MUST_CHECK;
/* Adds the objects of all actors, and of the records, to c->objects. (network.c) */
neo_status neo_emit_networks(neo_compilation *c) NEO_MUST_CHECK;
/* Adds the constant <base>_net, whose actors' records are <base>_n<k>_model, to the LLVM module.
 * (network_record.c) */
void neo_network_record(neo_compilation *c, const neo_network *n, const char *base, neo_llvm *l);
