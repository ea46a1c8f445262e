/* The statements of a kernel inside of another one. */
#ifndef NEO_CODEGEN_LOOP_CLONE_H
#define NEO_CODEGEN_LOOP_CLONE_H
#include "codegen/loop/loop.h"

typedef struct { /* where a buffer's elements are in the kernel that takes them */
  uint32_t buf;
  const neo_lx *offset; /* of its first element */
} neo_clone_buf;

/* Appends what `from` does to the block, with variables and registers of its own, for all of its units,
 * one after the other. bufs[k] says where its k-th buffer is; index: the number of a size -> a neo_lx
 * of `to` that it is there. `from` is a processor's kernel. */
void neo_kernel_clone_into(neo_kernel *to, neo_block *in, const neo_kernel *from,
                           const neo_clone_buf *bufs, const neo_map *index);

/* The same block by block, where the kernel's parts come to several places. */
typedef struct neo_cloner neo_cloner;
neo_cloner *neo_cloner_new(neo_kernel *to, const neo_kernel *from, const neo_clone_buf *bufs,
                           const neo_map *index);
/* The variable has this value; called before anything that uses it is cloned. */
void neo_clone_var(neo_cloner *c, uint32_t var, const neo_lx *value);
/* Leaves out what writes to buffer `buf` of `from`, and loops and branches that do nothing else. */
void neo_clone_without(neo_cloner *c, uint32_t buf);
/* From here on, loops of at most so many rounds are UNROLL loops, those of lanes too. */
void neo_clone_unrolled(neo_cloner *c, int64_t most);
const neo_lx *neo_clone_expr(neo_cloner *c, const neo_lx *e);
void neo_clone_block(neo_cloner *c, neo_block *in, const neo_block *from);

#endif
