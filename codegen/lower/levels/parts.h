/* Private to codegen/lower/levels: the parts that kernels for processors and GPUs share. */
#pragma once
#include "codegen/lower/levels/levels.h"

enum { LEVELS_NO_BUF = UINT32_MAX }; /* the buffer of a table without readers */

typedef struct {
  int64_t slots;
  uint32_t child, begin, placed, end, edge,
      parent;          /* buffers; begin: LEVELS_NO_BUF if vertices have slots instead of lists */
  const neo_lx *edges; /* the number of edges in lists */
} level_list;

/* A kernel while it is built. Kernels of one group read and write the same tables, so a table's
 * buffer has both uses. */
typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_rows_rec *rows;
  neo_kernel *k;
  const neo_lx *n; /* vertices */
  uint32_t level, first, place, vertex, placed_kind, kind;
  level_list list[NEO_ROWS_LISTS];
} level_kernel;

/* ---- parts.c */
/* A new kernel with all buffers of the group. */
level_kernel level_kernel_begin(neo_module *m, const neo_group *g, neo_arena *a);

static inline const neo_lx *lv_int(const level_kernel *x, int64_t i) {
  return neo_lx_int(x->k, i);
}
static inline const neo_lx *lv_add(const level_kernel *x, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(x->k, NEO_OP_ADD, a, b);
}
static inline const neo_lx *lv_mul(const level_kernel *x, const neo_lx *a, int64_t by) {
  return neo_lx_op2(x->k, NEO_OP_MUL, a, neo_lx_int(x->k, by));
}
/* An element of a buffer of integers, as an i64. */
const neo_lx *lv_load(const level_kernel *x, uint32_t buf, const neo_lx *at);
/* Stores an i64 in a table of i32. */
void lv_store(const level_kernel *x, neo_block *in, uint32_t buf, const neo_lx *at,
              const neo_lx *value);
/* A register of one i64, one for each thread of `threads`; 0: the kernel has no threads. */
uint32_t lv_reg(const level_kernel *x, neo_block *in, const char *name, int64_t threads);
const neo_lx *lv_get(const level_kernel *x, uint32_t reg);
void lv_set(const level_kernel *x, neo_block *in, uint32_t reg, const neo_lx *value);
/* The value in a new register. */
const neo_lx *lv_store_value(const level_kernel *x, neo_block *in, const char *name,
                             const neo_lx *value);
/* The body of a loop from lo to hi, whose variable is *var. */
neo_block *lv_loop(const level_kernel *x, neo_block *in, neo_loop_kind kind, const char *name,
                   const neo_lx *lo, const neo_lx *hi, const neo_lx **var);
/* The block that runs where the condition holds. */
neo_block *lv_if(const level_kernel *x, neo_block *in, const neo_lx *cond);
/* The body of a loop over the slots or edges of vertex v, in two branches: `there` for an existing
 * child, `none` for an empty slot. */
typedef struct {
  const neo_lx *slot; /* the slot, or the edge in a list */
  const neo_lx *child;
  neo_block *there, *none;
} level_slot;
level_slot lv_slots(const level_kernel *x, neo_block *in, const level_list *l, const neo_lx *v);
static inline bool lv_has_slots(const level_list *l) {
  return l->begin == LEVELS_NO_BUF;
}
/* The number of the first edge of a vertex. */
const neo_lx *lv_first_edge(const level_kernel *x, const level_list *l, const neo_lx *v);
/* Stores the child's place, or -1 for an empty slot, in the slot or edge of the vertex at
 * `place`. */
void lv_store_child(const level_kernel *x, const level_list *l, const level_slot *s,
                    const neo_lx *place);
/* Stores the edge in its child's list of parents. */
void lv_store_edge(const level_kernel *x, neo_block *in, const level_list *l, const level_slot *s,
                   const neo_lx *place, const neo_lx *at);
/* Does the group list the parents of the list's vertices? */
static inline bool lv_has_parents(const level_list *l) {
  return l->end != LEVELS_NO_BUF;
}
/* Stores the place of the vertex, and in other tables the vertex and its kind at that place. */
void lv_store_place(const level_kernel *x, neo_block *in, const neo_lx *v, const neo_lx *place);
/* Sets first[b] = n for empty blocks after the first `used` blocks, as many as NEO_ROW_FIRST
 * needs. */
void lv_saturate(const level_kernel *x, neo_block *in, const neo_lx *used);

/* ---- cpu.c, gpu.c */
void level_kernels_cpu(neo_module *m, const neo_group *g, neo_arena *a, neo_kernels *out);
void level_kernels_gpu(neo_module *m, const neo_group *g, neo_arena *a, neo_kernels *out);
