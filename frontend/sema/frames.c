/* Frames: the axes of one statement, the conditions around a place, bounds of expressions over
 * them. */
#include "frontend/sema/parts.h"
#include "ir/element.h"
#include "ir/range.h"
#include "ir/reach.h"
#include <string.h>

static const int64_t most_elements = (int64_t)1 << 40;

void neo_frame_init(neo_frame *f, neo_inst *in, const char *target) {
  *f = (neo_frame){.in = in, .fe = in->fe, .m = in->fe->m, .target = target, .literal = NEO_F32_T};
  neo_map_init(&f->calls, in->fe->arena);
  neo_map_init(&f->inferred, in->fe->arena);
  neo_map_init(&f->unrounded, in->fe->arena);
  for (size_t k = 0; k < in->fe->asserts.n; k++)
    NEO_PUSH(in->fe->arena, &f->assume, in->fe->asserts.at[k]);
  for (uint32_t k = 0; k < in->n_ambient; k++) {
    f->axis[k] = in->ambient[k];
    f->axis_name[k] = NULL;
  }
  f->n_axes = f->n_out = in->n_ambient;
}

int neo_frame_push(neo_frame *f, const char *name, neo_axis_rec rec) {
  if (f->n_axes == NEO_MAX_AXES) {
    NEO_ERR(f->in, rec.span, TOO_MANY_AXES, NEO_MAX_AXES);
    return -1;
  }
  f->axis[f->n_axes] = rec;
  f->axis_name[f->n_axes] = name;
  return (int)f->n_axes++;
}

const char *neo_owners_name(neo_fe *fe) {
  return neo_fe_intern(fe, ":owners");
}

int neo_frame_axis(const neo_frame *f, const char *name) {
  for (uint32_t k = f->n_axes; k > 0; k--)
    if (f->axis_name[k - 1] == name)
      return (int)(k - 1);
  return -1;
}

void neo_frame_assume(neo_frame *f, neo_expr condition) {
  NEO_PUSH(f->fe->arena, &f->assume, condition);
}

static const char pack_names[NEO_MAX_RANK][5] = {"..0",  "..1",  "..2",  "..3", "..4",  "..5",
                                                 "..6",  "..7",  "..8",  "..9", "..10", "..11",
                                                 "..12", "..13", "..14", "..15"};

const char *neo_frame_pack_name(neo_fe *fe, uint32_t k) {
  return neo_fe_intern(fe, pack_names[k]);
}

bool neo_frame_is_rect(const neo_frame *f, uint32_t p) {
  int64_t lo;
  return neo_expr_is_int(f->m, f->axis[p].lo, &lo) && lo == 0 &&
         neo_size_is_pure(f->m, f->axis[p].hi);
}

/* ---- largest values over sizes alone */

static neo_expr lower(neo_frame *f, neo_expr e);

/* The least value declared for an element: e is a load, or a load that is converted. 0: none. */
static neo_expr least_element(neo_frame *f, neo_expr e) {
  neo_node n = *neo_expr_node(f->m, e);
  if (n.op == NEO_OP_CAST && neo_type_is_int(neo_expr_type(f->m, neo_list_expr(f->m, n.arg, 0))))
    e = neo_list_expr(f->m, n.arg, 0);
  bool load = neo_expr_node(f->m, e)->op == NEO_OP_LOAD;
  return load ? neo_element_ends_of(f->m, e).least : (neo_expr){0};
}

static neo_expr least_atom(neo_frame *f, neo_expr e) {
  int64_t lo, hi;
  neo_facts facts = neo_frame_facts(f);
  neo_node n = *neo_expr_node(f->m, e);
  if (neo_size_is_pure(f->m, e))
    return e;
  neo_interval(f->fe->prover, &facts, e, &lo, &hi);
  if (lo < 0 && n.op == NEO_OP_AXIS && n.attr < f->n_axes && f->axis[n.attr].lo.i)
    return lower(f, f->axis[n.attr].lo);
  neo_expr least = least_element(f, e);
  if (lo < 0 && least.i)
    return lower(f, least);
  return lo > -((int64_t)1 << 60) ? neo_const_i64(f->m, lo) : (neo_expr){0};
}

static neo_expr upper_atom(neo_frame *f, neo_expr e) {
  neo_node n = *neo_expr_node(f->m, e);
  neo_expr x = {0}, y = {0}, one = neo_const_i64(f->m, 1);
  if (neo_size_is_pure(f->m, e))
    return e;
  switch ((neo_op)n.op) {
  case NEO_OP_AXIS:
    if (n.attr < f->n_axes && f->axis[n.attr].hi.i)
      x = neo_expr_upper(f, f->axis[n.attr].hi);
    return x.i ? neo_op2(f->m, NEO_OP_SUB, x, one) : x;
  case NEO_OP_LOAD: {
    neo_expr bound = neo_tensor_at(f->m, (neo_tensor){n.attr})->bound;
    neo_expr below = neo_element_ends_of(f->m, e).below;
    x = bound.i || !below.i ? bound : neo_expr_upper(f, below);
    return x.i ? neo_op2(f->m, NEO_OP_SUB, x, one) : x;
  }
  case NEO_OP_CAST:
    x = neo_list_expr(f->m, n.arg, 0);
    if (neo_expr_type(f->m, x) == NEO_I64_T)
      return neo_expr_upper(f, x);
    if (neo_expr_node(f->m, x)->op == NEO_OP_LOAD)
      return upper_atom(f, x);
    break;
  case NEO_OP_MIN:
    x = neo_expr_upper(f, neo_list_expr(f->m, n.arg, 0));
    y = neo_expr_upper(f, neo_list_expr(f->m, n.arg, 1));
    return !x.i ? y : !y.i ? x : neo_op2(f->m, NEO_OP_MIN, x, y);
  case NEO_OP_MAX:
    x = neo_expr_upper(f, neo_list_expr(f->m, n.arg, 0));
    y = neo_expr_upper(f, neo_list_expr(f->m, n.arg, 1));
    return x.i && y.i ? neo_op2(f->m, NEO_OP_MAX, x, y) : (neo_expr){0};
  default:
    break;
  }
  return (neo_expr){0};
}

static neo_expr upper_interval(neo_frame *f, neo_expr e) {
  int64_t lo, hi;
  neo_facts facts = neo_frame_facts(f);
  neo_interval(f->fe->prover, &facts, e, &lo, &hi);
  return hi < INT32_MAX ? neo_const_i64(f->m, hi) : (neo_expr){0}; /* a type's range */
}

/* Whether e may wrap: then its linear form does not bound it. */
static bool may_wrap(neo_frame *f, neo_expr e) {
  neo_reaches r;
  neo_facts facts = neo_frame_facts(f);
  neo_reaches_init(&r, f->m, f->fe->arena, facts.axes, facts.n_axes);
  return neo_reach_wraps_inside(&r, e);
}

/* Proposes an upper end of e, which holds if no operator wraps; 0: nothing is proposed. */
static neo_expr propose_upper(neo_frame *f, neo_expr e) {
  neo_linear l;
  if (neo_expr_type(f->m, e) != NEO_I64_T || may_wrap(f, e) || !neo_linear_of(f->m, e, &l))
    return (neo_expr){0};
  neo_expr sum = neo_const_i64(f->m, l.constant);
  for (uint32_t k = 0; k < l.n; k++) {
    neo_expr end =
        l.term[k].coef > 0 ? upper_atom(f, l.term[k].atom) : least_atom(f, l.term[k].atom);
    if (!end.i)
      return end;
    end = neo_op2(f->m, NEO_OP_MUL, end, neo_const_i64(f->m, l.term[k].coef));
    sum = neo_op2(f->m, NEO_OP_ADD, sum, end);
  }
  return sum;
}

neo_expr neo_expr_upper(neo_frame *f, neo_expr e) {
  if (neo_size_is_pure(f->m, e))
    return e;
  neo_expr upper = propose_upper(f, e);
  if (upper.i && neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, e, upper)))
    return upper;
  return upper_interval(f, e);
}

/* A lower bound of e, over sizes alone; 0: none is known. The range of a type does not count. */
static neo_expr lower(neo_frame *f, neo_expr e) {
  int64_t lo;
  neo_expr zero = neo_const_i64(f->m, 0);
  neo_expr up = neo_expr_upper(f, neo_op2(f->m, NEO_OP_SUB, zero, e));
  neo_expr low = up.i ? neo_op2(f->m, NEO_OP_SUB, zero, up) : up;
  bool whole = low.i && neo_expr_is_int(f->m, low, &lo) && lo <= INT32_MIN;
  return whole ? (neo_expr){0} : low;
}

/* A prefix of the frame's axes and assumptions. A box is computed with the axes before it alone:
 * later axes have no values there, and conditions need not hold. */
typedef struct {
  uint32_t n_axes;
  size_t n_assume;
} scope;

static scope look_from(neo_frame *f, scope s) {
  scope before = {f->n_axes, f->assume.n};
  f->n_axes = s.n_axes;
  f->assume.n = s.n_assume;
  return before;
}

neo_expr neo_frame_hull(neo_frame *f, uint32_t p, uint32_t n_axes, size_t n_assume) {
  scope before = look_from(f, (scope){n_axes, n_assume});
  neo_expr hi = neo_expr_upper(f, f->axis[p].hi);
  if (!hi.i && n_axes > p) { /* an axis without values bounds nothing: try without it */
    look_from(f, (scope){p, n_assume});
    hi = neo_expr_upper(f, f->axis[p].hi);
  }
  look_from(f, before);
  if (hi.i)
    return hi;
  NEO_ERR(f->in, f->axis[p].span, INDEX_UNBOUNDED, neo_name_text(f->fe->names, f->axis[p].name));
  return (neo_expr){0};
}

static bool is_natural(neo_frame *f, const neo_facts *facts, neo_expr e) {
  neo_expr zero = neo_const_i64(f->m, 0);
  return neo_proves(f->fe->prover, facts, neo_op2(f->m, NEO_OP_LE, zero, e));
}

static neo_expr low_of(neo_frame *f, uint32_t p) {
  int64_t lo;
  neo_expr zero = neo_const_i64(f->m, 0), from = f->axis[p].lo;
  neo_facts facts = neo_frame_facts(f);
  if (neo_expr_is_int(f->m, from, &lo))
    return lo < 0 ? from : zero;
  if (is_natural(f, &facts, neo_axis_ref(f->m, p)))
    return zero;
  neo_facts sizes = neo_size_facts(f->fe);
  neo_expr low = lower(f, from);
  if (!low.i)
    return low;
  bool below = is_natural(f, &sizes, neo_op2(f->m, NEO_OP_SUB, zero, low));
  return below ? low : neo_op2(f->m, NEO_OP_MIN, low, zero);
}

neo_expr neo_frame_low(neo_frame *f, uint32_t p, uint32_t n_axes, size_t n_assume) {
  scope before = look_from(f, (scope){n_axes, n_assume});
  neo_expr low = low_of(f, p);
  look_from(f, before);
  return low;
}

static bool starts_at_zero(const neo_frame *f, const neo_box *box) {
  int64_t low;
  return neo_expr_is_int(f->m, box->low, &low) && low == 0;
}

/* The extent of a range, 0 where its upper end is below its lower one. */
static neo_expr natural(neo_frame *f, neo_expr extent) {
  int64_t n;
  neo_facts sizes = neo_size_facts(f->fe);
  neo_expr zero = neo_const_i64(f->m, 0);
  if (neo_expr_is_int(f->m, extent, &n))
    return n < 0 ? zero : extent;
  return is_natural(f, &sizes, extent) ? extent : neo_op2(f->m, NEO_OP_MAX, extent, zero);
}

bool neo_frame_box(neo_frame *f, uint32_t p, uint32_t n_axes, size_t n_assume, neo_box *box) {
  neo_expr hull = neo_frame_hull(f, p, n_axes, n_assume);
  if (!hull.i)
    return false;
  box->low = neo_frame_low(f, p, n_axes, n_assume);
  if (!box->low.i) {
    NEO_ERR(f->in, f->axis[p].span, INDEX_UNBOUNDED, neo_name_text(f->fe->names, f->axis[p].name));
    return false;
  }
  box->extent =
      natural(f, starts_at_zero(f, box) ? hull : neo_op2(f->m, NEO_OP_SUB, hull, box->low));
  return true;
}

bool neo_frame_range(neo_frame *f, uint32_t p, neo_box *box) {
  return neo_frame_box(f, p, p + 1, f->fe->asserts.n, box);
}

neo_expr neo_box_from_low(neo_frame *f, const neo_box *box, neo_expr index) {
  return starts_at_zero(f, box) ? index : neo_op2(f->m, NEO_OP_SUB, index, box->low);
}

neo_expr neo_box_from_zero(neo_frame *f, const neo_box *box, neo_expr element) {
  return starts_at_zero(f, box) ? element : neo_op2(f->m, NEO_OP_ADD, element, box->low);
}

void neo_frame_widen(neo_frame *f, uint32_t n_axes, size_t n_assume, neo_axis_rec *axis) {
  memcpy(axis, f->axis, sizeof f->axis);
  for (uint32_t p = 0; p < n_axes; p++) {
    if (neo_frame_is_rect(f, p))
      continue;
    neo_expr low = neo_frame_low(f, p, n_axes, n_assume);
    axis[p].hi = neo_frame_hull(f, p, n_axes, n_assume);
    axis[p].lo = low.i ? low : neo_const_i64(f->m, -most_elements);
  }
}

/* The row-major number of the element, over all axes, each counted from its low. In an initial
 * value, which calls share, the ambient axes do not count. */
static neo_expr linear(neo_frame *f) {
  neo_expr at = neo_const_i64(f->m, 0);
  for (uint32_t k = f->init ? f->in->n_ambient : 0; k < f->n_axes; k++) {
    neo_box box;
    if (!neo_frame_range(f, k, &box))
      return (neo_expr){0};
    at = neo_op2(f->m, NEO_OP_ADD, neo_op2(f->m, NEO_OP_MUL, at, box.extent),
                 neo_box_from_low(f, &box, neo_axis_ref(f->m, k)));
  }
  return at;
}

neo_expr neo_rand_make(neo_frame *f) {
  neo_expr at = linear(f);
  if (!at.i)
    return at;
  return neo_expr_make(f->m, NEO_OP_RAND, NEO_F32_T, f->m->n_sites++, &at, 1, 0);
}

/* ---- bounds of integer elements
 *
 * The form of an expression proposes a bound over sizes. The proposal ignores negative values,
 * wrapping, and division by zero, so it only counts if the prover confirms it. */

static neo_expr propose(neo_frame *f, neo_expr e);

static neo_expr propose_pair(neo_frame *f, neo_node n, uint32_t i, uint32_t j, neo_op op) {
  neo_expr x = propose(f, neo_list_expr(f->m, n.arg, i));
  neo_expr y = propose(f, neo_list_expr(f->m, n.arg, j));
  if (!x.i || !y.i)
    return op == NEO_OP_MIN ? (x.i ? x : y) : (neo_expr){0};
  if (op != NEO_OP_ADD && op != NEO_OP_MUL)
    return neo_op2(f->m, op, x, y);
  x = neo_size_add1(f->fe, x, -1);
  y = neo_size_add1(f->fe, y, -1);
  return neo_size_add1(f->fe, neo_op2(f->m, op, x, y), 1);
}

static neo_expr propose_constant(neo_frame *f, neo_expr e) {
  int64_t x;
  if (neo_expr_is_int(f->m, e, &x) && x >= 0 && x < INT64_MAX)
    return neo_const_i64(f->m, x + 1);
  neo_expr up = neo_expr_type(f->m, e) == NEO_I64_T ? neo_expr_upper(f, e) : (neo_expr){0};
  return up.i ? neo_size_add1(f->fe, up, 1) : up;
}

static neo_expr propose(neo_frame *f, neo_expr e) {
  neo_node n = *neo_expr_node(f->m, e);
  neo_expr x;
  switch ((neo_op)n.op) {
  case NEO_OP_LOAD:
    return neo_tensor_at(f->m, (neo_tensor){n.attr})->bound;
  case NEO_OP_LOAD_ELSE: {
    neo_expr a = neo_tensor_at(f->m, (neo_tensor){n.attr})->bound;
    x = propose(f, neo_list_expr(f->m, n.arg, n.arg.n - 1));
    return a.i && x.i ? neo_op2(f->m, NEO_OP_MAX, a, x) : (neo_expr){0};
  }
  case NEO_OP_CAST:
    x = neo_list_expr(f->m, n.arg, 0);
    if (neo_expr_type(f->m, x) == NEO_BOOL_T)
      return neo_const_i64(f->m, 2);
    return neo_type_is_int(neo_expr_type(f->m, x)) ? propose(f, x) : (neo_expr){0};
  case NEO_OP_SELECT:
    return propose_pair(f, n, 1, 2, NEO_OP_MAX);
  case NEO_OP_MAX:
    return propose_pair(f, n, 0, 1, NEO_OP_MAX);
  case NEO_OP_MIN:
    return propose_pair(f, n, 0, 1, NEO_OP_MIN);
  case NEO_OP_ADD:
    return propose_pair(f, n, 0, 1, NEO_OP_ADD);
  case NEO_OP_MUL:
    return propose_pair(f, n, 0, 1, NEO_OP_MUL);
  case NEO_OP_CLAMP:
    return propose(f, neo_list_expr(f->m, n.arg, 2));
  case NEO_OP_MOD:
    x = propose(f, neo_list_expr(f->m, n.arg, 1));
    return x.i ? neo_size_add1(f->fe, x, -1) : x;
  default:
    return propose_constant(f, e);
  }
}

/* Whether the largest value of the bound fits the type, so that no conversion to the type wraps. */
static bool fits_type(neo_frame *f, neo_expr bound, neo_type t) {
  int64_t most;
  return neo_size_is_pure(f->m, bound) && neo_size_max(f->fe, bound, &most) &&
         neo_range_fits(neo_range_of(0, most), t);
}

static neo_expr acc_as_axis(void *ctx, neo_module *m, neo_expr e) {
  const neo_expr *axis = ctx;
  neo_node n = *neo_expr_node(m, e);
  return n.op == NEO_OP_ACC ? neo_cast(m, (neo_type)n.type, *axis) : e;
}

neo_expr neo_frame_result(neo_frame *f, neo_expr e, neo_frame *with) {
  neo_expr none = {0};
  if (!neo_type_is_int(neo_expr_type(f->m, e)) || !f->own.bound.i || f->n_axes == NEO_MAX_AXES)
    return none;
  *with = *f;
  with->axis[f->n_axes] = (neo_axis_rec){.lo = f->own.least, .hi = f->own.bound};
  with->n_axes++;
  neo_expr result = neo_axis_ref(f->m, f->n_axes);
  return neo_expr_rewrite(f->m, e, acc_as_axis, &result);
}

/* The bound of an expression over the reduction's result; for the result alone, the bound proved
 * for it. */
static neo_expr reduction_bound(neo_frame *f, neo_expr e) {
  neo_node n = *neo_expr_node(f->m, e);
  int64_t least;
  neo_expr x = n.op == NEO_OP_CAST ? neo_list_expr(f->m, n.arg, 0) : e;
  bool plain = neo_expr_node(f->m, x)->op == NEO_OP_ACC && neo_type_is_int(neo_expr_type(f->m, x));
  if (plain && f->own.bound.i && neo_expr_is_int(f->m, f->own.least, &least) && least == 0 &&
      fits_type(f, f->own.bound, (neo_type)n.type))
    return f->own.bound;
  neo_frame *with = NEO_NEW(f->fe->arena, neo_frame);
  neo_expr value = neo_frame_result(f, e, with);
  return value.i ? neo_expr_bound(with, value) : value;
}

neo_expr neo_expr_bound(neo_frame *f, neo_expr e) {
  int64_t lo, hi;
  neo_type t = neo_expr_type(f->m, e);
  neo_facts facts = neo_frame_facts(f);
  neo_expr none = {0};
  if (!neo_type_is_int(t))
    return none;
  if (neo_expr_uses_op(f->m, e, NEO_OP_ACC))
    return reduction_bound(f, e);
  neo_interval(f->fe->prover, &facts, e, &lo, &hi);
  if (lo < 0)
    return none;
  neo_expr bound = propose(f, e);
  if (bound.i && fits_type(f, bound, t) &&
      neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LT, neo_cast(f->m, NEO_I64_T, e), bound)))
    return bound;
  bool known = hi < neo_type_range(t).hi;
  return known ? neo_const_i64(f->m, hi + 1) : none;
}

neo_ends neo_expr_ends(neo_frame *f, neo_expr e) {
  int64_t low;
  neo_type t = neo_expr_type(f->m, e);
  neo_ends ends = {.bound = neo_expr_bound(f, e)};
  if (ends.bound.i || !neo_type_is_int(t))
    return ends;
  neo_frame *with = f;
  if (neo_expr_uses_op(f->m, e, NEO_OP_ACC)) {
    with = NEO_NEW(f->fe->arena, neo_frame);
    e = neo_frame_result(f, e, with);
  }
  neo_expr x = e.i ? neo_cast(f->m, NEO_I64_T, e) : e;
  neo_expr least = x.i ? lower(with, x) : x, most = least.i ? neo_expr_upper(with, x) : least;
  bool whole = least.i && neo_expr_is_int(f->m, least, &low) && low <= neo_type_range(t).lo;
  if (most.i && !whole)
    ends = (neo_ends){.least = least, .below = neo_size_add1(f->fe, most, 1)};
  return ends;
}

/* Axes for the free dimensions of the view, which becomes the element at them. */
static bool push_free(neo_frame *f, neo_view *v, neo_span at) {
  neo_expr zero = neo_const_i64(f->m, 0);
  uint32_t rank = 0;
  for (uint32_t d = 0; d < v->n; d++) {
    if (v->index[d].i)
      continue;
    const char *name = neo_arena_printf(f->fe->arena, "d%d", (int)rank++);
    neo_axis_rec rec = {neo_name_of(f->fe->names, name), zero, neo_view_extent(f->fe, v, 0), at};
    int p = neo_frame_push(f, NULL, rec);
    if (p < 0)
      return false;
    neo_expr sub[NEO_MAX_RANK] = {neo_axis_ref(f->m, (uint32_t)p)};
    *v = neo_view_with(f->m, *v, sub);
  }
  return true;
}

neo_frame *neo_element_frame(neo_inst *in, const neo_val *v, const char *target, neo_span at,
                             neo_expr *e) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_view w = v->view;
  *e = (neo_expr){0};
  neo_frame_init(f, in, target);
  if (v->kind != NEO_VAL_VIEW)
    *e = neo_val_scalar(f, at, *v);
  else if (push_free(f, &w, at))
    *e = neo_load(f->m, w.tensor, w.index, w.n, at);
  f->n_out = f->n_axes;
  return f;
}
