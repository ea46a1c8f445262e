/* The kernel for a processor: levels.h. */
#include "codegen/lower/levels/parts.h"

/* Blocks that have begun: a level is at most one above those of all earlier vertices. */
static void begin_level(const level_kernel *x, neo_block *in, uint32_t used, const neo_lx *level) {
  const neo_lx *kind, *blocks = lv_mul(x, level, x->rows->kinds);
  in = lv_if(x, in, neo_lx_op2(x->k, NEO_OP_LE, lv_get(x, used), blocks));
  lv_set(x, in, used, lv_add(x, blocks, lv_int(x, x->rows->kinds)));
  neo_block *each =
      lv_loop(x, in, NEO_LOOP_UNROLL, "k", lv_int(x, 0), lv_int(x, x->rows->kinds), &kind);
  lv_store(x, each, x->first, lv_add(x, blocks, kind), lv_int(x, 0));
}

static void find_level(const level_kernel *x, neo_block *in, const neo_lx *v, uint32_t level) {
  int64_t kinds = x->rows->kinds;
  lv_set(x, in, level, lv_int(x, 0));
  for (uint32_t i = 0; i < x->rows->n_lists; i++) {
    const level_list *l = &x->list[i];
    if (lv_has_parents(l))
      lv_store(x, in, l->end, v, lv_int(x, 0));
    level_slot s = lv_slots(x, in, l, v);
    const neo_lx *own = lv_load(x, x->level, s.child);
    own = neo_lx_op2(x->k, NEO_OP_DIV, own, lv_int(x, kinds));
    own = lv_add(x, own, lv_int(x, 1));
    lv_set(x, s.there, level, neo_lx_op2(x->k, NEO_OP_MAX, lv_get(x, level), own));
    if (lv_has_parents(l))
      lv_store(x, s.there, l->end, s.child, lv_add(x, lv_load(x, l->end, s.child), lv_int(x, 1)));
  }
}

/* Levels, and in first[..] how many vertices there are of each. Returns the blocks. */
static uint32_t first_pass(const level_kernel *x, neo_block *in) {
  uint32_t used = lv_reg(x, in, "used", 0);
  const neo_lx *v;
  lv_set(x, in, used, lv_int(x, 0));
  neo_block *body = lv_loop(x, in, NEO_LOOP_SERIAL, "v", lv_int(x, 0), x->n, &v);
  uint32_t level = lv_reg(x, body, "level", 0);
  find_level(x, body, v, level);
  begin_level(x, body, used, lv_get(x, level));
  const neo_lx *block = lv_mul(x, lv_get(x, level), x->rows->kinds);
  if (x->rows->kinds > 1)
    block = lv_store_value(x, body, "block", lv_add(x, block, lv_load(x, x->kind, v)));
  lv_store(x, body, x->level, v, block);
  const neo_lx *rank = lv_store_value(x, body, "rank", lv_load(x, x->first, block));
  lv_store(x, body, x->place, v, rank);
  lv_store(x, body, x->first, block, lv_add(x, rank, lv_int(x, 1)));
  return used;
}

/* buf[b] becomes the register's sum, and is added to that. */
static void start_at_sum(const level_kernel *x, neo_block *in, uint32_t buf, const neo_lx *b,
                         uint32_t sum) {
  const neo_lx *count = lv_store_value(x, in, "count", lv_load(x, buf, b));
  lv_store(x, in, buf, b, lv_get(x, sum));
  lv_set(x, in, sum, lv_add(x, lv_get(x, sum), count));
}

static uint32_t new_sum(const level_kernel *x, neo_block *in) {
  uint32_t sum = lv_reg(x, in, "sum", 0);
  lv_set(x, in, sum, lv_int(x, 0));
  return sum;
}

static void begin_levels(const level_kernel *x, neo_block *in, uint32_t used) {
  const neo_lx *b;
  uint32_t sum = new_sum(x, in);
  neo_block *body = lv_loop(x, in, NEO_LOOP_SERIAL, "b", lv_int(x, 0), lv_get(x, used), &b);
  start_at_sum(x, body, x->first, b, sum);
  lv_saturate(x, in, lv_get(x, used));
}

static void place_list(const level_kernel *x, neo_block *in, const level_list *l, const neo_lx *v,
                       const neo_lx *place) {
  level_slot s = lv_slots(x, in, l, v);
  lv_store_child(x, l, &s, place);
  if (!lv_has_parents(l))
    return;
  const neo_lx *at = lv_store_value(x, s.there, "at", lv_load(x, l->end, s.child));
  lv_store_edge(x, s.there, l, &s, place, at);
  lv_store(x, s.there, l->end, s.child, lv_add(x, at, lv_int(x, 1)));
}

static void second_pass(const level_kernel *x, neo_block *in) {
  uint32_t sum[NEO_ROWS_LISTS];
  const neo_lx *v;
  for (uint32_t i = 0; i < x->rows->n_lists; i++)
    sum[i] = lv_has_parents(&x->list[i]) ? new_sum(x, in) : 0;
  neo_block *body = lv_loop(x, in, NEO_LOOP_SERIAL, "v", lv_int(x, 0), x->n, &v);
  const neo_lx *place =
      lv_add(x, lv_load(x, x->first, lv_load(x, x->level, v)), lv_load(x, x->place, v));
  place = lv_store_value(x, body, "place", place);
  lv_store_place(x, body, v, place);
  for (uint32_t i = 0; i < x->rows->n_lists; i++) {
    if (lv_has_parents(&x->list[i]))
      start_at_sum(x, body, x->list[i].end, v, sum[i]);
    if (x->list[i].placed != LEVELS_NO_BUF || lv_has_parents(&x->list[i]))
      place_list(x, body, &x->list[i], v, place);
  }
}

void level_kernels_cpu(neo_module *m, const neo_group *g, neo_arena *a, neo_kernels *out) {
  level_kernel x = level_kernel_begin(m, g, a);
  begin_levels(&x, &x.k->body, first_pass(&x, &x.k->body));
  second_pass(&x, &x.k->body);
  NEO_PUSH(a, out, x.k);
}
