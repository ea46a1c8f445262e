/* A nested kernel whose outer sum is a product with values of inner sums. */
#include "codegen/lower/gpu_nested/nested.h"

/* Stores the factors of rows, at a thread's rows and steps, to shared memory. */
static void put_block(nested_kernel *x, neo_block *in, const neo_stage *s, const copied *to) {
  lowering *l = x->l;
  point p[2];
  const neo_lx *cond, *step;
  in = neo_ln_open_points(x, in, s, &x->rows, &x->steps, p, &cond);
  const neo_lx *y = neo_ln_product_of(l, &x->n.of_rows);
  y = neo_lx_op3(l->k, NEO_OP_SELECT, cond, y, neo_gpu_zero(l, (neo_type)y->type));
  step = lx_mul(l, p[1].at, to->per_step);
  neo_ls_store(l->k, in, to->buf, lx_add(l, step, lx_mul(l, p[0].at, to->per_point)), y, NULL);
  neo_ln_end_points(x);
}

static void store_product(nested_kernel *x, neo_block *in, uint32_t acc) {
  lowering *l = x->l;
  const neo_lx *place[2];
  point p[2];
  in = neo_ln_open_threads(x, in);
  neo_ln_place_of(x, place);
  in = neo_ln_open_dim(l, in, &x->rows, place[0], &p[0]);
  in = neo_ln_open_dim(l, in, &x->columns, place[1], &p[1]);
  const neo_lx *row = lx_add(l, x->rows.lo, p[0].at), *column = lx_add(l, x->columns.lo, p[1].at);
  in = &neo_ls_if(l->k, in, lx_lt(l, row, x->rows.total))->branch.then;
  in = &neo_ls_if(l->k, in, lx_lt(l, column, x->columns.total))->branch.then;
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    if (s->accs.n)
      continue;
    neo_lower_facts(l, l->f, s);
    neo_ln_set_axes(l, s, x->rows.axes, row);
    neo_ln_set_axes(l, s, x->columns.axes, column);
    const neo_lx *at[] = {p[0].number, p[1].number};
    if (x->kinds.on)
      neo_lower_in_fragments(l, (uint32_t)neo_mma_fragments(&x->warp[x->n.n_sums].o[1]), at[0],
                             at[1], at);
    l->acc_value = neo_lx_reg(l->k, acc, at, 2);
    neo_lower_store_point(l, in, s, NULL);
    l->acc_value = NULL;
  }
}

static void multiply_block(nested_kernel *x, neo_block *in, nested_product p, bool tested) {
  p.tested = tested;
  if (x->kinds.on)
    neo_ln_warp_product(x, in, p.acc, tested);
  else
    neo_ln_multiply(x, neo_ln_open_threads(x, in), &p, x->steps.block);
}

/* Steps are tested unless all rows of the block need all of them. */
static void multiply_tested(nested_kernel *x, neo_block *in, nested_product p) {
  lowering *l = x->l;
  if (!x->all.from) {
    multiply_block(x, in, p, true);
    return;
  }
  const neo_lx *end = lx_add(l, x->steps.lo, lx_int(l, x->steps.block));
  const neo_lx *from = neo_lx_op2(l->k, NEO_OP_LE, x->all.from, x->steps.lo);
  const neo_lx *to = neo_lx_op2(l->k, NEO_OP_LE, end, x->all.to);
  neo_ls *whole = neo_ls_if(l->k, in, lx_and(l, from, to));
  multiply_block(x, &whole->branch.then, p, false);
  multiply_block(x, &whole->branch.otherwise, p, true);
}

/* Makes its operands in shared memory: the block, and columns. */
static void make_operands(nested_kernel *x, nested_product *p, copied *block, copied *columns) {
  lowering *l = x->l;
  neo_type t = type_of(columns->s);
  const operand *o = x->warp[x->n.n_sums].o;
  copied *c[] = {block, columns};
  for (int k = 0; k < 2; k++) {
    const tile_dim *of = k ? &x->columns : &x->rows;
    bool inside = x->kinds.on && o[k].steps_inside;
    int64_t pitch = x->kinds.on ? o[k].pitch : neo_ln_pitch(of);
    c[k]->buf = x->kinds.on ? o[k].buf
                            : neo_gpu_shared_buffer(l, k ? "columns" : "block", t,
                                                    x->steps.block * pitch, NEO_GPU_ALIGN_BYTES);
    c[k]->per_point = inside ? pitch : 1;
    c[k]->per_step = inside ? 1 : pitch;
  }
  *p = (nested_product){&x->rows, &x->columns, block->buf, columns->buf, 0, false};
}

void neo_ln_product(nested_kernel *x, neo_block *in) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  nested_product p;
  copied block = {.s = s}, columns = {s, &x->n.of_columns, &x->columns, .depth = x->steps.block};
  make_operands(x, &p, &block, &columns);
  p.acc = x->kinds.on ? neo_ln_warp_acc(x, in)
                      : neo_gpu_thread_reg(x->l, in, "acc", type_of(s), x->rows.tile,
                                           x->columns.tile, x->threads);
  neo_ln_set_steps(x, s);
  neo_ln_clear(x, in, p.acc);
  neo_block *body = neo_ln_open_steps(x, in, s);
  neo_ln_inner_sums(x, body, s);
  neo_block *threads = neo_ln_open_threads(x, body);
  put_block(x, threads, s, &block);
  columns.steps = x->steps.axes;
  columns.from = x->steps.lo;
  columns.total = x->steps.total;
  if (!x->stages)
    neo_ln_copy(x, threads, &columns);
  if (s->where.i)
    multiply_tested(x, body, p);
  else
    multiply_block(x, body, p, false);
  neo_ln_close_steps(x);
  store_product(x, in, p.acc);
}
