/* See grad_world.h. */
#include "tests/autodiff/grad_world.h"
#include "autodiff/autodiff.h"
#include "base/random.h"
#include "ir/order.h"
#include "ir/print.h"
#include "ir/verify/verify.h"
#include <math.h>
#include <string.h>

void grad_begin(grad_world *w) {
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  w->names = neo_names_new(&w->arena);
  w->diags = neo_diags_new(&w->arena, neo_sources_new(&w->arena));
  w->m = NULL;
}

const char *grad_messages(grad_world *w) {
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_diags_print(w->diags, &s, false);
  return neo_str_text(&s);
}

/* Some tests read what the prover cannot show to be there. */
static bool reads_are_proved(grad_world *w) {
  neo_str why;
  neo_str_init(&why, &w->arena);
  return neo_reads_verify(w->m, &why) == NEO_OK;
}

static void check_module(grad_world *w, const char *when, bool reads) {
  neo_str why;
  neo_str_init(&why, &w->arena);
  if (reads ? neo_module_check_reads(w->m, &why) : neo_module_check(w->m, &why))
    fail_msg("%s: %s", when, neo_str_text(&why));
}

void grad_pass(grad_world *w) {
  check_module(w, "before", false);
  bool proved = reads_are_proved(w);
  if (neo_pass_call(w->m, &(neo_pass_target){0}, neo_pass_autodiff))
    fail_msg("%s", grad_messages(w));
  check_module(w, "after", proved);
}

void grad_eval(neo_interp *p, grad_world *w, neo_tensor t) {
  neo_str why;
  neo_str_init(&why, &w->arena);
  if (neo_interp_eval(p, &t, 1, true, &why)) {
    neo_str text;
    neo_str_init(&text, &w->arena);
    neo_module_print(w->m, &text);
    fail_msg("%s\n%s", neo_str_text(&why), neo_str_text(&text));
  }
}

static double uniform(uint64_t *seed) {
  return (double)(neo_splitmix(seed) >> 11) / 9007199254740992.0;
}

void grad_fill(grad_world *w, neo_interp *p, uint64_t seed) {
  for (uint32_t t = 1; t < w->m->tensors.n; t++) {
    const neo_tensor_rec *r = &w->m->tensors.at[t];
    if (r->role != NEO_ROLE_INPUT)
      continue;
    neo_values *v = neo_interp_tensor(p, (neo_tensor){t});
    int64_t bound = 1;
    if (r->bound.i)
      assert_true(neo_expr_is_int(w->m, r->bound, &bound));
    for (int64_t i = 0; i < v->n; i++) {
      if (neo_type_is_float((neo_type)r->type))
        v->at[i].f = 0.2 + 1.5 * uniform(&seed);
      else
        v->at[i].i = (int64_t)(neo_splitmix(&seed) % (uint64_t)bound);
    }
    v->known = true;
  }
}

/* One element of wrt moved by +-eps against the gradient that was formed. */
static void compare_element(grad_world *w, neo_interp *p, neo_tensor y, neo_tensor x, int64_t i,
                            double formed) {
  const double eps = 1e-6;
  neo_values *v = neo_interp_tensor(p, x);
  double old = v->at[i].f;
  v->at[i].f = old + eps;
  grad_eval(p, w, y);
  double up = neo_interp_tensor(p, y)->at[0].f;
  v->at[i].f = old - eps;
  grad_eval(p, w, y);
  double down = neo_interp_tensor(p, y)->at[0].f, slope = (up - down) / (2 * eps);
  v->at[i].f = old;
  if (fabs(slope - formed) > 1e-5 + 1e-3 * fabs(slope))
    fail_msg("%s[%lld]: %.9g, by differences %.9g",
             neo_name_text(w->names, neo_tensor_at(w->m, x)->name), (long long)i, formed, slope);
}

void grad_check(const char *text) {
  grad_world w;
  grad_begin(&w);
  w.m = neo_module_parse(&w.arena, w.names, w.diags, "test", text, strlen(text));
  if (!w.m)
    fail_msg("%s", grad_messages(&w));
  grad_pass(&w);
  int64_t sizes[8] = {0};
  for (uint32_t k = 1; k < w.m->sizes.n; k++)
    sizes[k] = w.m->sizes.at[k].hi;
  neo_interp *p = neo_interp_new(&w.arena, w.m, sizes, 7);
  grad_fill(&w, p, 99);
  neo_grad_rec g = w.m->grads.at[w.m->grads.n - 1];
  for (uint32_t k = 0; k < g.wrt.n; k++) {
    neo_tensor x = {neo_list_at(w.m, g.wrt, k)}, out = {neo_list_at(w.m, g.out, k)};
    grad_eval(p, &w, out);
    neo_values *d = neo_interp_tensor(p, out);
    assert_int_equal(d->n, neo_interp_tensor(p, x)->n);
    double *formed = NEO_NEW_ARRAY(&w.arena, double, d->n + 1);
    for (int64_t i = 0; i < d->n; i++)
      formed[i] = d->at[i].f;
    for (int64_t i = 0; i < d->n; i++)
      compare_element(&w, p, g.y, x, i, formed[i]);
  }
  neo_arena_free(&w.arena);
}
