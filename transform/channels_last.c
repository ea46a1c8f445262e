/* Layout propagation: images with channels innermost (NHWC).
 *
 *   y[n, k, p, q] = sum[c, r, s] F[k, c, r, s] * x[n, c, p + r, q + s]
 *   ->
 *   y[n, p, q, k] = sum[r, s, c] F[k, c, r, s] * x[n, p + r, q + s, c]
 *
 * Lanes run along the innermost dimension of a result. Rows of images have edges, strides, and
 * lengths of 28, 14 and 7 that no vector divides; channels have none of these. A tile is some
 * pixels by some vectors of channels, pixels are read in place, and only filters are copied.
 * Operations on single channels (depthwise convolutions, normalisations, pools) get whole vectors
 * without conditions. The pass permutes dimensions and splits none: indices stay affine, extents
 * need not be multiples, and pieces (slices, phases of strides) keep their strides and offsets.
 *
 * Image dimensions are found from definitions. A dimension is one if a reduction moves a window
 * over it (an index of one output axis and of reduction axes not longer than half of it), or if a
 * definition reads it at an output axis and writes an image dimension there. Elementwise
 * neighbours, strided convolutions, pools, slices, concatenations and gradients thus decide alike,
 * and images are transposed only at the ends of a network. Gradients of filters have windows as
 * long as the images, so filters do not become images.
 *
 * A tensor moves the dimension before its images to the end if it is an intermediate (named by no
 * entry, request or custom gradient), if images are its innermost dimensions, and if it has
 * channels enough for a vector. None of a class moves if a tensor of it has other dimensions
 * innermost, which lanes already use (matrices of capsules), or if much of the class is given or
 * returned (a single layer). Tensors of one definition move alike. Reduction axes that index the
 * innermost dimension of a moved tensor become innermost.
 *
 * A module with grouped convolutions stays unchanged: channels of a group are too few for the lanes
 * of a sum and for the columns of a tile.
 *
 * Depthwise filters (no other factor lacks the channel) are copied by no schedule; they get a
 * definition with channels innermost: transposed.F[.., c] = F[c, ..]. GPU blocks copy their part of
 * a filter again and again, so there all filters get one, along the reduced channels: both operands
 * of a convolution are contiguous along the steps of its sum, and the gradient to the image reads
 * the same definition along its results. Filters that products round to bf16 are stored as bf16
 * there. */
#include "ir/define.h"
#include "ir/layout.h"
#include "ir/limits.h"
#include "ir/out_map.h"
#include "transform/transform.h"

enum {
  LEAST_CHANNELS = 8, /* fewer are not worth lanes */
  LEAST_USES = 8      /* uses of a filter's element that pay for a copy */
};

typedef struct {
  neo_module *m;
  neo_arena *a;
  bool gpu;           /* the target is a GPU */
  uint32_t *first;    /* tensor -> its first dimension in the numbering of all */
  uint32_t n;         /* dimensions of all tensors */
  uint32_t *leader;   /* union-find: dimension -> one of its class */
  bool *image;        /* by leader: an image dimension */
  bool grouped;       /* a reduction runs over a group of channels */
  uint32_t *moved;    /* tensor -> 1 + the dimension that becomes innermost; 0: it stays */
  neo_map transposed; /* tensor and dimension -> the tensor with it innermost */
} images;

/* ---- classes of dimensions */

static uint32_t leader_of(images *s, uint32_t d) {
  while (s->leader[d] != d)
    d = s->leader[d] = s->leader[s->leader[d]];
  return d;
}

static void join(images *s, uint32_t a, uint32_t b) {
  a = leader_of(s, a);
  b = leader_of(s, b);
  s->leader[b] = a;
  s->image[a] = s->image[a] || s->image[b];
}

typedef struct {
  images *s;
  const neo_def_rec *d;
} reading;

static int64_t length_of(const neo_module *m, const neo_axis_rec *x, int64_t unknown) {
  int64_t lo, hi;
  return neo_expr_is_int(m, x->lo, &lo) && neo_expr_is_int(m, x->hi, &hi) ? hi - lo : unknown;
}

/* Is the index free of quotients and remainders of axes? */
static bool is_affine(neo_module *m, neo_expr index) {
  neo_linear l;
  bool yes = neo_linear_of(m, index, &l);
  for (uint32_t k = 0; yes && k < l.n; k++)
    yes = neo_expr_node(m, l.term[k].atom)->op == NEO_OP_AXIS || !neo_expr_axes(m, l.term[k].atom);
  return yes;
}

/* The length of the window along the reduction axis, from its first to its last element if
 * strided. */
static int64_t longest_window(const reading *x, uint32_t axis, neo_expr index) {
  neo_module *m = x->s->m;
  neo_linear l;
  int64_t length = length_of(m, neo_def_axis(m, x->d, axis), INT32_MAX);
  int64_t step = neo_linear_of(m, index, &l) ? neo_linear_coef(&l, neo_axis_ref(m, axis)) : 1, all;
  if (step <= 1)
    return length / 2 + 1;
  return __builtin_mul_overflow(length, step, &all) ? INT64_MAX : all;
}

/* Relates a dimension read at an index of one output axis. Reductions of variable range, as of
 * gradients at edges, tell nothing. */
static void relate(reading *x, uint32_t dim, neo_expr index) {
  neo_module *m = x->s->m;
  uint64_t axes = neo_expr_axes(m, index), out = axes & ((1ull << x->d->n_out) - 1);
  if (!out || out & (out - 1) || !is_affine(m, index)) {
    x->s->grouped = x->s->grouped || (out && axes != out);
    return;
  }
  uint32_t axis = (uint32_t)__builtin_ctzll(out);
  int64_t longest = longest_window(x, axis, index);
  bool window = false;
  for (uint32_t k = x->d->n_out; k < x->d->axes.n; k++) {
    int64_t inner = length_of(m, neo_def_axis(m, x->d, k), 0);
    if (!(axes >> k & 1))
      continue;
    if (inner > longest)
      return;
    window = window || inner > 1;
  }
  for (uint32_t k = 0; k < x->d->out.n; k++)
    join(x->s, x->s->first[neo_list_at(m, x->d->out, k)] + axis, dim);
  if (window)
    x->s->image[leader_of(x->s, dim)] = true;
}

static void look(void *ctx, neo_expr e) {
  reading *x = ctx;
  neo_module *m = x->s->m;
  const neo_node n = *neo_expr_node(m, e);
  if (!neo_node_is_load(&n))
    return;
  uint32_t rank = neo_tensor_rank(m, (neo_tensor){n.attr});
  for (uint32_t k = 0; k < rank; k++)
    relate(x, x->s->first[n.attr] + k, neo_list_expr(m, n.arg, k));
}

static void find_images(images *s) {
  neo_module *m = s->m;
  uint32_t n = 0;
  s->first = NEO_NEW_ARRAY(s->a, uint32_t, m->tensors.n + 1);
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    s->first[t] = n;
    n += neo_tensor_rank(m, (neo_tensor){t});
  }
  s->leader = NEO_NEW_ARRAY(s->a, uint32_t, n + 1);
  s->image = NEO_NEW_ARRAY(s->a, bool, n + 1);
  s->n = n;
  for (uint32_t k = 0; k < n; k++)
    s->leader[k] = k;
  for (uint32_t d = 1; d < m->defs.n; d++) {
    const neo_def_rec r = m->defs.at[d];
    reading x = {s, &r};
    if (r.n_out < NEO_SET_AXES)
      neo_def_visit(m, (neo_def){d}, look, &x);
  }
}

/* ---- which tensors */

static bool is_image(images *s, uint32_t t, uint32_t k) {
  return s->image[leader_of(s, s->first[t] + k)];
}

/* 1 + the dimension to move; 0: none. */
static uint32_t wanted(images *s, neo_tensor t) {
  neo_module *m = s->m;
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  int64_t n;
  uint32_t k = r->extent.n;
  if (r->role != NEO_ROLE_TEMP || !r->pieces.n || k < 3 || k > NEO_TENSOR_RANK)
    return 0;
  while (k > 0 && is_image(s, t.i, k - 1))
    k--;
  if (!k || k == r->extent.n || !neo_expr_is_int(m, neo_tensor_extent(m, t, k - 1), &n))
    return 0;
  return n >= LEAST_CHANNELS ? k : 0;
}

/* Classes that stay, since an image with their channels has other dimensions innermost. */
static bool *find_kept(images *s) {
  neo_module *m = s->m;
  bool *kept = NEO_NEW_ARRAY(s->a, bool, s->n + 1);
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    uint32_t n = neo_tensor_rank(m, (neo_tensor){t});
    bool image = false;
    for (uint32_t k = 0; k < n; k++)
      image = image || is_image(s, t, k);
    if (neo_tensor_at(m, (neo_tensor){t})->role != NEO_ROLE_TEMP || !image || is_image(s, t, n - 1))
      continue;
    for (uint32_t k = 0; k < n; k++)
      kept[leader_of(s, s->first[t] + k)] = true;
  }
  return kept;
}

static void leave_kept(images *s) {
  const bool *kept = find_kept(s);
  for (uint32_t t = 1; t < s->m->tensors.n; t++)
    if (s->moved[t] && kept[leader_of(s, s->first[t] + s->moved[t] - 1)])
      s->moved[t] = 0;
}

static void leave(images *s, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    s->moved[neo_list_at(s->m, l, k)] = 0;
}

static void leave_named(images *s) {
  const bool *named = neo_named_tensors(s->m, s->a);
  for (uint32_t t = 1; t < s->m->tensors.n; t++)
    if (named[t])
      s->moved[t] = 0;
}

/* Elements without run-time sizes, which are the same for all that are compared. */
static double elements_of(const neo_module *m, neo_tensor t) {
  double y = 1;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    int64_t n;
    y *= neo_expr_is_int(m, neo_tensor_extent(m, t, k), &n) ? (double)n : 1;
  }
  return y;
}

static void add_elements(images *s, neo_tensor t, double *moved, double *given) {
  uint32_t rank = neo_tensor_rank(s->m, t), role = neo_tensor_at(s->m, t)->role;
  bool image = false;
  for (uint32_t k = 0; k < rank && (role == NEO_ROLE_INPUT || role == NEO_ROLE_TEMP); k++)
    image = image || is_image(s, t.i, k);
  for (uint32_t k = 0; k < rank && image; k++) {
    uint32_t leader = leader_of(s, s->first[t.i] + k);
    if (s->moved[t.i] == k + 1)
      moved[leader] += elements_of(s->m, t);
    else if (!s->moved[t.i] && !s->image[leader])
      given[leader] += elements_of(s->m, t);
  }
}

/* Leaves classes unchanged that have many given or returned tensors: each of these would be
 * transposed on entry and back. */
static void leave_given(images *s) {
  double *moved = NEO_NEW_ARRAY(s->a, double, s->n + 1);
  double *given = NEO_NEW_ARRAY(s->a, double, s->n + 1);
  for (uint32_t t = 1; t < s->m->tensors.n; t++)
    add_elements(s, (neo_tensor){t}, moved, given);
  for (uint32_t t = 1; t < s->m->tensors.n; t++) {
    uint32_t leader = s->moved[t] ? leader_of(s, s->first[t] + s->moved[t] - 1) : 0;
    if (s->moved[t] && given[leader] * 3 >= moved[leader] * 2)
      s->moved[t] = 0;
  }
}

/* Tensors of one definition move alike. */
static void agree(images *s) {
  neo_module *m = s->m;
  for (bool more = true; more;) {
    more = false;
    for (uint32_t d = 1; d < m->defs.n; d++) {
      neo_list out = m->defs.at[d].out;
      bool same = true;
      for (uint32_t k = 1; k < out.n; k++)
        same = same && s->moved[neo_list_at(m, out, k)] == s->moved[neo_list_at(m, out, 0)];
      more = more || !same;
      if (!same)
        leave(s, out);
    }
  }
}

/* ---- rewriting the module */

/* The dimension that is at k once `moved` - 1 is innermost. */
static uint32_t source(uint32_t moved, uint32_t rank, uint32_t k) {
  return !moved || k + 1 < moved ? k : k + 1 == rank ? moved - 1 : k + 1;
}

typedef struct {
  const images *s;
  uint32_t n_out;
  uint64_t inner; /* reduction axes that index innermost dimensions of moved tensors */
} inner_search;

static void find_inner(void *ctx, neo_expr e) {
  inner_search *x = ctx;
  const neo_module *m = x->s->m;
  const neo_node n = *neo_expr_node(m, e);
  if (!neo_node_is_load(&n) || !x->s->moved[n.attr])
    return;
  uint32_t rank = neo_tensor_rank(m, (neo_tensor){n.attr});
  x->inner |= neo_expr_axes(m, neo_list_expr(m, n.arg, rank - 1)) >> x->n_out << x->n_out;
}

/* Reduction axes that may become innermost: no bound of another axis uses them. */
static uint64_t free_axes(const neo_module *m, const neo_def_rec *r) {
  uint64_t used = 0;
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    const neo_axis_rec *x = neo_def_axis(m, r, k);
    used |= neo_expr_axes(m, x->lo) | neo_expr_axes(m, x->hi);
  }
  return ~used;
}

static void move_axes(images *s, neo_def d) {
  neo_module *m = s->m;
  const neo_def_rec r = *neo_def_at(m, d);
  uint32_t at[NEO_SET_AXES], n = 0, moved = r.out.n ? s->moved[neo_list_at(m, r.out, 0)] : 0;
  inner_search x = {s, r.n_out, 0};
  if (r.axes.n >= NEO_SET_AXES)
    return;
  neo_def_visit(m, d, find_inner, &x);
  x.inner &= neo_def_is_ordered(&r) ? 0 : free_axes(m, &r);
  if (!moved && !x.inner)
    return;
  for (uint32_t k = 0; k < r.n_out; k++)
    at[n++] = source(moved, r.n_out, k);
  for (uint32_t inner = 0; inner < 2; inner++)
    for (uint32_t k = r.n_out; k < r.axes.n; k++)
      if ((x.inner >> k & 1) == inner)
        at[n++] = k;
  neo_def_order_axes(m, d, at);
}

static void move_tensors(images *s) {
  neo_module *m = s->m;
  const uint32_t **order = NEO_NEW_ARRAY(s->a, const uint32_t *, m->tensors.n);
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    uint32_t rank = neo_tensor_rank(m, (neo_tensor){t});
    uint32_t *dims = NEO_NEW_ARRAY(s->a, uint32_t, rank + 1);
    for (uint32_t k = 0; k < rank; k++)
      dims[k] = source(s->moved[t], rank, k);
    order[t] = s->moved[t] ? dims : NULL;
  }
  neo_layout_tensors(m, order);
}

/* ---- transposed filters */

typedef struct {
  const images *s;
  uint32_t axis;
  bool all; /* transpose reads of every tensor */
} channel_search;

static void find_channel(void *ctx, neo_expr e) {
  channel_search *x = ctx;
  const neo_module *m = x->s->m;
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  if (op == NEO_OP_LOAD || op == NEO_OP_LOAD_ELSE)
    x->all = x->all && neo_expr_axes(m, e) >> x->axis & 1;
}

typedef struct {
  images *s;
  neo_def_rec d;
  uint32_t axis[2], n;    /* axes to lie along: the first, or else the second */
  neo_map rounded, plain; /* reads that are rounded to bf16; reads as f32 */
} filters;

static neo_tensor transpose_tensor(images *s, neo_tensor from, uint32_t dim, neo_type type) {
  neo_module *m = s->m;
  uint32_t rank = neo_tensor_rank(m, from), axes[NEO_TENSOR_RANK];
  neo_expr index[NEO_TENSOR_RANK];
  neo_tensor_rec f = *neo_tensor_at(m, from);
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t at = source(dim + 1, rank, k);
    neo_axis_rec x = {.lo = neo_const_i64(m, 0), .hi = neo_tensor_extent(m, from, at)};
    x.name = neo_name_of(m->names, k + 1 == rank ? "c" : "k");
    x.span = f.span;
    axes[k] = neo_axis_add(m, x).i;
    index[at] = neo_axis_ref(m, k);
  }
  neo_expr value = neo_load(m, from, index, rank, f.span);
  value = type == f.type ? value : neo_cast(m, type, value);
  neo_def_rec d = {.n_out = rank, .reducer = NEO_RED_NONE, .span = f.span};
  d.axes = neo_list_new(m, axes, rank);
  d.finish = neo_list_one(m, value.i);
  return neo_temp_define(m, &(neo_temp){.prefix = "transposed", .like = from, .type = type}, d);
}

static uint64_t transposed_key(neo_tensor from, uint32_t dim, neo_type type) {
  return (uint64_t)from.i << 16 | (uint64_t)type << 8 | dim;
}

static neo_tensor transposed(images *s, neo_tensor from, uint32_t dim, neo_type type) {
  uint64_t found = 0, key = transposed_key(from, dim, type);
  if (!neo_map_get(&s->transposed, key, &found)) {
    found = transpose_tensor(s, from, dim, type).i;
    neo_map_set(&s->transposed, key, found);
  }
  return (neo_tensor){(uint32_t)found};
}

/* The dimension whose index is the axis alone, in no other index; n: none. */
static uint32_t channel_of(const neo_module *m, neo_list index, uint32_t axis) {
  uint32_t dim = index.n;
  for (uint32_t k = 0; k < index.n; k++) {
    neo_expr e = neo_list_expr(m, index, k);
    if (!(neo_expr_axes(m, e) >> axis & 1))
      continue;
    if (dim < index.n || neo_expr_node(m, e)->op != NEO_OP_AXIS)
      return index.n;
    dim = k;
  }
  return dim;
}

/* Points of the result that share an element read at these axes. */
static double uses_of(const neo_module *m, const neo_def_rec *d, uint64_t axes) {
  double n = 1;
  for (uint32_t k = 0; k < d->n_out; k++)
    if (!(axes >> k & 1))
      n *= (double)length_of(m, neo_def_axis(m, d, k), LEAST_USES);
  return n;
}

static bool is_innermost(const neo_module *m, neo_tensor t, uint32_t dim) {
  int64_t n;
  for (uint32_t k = dim + 1; k < neo_tensor_rank(m, t); k++)
    if (!neo_expr_is_int(m, neo_tensor_extent(m, t, k), &n) || n != 1)
      return false;
  return true;
}

/* The dimension that becomes innermost in a filter; its rank: none. */
static uint32_t wanted_channel(const filters *x, const neo_module *m, const neo_node *load,
                               neo_type type) {
  uint32_t rank = load->arg.n, wanted = rank;
  for (uint32_t k = 0; k < x->n; k++) {
    uint32_t dim = channel_of(m, load->arg, x->axis[k]);
    if (dim == rank)
      continue;
    if (is_innermost(m, (neo_tensor){load->attr}, dim))
      return rank;
    bool made =
        neo_map_get(&x->s->transposed, transposed_key((neo_tensor){load->attr}, dim, type), NULL);
    if (made || wanted == rank)
      wanted = dim;
  }
  return wanted;
}

static neo_expr transpose_load(filters *x, neo_module *m, neo_expr e) {
  const neo_node n = *neo_expr_node(m, e);
  neo_expr arg[NEO_TENSOR_RANK];
  uint32_t rank = n.arg.n;
  bool rounded = neo_map_get(&x->rounded, e.i, NULL) && !neo_map_get(&x->plain, e.i, NULL);
  neo_type type = rounded ? NEO_BF16_T : (neo_type)n.type;
  if (neo_tensor_at(m, (neo_tensor){n.attr})->role != NEO_ROLE_PARAM || rank < 2 ||
      rank > NEO_TENSOR_RANK)
    return e;
  uint32_t dim = wanted_channel(x, m, &n, type);
  if (dim == rank || uses_of(m, &x->d, neo_expr_axes(m, e)) < LEAST_USES)
    return e;
  for (uint32_t k = 0; k < rank; k++)
    arg[k] = neo_list_expr(m, n.arg, source(dim + 1, rank, k));
  neo_tensor t = transposed(x->s, (neo_tensor){n.attr}, dim, type);
  neo_expr y = neo_load(m, t, arg, rank, n.span);
  return rounded ? neo_cast(m, (neo_type)n.type, y) : y;
}

/* Transposes reads of filters, and drops the rounding of one that is stored as bf16. */
static neo_expr transpose_filter(void *ctx, neo_module *m, neo_expr e) {
  const neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_LOAD)
    return transpose_load(ctx, m, e);
  if (n.op != NEO_OP_CAST || n.type != NEO_BF16_T)
    return e;
  const neo_node from = *neo_expr_node(m, neo_list_expr(m, n.arg, 0));
  neo_expr whole = from.op == NEO_OP_CAST ? neo_list_expr(m, from.arg, 0) : e;
  return neo_expr_type(m, whole) == NEO_BF16_T ? whole : e;
}

static void find_rounded(void *ctx, neo_expr e) {
  filters *x = ctx;
  const neo_module *m = x->s->m;
  const neo_node *n = neo_expr_node(m, e);
  bool rounds = n->op == NEO_OP_CAST && n->type == NEO_BF16_T;
  for (uint32_t k = 0; k < n->arg.n; k++)
    neo_map_set(rounds ? &x->rounded : &x->plain, neo_list_at(m, n->arg, k), 1);
}

/* The innermost axes of a product's sum and result, if a tensor moved. */
static void product_axes(filters *x, neo_def d) {
  const images *s = x->s;
  inner_search inner = {s, x->d.n_out, 0};
  bool moved = s->moved[neo_list_at(s->m, x->d.out, 0)];
  neo_def_visit(s->m, d, find_inner, &inner);
  if (x->d.reducer != NEO_RED_SUM || x->d.axes.n == x->d.n_out || (!moved && !inner.inner))
    return;
  x->axis[x->n++] = x->d.axes.n - 1;
  if (moved)
    x->axis[x->n++] = x->d.n_out - 1;
}

static void transpose_filters(images *s, neo_def d) {
  neo_module *m = s->m;
  filters x = {.s = s, .d = *neo_def_at(m, d)};
  if (!x.d.out.n || !x.d.n_out || x.d.axes.n >= NEO_SET_AXES || x.d.body.n != 1)
    return;
  channel_search c = {s, x.d.n_out - 1, s->moved[neo_list_at(m, x.d.out, 0)] != 0};
  neo_expr body = neo_list_expr(m, x.d.body, 0);
  neo_expr_visit(m, body, find_channel, &c);
  if (c.all)
    x.axis[x.n++] = x.d.n_out - 1;
  else if (s->gpu)
    product_axes(&x, d);
  if (!x.n)
    return;
  neo_map_init(&x.rounded, s->a);
  neo_map_init(&x.plain, s->a);
  neo_expr_visit(m, body, find_rounded, &x);
  body = neo_expr_rewrite(m, body, transpose_filter, &x);
  neo_def_at(m, d)->body = neo_list_one(m, body.i);
}

/* ---- the pass */

static bool choose(images *s) {
  neo_module *m = s->m;
  bool any = false;
  s->moved = NEO_NEW_ARRAY(s->a, uint32_t, m->tensors.n + 1);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    s->moved[t] = wanted(s, (neo_tensor){t});
  if (s->grouped)
    return false;
  leave_kept(s);
  leave_named(s);
  leave_given(s);
  agree(s);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    any = any || s->moved[t];
  return any;
}

static void move(images *s) {
  neo_module *m = s->m;
  uint32_t n = (uint32_t)m->defs.n;
  move_tensors(s);
  for (uint32_t d = 1; d < n; d++)
    move_axes(s, (neo_def){d});
  for (uint32_t d = 1; d < n; d++)
    transpose_filters(s, (neo_def){d});
}

neo_status neo_pass_channels_last(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  images s = {.m = m, .a = pass->a, .gpu = pass->target->gpu_threads != 0};
  neo_map_init(&s.transposed, pass->a);
  find_images(&s);
  if (choose(&s))
    move(&s);
  return NEO_OK;
}
