#include "tests/ir/ir_test.h"
#include "ir/print.h"
#include "ir/verify/verify.h"
#include <stdlib.h>
#include <string.h>

neo_module *test_module_new(neo_arena *a) {
  return neo_module_new(a, neo_names_new(a), neo_diags_new(a, neo_sources_new(a)), "test");
}

int test_setup(void **state) {
  neo_arena *a = malloc(sizeof *a);
  if (!a)
    return -1;
  neo_arena_init(a, neo_alloc_default, NULL);
  *state = test_module_new(a);
  return 0;
}

int test_teardown(void **state) {
  neo_arena *a = ((neo_module *)*state)->arena;
  neo_arena_free(a);
  free(a);
  return 0;
}

neo_list test_list1(neo_module *m, neo_expr e) {
  return neo_list_new(m, &e.i, 1);
}

neo_module *test_try_parse(neo_module *m, const char *text, const char **errors) {
  neo_diags *d = neo_diags_new(m->arena, neo_sources_new(m->arena));
  char *whole = neo_arena_printf(m->arena, "neo-ir 1\n%s", text);
  neo_module *parsed = neo_module_parse(m->arena, m->names, d, "test.ir", whole, strlen(whole));
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_diags_print(d, &s, false);
  *errors = neo_str_text(&s);
  return parsed;
}

neo_module *test_parse(neo_module *m, const char *text) {
  const char *errors;
  neo_module *parsed = test_try_parse(m, text, &errors);
  if (!parsed)
    fail_msg("%s", errors);
  return parsed;
}

const char *test_print(neo_module *m) {
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_module_print(m, &s);
  return neo_str_text(&s);
}

neo_interp *test_interp(neo_module *m, const int64_t *sizes) {
  int64_t *by_id = neo_arena_array(m->arena, m->sizes.n + 1, sizeof *by_id);
  for (size_t k = 1, j = 0; k < m->sizes.n; k++)
    if (m->sizes.at[k].kind == NEO_SIZE_RUNTIME)
      by_id[k] = sizes[j++];
  return neo_interp_new(m->arena, m, by_id, 1);
}

static neo_values *values_of(neo_interp *p, neo_module *m, const char *name, size_t n) {
  neo_tensor t = neo_tensor_find(m, name);
  if (!t.i)
    fail_msg("no tensor %s", name);
  neo_values *v = neo_interp_tensor(p, t);
  assert_int_equal(v->n, n);
  return v;
}

void test_put_f(neo_interp *p, neo_module *m, const char *name, const double *x, size_t n) {
  neo_values *v = values_of(p, m, name, n);
  for (size_t k = 0; k < n; k++)
    v->at[k].f = x[k];
}

void test_put_i(neo_interp *p, neo_module *m, const char *name, const int64_t *x, size_t n) {
  neo_values *v = values_of(p, m, name, n);
  for (size_t k = 0; k < n; k++)
    v->at[k].i = x[k];
}

neo_status test_try_eval(neo_interp *p, neo_module *m, const char *name, neo_str *why) {
  neo_tensor t = neo_tensor_find(m, name);
  if (!t.i)
    fail_msg("no tensor %s", name);
  neo_str_init(why, m->arena);
  return neo_interp_eval(p, &t, 1, false, why);
}

const neo_values *test_eval(neo_interp *p, neo_module *m, const char *name) {
  neo_str why;
  neo_status s = test_try_eval(p, m, name, &why);
  if (s)
    fail_msg("%s: %s", name, neo_str_text(&why));
  return neo_interp_tensor(p, neo_tensor_find(m, name));
}
