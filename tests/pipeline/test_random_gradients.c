/* Gradients of random programs. In f64 they are compared with central differences wherever these
 * agree with each other for two steps, that is away from kinks and jumps. In all types the compiled
 * gradient is compared with the interpreted one. */
#include "autodiff/autodiff.h"
#include "base/random.h"
#include "ir/print.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/gen.h"
#include "tests/random/seeds.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 120, PROBES = 4 };

typedef struct {
  plan_world w;
  neo_module *m;
  neo_tensor y;
  neo_grad_rec request;
  uint64_t state;
  size_t n_compared;
} job;

static neo_gen_options options(bool all_types) {
  uint32_t left_out = NEO_GEN_NARROWING | NEO_GEN_RANDOM | NEO_GEN_SPECIAL;
  return (neo_gen_options){.max_defs = 4,
                           .max_work = 300,
                           .has = NEO_GEN_ALL & ~(left_out | (all_types ? 0 : NEO_GEN_TYPES))};
}

/* Differences see through `stop`. */
static neo_expr without_stop(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  return neo_expr_node(m, e)->op == NEO_OP_STOP ? neo_expr_arg(m, e, 0) : e;
}

static neo_tensor add_tensor(job *j, const char *prefix, neo_type type, neo_list extent,
                             uint32_t k) {
  char *name = neo_arena_printf(&j->w.c.arena, "%s%u", prefix, k);
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type, .extent = extent};
  r.name = neo_name_of(j->m->names, name);
  return neo_tensor_add(j->m, r);
}

/* total + sum[all elements of t] t * weight, as a new scalar. */
static neo_tensor add_sum(job *j, neo_tensor total, neo_tensor t, neo_type type) {
  neo_module *m = j->m;
  uint32_t axes[16], rank = neo_tensor_rank(m, t);
  neo_expr index[16], weight = neo_const_float(m, type, 0.125);
  for (uint32_t k = 0; k < rank; k++) {
    neo_axis_rec a = {.lo = neo_const_int(m, NEO_I64_T, 0), .hi = neo_tensor_extent(m, t, k)};
    axes[k] = neo_axis_add(m, a).i;
    index[k] = neo_axis_ref(m, k);
    neo_expr part = neo_op2(m, NEO_OP_MOD, index[k], neo_const_int(m, NEO_I64_T, 3));
    weight = neo_op2(m, NEO_OP_ADD, weight, neo_cast(m, type, part));
  }
  neo_expr read = neo_cast(m, type, neo_load(m, t, index, rank, 0));
  neo_expr body = neo_op2(m, NEO_OP_MUL, read, weight);
  neo_expr out = rank ? neo_acc_ref(m, type, 0) : body;
  if (total.i)
    out = neo_op2(m, NEO_OP_ADD, out, neo_load(m, total, NULL, 0, 0));
  neo_tensor y = add_tensor(j, "total", type, (neo_list){0, 0}, t.i);
  neo_def_rec d = {.axes = neo_list_new(m, axes, rank), .finish = neo_list_new(m, &out.i, 1)};
  d.out = neo_list_new(m, &y.i, 1);
  d.reducer = rank ? NEO_RED_SUM : NEO_RED_NONE;
  if (rank)
    d.body = neo_list_new(m, &body.i, 1);
  (void)neo_def_add(m, d, true);
  return y;
}

static bool add_loss(job *j, neo_type type) {
  neo_list outputs = j->m->entries.at[0].outputs;
  for (uint32_t k = 0; k < outputs.n; k++) {
    neo_tensor t = {neo_list_at(j->m, outputs, k)};
    if (neo_type_is_float((neo_type)neo_tensor_at(j->m, t)->type))
      j->y = add_sum(j, j->y, t, type);
  }
  return j->y.i;
}

/* Requests the gradient of y for all float inputs and parameters, and makes an entry of it. */
static bool add_request(job *j) {
  neo_module *m = j->m;
  uint32_t wrt[8], out[9], names[9], n = 0, end = (uint32_t)m->tensors.n;
  for (uint32_t t = 1; t < end && n < 8; t++) {
    neo_tensor_rec r = m->tensors.at[t];
    if ((r.role != NEO_ROLE_INPUT && r.role != NEO_ROLE_PARAM) ||
        !neo_type_is_float((neo_type)r.type))
      continue;
    wrt[n] = t;
    out[1 + n] = add_tensor(j, "grad", (neo_type)r.type, r.extent, t).i;
    n++;
  }
  out[0] = j->y.i;
  for (uint32_t k = 0; k <= n; k++)
    names[k] = neo_tensor_at(m, (neo_tensor){out[k]})->name;
  j->request =
      (neo_grad_rec){.y = j->y, .wrt = neo_list_new(m, wrt, n), .out = neo_list_new(m, out + 1, n)};
  NEO_PUSH(m->arena, &m->grads, j->request);
  neo_entry_rec e = {.kind = NEO_ENTRY_GRAD, .name = neo_name_of(m->names, "grad")};
  e.outputs = neo_list_new(m, out, n + 1);
  e.names = neo_list_new(m, names, n + 1);
  NEO_PUSH(m->arena, &m->entries, e);
  return n > 0;
}

static double noise(job *j) {
  return (double)(neo_splitmix(&j->state) >> 11) * 0x1p-53;
}

/* Off the round numbers, where functions have their kinks. */
static void move_values(job *j) {
  for (uint32_t t = 1; t < j->m->tensors.n; t++) {
    const neo_tensor_rec *r = &j->m->tensors.at[t];
    bool kept = r->role == NEO_ROLE_PARAM || r->role == NEO_ROLE_STATE;
    if ((r->role != NEO_ROLE_INPUT && !kept) || r->type != NEO_F64_T)
      continue;
    neo_values *v = neo_interp_tensor(j->w.interp, (neo_tensor){t});
    neo_value *at = NEO_NEW_ARRAY(&j->w.c.arena, neo_value, v->n + 1);
    for (int64_t k = 0; k < v->n; k++)
      at[k].f = v->at[k].f + noise(j) * 0.2;
    if (!kept) {
      world_input(&j->w, (neo_tensor){t}, at);
      continue;
    }
    int32_t number = neo_rt_find(&j->w.model, neo_name_text(j->m->names, r->name));
    assert_int_equal(neo_rt_set(j->w.ctx, number, at, (size_t)v->n * sizeof *at), 0);
    memcpy(v->at, at, (size_t)v->n * sizeof *at);
  }
}

static double value_at(job *j, neo_value *x, double at) {
  neo_str why;
  neo_str_init(&why, &j->w.c.arena);
  double old = x->f;
  x->f = at;
  neo_status s = neo_interp_eval(j->w.interp, &j->y, 1, true, &why);
  x->f = old;
  return s ? (double)NAN : neo_interp_tensor(j->w.interp, j->y)->at[0].f;
}

static void fail_with_text(job *j, const char *what) {
  neo_str text;
  neo_str_init(&text, &j->w.c.arena);
  neo_module_print(j->m, &text);
  fputs(neo_str_text(&text), stderr);
  fail_msg("seed %llu: %s", (unsigned long long)j->w.seed, what);
}

/* One element against slopes over two steps, if these agree. */
static void probe(job *j, neo_tensor x, int64_t k, double formed) {
  neo_value *v = &neo_interp_tensor(j->w.interp, x)->at[k];
  double slope[2];
  for (int i = 0; i < 2; i++) {
    double eps = i ? 1e-5 : 3e-6;
    slope[i] = (value_at(j, v, v->f + eps) - value_at(j, v, v->f - eps)) / (2 * eps);
  }
  double scale = 1 + fabs(slope[0]) + fabs(value_at(j, v, v->f));
  if (!isfinite(scale) || !isfinite(formed) || fabs(slope[0] - slope[1]) > 1e-5 * scale)
    return;
  j->n_compared++;
  if (fabs(slope[0] - formed) > 1e-3 * scale)
    fail_with_text(j, neo_arena_printf(&j->w.c.arena, "d %s[%lld] is %.9g, by differences %.9g",
                                       neo_name_text(j->m->names, neo_tensor_at(j->m, x)->name),
                                       (long long)k, formed, slope[0]));
}

static void compare_with_differences(job *j) {
  for (uint32_t k = 0; k < j->request.wrt.n; k++) {
    neo_tensor x = {neo_list_at(j->m, j->request.wrt, k)};
    const neo_values *out = neo_interp_output(j->w.interp, k + 1);
    double *formed = NEO_NEW_ARRAY(&j->w.c.arena, double, out->n + 1);
    for (int64_t i = 0; i < out->n; i++)
      formed[i] = out->at[i].f;
    for (int i = 0; i < PROBES && out->n; i++) {
      int64_t at = (int64_t)(neo_splitmix(&j->state) % (uint64_t)out->n);
      probe(j, x, at, formed[at]);
    }
  }
}

/* The number of elements compared with differences. */
static size_t check_seed(uint64_t seed, bool wide) {
  job j = {.state = seed};
  neo_gen_options o = options(!wide);
  world_open(&j.w);
  neo_gen_program g = neo_gen_make(&j.w.c.arena, seed, &o);
  j.m = j.w.c.module = g.m;
  j.w.c.names = g.m->names;
  j.w.c.diags = g.m->diags;
  j.w.seed = seed;
  for (uint32_t d = 1; d < g.m->defs.n && wide; d++)
    neo_def_rewrite(g.m, (neo_def){d}, without_stop, NULL);
  if (wide)
    neo_module_widen(g.m);
  if (add_loss(&j, wide ? NEO_F64_T : NEO_F32_T) && add_request(&j)) {
    neo_str why;
    neo_str_init(&why, &j.w.c.arena);
    world_begin(&j.w, KERNELS_INTERPRETED, g.sizes);
    if (wide)
      move_values(&j);
    if (!world_run(&j.w, (uint32_t)j.m->entries.n - 1, 0, &why))
      fail_with_text(&j, neo_str_text(&why));
    if (wide)
      compare_with_differences(&j);
  }
  world_close(&j.w);
  return j.n_compared;
}

static void check_seeds(bool wide) {
  neo_seeds s = neo_seeds_of(1, N);
  size_t n = 0;
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_seeds_tell(&s, seed);
    n += check_seed(seed, wide);
  }
  assert_true(!wide || s.given || n > s.n);
}

static void gradients_of_random_programs_agree_with_differences(void **state) {
  (void)state;
  check_seeds(true);
}

static void compiled_gradients_of_random_programs_equal_interpreted_ones(void **state) {
  (void)state;
  check_seeds(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_random_programs_agree_with_differences),
      cmocka_unit_test(compiled_gradients_of_random_programs_equal_interpreted_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
