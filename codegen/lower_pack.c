/* Blocks of a contraction: operands copied into scratch, the reduction in blocks.
 *
 * A packed operand lies in the order in which the register tiles walk it. With lanes along one axis:
 *
 *     scratch[tile of columns][k][column in the tile]       rows: scratch[tile of rows][k][row in the tile]
 *
 * so that a tile reads one contiguous stream. Where the lanes walk several axes as one (the pixels of an image) it is
 *
 *     scratch[k][column]
 *
 * since a row of the image, copied as vectors, may begin anywhere in a tile. k counts the steps of the own axes that the
 * operand uses, in order. What an operand is not defined for (padding, conditions) is zero in scratch, so that the inner
 * loops have no conditions. Elements beyond the end of a block are never used for a result, and are left as they are. */
#include "codegen/lower_scope.h"
#include <assert.h>

/* ---- planning */

/* Is the operand's every load inside its buffer without the stage's condition? */
typedef struct {
  lowering *l;
  bool safe;
} safety;

static void check_load(void *ctx, neo_expr e) {
  safety *c = ctx;
  if (neo_expr_node(c->l->m, e)->op != NEO_OP_LOAD)
    return;
  neo_tensor t = {neo_expr_node(c->l->m, e)->attr};
  neo_expr at = neo_flat_at(c->l->m, e), n = neo_tensor_elements(c->l->m, t);
  if (neo_prove_index(c->l->p, &c->l->facts, at, n, NULL) != NEO_PROVED)
    c->safe = false;
}

static bool safe_alone(lowering *l, neo_expr e) {
  safety c = {l, true};
  neo_expr_visit(l->m, e, check_load, &c);
  return c.safe;
}

static neo_expr and_also(lowering *l, neo_expr a, neo_expr b) {
  return a.i ? neo_op2(l->m, NEO_OP_AND, a, b) : b;
}

/* The same under a condition (0: none), with selects and conditions inside the operand counted. */
static bool safe_under(lowering *l, neo_expr e, neo_expr cond) {
  neo_node n = *neo_expr_node(l->m, e);
  neo_expr a = n.arg.n ? neo_list_expr(l->m, n.arg, 0) : (neo_expr){0}, from = cond, other = cond;
  bool branches = n.op == NEO_OP_SELECT, both = n.op == NEO_OP_AND || n.op == NEO_OP_OR;
  if (branches || both) {
    neo_expr not_a = neo_op1(l->m, NEO_OP_NOT, a);
    from = and_also(l, cond, n.op == NEO_OP_OR ? not_a : a);
    other = branches ? and_also(l, cond, not_a) : from;
  }
  for (uint32_t k = 0; k < n.arg.n; k++)
    if (!safe_under(l, neo_list_expr(l->m, n.arg, k), k == 0 ? cond : k == 1 ? from : other))
      return false;
  if (n.op != NEO_OP_LOAD)
    return true;
  neo_facts f = l->facts;
  f.assume = &cond;
  f.n_assume = cond.i != 0;
  neo_expr size = neo_tensor_elements(l->m, (neo_tensor){n.attr});
  return neo_prove_index(l->p, &f, neo_flat_at(l->m, e), size, NULL) == NEO_PROVED;
}

/* Axes that have one value in a block, or that the operand uses itself. */
static uint64_t axes_in_reach(const lowering *l, const neo_factor *x) {
  uint64_t shared = (1ULL << l->f->axes.n) - 1;
  const int64_t *s = l->s->at;
  if (s[NEO_SCHED_AXIS_M] >= 0)
    shared &= ~(1ULL << s[NEO_SCHED_AXIS_M]);
  for (int64_t k = 0; k < s[NEO_SCHED_MERGE]; k++)
    shared &= ~(1ULL << (s[NEO_SCHED_VECTOR_AXIS] - k));
  return shared | x->axes;
}

/* Conjuncts of the condition that lie in reach go into *cond; true if all of them do. */
static bool take_condition(lowering *l, neo_expr where, uint64_t reach, neo_expr *cond) {
  const neo_node *n = neo_expr_node(l->m, where);
  if (n->op == NEO_OP_AND) {
    neo_expr a = neo_expr_arg(l->m, where, 0), b = neo_expr_arg(l->m, where, 1);
    bool first = take_condition(l, a, reach, cond);
    return take_condition(l, b, reach, cond) && first;
  }
  if (neo_expr_axes(l->m, where) & ~reach)
    return false;
  *cond = cond->i ? neo_op2(l->m, NEO_OP_AND, *cond, where) : where;
  return true;
}

/* Is every operand zero in scratch where the condition does not hold? */
static bool zero_everywhere(lowering *l, const neo_contraction *c, neo_expr where,
                            const uint64_t *reach) {
  for (uint32_t k = 0; k < c->n; k++)
    if (!reach[k] || neo_expr_axes(l->m, where) & ~reach[k])
      return false;
  return true;
}

/* The condition without one of its conjuncts. */
static neo_expr without(lowering *l, neo_expr where, neo_expr part) {
  const neo_node n = *neo_expr_node(l->m, where);
  if (where.i == part.i)
    return (neo_expr){0};
  if (n.op != NEO_OP_AND)
    return where;
  neo_expr a = without(l, neo_list_expr(l->m, n.arg, 0), part);
  neo_expr b = without(l, neo_list_expr(l->m, n.arg, 1), part);
  return a.i && b.i ? neo_op2(l->m, NEO_OP_AND, a, b) : a.i ? a : b;
}

/* Does some operand, zero in scratch where the conjunct does not hold, not even exist there? Then it is the edge of a
 * window (0 times what stands opposite counts, as for a read with `else 0`); else it is a mask. */
static bool is_edge(lowering *l, const neo_contraction *c, neo_expr where, neo_expr part,
                    const uint64_t *reach) {
  if (neo_expr_uses_op(l->m, part, NEO_OP_LOAD))
    return false;
  for (uint32_t k = 0; k < c->n; k++)
    if (reach[k] && !(neo_expr_axes(l->m, part) & ~reach[k]) &&
        !safe_under(l, c->factor[k].e, without(l, where, part)))
      return true;
  return false;
}

/* Conjuncts that packed operands have taken need no test in the tile: edges of windows, and masks that all operands have
 * taken. Others stay: what is masked may be NaN, and NaN times zero is NaN. */
static neo_expr left_over(lowering *l, const neo_contraction *c, neo_expr all, neo_expr where,
                          const uint64_t *reach) {
  const neo_node n = *neo_expr_node(l->m, where);
  if (n.op == NEO_OP_AND) {
    neo_expr a = left_over(l, c, all, neo_list_expr(l->m, n.arg, 0), reach);
    neo_expr b = left_over(l, c, all, neo_list_expr(l->m, n.arg, 1), reach);
    return a.i && b.i ? neo_op2(l->m, NEO_OP_AND, a, b) : a.i ? a : b;
  }
  bool gone = zero_everywhere(l, c, where, reach) || is_edge(l, c, all, where, reach);
  return gone ? (neo_expr){0} : where;
}

static uint32_t scratch(lowering *l, const char *name, neo_type t, int64_t elems) {
  neo_kbuf b = {.name = name, .type = (uint8_t)t, .use = NEO_BUF_SCRATCH, .scratch_elems = elems};
  b.no_alias = true;
  b.align = 64;
  return neo_kernel_buf(l->k, b);
}

static void plan_pack(lowering *l, const neo_stage *s, const neo_factor *x, neo_expr cond,
                      neo_side side) {
  pack *p = &l->packs[l->n_packs++];
  *p = (pack){.from = x->e, .cond = cond, .side = side};
  neo_pack_shape shape = neo_pack_shape_of(l->m, l->original, s, x, side, l->s);
  int64_t unit = shape.k_unit;
  p->k_size = shape.k_size;
  for (uint32_t k = (uint32_t)s->axes.n; k-- > 0;) {
    if (!(x->axes >> (l->f->axes.n + k) & 1))
      continue;
    p->k_coef[k] = unit;
    unit *= shape.k_extent[k];
  }
  p->tile_coef = shape.tile_coef;
  p->buf = scratch(l, side == NEO_SIDE_ROWS ? "rows" : "columns", neo_expr_type(l->m, x->e),
                   shape.elements);
  neo_expr e = neo_walked_expr(l->m, l->original, l->walk_last, l->walk_n, x->e);
  neo_map_set(&l->packed, e.i, l->n_packs);
}

static void plan_partial(lowering *l, const neo_contraction *c) {
  const neo_stage *s = &l->original->stages.at[c->stage];
  neo_partial_shape shape = neo_partial_shape_of(l->m, l->original, l->s);
  l->block.pitch = shape.pitch;
  l->block.partial = scratch(l, "partial", (neo_type)s->accs.at[0].type, shape.rows * shape.pitch);
}

void neo_lower_plan_packs(lowering *l) {
  neo_contraction c;
  const int64_t *p = l->s->at;
  if ((!p[NEO_SCHED_PACK] && !p[NEO_SCHED_BLOCK_K]) || !neo_contraction_of(l->m, l->original, &c))
    return;
  const neo_stage *s = &l->original->stages.at[c.stage];
  stage_bounds *b = &l->bounds[c.stage];
  uint64_t reach[NEO_MAX_FACTORS] = {0};
  bool drop = true;
  neo_lower_facts(l, l->original, s);
  for (uint32_t k = 0; k < c.n; k++) {
    neo_expr cond = {0};
    neo_side side = neo_schedule_side(l->f, l->s, &c.factor[k]);
    /* What the reduction does not walk through may be read by the finish too, where conditions and
     * empty domains of the reduction do not count: it is never copied. */
    bool walked = c.factor[k].axes >> l->f->axes.n;
    if (!(p[NEO_SCHED_PACK] >> k & 1) || !walked) {
      drop = drop && safe_alone(l, c.factor[k].e);
      continue;
    }
    reach[k] = axes_in_reach(l, &c.factor[k]);
    /* Copied without the whole condition, the operand must not need the rest of it. */
    if (b->where_original.i && !take_condition(l, b->where_original, reach[k], &cond) &&
        !safe_under(l, c.factor[k].e, cond)) {
      drop = false;
      reach[k] = 0;
      continue;
    }
    plan_pack(l, s, &c.factor[k], cond, side);
  }
  if (drop && b->where_original.i) {
    b->where_original = left_over(l, &c, b->where_original, b->where_original, reach);
    b->where = neo_walked_expr(l->m, l->original, l->walk_last, l->walk_n, b->where_original);
  }
  if (p[NEO_SCHED_BLOCK_K])
    plan_partial(l, &c);
}

/* ---- copying */

typedef struct { /* a loop of the copy */
  uint32_t axis;
  bool adds; /* its variable is added to the axis' value, which another loop began */
  const neo_lx *lo, *hi;
  int64_t step, coef;   /* coef: elements of scratch an iteration */
  const neo_lx *origin; /* where scratch counts from */
} copy_loop;

typedef struct {
  lowering *l;
  const pack *p;
  neo_expr value;
  copy_loop at[NEO_FORM_MAX_AXES + 4];
  uint32_t n;
  lower_terms offset;
} copier;

static void set_copy_axis(copier *c, const copy_loop *x, const neo_lx *v, const neo_lx *lane) {
  lowering *l = c->l;
  axis_value old = x->adds ? l->axis[x->axis] : (axis_value){.n = 0};
  old.at[old.n++] = (axis_part){v, 1, l->depth};
  if (lane)
    old.at[old.n++] = (axis_part){lane, 1, DEPTH_LANE};
  neo_lower_set_parts(l, x->axis, old);
}

static void copy_element(copier *c, neo_block *in, const copy_loop *x, const neo_lx *v,
                         const neo_lx *lane) {
  lowering *l = c->l;
  axis_value old = l->axis[x->axis];
  lower_terms at = c->offset;
  set_copy_axis(c, x, v, lane);
  neo_lower_add_term(&at, lx_sub(l, v, x->origin), x->coef, l->depth);
  if (lane)
    neo_lower_add_term(&at, lane, x->coef, DEPTH_LANE);
  neo_ls_store(l->k, in, c->p->buf, neo_lower_sum(l, &at, 0), neo_lower_expr(l, c->value), NULL);
  neo_lower_set_parts(l, x->axis, old);
}

/* The innermost loop: vectors, then single elements. */
static void copy_inner(copier *c, neo_block *in, const copy_loop *x) {
  lowering *l = c->l;
  const neo_lx *v, *from = x->lo;
  for (int64_t width = l->s->at[NEO_SCHED_VECTOR_WIDTH]; width >= 1; width /= 2) {
    const neo_lx *to = neo_lower_whole(l, from, x->hi, width);
    int64_t a, b;
    bool none = neo_lx_is_int(from, &a) && neo_lx_is_int(to, &b) && a == b;
    bool fixed = neo_lx_is_int(lx_sub(l, x->hi, x->lo), &a);
    if (none || (width > 1 && !fixed && width < l->s->at[NEO_SCHED_VECTOR_WIDTH]))
      continue;
    neo_block *body = neo_lower_open(l, in, "e", from, to, width, &v);
    if (width > 1) {
      uint32_t var = neo_kernel_var(l->k, "l");
      const neo_lx *lanes = lx_int(l, width);
      body = &neo_ls_for(l->k, body, NEO_LOOP_VECTOR, var, lx_int(l, 0), lanes, 1)->body;
      copy_element(c, body, x, v, neo_lx_var(l->k, var));
    } else {
      copy_element(c, body, x, v, NULL);
    }
    neo_lower_close(l);
    from = to;
  }
}

static void copy_nest(copier *c, neo_block *in, uint32_t k) {
  lowering *l = c->l;
  const copy_loop *x = &c->at[k];
  if (k + 1 == c->n) {
    copy_inner(c, in, x);
    return;
  }
  const neo_lx *v;
  neo_block *body = neo_lower_open(l, in, "e", x->lo, x->hi, x->step, &v);
  axis_value old = l->axis[x->axis];
  uint32_t n = c->offset.n;
  lower_terms before = c->offset;
  set_copy_axis(c, x, v, NULL);
  neo_lower_add_term(&c->offset, lx_sub(l, v, x->origin), x->coef, l->depth);
  copy_nest(c, body, k + 1);
  c->offset = before;
  assert(c->offset.n == n);
  neo_lower_set_parts(l, x->axis, old);
  neo_lower_close(l);
}

/* How good a loop is as the innermost: contiguous loads as vectors, best if the stores are contiguous too. */
static int64_t merit(copier *c, const copy_loop *x) {
  int64_t lo, hi, n = 1 << 20, width = c->l->s->at[NEO_SCHED_VECTOR_WIDTH];
  if (x->step > 1 || !neo_expr_unit_stride(c->l->m, c->p->from, x->axis))
    return 0;
  if (neo_lx_is_int(x->lo, &lo) && neo_lx_is_int(x->hi, &hi))
    n = hi - lo;
  if (n * 2 < width)
    return 1;
  return x->coef == 1 ? 3 : 2;
}

/* The loop along which the operand's loads are contiguous becomes the innermost, so that they are vectors. */
static void put_contiguous_last(copier *c) {
  uint32_t best = c->n - 1;
  for (uint32_t k = c->n; k-- > 0;)
    if (merit(c, &c->at[k]) > merit(c, &c->at[best]))
      best = k;
  copy_loop x = c->at[best];
  for (uint32_t k = best; k + 1 < c->n; k++)
    c->at[k] = c->at[k + 1];
  c->at[c->n - 1] = x;
}

static void add_loop(copier *c, copy_loop x) {
  c->at[c->n++] = x;
}

/* Loops over the own axes that the operand uses. */
static void add_own_loops(copier *c, const neo_stage *s, const stage_bounds *b) {
  lowering *l = c->l;
  for (uint32_t k = 0; k < s->axes.n; k++) {
    if (!c->p->k_coef[k])
      continue;
    bool block = k == 0 && l->block.on;
    copy_loop x = {.axis = (uint32_t)l->f->axes.n + k, .step = 1, .coef = c->p->k_coef[k]};
    x.lo = block ? l->block.lo : neo_lower_expr(l, b->lo[k]);
    x.hi = block ? l->block.hi : neo_lower_expr(l, b->hi[k]);
    x.origin = l->k_origin[k];
    add_loop(c, x);
  }
}

static void copy_tiles(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo, const neo_lx *hi,
                       const neo_lx *start, int64_t size, bool whole, const neo_stage *s,
                       const stage_bounds *b) {
  lowering *l = c->l;
  const neo_lx *v;
  int64_t x, y;
  if (neo_lx_is_int(lo, &x) && neo_lx_is_int(hi, &y) && x >= y)
    return;
  neo_block *body = neo_lower_open(l, in, "t", lo, hi, size, &v);
  neo_lower_set_axis(l, axis, v, l->depth);
  c->n = 0;
  c->offset.n = 0;
  neo_lower_add_term(&c->offset, lx_sub(l, v, start), c->p->tile_coef, l->depth);
  add_own_loops(c, s, b);
  const neo_lx *zero = lx_int(l, 0), *end = whole ? lx_int(l, size) : lx_sub(l, hi, v);
  add_loop(c, (copy_loop){axis, true, zero, end, 1, 1, zero});
  put_contiguous_last(c);
  copy_nest(c, body, 0);
  neo_lower_close(l);
}

/* Rows or columns [lo, hi) of one axis, in tiles. */
static void copy_axis(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo, const neo_lx *hi,
                      int64_t size, const neo_stage *s, const stage_bounds *b) {
  const neo_lx *mid = neo_lower_whole(c->l, lo, hi, size);
  copy_tiles(c, in, axis, lo, mid, lo, size, true, s, b);
  copy_tiles(c, in, axis, mid, hi, lo, size, false, s, b);
}

/* Columns [lo, hi) of axes walked as one: whole iterations of the first of them. */
static void copy_walked(copier *c, neo_block *in, const neo_lx *lo, const neo_lx *hi,
                        const neo_stage *s, const stage_bounds *b) {
  lowering *l = c->l;
  uint32_t first = l->walk_last + 1 - l->walk_n;
  int64_t inner = 1, extent = 1;
  c->n = 0;
  c->offset.n = 0;
  add_own_loops(c, s, b);
  for (uint32_t k = first + 1; k <= l->walk_last; k++) {
    neo_expr_is_int(l->m, l->original->axes.at[k].hi, &extent);
    inner *= extent;
  }
  const neo_lx *from = lx_div(l, lo, inner), *to = lx_div(l, hi, inner), *zero = lx_int(l, 0);
  add_loop(c, (copy_loop){first, false, from, to, 1, inner, from});
  for (uint32_t k = first + 1; k <= l->walk_last; k++) {
    neo_expr_is_int(l->m, l->original->axes.at[k].hi, &extent);
    inner /= extent;
    add_loop(c, (copy_loop){k, false, zero, lx_int(l, extent), 1, inner, zero});
  }
  put_contiguous_last(c);
  copy_nest(c, in, 0);
  for (uint32_t k = 1; k < l->walk_n; k++)
    neo_lower_set_axis(l, l->walk_last - k, zero, 0);
}

/* An operand's reads are only known to be in range at points of the whole domain: where some loop around its use is empty,
 * there are none, and nothing is copied. */
static neo_block *open_nonempty(lowering *l, neo_block *in, const pack *p, const neo_stage *s,
                                const stage_bounds *b, const neo_lx *const *range) {
  const neo_lx *cond = neo_lx_op2(l->k, NEO_OP_AND, neo_lx_op2(l->k, NEO_OP_LT, range[0], range[1]),
                                  neo_lx_op2(l->k, NEO_OP_LT, range[2], range[3]));
  int64_t known;
  if (l->s->at[NEO_SCHED_AXIS_M] < 0)
    cond = neo_lx_op2(l->k, NEO_OP_LT, range[2], range[3]);
  for (uint32_t k = 0; k < s->axes.n; k++) {
    if (p->k_coef[k])
      continue;
    const neo_lx *lo = neo_lower_expr(l, b->lo[k]), *hi = neo_lower_expr(l, b->hi[k]);
    cond = neo_lx_op2(l->k, NEO_OP_AND, cond, neo_lx_op2(l->k, NEO_OP_LT, lo, hi));
  }
  if (neo_lx_is_int(cond, &known) && known)
    return in;
  return &neo_ls_if(l->k, in, cond)->body;
}

static void copy_pack(lowering *l, neo_block *in, const pack *p, const neo_stage *s,
                      const stage_bounds *b, const neo_lx *const *range) {
  copier c = {.l = l, .p = p, .value = p->from};
  in = open_nonempty(l, in, p, s, b, range);
  const int64_t *at = l->s->at;
  if (p->cond.i) {
    neo_expr zero = neo_const_float(l->m, neo_expr_type(l->m, p->from), 0);
    c.value = neo_op3(l->m, NEO_OP_SELECT, p->cond, p->from, zero);
  }
  if (p->side == NEO_SIDE_ROWS)
    copy_axis(&c, in, (uint32_t)at[NEO_SCHED_AXIS_M], range[0], range[1], at[NEO_SCHED_TILE_M], s,
              b);
  else if (l->walk_n > 1)
    copy_walked(&c, in, range[2], range[3], s, b);
  else
    copy_axis(&c, in, (uint32_t)at[NEO_SCHED_VECTOR_AXIS], range[2], range[3],
              at[NEO_SCHED_TILE_N] * at[NEO_SCHED_VECTOR_WIDTH], s, b);
}

/* ---- blocks of the reduction */

/* Scratch counts own axes from their least value, the first from its block. */
static void set_origins(lowering *l, const neo_stage *s) {
  for (uint32_t k = 0; k < s->axes.n; k++) {
    int64_t lo = 0, hi = 0;
    neo_axis_range(l->m, l->original, s, k, &lo, &hi);
    l->k_origin[k] = k == 0 && l->block.on ? l->block.lo : lx_int(l, lo);
  }
  l->k_origin_depth = l->depth;
}

static void packed_block(lowering *l, neo_block *in, const neo_stage *s, const stage_bounds *b,
                         const neo_lx *const *range) {
  if (s) {
    set_origins(l, s);
    neo_lower_facts(l, l->original, s);
    for (uint32_t k = 0; k < l->n_packs; k++)
      copy_pack(l, in, &l->packs[k], s, b, range);
    neo_lower_facts(l, l->f, NULL);
  }
  neo_lower_block(l, in, range[0], range[1], range[2], range[3]);
}

void neo_lower_blocks(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi,
                      const neo_lx *n_lo, const neo_lx *n_hi) {
  const neo_lx *range[] = {m_lo, m_hi, n_lo, n_hi}, *v;
  neo_contraction c;
  int64_t size = l->s->at[NEO_SCHED_BLOCK_K];
  bool found = (l->n_packs || size) && neo_contraction_of(l->m, l->original, &c);
  const neo_stage *s = found ? &l->original->stages.at[c.stage] : NULL;
  const stage_bounds *b = found ? &l->bounds[c.stage] : NULL;
  if (!found || !size) {
    packed_block(l, in, s, b, range);
    return;
  }
  /* at least one block, so that an empty sum is stored too */
  const neo_lx *lo = neo_lower_expr(l, b->lo[0]), *hi = neo_lower_expr(l, b->hi[0]);
  const neo_lx *end = lx_max(l, hi, lx_add(l, lo, lx_int(l, 1)));
  neo_block *body = neo_lower_open(l, in, "kb", lo, end, size, &v);
  const neo_lx *next = lx_add(l, v, lx_int(l, size));
  l->block.on = true;
  l->block.lo = v;
  l->block.hi = lx_min(l, next, hi);
  l->block.is_first = neo_lx_op2(l->k, NEO_OP_EQ, v, lo);
  l->block.is_last = neo_lx_op2(l->k, NEO_OP_LE, end, next);
  l->block.m_lo = m_lo;
  l->block.n_lo = n_lo;
  packed_block(l, body, s, b, range);
  l->block.on = false;
  neo_lower_close(l);
}
