/* For codegen/recurrence.c: the statements of a kernel inside of another one. */
#pragma once
#include "codegen/loop/loop.h"

typedef struct { /* where a buffer's elements are in the kernel that takes them */
  uint32_t buf;
  const neo_lx *offset; /* offset of its first element */
} neo_clone_buf;

/* Appends a copy of the kernel `from` to the block, with variables and registers of its own: all of
 * its units, one after another. bufs[k]: the buffer of `to` for its k-th buffer. index: the number
 * of a size -> the neo_lx of `to` that replaces it. `from` is a processor's kernel. */
void neo_kernel_clone_into(neo_kernel *to, neo_block *in, const neo_kernel *from,
                           const neo_clone_buf *bufs, const neo_map *index);
