/* For network/node.c: copies of parts of a module in another one, for what is compiled by itself.
 *
 *     neo_import x = neo_import_begin(from, to, NULL, scratch);
 *     neo_map_set(&x.tensors, H.i, port.i);        // a tensor that the other module has already
 *     neo_tensor y = neo_import_tensor(&x, Y);     // declared
 *     neo_import_finish(&x);                       // defined, with all that it is computed of
 *
 * A tensor comes with its definitions and initial value, and with what these read, down to the
 * tensors that the map had before. Names stay, unless they are taken. Both modules share names,
 * diagnostics and the data of constants; sizes have equal ids. Runs before fusion: a tensor has
 * memory of its own, and no order of a graph has been made. */
#pragma once
#include "ir/ir.h"

typedef struct neo_import {
  const neo_module *from;
  neo_module *to;
  struct neo_import *kept; /* copies parameters, states, settings and constants; null: this one */
  neo_arena *arena;
  neo_map tensors;              /* tensor -> its copy */
  neo_map exprs, defs;          /* expression or definition of the source -> its copy */
  NEO_VEC(neo_tensor) declared; /* their definitions are still to be copied, from `next` on */
  size_t next;
} neo_import;

/* An import into module `to`, which `scratch` must outlive. `kept`: the import that copies
 * parameters, states, settings and constants; null: this one. */
neo_import neo_import_begin(const neo_module *from, neo_module *to, neo_import *kept,
                            neo_arena *scratch);
/* Copies sizes, assertions, the count of rand() and the options into an empty module. */
void neo_import_frame(neo_import *x);
neo_tensor neo_import_tensor(neo_import *x, neo_tensor t);
/* The same of each tensor of a list; 0 stays 0. */
neo_list neo_import_tensors(neo_import *x, neo_list l);
/* The tensor's copy; 0: it has none. */
neo_tensor neo_import_known(const neo_import *x, neo_tensor t);
/* A new tensor in the other module with the type, extents and bounds of t, which belongs to the
 * first; its name begins with `prefix`, if that is not null. */
neo_tensor neo_import_like(neo_import *x, neo_tensor t, neo_role role, const char *prefix);
/* Copies the definitions of what was declared, here and in `kept`. */
void neo_import_finish(neo_import *x);
