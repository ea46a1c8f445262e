/* See reach.h. Intervals of the arguments are exact numbers of up to 64 bits; those of results are
 * computed in 128. */
#include "ir/reach.h"
#include "ir/element.h"

typedef __int128 wide;
typedef struct {
  wide least, most;
} wide_reach;

/* A bound that no loop reaches that counts from a small number. */
static const int64_t FAR = (int64_t)1 << 48;
static const int64_t STEPS = (int64_t)1 << 62; /* most steps of a training */
static const neo_reach everything = {INT64_MIN, INT64_MAX};

static neo_reach type_reach(neo_type t) {
  switch (t) {
  case NEO_I32_T:
    return (neo_reach){INT32_MIN, INT32_MAX};
  case NEO_I8_T:
    return (neo_reach){INT8_MIN, INT8_MAX};
  case NEO_U8_T:
    return (neo_reach){0, UINT8_MAX};
  case NEO_BOOL_T:
    return (neo_reach){0, 1};
  default:
    return everything;
  }
}

static int64_t least_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static neo_reach join(neo_reach a, neo_reach b) {
  return (neo_reach){least_of(a.least, b.least), most_of(a.most, b.most)};
}

/* The intersection; `a` if it is empty. */
static neo_reach meet(neo_reach a, neo_reach b) {
  neo_reach y = {most_of(a.least, b.least), least_of(a.most, b.most)};
  return y.least <= y.most ? y : a;
}

/* ---- sums and products */

bool neo_expr_is_whole_sum(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  return n->type == NEO_I64_T &&
         (n->op == NEO_OP_ADD || n->op == NEO_OP_SUB || n->op == NEO_OP_MUL || n->op == NEO_OP_NEG);
}

static wide_reach product(neo_reach a, neo_reach b) {
  wide end[] = {(wide)a.least * b.least, (wide)a.least * b.most, (wide)a.most * b.least,
                (wide)a.most * b.most};
  wide_reach y = {end[0], end[0]};
  for (int k = 1; k < 4; k++) {
    y.least = end[k] < y.least ? end[k] : y.least;
    y.most = end[k] > y.most ? end[k] : y.most;
  }
  return y;
}

/* The exact value of + - * or negation, before it wraps. */
static wide_reach exact(neo_op op, neo_reach a, neo_reach b) {
  switch (op) {
  case NEO_OP_ADD:
    return (wide_reach){(wide)a.least + b.least, (wide)a.most + b.most};
  case NEO_OP_SUB:
    return (wide_reach){(wide)a.least - b.most, (wide)a.most - b.least};
  case NEO_OP_NEG:
    return (wide_reach){-(wide)a.most, -(wide)a.least};
  default:
    return product(a, b);
  }
}

static bool fits(wide_reach x, neo_reach all) {
  return x.least >= all.least && x.most <= all.most;
}

static neo_reach reach_of(neo_reaches *r, neo_expr e);

static wide_reach exact_of(neo_reaches *r, neo_expr e) {
  neo_node n = *neo_expr_node(r->m, e);
  neo_reach a = reach_of(r, neo_list_expr(r->m, n.arg, 0));
  neo_reach b = n.arg.n > 1 ? reach_of(r, neo_list_expr(r->m, n.arg, 1)) : a;
  return exact((neo_op)n.op, a, b);
}

bool neo_reach_wraps(neo_reaches *r, neo_expr e) {
  return neo_expr_is_whole_sum(r->m, e) && !fits(exact_of(r, e), everything);
}

typedef struct {
  neo_reaches *r;
  bool found;
} search;

static void look(void *ctx, neo_expr e) {
  search *s = ctx;
  s->found = s->found || neo_reach_wraps(s->r, e);
}

bool neo_reach_wraps_inside(neo_reaches *r, neo_expr e) {
  search s = {r, false};
  neo_expr_visit(r->m, e, look, &s);
  return s.found;
}

static neo_reach sum_reach(neo_reaches *r, neo_expr e) {
  neo_reach all = type_reach(neo_expr_type(r->m, e));
  wide_reach x = exact_of(r, e);
  return fits(x, all) ? (neo_reach){(int64_t)x.least, (int64_t)x.most} : all;
}

/* ---- quotients */

static int64_t floor_of(int64_t x, int64_t n) {
  return x / n - (x % n < 0);
}

/* Floor division; x / 0 is 0. */
static neo_reach quotient(neo_reach x, neo_reach n) {
  if (n.least < 0) { /* |x/n| <= |x|; the least number by -1 wraps to itself */
    if (x.least == INT64_MIN)
      return everything;
    int64_t far = most_of(x.least < 0 ? -x.least : x.least, x.most < 0 ? -x.most : x.most);
    return (neo_reach){-far, far};
  }
  neo_reach zero = {0, 0};
  if (n.most == 0)
    return zero;
  int64_t by = most_of(n.least, 1);
  neo_reach y = {least_of(floor_of(x.least, by), floor_of(x.least, n.most)),
                 most_of(floor_of(x.most, by), floor_of(x.most, n.most))};
  return n.least == 0 ? join(y, zero) : y;
}

/* The remainder has the sign of n; x mod 0 is 0. */
static neo_reach remainder_of(neo_reach x, neo_reach n) {
  neo_reach y = {n.least < 0 ? n.least + 1 : 0, n.most > 0 ? n.most - 1 : 0};
  if (n.least >= 0 && x.least >= 0)
    y.most = least_of(y.most, x.most);
  return y;
}

/* ---- leaves */

static neo_reach axis_reach(neo_reaches *r, uint32_t k) {
  if (k >= r->n_axes || !r->axes[k].lo.i || !r->axes[k].hi.i)
    return everything;
  neo_reach lo = reach_of(r, r->axes[k].lo), hi = reach_of(r, r->axes[k].hi);
  if (hi.most == INT64_MAX && lo.least > -FAR && lo.least < FAR)
    hi.most = FAR;
  return (neo_reach){lo.least, hi.most > lo.least ? hi.most - 1 : lo.least};
}

static neo_reach load_reach(neo_reaches *r, neo_expr e) {
  neo_node n = *neo_expr_node(r->m, e);
  neo_reach y = type_reach((neo_type)n.type);
  neo_expr bound = neo_tensor_at(r->m, (neo_tensor){n.attr})->bound;
  neo_element_ends ends = neo_element_ends_of(r->m, e);
  if (bound.i)
    y = meet(y, (neo_reach){0, most_of(reach_of(r, bound).most, 1) - 1});
  if (ends.least.i)
    y = meet(y, (neo_reach){reach_of(r, ends.least).least, INT64_MAX});
  if (ends.below.i) {
    int64_t below = reach_of(r, ends.below).most;
    y = meet(y, (neo_reach){INT64_MIN, below == INT64_MIN ? below : below - 1});
  }
  if (n.op == NEO_OP_LOAD_ELSE)
    y = join(y, reach_of(r, neo_list_expr(r->m, n.arg, n.arg.n - 1)));
  return y;
}

static neo_reach size_reach(const neo_module *m, uint32_t size) {
  const neo_size_rec *s = neo_size_at(m, (neo_size){size});
  return (neo_reach){s->lo, s->hi};
}

static neo_reach cast_reach(neo_reaches *r, neo_expr e) {
  neo_expr x = neo_expr_arg(r->m, e, 0);
  neo_reach all = type_reach(neo_expr_type(r->m, e));
  if (neo_type_is_float(neo_expr_type(r->m, x)))
    return all;
  neo_reach y = reach_of(r, x);
  return y.least >= all.least && y.most <= all.most ? y : all;
}

/* ---- by kind of node */

static neo_reach arg_reach(neo_reaches *r, neo_expr e, uint32_t k) {
  return reach_of(r, neo_expr_arg(r->m, e, k));
}

static neo_reach smaller(neo_reach a, neo_reach b) {
  return (neo_reach){least_of(a.least, b.least), least_of(a.most, b.most)};
}

static neo_reach larger(neo_reach a, neo_reach b) {
  return (neo_reach){most_of(a.least, b.least), most_of(a.most, b.most)};
}

/* The absolute value; that of the least i64 is itself. */
static neo_reach magnitude(neo_reach x) {
  if (x.least >= 0)
    return x;
  return x.least == INT64_MIN ? everything : (neo_reach){0, most_of(-x.least, x.most)};
}

static neo_reach choice_reach(neo_reaches *r, neo_expr e) {
  switch (neo_expr_node(r->m, e)->op) {
  case NEO_OP_MIN:
    return smaller(arg_reach(r, e, 0), arg_reach(r, e, 1));
  case NEO_OP_MAX:
    return larger(arg_reach(r, e, 0), arg_reach(r, e, 1));
  case NEO_OP_CLAMP:
    return smaller(larger(arg_reach(r, e, 0), arg_reach(r, e, 1)), arg_reach(r, e, 2));
  case NEO_OP_RELU:
    return larger(arg_reach(r, e, 0), (neo_reach){0, 0});
  default:
    return join(arg_reach(r, e, 1), arg_reach(r, e, 2));
  }
}

static neo_reach node_reach(neo_reaches *r, neo_expr e) {
  neo_node n = *neo_expr_node(r->m, e);
  int64_t x;
  if (neo_expr_is_int(r->m, e, &x))
    return (neo_reach){x, x};
  if (n.type == NEO_BOOL_T)
    return type_reach(NEO_BOOL_T);
  switch (n.op) {
  case NEO_OP_AXIS:
    return axis_reach(r, n.attr);
  case NEO_OP_SIZE:
    return size_reach(r->m, n.attr);
  case NEO_OP_STEP:
    return (neo_reach){0, STEPS};
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    return load_reach(r, e);
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MUL:
  case NEO_OP_NEG:
    return sum_reach(r, e);
  case NEO_OP_DIV:
    return quotient(arg_reach(r, e, 0), arg_reach(r, e, 1));
  case NEO_OP_MOD:
    return remainder_of(arg_reach(r, e, 0), arg_reach(r, e, 1));
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_CLAMP:
  case NEO_OP_RELU:
  case NEO_OP_SELECT:
    return choice_reach(r, e);
  case NEO_OP_ABS:
    return magnitude(arg_reach(r, e, 0));
  case NEO_OP_SIGN:
    return (neo_reach){-1, 1};
  case NEO_OP_STOP:
    return arg_reach(r, e, 0);
  case NEO_OP_CAST:
    return cast_reach(r, e);
  default:
    return type_reach((neo_type)n.type);
  }
}

/* e has an integer type, or bool (false is 0). */
static neo_reach reach_of(neo_reaches *r, neo_expr e) {
  uint64_t found;
  if (neo_map_get(&r->known, e.i, &found))
    return *(const neo_reach *)(uintptr_t)found;
  neo_reach *y = NEO_NEW(r->known.arena, neo_reach);
  *y = node_reach(r, e);
  neo_map_set(&r->known, e.i, (uint64_t)(uintptr_t)y);
  return *y;
}

void neo_reaches_init(neo_reaches *r, neo_module *m, neo_arena *arena, const neo_axis_rec *axes,
                      uint32_t n_axes) {
  *r = (neo_reaches){.m = m, .axes = axes, .n_axes = n_axes};
  neo_map_init(&r->known, arena);
}
