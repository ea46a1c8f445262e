/* door.h: operators that another framework calls by number, from any thread and without the
 * interpreter's lock. Private to python/src; door.c says how it works. */
#pragma once
#include "python/src/core.h"

enum { NEO_PY_WHY = 1024 }; /* bytes of a message */

typedef struct {
  int32_t type; /* enum neo_rt_type */
  int32_t rank;
  const int64_t *shape;
} neo_py_shape;

typedef struct neo_py_door neo_py_door;

/* An operator for shapes and types: constant, and there to the end of the process. */
typedef struct {
  neo_py_program *program;
  const neo_rt_model *model;
  int32_t entry, n_in, n_out, n_bound;
  const int32_t *in;          /* by input of the entry: the number of the argument */
  const int32_t *bound;       /* pairs: a parameter or state, and the argument that is its memory */
  const int64_t *sizes;       /* the entry's sizes, in its order */
  const int64_t *extents;     /* NEO_PY_RANK for each result */
  const int32_t *rank, *type; /* by result */
  void **plans;               /* torch_call.c's plans, under the interpreter's lock */
} neo_py_door_variant;

/* The functions door_* of the module, and what they need. -1 with an exception. */
int neo_py_add_doors(neo_py_state *s);

/* Null where no operator has this number. */
neo_py_door *neo_py_door_find(int64_t number);
/* The variant for arguments of these shapes; it is compiled where it is not there yet. Null: `why`
 * (NEO_PY_WHY bytes) has the message, and neo_py_door_failure the exception. */
const neo_py_door_variant *neo_py_door_variant_of(neo_py_door *door, const neo_py_shape *in,
                                                  int32_t n, char *why);
/* Computes: args are those of the entry, inputs and then results, and then the memory of what is
 * bound, all row-major. -1: as above. */
int neo_py_door_run(neo_py_door *door, const neo_py_door_variant *v, void *const *args, char *why);
