/* Buffers that kernels read in a run of their entry (inputs.c): the integers among them, and
 * sizes. */
#pragma once
#include "tools/pipeline/compile.h"

typedef struct {                     /* inputs of a kernel */
  bool seen;                         /* the kernel ran */
  int64_t number[NEO_RT_MOST_SIZES]; /* sizes as it reads them, with indices of loops around */
  double runs; /* number of runs, equal to this one, that the kernel's time in the entry is made
                    of: more than 1 in a loop */
  double ns;   /* in the second run of its entry, all its runs; 0: not known */
  int64_t units, most,
      all_units; /* in a loop: most units of an iteration; iterations with these; units of all */
} neo_input;

typedef struct { /* a run of an entry */
  size_t number;
  const int64_t *sizes; /* [size id] */
  neo_input *of;        /* [kernel of the compilation] */
  const char *why;      /* why there is none; null: there is one */
} neo_inputs;
