/* Products of what lies in shared memory by threads, with FMA. */
#include "codegen/lower/gpu_nested/nested.h"

static uint32_t get_values(nest *x, neo_block *in, const side *s, uint32_t buf, const neo_lx *place,
                           const neo_lx *step) {
  lowering *l = x->l;
  const neo_lx *group, *lane;
  neo_reg r = {.name = "v", .type = l->k->bufs.at[buf].type, .rank = 2};
  r.extent[0] = s->tile / s->vector;
  r.extent[1] = s->vector;
  uint32_t reg = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, reg);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", r.extent[0], &group);
  in = open_loop(l, in, NEO_LOOP_VECTOR, "l", s->vector, &lane);
  const neo_lx *at =
      lx_add(l, lx_mul(l, step, neo_ln_pitch(s)), neo_ln_group_at(l, s, place, group));
  neo_ls_set(l->k, in, reg, (const neo_lx *[]){group, lane}, 2,
             neo_lx_load(l->k, buf, lx_add(l, at, lane)));
  return reg;
}

/* acc += a * b at one step of the block. */
static void multiply(nest *x, neo_block *in, const nested_product *p, const neo_lx *const *place,
                     const neo_lx *step) {
  lowering *l = x->l;
  point row, column;
  uint32_t a = get_values(x, in, p->rows, p->a, place[0], step);
  uint32_t b = get_values(x, in, p->columns, p->b, place[1], step);
  in = neo_ln_open_side(l, in, p->rows, place[0], &row);
  const neo_lx *test = p->test ? p->test(x, &row, step) : NULL;
  in = neo_ln_open_side(l, in, p->columns, place[1], &column);
  const neo_lx *at[] = {row.number, column.number};
  const neo_lx *old = neo_lx_reg(l->k, p->acc, at, 2);
  const neo_lx *y =
      neo_lx_fma(l->k, neo_lx_reg(l->k, a, (const neo_lx *[]){row.group, row.element}, 2),
                 neo_lx_reg(l->k, b, (const neo_lx *[]){column.group, column.element}, 2), old);
  if (test)
    y = neo_lx_op3(l->k, NEO_OP_SELECT, test, y, old);
  neo_ls_set(l->k, in, p->acc, at, 2, y);
}

/* Over n steps, some of them at a time unrolled. */
void neo_ln_multiply(nest *x, neo_block *in, const nested_product *p, int64_t n) {
  lowering *l = x->l;
  int64_t few = n % 8 == 0 ? 8 : n % 4 == 0 ? 4 : 1;
  const neo_lx *place[2], *from, *step;
  neo_ln_place_of(x, place);
  in = neo_lower_open(l, in, "s", lx_int(l, 0), lx_int(l, n), few, &from);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", few, &step);
  multiply(x, in, p, place, lx_add(l, from, step));
  neo_lower_close(l);
}
