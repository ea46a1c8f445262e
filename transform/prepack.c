/* Weight prepacking: weights in the order in which products read them.
 *
 *   Y[b, j] = sum[k] X[b, k]*W[k, j]
 *   ->
 *   packed.W[t, k, l] = W[k, 16*t + l] else 0,   Y[b, j] = sum[k] X[b, k]*packed.W[j/16, k, j%16]
 *
 * A register tile reads some neighbouring columns j along the whole reduction. In W these are
 * pieces of distant rows, or strided columns; each call reads them badly or copies them first
 * (codegen/lower/tile/pack.c), which only many rows b pay back. In packed.W they are contiguous. A
 * tile of columns is a cache line, a multiple or divisor of all register tiles; zeros fill the last
 * one.
 *
 * If a processor's product rounds W to bf16 (mixed_precision.c), packed.W stores the rounded
 * values. If the target multiplies pairs, two steps of the innermost reduction axis are adjacent
 * (schedule/pairs/pairs.h):
 *
 *   packed.W[t, k, l, h] = bf16(W[2*k + h, 16*t + l]) else 0
 *   read as packed.W[j/16, k/2, j%16, k%2]
 *
 * The layout is a definition: transformed, fused and proved like others. packed.W depends on
 * parameters alone (ir/call_invariant.h), so it is cached between calls until a parameter changes;
 * reads of several products share it. Producers of W (a stack of weights, a normalisation) fuse
 * into the packing.
 *
 * Which reads: a factor of a sum of products that reads one call-invariant tensor, with one index
 * that is the last output axis (contiguous in the result) and others free of it, some over the
 * reduction, if another factor is free of that axis: many rows use each element. Dimensions indexed
 * by the reduction go inside, in the order of its axes; others stay outside.
 *
 * Recurrences in blocks of rows (transform/levels/levels.c) have few rows in most blocks and read
 * the weights in each: they are packed for any number of rows, in training steps too. A training
 * step packs again, however small the batch: it does not where W[k, j] is small and contiguous
 * along j, so that blocks read it as well from the second-level cache.
 *
 * Which entries: those that do not change parameters (forward entries), where one reader is enough.
 * A training step writes its weights and packs them again: that pays if several products of the
 * step read them, as in an unrolled loop; fusion may still inline the packing, which restores W.
 * Definitions that both kinds need are copied ("packed." before the name), as in
 * transform/specialize.c. */
#include "base/hash.h"
#include "base/machine.h"
#include "ir/call_invariant.h"
#include "ir/clone.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/product.h"
#include "transform/transform.h"

enum { PAIR = 2 };
enum { LEAST_READERS = 2 }; /* readers in a training step */
enum { LEAST_BYTES = 16384, MOST_BYTES = 1 << 28, MOST_ROWS = 256 };
enum { LEAST_LINES = 4 }; /* cache lines of contiguous columns, for reads without packing */

typedef struct { /* a packed read */
  neo_expr load;
  neo_tensor from;
  uint32_t rank, column;           /* column: dimension with the last output axis */
  uint32_t order[NEO_TENSOR_RANK]; /* the other dimensions in order of the layout; */
  uint32_t n_outer;                /* dimensions before the tile; the rest is inside */
  int64_t lanes, extent, bytes;    /* lanes of a tile; extent of the column; bytes of the tensor */
  bool rounded, pairs; /* stored as bf16; two steps of the last dimension in `order` adjacent */
  int64_t paired;      /* its extent */
} placing;

typedef struct {
  neo_module *m;
  const neo_pass_target *target;
  neo_arena *a;
  neo_call_invariants invariants;
  bool *in_blocks; /* by definition: in a recurrence in blocks of rows */
  neo_map packed;  /* hash of a packing -> index into `made` + 1 */
  NEO_VEC(neo_tensor) made;
  NEO_VEC(placing) made_as;
} prepacking;

/* ---- finding reads */

typedef struct {
  const neo_module *m;
  neo_expr load;
  uint32_t n;
  bool plain;
} read_search;

static void find_read(void *ctx, neo_expr e) {
  read_search *s = ctx;
  neo_op op = (neo_op)neo_expr_node(s->m, e)->op;
  if (op == NEO_OP_LOAD) {
    s->load = e;
    s->n++;
  } else if (op == NEO_OP_LOAD_ELSE || op == NEO_OP_SELECT || op == NEO_OP_RAND) {
    s->plain = false;
  }
}

/* The only read of a factor; 0: the factor is not a plain read. */
static neo_expr only_read(const neo_module *m, neo_expr factor) {
  read_search s = {m, {0}, 0, true};
  neo_expr_visit(m, factor, find_read, &s);
  return s.plain && s.n == 1 ? s.load : (neo_expr){0};
}

/* The innermost reduction axis in an index; -1: none. */
static int inner_axis(const neo_module *m, const neo_def_rec *d, neo_expr index) {
  uint64_t axes = neo_expr_axes(m, index) >> d->n_out;
  return axes ? (int)d->n_out + 63 - __builtin_clzll(axes) : -1;
}

static void sort_dimensions(const neo_module *m, const neo_def_rec *d, placing *p) {
  int key[NEO_TENSOR_RANK];
  uint32_t n = 0;
  p->n_outer = 0;
  for (uint32_t k = 0; k < p->rank; k++) {
    if (k == p->column)
      continue;
    int at = inner_axis(m, d, neo_expr_arg(m, p->load, k));
    uint32_t i = n++;
    for (; i > 0 && key[i - 1] > at; i--) {
      key[i] = key[i - 1];
      p->order[i] = p->order[i - 1];
    }
    key[i] = at;
    p->order[i] = k;
    p->n_outer += at < 0;
  }
}

/* The dimension whose index is the axis itself, if no other index uses it; rank: none. */
static uint32_t column_of(const neo_module *m, neo_expr load, uint32_t rank, uint32_t axis) {
  uint32_t column = rank;
  for (uint32_t k = 0; k < rank; k++) {
    neo_expr index = neo_expr_arg(m, load, k);
    const neo_node *n = neo_expr_node(m, index);
    if (!(neo_expr_axes(m, index) >> axis & 1))
      continue;
    if (n->op != NEO_OP_AXIS || column != rank)
      return rank;
    column = k;
  }
  return column;
}

/* Are sizes known, and is the tensor large enough to matter and small enough to store twice? */
static bool is_worth(const neo_module *m, const neo_pass_target *target, placing *p) {
  int64_t x, bytes = neo_type_bytes(neo_tensor_type(m, p->from));
  p->lanes = neo_profile_or_usual(target->profile)->line_bytes / bytes;
  for (uint32_t k = 0; k < p->rank; k++) {
    if (!neo_expr_is_int(m, neo_tensor_extent(m, p->from, k), &x) || x < 1 || x > MOST_BYTES)
      return false;
    if (k == p->column)
      p->extent = x;
    bytes *= x;
    if (bytes > MOST_BYTES)
      return false;
  }
  p->bytes = bytes;
  return bytes >= LEAST_BYTES && p->extent > p->lanes;
}

/* Is it f32(bf16(load))? */
static bool is_rounded(const neo_module *m, neo_expr factor, neo_expr load) {
  const neo_node *wide = neo_expr_node(m, factor);
  if (wide->op != NEO_OP_CAST || wide->type != NEO_F32_T || neo_expr_type(m, load) != NEO_F32_T)
    return false;
  const neo_node *narrow = neo_expr_node(m, neo_expr_arg(m, factor, 0));
  return narrow->op == NEO_OP_CAST && narrow->type == NEO_BF16_T &&
         neo_expr_arg(m, neo_expr_arg(m, factor, 0), 0).i == load.i;
}

/* Is the last dimension's index the innermost reduction axis? */
static bool reduces_along(const neo_module *m, const neo_def_rec *d, const placing *p) {
  const neo_node *n = neo_expr_node(m, neo_expr_arg(m, p->load, p->order[p->rank - 2]));
  return n->op == NEO_OP_AXIS && n->attr + 1 == d->axes.n;
}

static bool place_factor(prepacking *s, const neo_def_rec *d, neo_expr factor, placing *p) {
  neo_module *m = s->m;
  uint32_t axis = d->n_out - 1;
  p->load = only_read(m, factor);
  if (!p->load.i)
    return false;
  p->from = (neo_tensor){neo_expr_node(m, p->load)->attr};
  p->rank = neo_tensor_rank(m, p->from);
  if (p->rank < 2 || p->rank + 2 > NEO_TENSOR_RANK ||
      !neo_tensor_is_call_invariant(&s->invariants, p->from))
    return false;
  p->column = column_of(m, p->load, p->rank, axis);
  if (p->column == p->rank || !is_worth(m, s->target, p))
    return false;
  sort_dimensions(m, d, p);
  p->rounded = !s->target->gpu_threads && is_rounded(m, factor, p->load);
  p->pairs = p->rounded && s->target->bf16_pairs && p->n_outer < p->rank - 1 &&
             reduces_along(m, d, p) &&
             neo_expr_is_int(m, neo_tensor_extent(m, p->from, p->order[p->rank - 2]), &p->paired);
  return p->n_outer < p->rank - 1;
}

/* Rows that share an element of the factor: points of the output axes that it does not use. */
static double rows_of(const neo_module *m, const neo_def_rec *d, neo_expr factor) {
  double n = 1;
  for (uint32_t k = 0; k < d->n_out; k++) {
    int64_t x;
    neo_expr hi = neo_def_axis(m, d, k)->hi;
    const neo_node *node = neo_expr_node(m, hi);
    if (neo_expr_axes(m, factor) >> k & 1)
      continue;
    if (neo_expr_is_int(m, hi, &x))
      n *= (double)x;
    else
      n *= node->op == NEO_OP_SIZE ? (double)m->sizes.at[node->attr].hi : MOST_ROWS;
  }
  return n;
}

static bool place(prepacking *s, neo_def id, placing *p) {
  neo_module *m = s->m;
  const neo_def_rec d = *neo_def_at(m, id);
  neo_expr factor[NEO_PRODUCT_FACTORS];
  uint32_t n = 0;
  if (d.reducer != NEO_RED_SUM || d.body.n != 1 || d.out.n != 1 || !d.n_out || d.axes.n >= 63 ||
      d.out_map.n || neo_tensor_at(m, neo_list_tensor(m, d.out, 0))->pieces.n != 1 ||
      s->invariants.def[id.i])
    return false;
  if (!neo_product_factors(m, neo_list_expr(m, d.body, 0), factor, &n, NEO_PRODUCT_FACTORS) ||
      n < 2)
    return false;
  uint64_t column = 1ULL << (d.n_out - 1), reduced = ~0ULL << d.n_out;
  bool shared = false;
  for (uint32_t k = 0; k < n; k++)
    shared = shared ||
             (!(neo_expr_axes(m, factor[k]) & column) && neo_expr_axes(m, factor[k]) & reduced);
  for (uint32_t k = 0; shared && k < n; k++)
    if (place_factor(s, &d, factor[k], p) &&
        (p->pairs || s->in_blocks[id.i] || rows_of(m, &d, factor[k]) <= MOST_ROWS))
      return true;
  return false;
}

/* ---- the layout as a definition */

static uint64_t key_of(const placing *p) {
  uint64_t how = (uint64_t)p->rounded << 63 | (uint64_t)p->pairs << 62;
  uint64_t h = neo_hash_mix(p->from.i, how | (uint64_t)p->column << 32 | p->n_outer);
  for (uint32_t k = 0; k + 1 < p->rank; k++)
    h = neo_hash_mix(h, p->order[k]);
  return h;
}

static bool same_placing(const placing *a, const placing *b) {
  bool same = a->from.i == b->from.i && a->column == b->column && a->n_outer == b->n_outer &&
              a->rounded == b->rounded && a->pairs == b->pairs;
  for (uint32_t k = 0; same && k + 1 < a->rank; k++)
    same = a->order[k] == b->order[k];
  return same;
}

/* Position of the k-th other dimension in the layout, with the tile between outer and inner
 * ones. */
static uint32_t position(const placing *p, uint32_t k) {
  return k < p->n_outer ? k : k + 1;
}

/* The stored type; sets dimensions of the layout. */
static neo_type type_of(const prepacking *s, const placing *p) {
  return p->rounded ? NEO_BF16_T : neo_tensor_type(s->m, p->from);
}

static uint32_t rank_of(const placing *p) {
  return p->rank + 1 + p->pairs;
}

/* Extents of the layout's dimensions. */
static void extents_of(const prepacking *s, const placing *p, neo_expr *extent) {
  neo_module *m = s->m;
  for (uint32_t k = 0; k + 1 < p->rank; k++)
    extent[position(p, k)] = neo_tensor_extent(m, p->from, p->order[k]);
  int64_t tiles = (p->extent + p->lanes - 1) / p->lanes;
  extent[p->n_outer] = neo_const_i64(m, tiles);
  extent[p->rank] = neo_const_i64(m, p->lanes);
  if (p->pairs) {
    extent[p->rank - 1] = neo_const_i64(m, (p->paired + PAIR - 1) / PAIR);
    extent[p->rank + 1] = neo_const_i64(m, PAIR);
  }
}

static neo_list axes_of(const prepacking *s, const placing *p) {
  neo_module *m = s->m;
  uint32_t axes[NEO_TENSOR_RANK + 2];
  neo_expr extent[NEO_TENSOR_RANK + 2];
  extents_of(s, p, extent);
  for (uint32_t k = 0; k < rank_of(p); k++) {
    neo_axis_rec x = {.lo = neo_const_i64(m, 0), .hi = extent[k]};
    const char *name = k > p->rank ? "h" : k == p->rank ? "l" : k == p->n_outer ? "t" : "k";
    x.name = neo_name_of(m->names, name);
    x.span = neo_tensor_at(m, p->from)->span;
    axes[k] = neo_axis_add(m, x).i;
  }
  return neo_list_new(m, axes, rank_of(p));
}

/* The value of an element of the layout: W[k, 16*t + l] else 0. */
static neo_expr element_of(const prepacking *s, const placing *p) {
  neo_module *m = s->m;
  neo_expr index[NEO_TENSOR_RANK];
  neo_span span = neo_tensor_at(m, p->from)->span;
  for (uint32_t k = 0; k + 1 < p->rank; k++)
    index[p->order[k]] = neo_axis_ref(m, position(p, k));
  neo_expr lanes = neo_const_i64(m, p->lanes);
  index[p->column] =
      neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, neo_axis_ref(m, p->n_outer), lanes),
              neo_axis_ref(m, p->rank));
  bool whole = p->extent % p->lanes == 0;
  if (p->pairs) {
    neo_expr *paired = &index[p->order[p->rank - 2]], two = neo_const_i64(m, PAIR);
    *paired =
        neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, *paired, two), neo_axis_ref(m, p->rank + 1));
    whole = whole && p->paired % PAIR == 0;
  }
  neo_expr zero = neo_const_int(m, neo_tensor_type(m, p->from), 0);
  neo_expr value = whole ? neo_load(m, p->from, index, p->rank, span)
                         : neo_load_else(m, p->from, index, p->rank, zero, span);
  return p->rounded ? neo_cast(m, NEO_BF16_T, value) : value;
}

static neo_tensor define_packed(const prepacking *s, const placing *p) {
  neo_module *m = s->m;
  neo_def_rec d = {.n_out = rank_of(p), .reducer = NEO_RED_NONE};
  d.span = neo_tensor_at(m, p->from)->span;
  d.axes = axes_of(s, p);
  neo_expr value = element_of(s, p);
  d.finish = neo_list_one(m, value.i);
  neo_temp t = {.prefix = "packed", .like = p->from, .type = type_of(s, p)};
  return neo_temp_define(m, &t, d);
}

static neo_tensor packed_of(prepacking *s, const placing *p) {
  uint64_t key = key_of(p), known = 0;
  if (neo_map_get(&s->packed, key, &known) && same_placing(&s->made_as.at[known - 1], p))
    return s->made.at[known - 1];
  neo_tensor t = define_packed(s, p);
  NEO_PUSH(s->a, &s->made, t);
  NEO_PUSH(s->a, &s->made_as, *p);
  neo_map_set(&s->packed, key, s->made.n);
  return t;
}

static void read_packed(prepacking *s, neo_def d, const placing *p) {
  neo_module *m = s->m;
  neo_expr index[NEO_TENSOR_RANK + 2], column = neo_expr_arg(m, p->load, p->column);
  neo_expr lanes = neo_const_i64(m, p->lanes);
  neo_tensor t = packed_of(s, p);
  for (uint32_t k = 0; k + 1 < p->rank; k++)
    index[position(p, k)] = neo_expr_arg(m, p->load, p->order[k]);
  index[p->n_outer] = neo_op2(m, NEO_OP_DIV, column, lanes);
  index[p->rank] = neo_op2(m, NEO_OP_MOD, column, lanes);
  if (p->pairs) {
    neo_expr at = index[p->rank - 1], two = neo_const_i64(m, PAIR);
    index[p->rank - 1] = neo_op2(m, NEO_OP_DIV, at, two);
    index[p->rank + 1] = neo_op2(m, NEO_OP_MOD, at, two);
  }
  neo_expr body = neo_list_expr(m, neo_def_at(m, d)->body, 0);
  neo_expr from = p->rounded ? neo_cast(m, NEO_BF16_T, p->load) : p->load;
  neo_expr to = neo_load(m, t, index, rank_of(p), neo_expr_node(m, p->load)->span);
  body = neo_expr_replace(m, body, from, to);
  neo_def_at(m, d)->body = neo_list_one(m, body.i);
}

/* ---- entries */

typedef struct {
  const neo_module *m;
  bool in_blocks;
} block_look;

static void look_blocks(void *ctx, neo_expr e) {
  block_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  l->in_blocks =
      l->in_blocks || (n->op == NEO_OP_LOAD && neo_tensor_blocks(l->m, (neo_tensor){n->attr}).i);
}

static void find_blocks(prepacking *s) {
  neo_module *m = s->m;
  size_t n = m->defs.n;
  uint32_t *number, n_found = neo_all_recurrences(m, s->a, &number);
  bool *in_blocks = NEO_NEW_ARRAY(s->a, bool, n_found + 1);
  s->in_blocks = NEO_NEW_ARRAY(s->a, bool, n + 1);
  for (uint32_t d = 1; d < n; d++) {
    block_look l = {m, false};
    if (number[d])
      neo_def_visit(m, (neo_def){d}, look_blocks, &l);
    in_blocks[number[d]] = in_blocks[number[d]] || l.in_blocks;
  }
  for (uint32_t d = 1; d < n; d++)
    s->in_blocks[d] = number[d] && in_blocks[number[d]];
}

static bool rests(const neo_entry_rec *e) {
  return e->kind == NEO_ENTRY_FORWARD;
}

static size_t defs_of(prepacking *s, bool resting, neo_def **out) {
  neo_module *m = s->m;
  neo_tensors roots = {0};
  for (size_t e = 0; e < m->entries.n; e++)
    if (rests(&m->entries.at[e]) == resting)
      neo_entry_roots(m, s->a, &roots, &m->entries.at[e]);
  return neo_module_topo(m, roots.at, roots.n, s->a, out, NULL);
}

static void rename_entries(prepacking *s, const neo_map *to) {
  neo_module *m = s->m;
  for (size_t e = 0; e < m->entries.n; e++) {
    if (!rests(&m->entries.at[e]))
      continue;
    neo_list outputs = neo_tensors_renamed(m, m->entries.at[e].outputs, to, s->a);
    neo_list updates = neo_tensors_renamed(m, m->entries.at[e].updates, to, s->a);
    m->entries.at[e].outputs = outputs;
    m->entries.at[e].updates = updates;
  }
}

/* Copies definitions that other entries need, with their readers, for forward entries. */
static void copy_shared(prepacking *s, neo_def *defs, size_t n, const bool *placed) {
  neo_module *m = s->m;
  neo_def *other;
  bool *shared = NEO_NEW_ARRAY(s->a, bool, m->defs.n + 1);
  size_t n_other = defs_of(s, false, &other);
  neo_map outs = neo_map_in(s->a);
  neo_map to = neo_map_in(s->a);
  for (size_t k = 0; k < n_other; k++)
    shared[other[k].i] = true;
  for (size_t k = 0; k < n; k++)
    if (placed[k] && shared[defs[k].i])
      neo_map_set(&outs, neo_def_out(m, defs[k], 0).i, 1);
  if (!outs.n)
    return;
  bool *affected = neo_defs_affected(m, defs, n, &outs, NULL, s->a);
  for (size_t k = 0; k < n; k++)
    affected[k] = affected[k] || (placed[k] && shared[defs[k].i]);
  neo_defs_clone(m, defs, n, affected, "packed", &to);
  rename_entries(s, &to);
}

/* Do blocks of rows read the tensor as well as its packing? Its lines are adjacent along columns,
 * and the second-level cache holds it between blocks, with their own data. */
static bool reads_well_in_blocks(const prepacking *s, const placing *p) {
  return p->column + 1 == p->rank && !p->rounded && p->extent >= LEAST_LINES * p->lanes &&
         p->bytes <= s->target->l2_bytes / 4 * 3;
}

/* Packs in place; forward entries have their copies by now. */
static void lay_out_steps(prepacking *s) {
  neo_module *m = s->m;
  neo_def *defs;
  size_t n = defs_of(s, false, &defs);
  bool *none = NEO_NEW_ARRAY(s->a, bool, m->entries.n + 1);
  placing *p = NEO_NEW_ARRAY(s->a, placing, n + 1);
  neo_map readers = neo_map_in(s->a);
  s->invariants =
      neo_call_invariants_of(m, defs, n, none, s->a); /* old versions live to the end of the step */
  for (size_t k = 0; k < n; k++) {
    uint64_t count = 0;
    if (!place(s, defs[k], &p[k]) || (s->in_blocks[defs[k].i] && reads_well_in_blocks(s, &p[k]))) {
      p[k].load.i = 0;
      continue;
    }
    neo_map_get(&readers, key_of(&p[k]), &count);
    neo_map_set(&readers, key_of(&p[k]),
                count + (s->in_blocks[defs[k].i] ? LEAST_READERS : 1)); /* once a block */
  }
  for (size_t k = 0; k < n; k++) {
    uint64_t count = 0;
    if (p[k].load.i && neo_map_get(&readers, key_of(&p[k]), &count) && count >= LEAST_READERS)
      read_packed(s, defs[k], &p[k]);
  }
}

static void lay_out(prepacking *s) {
  neo_module *m = s->m;
  neo_def *defs;
  placing p;
  size_t n = defs_of(s, true, &defs), n_placed = 0;
  bool *served = NEO_NEW_ARRAY(s->a, bool, m->entries.n + 1);
  bool *placed = NEO_NEW_ARRAY(s->a, bool, n + 1);
  for (size_t e = 0; e < m->entries.n; e++)
    served[e] = rests(&m->entries.at[e]);
  s->invariants = neo_call_invariants_of(m, defs, n, served, s->a);
  for (size_t k = 0; k < n; k++)
    n_placed += placed[k] = place(s, defs[k], &p);
  if (!n_placed)
    return;
  neo_def *of = neo_arena_copy(s->a, defs, n * sizeof *defs);
  copy_shared(s, of, n, placed);
  for (size_t k = 0; k < n; k++)
    if (placed[k] && place(s, defs[k], &p))
      read_packed(s, of[k], &p);
}

neo_status neo_pass_prepack(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  prepacking s = {.m = m, .target = pass->target, .a = pass->a, .packed = neo_map_in(pass->a)};
  find_blocks(&s);
  lay_out(&s);
  find_blocks(&s); /* copies included */
  lay_out_steps(&s);
  return NEO_OK;
}
