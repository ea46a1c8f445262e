/* See gradient_oracle.h. */
#include "tests/pipeline/gradient_oracle.h"
#include "autodiff/autodiff.h"
#include "ir/order.h"
#include "ir/print.h"
#include "ir/prove/prove.h"
#include "tests/random/maps.h"
#include "tests/random/scatter.h"
#include "tools/pipeline/compile.h"
#include "transform/transform.h"
#include <math.h>

enum { MAX_WRT = 16, MAX_SIZES = 3 };

typedef struct {
  neo_arena arena;
  gradient_oracle *o;
  neo_str *why;
  neo_module *m;
  uint64_t seed;
  int64_t *sizes[MAX_SIZES]; /* the values at which it is tried */
  uint32_t n_sizes;
  neo_tensor y, s;
  neo_tensor wrt[MAX_WRT], out[MAX_WRT];
  uint32_t n_wrt;
  double **expected[MAX_SIZES]; /* of each wrt */
} job;

static bool fail(job *j, const char *when, const char *what) {
  neo_str_addf(j->why, "%s: %s\n", when, what);
  neo_module_print(j->m, j->why);
  return false;
}

static bool verified(job *j, const char *when) {
  neo_str why;
  neo_str_init(&why, &j->arena);
  return !neo_module_check(j->m, &why) || fail(j, when, neo_str_text(&why));
}

/* ---- requests */

/* A tensor of the type and extents of another. */
static neo_tensor add_like(neo_module *m, const char *prefix, neo_role role, neo_tensor like) {
  neo_tensor_rec of = *neo_tensor_at(m, like);
  const char *name = neo_arena_printf(m->arena, "%s.%u", prefix, like.i);
  neo_tensor_rec r = {.role = (uint8_t)role, .type = of.type, .extent = of.extent};
  r.name = neo_name_of(m->names, name);
  return neo_tensor_add(m, r);
}

static neo_tensor add_scalar(neo_module *m, const char *prefix, uint32_t k) {
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = NEO_F64_T};
  r.name = neo_name_of(m->names, neo_arena_printf(m->arena, "%s.%u", prefix, k));
  return neo_tensor_add(m, r);
}

static void add_entry(neo_module *m, const char *name, neo_list out) {
  uint32_t names[MAX_WRT];
  for (uint32_t k = 0; k < out.n; k++)
    names[k] = neo_tensor_at(m, (neo_tensor){neo_list_at(m, out, k)})->name;
  neo_entry_rec e = {.kind = NEO_ENTRY_GRAD, .name = neo_name_of(m->names, name), .outputs = out};
  e.names = neo_list_new(m, names, out.n);
  NEO_PUSH(m->arena, &m->entries, e);
}

/* seed 0: y is a scalar. */
static neo_grad_rec request(neo_module *m, neo_tensor y, neo_tensor seed, const char *prefix) {
  uint32_t wrt[MAX_WRT], out[MAX_WRT], n = 0;
  for (uint32_t t = 1; t < m->tensors.n && n < MAX_WRT; t++) {
    neo_tensor_rec r = m->tensors.at[t];
    if (r.role == NEO_ROLE_INPUT && neo_type_is_float((neo_type)r.type) && t != seed.i)
      wrt[n++] = t;
  }
  for (uint32_t k = 0; k < n; k++)
    out[k] = add_like(m, prefix, NEO_ROLE_TEMP, (neo_tensor){wrt[k]}).i;
  neo_grad_rec r = {.y = y, .seed = seed};
  r.wrt = neo_list_new(m, wrt, n);
  r.out = neo_list_new(m, out, n);
  NEO_PUSH(m->arena, &m->grads, r);
  add_entry(m, prefix, r.out);
  return r;
}

neo_grad_rec gradient_oracle_request(neo_module *m) {
  neo_tensor y = {neo_list_at(m, m->entries.at[0].outputs, 0)};
  return request(m, y, add_like(m, "S", NEO_ROLE_INPUT, y), "grad");
}

static void take_request(job *j, neo_grad_rec r) {
  j->y = r.y;
  j->s = r.seed;
  j->n_wrt = r.wrt.n;
  for (uint32_t k = 0; k < r.wrt.n; k++) {
    j->wrt[k].i = neo_list_at(j->m, r.wrt, k);
    j->out[k].i = neo_list_at(j->m, r.out, k);
  }
}

/* sum over all elements of t * weights, the weights a new input: exact where t is. */
static neo_tensor add_weighted(neo_module *m, neo_tensor t) {
  uint32_t axes[8], rank = neo_tensor_rank(m, t);
  neo_tensor w = add_like(m, "SW", NEO_ROLE_INPUT, t), y = add_scalar(m, "part", t.i);
  neo_expr index[8];
  for (uint32_t k = 0; k < rank; k++) {
    neo_axis_rec a = {.lo = neo_const_int(m, NEO_I64_T, 0), .hi = neo_tensor_extent(m, t, k)};
    a.name = neo_name_of(m->names, neo_arena_printf(m->arena, "i%u", k));
    axes[k] = neo_axis_add(m, a).i;
    index[k] = neo_axis_ref(m, k);
  }
  neo_expr body =
      neo_op2(m, NEO_OP_MUL, neo_load(m, t, index, rank, 0), neo_load(m, w, index, rank, 0));
  neo_expr acc = neo_acc_ref(m, NEO_F64_T, 0);
  neo_def_rec d = {.axes = neo_list_new(m, axes, rank), .reducer = NEO_RED_SUM};
  d.body = neo_list_new(m, &body.i, 1);
  if (!rank) {
    d.reducer = NEO_RED_NONE;
    d.body = (neo_list){0};
    acc = body;
  }
  d.finish = neo_list_new(m, &acc.i, 1);
  d.out = neo_list_new(m, &y.i, 1);
  neo_def_add(m, d, true);
  return y;
}

/* L = sum of the weighted gradients. */
static void add_second(job *j) {
  neo_module *m = j->m;
  neo_expr sum = neo_const_int(m, NEO_F64_T, 0);
  for (uint32_t k = 0; k < j->n_wrt; k++)
    sum = neo_op2(m, NEO_OP_ADD, sum, neo_load(m, add_weighted(m, j->out[k]), NULL, 0, 0));
  neo_tensor y = add_scalar(m, "total", 0);
  neo_def_rec d = {.reducer = NEO_RED_NONE, .finish = neo_list_new(m, &sum.i, 1)};
  d.out = neo_list_new(m, &y.i, 1);
  neo_def_add(m, d, true);
  take_request(j, request(m, y, (neo_tensor){0}, "second"));
}

/* ---- comparing */

static neo_interp *interp_at(job *j, uint32_t at) {
  return neo_map_interp(&j->arena, j->m, j->sizes[at], j->seed);
}

static bool evaluated(job *j, neo_interp *p, const neo_tensor *t, size_t n, const char *when) {
  neo_str why;
  neo_str_init(&why, &j->arena);
  return !neo_interp_eval(p, t, n, true, &why) || fail(j, when, neo_str_text(&why));
}

/* The oracle of the passes: the scatter through y. */
static bool expect(job *j, const char *when) {
  for (uint32_t at = 0; at < j->n_sizes; at++) {
    neo_interp *p = interp_at(j, at);
    if (!evaluated(j, p, &j->y, 1, when))
      return false;
    double *seed = NULL;
    const neo_values *s = j->s.i ? neo_interp_tensor(p, j->s) : NULL;
    if (s)
      seed = NEO_NEW_ARRAY(&j->arena, double, s->n + 1);
    for (int64_t k = 0; s && k < s->n; k++)
      seed[k] = s->at[k].f;
    double **adjoint = neo_scatter(&j->arena, j->m, p, j->sizes[at], j->y, seed);
    j->expected[at] = NEO_NEW_ARRAY(&j->arena, double *, MAX_WRT);
    for (uint32_t k = 0; k < j->n_wrt; k++) {
      int64_t n = neo_interp_tensor(p, j->wrt[k])->n;
      double *none = NEO_NEW_ARRAY(&j->arena, double, n + 1);
      j->expected[at][k] = adjoint[j->wrt[k].i] ? adjoint[j->wrt[k].i] : none;
    }
  }
  return true;
}

static bool same(job *j, const char *when) {
  for (uint32_t at = 0; at < j->n_sizes; at++) {
    neo_interp *p = interp_at(j, at);
    if (!evaluated(j, p, j->out, j->n_wrt, when))
      return false;
    for (uint32_t k = 0; k < j->n_wrt; k++) {
      const neo_values *v = neo_interp_tensor(p, j->out[k]);
      for (int64_t i = 0; i < v->n; i++, j->o->compared++) {
        double want = j->expected[at][k][i];
        if (v->at[i].f == want)
          continue;
        const char *name = neo_name_text(j->m->names, neo_tensor_at(j->m, j->out[k])->name);
        neo_str_addf(j->why, "at sizes");
        for (uint32_t s = 1; s < j->m->sizes.n; s++)
          neo_str_addf(j->why, " %lld", (long long)j->sizes[at][s]);
        return fail(j, when,
                    neo_arena_printf(&j->arena, "%s[%lld] is %.17g, not %.17g", name, (long long)i,
                                     v->at[i].f, want));
      }
    }
  }
  return true;
}

static void look(job *j) {
  for (uint32_t k = 0; k < j->n_wrt; k++) {
    uint32_t n = neo_tensor_at(j->m, j->out[k])->pieces.n;
    j->o->pieces += n;
    j->o->split += n > 1;
  }
}

static bool applied(job *j, neo_pass_fn *f, const char *name) {
  if (neo_pass_call(j->m, &(neo_pass_target){0}, f)) {
    neo_str text;
    neo_str_init(&text, &j->arena);
    neo_diags_print(j->m->diags, &text, false);
    return fail(j, name, neo_str_text(&text));
  }
  return verified(j, name);
}

/* The first half may be left out: autodiff needs no simpler text. */
static bool differentiated(job *j) {
  bool simpler = j->seed % 4 != 0;
  return (!simpler || applied(j, neo_pass_simplify, "simplify")) &&
         applied(j, neo_pass_autodiff, "autodiff") && same(j, "autodiff");
}

static bool transformed(job *j) {
  bool simpler = j->seed % 8 != 1;
  bool good = (!simpler || applied(j, neo_pass_simplify, "simplify")) &&
              applied(j, neo_pass_cse, "cse") && applied(j, neo_pass_polyphase, "polyphase") &&
              same(j, "polyphase") && applied(j, neo_pass_normalize_loops, "normalize-loops") &&
              same(j, "normalize-loops");
  if (good)
    look(j);
  return good;
}

/* ---- work */

static int64_t points_of(job *j, neo_interp *p, const neo_tensor *roots, size_t n) {
  neo_def *order;
  int64_t points = 0;
  size_t n_order = neo_module_topo(j->m, roots, n, &j->arena, &order, NULL);
  for (size_t k = 0; k < n_order; k++)
    points += neo_scatter_points(&j->arena, j->m, p, j->sizes[0], order[k]);
  return points;
}

static int64_t elements(neo_interp *p, neo_tensor t) {
  return neo_interp_tensor(p, t)->n;
}

/* Loops of the gradient against those of the forward pass. */
static void measure(job *j) {
  neo_interp *p = interp_at(j, 0);
  neo_str why;
  neo_str_init(&why, &j->arena);
  if (neo_interp_eval(p, j->out, j->n_wrt, true, &why))
    return;
  int64_t forward = points_of(j, p, &j->y, 1) + elements(p, j->y);
  for (uint32_t k = 0; k < j->n_wrt; k++)
    forward += elements(p, j->wrt[k]);
  double ratio = (double)points_of(j, p, j->out, j->n_wrt) / (double)(forward + 1);
  if (ratio > j->o->worst)
    j->o->worst = ratio;
}

/* ---- the whole */

/* The program's sizes, then the smallest, then something between. */
static void choose_sizes(job *j, const neo_gen_program *g) {
  uint32_t n = (uint32_t)j->m->sizes.n;
  j->n_sizes = n > 1 ? MAX_SIZES : 1;
  for (uint32_t at = 0; at < j->n_sizes; at++) {
    j->sizes[at] = NEO_NEW_ARRAY(&j->arena, int64_t, n + 1);
    for (uint32_t k = 1; k < n; k++) {
      int64_t lo = j->m->sizes.at[k].lo, now = g->sizes[k];
      j->sizes[at][k] = at == 0 ? now : at == 1 ? lo : lo + (now - lo) * (k % 2 ? 1 : 2) / 3;
      if (j->m->sizes.at[k].kind == NEO_SIZE_DERIVED)
        j->sizes[at][k] = neo_size_value(j->m, j->m->sizes.at[k].value, j->sizes[at]);
    }
  }
}

static bool check(job *j) {
  take_request(j, gradient_oracle_request(j->m));
  j->o->broken = !verified(j, "before") || !expect(j, "forward");
  if (j->o->broken || !differentiated(j))
    return false;
  if (j->o->second) {
    add_second(j);
    if (!verified(j, "before") || !expect(j, "first gradient") || !differentiated(j))
      return false;
  }
  if (!transformed(j))
    return false;
  measure(j);
  return true;
}

bool gradient_oracle_check(gradient_oracle *o, const neo_gen_program *g, neo_str *why) {
  job j = {.o = o, .why = why, .seed = g->seed};
  neo_arena_init(&j.arena, neo_alloc_default, NULL);
  neo_str text;
  neo_str_init(&text, &j.arena);
  neo_gen_print(g, &text);
  neo_gen_program copy = neo_gen_parse(&j.arena, neo_str_text(&text), text.n);
  bool good = copy.m != NULL;
  if (good) {
    j.m = copy.m;
    neo_proofs_limit(j.m, o->max_proof);
    choose_sizes(&j, g);
    good = check(&j);
    o->modules++;
    o->remarks += neo_diags_count(j.m->diags);
  } else {
    neo_str_addf(why, "the text does not parse\n%s", neo_str_text(&text));
  }
  neo_arena_free(&j.arena);
  return good;
}
