/* Products of operands in shared memory by threads, with FMA. */
#include "codegen/lower/gpu_nested/nested.h"

static uint32_t get_values(nested_kernel *x, neo_block *in, const tile_dim *s, uint32_t buf,
                           const neo_lx *place, const neo_lx *step) {
  const neo_lx *start = lx_mul(x->l, step, neo_ln_pitch(s));
  return neo_gpu_get_values(x->l, in, "v", neo_ln_dim_of(s), buf, start, place);
}

/* acc += a * b at one step of the block. */
static void multiply(nested_kernel *x, neo_block *in, const nested_product *p,
                     const neo_lx *const *place, const neo_lx *step) {
  lowering *l = x->l;
  neo_gpu_product y = {.acc = p->acc};
  y.value[0] = get_values(x, in, p->rows, p->a, place[0], step);
  y.value[1] = get_values(x, in, p->columns, p->b, place[1], step);
  in = neo_gpu_open_dim(l, in, neo_ln_dim_of(p->rows), &y.at[0]);
  const neo_lx *test = NULL;
  if (p->tested) {
    const neo_lx *first = neo_gpu_group_at(l, neo_ln_dim_of(p->rows), place[0], y.at[0].group);
    test = neo_ln_takes(x, lx_add(l, first, y.at[0].element), step);
  }
  in = neo_gpu_open_dim(l, in, neo_ln_dim_of(p->columns), &y.at[1]);
  neo_gpu_add_product(l, in, &y, test);
}

/* The loop over n steps, some of them unrolled. */
void neo_ln_multiply(nested_kernel *x, neo_block *in, const nested_product *p, int64_t n) {
  lowering *l = x->l;
  int64_t few = n % 8 == 0 ? 8 : n % 4 == 0 ? 4 : 1;
  const neo_lx *place[2], *from, *step;
  neo_ln_place_of(x, place);
  in = neo_lower_open(l, in, "s", lx_int(l, 0), lx_int(l, n), few, &from);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", few, &step);
  multiply(x, in, p, place, lx_add(l, from, step));
  neo_lower_close(l);
}
