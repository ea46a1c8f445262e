/* Checked facts of plans: what a kernel does wrong, and what lies wrong, is found and named. Each program is right as it
 * is; one thing is broken in what it was lowered to. */
#include "tests/pipeline/plan_world.h"
#include "tools/pipeline/facts.h"
#include <string.h>

static const char apart[] = "input x[8]\n"
                            "a[i < 8] = exp(x[i])\n"
                            "c[i < 8] = sin(x[i])\n"
                            "s = sum[i < 8] a[i]\n"
                            "t = sum[i < 8] c[i]\n"
                            "y[i < 8] = a[i]*t + c[i]*s\n"
                            "output y\n";
static const char several_units[] = "input x[2000]\ny[i < 2000] = exp(x[i])\noutput y\n";
static const char stashed[] = "dim N <= 5\ninput x[N, 12]\n"
                              "s[n < N] = sum[i < 12] exp(x[n, i])\n"
                              "y[n < N, i < 12] = exp(x[n, i])/s[n]\n"
                              "output y\n";

typedef void breaking(plan_world *w);

static void make(plan_world *w, const char *text, bool fuses) {
  world_open(w);
  w->c.options.check_facts = true;
  if (!fuses)
    w->c.options.fusion.off = ~0U;
  world_source(w, text);
  assert_int_equal(neo_compile_passes(&w->c), NEO_OK);
  assert_int_equal(neo_compile_kernels(&w->c), NEO_OK);
}

static void expect(const char *text, bool fuses, breaking *breaks, const char *part) {
  plan_world w;
  neo_str out;
  make(&w, text, fuses);
  breaks(&w);
  assert_int_equal(neo_fact_check_plan(&w.c), NEO_INTERNAL);
  neo_str_init(&out, &w.c.arena);
  neo_diags_print(w.c.diags, &out, false);
  if (!strstr(neo_str_text(&out), part))
    fail_msg("not \"%s\" but \"%s\"", part, neo_str_text(&out));
  world_close(&w);
}

/* ---- places */

static neo_tensor tensor(const plan_world *w, const char *name) {
  return neo_tensor_find(w->c.module, name);
}

/* The buffer of a tensor in the frame. */
static neo_rt_buf *place_of(const plan_world *w, const char *name) {
  const neo_plan *p = w->c.plan;
  size_t k = 0;
  while (p->arg_tensors.at[k].i != tensor(w, name).i)
    k++;
  return &p->bufs.at[p->args.at[k]];
}

static void put_in_one_place(plan_world *w) {
  place_of(w, "c")->offset = place_of(w, "a")->offset;
}

static void two_live_tensors_in_one_place_are_found(void **state) {
  (void)state;
  expect(apart, false, put_in_one_place, ", where c has been written since");
}

/* ---- kernels */

static neo_kernel *kernel_that_writes(const plan_world *w, const char *name) {
  const neo_plan *p = w->c.plan;
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t b = 0; b < p->kernels.at[k].kernel->bufs.n; b++) {
      const neo_kbuf *buf = &p->kernels.at[k].kernel->bufs.at[b];
      if (buf->use & NEO_BUF_WRITE && buf->tensor.i == tensor(w, name).i)
        return p->kernels.at[k].kernel;
    }
  fail_msg("no kernel writes %s", name);
  return NULL;
}

/* The n-th store to a buffer of that use. */
static neo_ls *store_to(const neo_kernel *k, neo_buf_use use, size_t n) {
  neo_ls *s;
  for (size_t at = 0; (s = neo_block_find(&k->body, NEO_LS_STORE, at)); at++)
    if (k->bufs.at[s->store.to.buf].use & use && n-- == 0)
      return s;
  fail_msg("kernel %s has no such store", k->name);
  return NULL;
}

static void write_one_element(plan_world *w) {
  neo_kernel *k = kernel_that_writes(w, "y");
  assert_non_null(neo_kernel_unit_loop(k));
  neo_ls *s;
  for (size_t n = 0; (s = neo_block_find(&k->body, NEO_LS_STORE, n));
       n++) /* one, or one of whole vectors and one of the rest */
    if (k->bufs.at[s->store.to.buf].use & NEO_BUF_WRITE)
      s->store.to.offset = neo_lx_int(k, 3);
}

static void units_that_write_the_same_element_are_found(void **state) {
  (void)state;
  expect(several_units, true, write_one_element, "units 0 and 1 meet at y[3]");
}

static neo_ls *loop_around(const neo_block *b, const neo_ls *s) {
  for (size_t i = 0; i < b->n; i++)
    for (uint32_t k = 0; neo_ls_block(b->at[i], k); k++) {
      const neo_block *in = neo_ls_block(b->at[i], k);
      for (size_t j = 0; j < in->n; j++)
        if (in->at[j] == s)
          return b->at[i];
      neo_ls *deeper = loop_around(in, s);
      if (deeper)
        return deeper;
    }
  return NULL;
}

static void shorten_the_row(plan_world *w) {
  neo_kernel *k = kernel_that_writes(w, "y");
  neo_ls *s = store_to(k, NEO_BUF_SCRATCH, 0);
  neo_ls *loop = loop_around(&k->body, s);
  assert_true(loop && loop->kind == NEO_LS_FOR);
  loop->loop.hi = neo_lx_int(k, 3);
}

static void rows_that_are_shorter_than_their_readers_need_are_found(void **state) {
  (void)state;
  expect(stashed, true, shorten_the_row, "use of undefined content of row");
}

static void compute_another_value(plan_world *w) {
  neo_kernel *k = kernel_that_writes(w, "y");
  store_to(k, NEO_BUF_WRITE, 0)->store.value = neo_lx_const(k, NEO_F32_T, (neo_value){.f = 77});
}

static void kernels_that_compute_another_value_are_found(void **state) {
  (void)state;
  expect(apart, false, compute_another_value, "kernel y: y[0] is 77, and should be ");
}

static void leave_elements_out(plan_world *w) {
  neo_kernel *k = kernel_that_writes(w, "y");
  store_to(k, NEO_BUF_WRITE, 0)->store.cond = neo_lx_const(k, NEO_BOOL_T, (neo_value){.i = 0});
}

static void outputs_that_nothing_writes_are_found(void **state) {
  (void)state;
  expect(apart, false, leave_elements_out, "at the end nothing has written y[0]");
}

static void plans_that_are_right_are_not_refused(void **state) {
  static const char *const texts[] = {apart, several_units, stashed};
  (void)state;
  for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
    for (int fuses = 0; fuses < 2; fuses++) {
      plan_world w;
      make(&w, texts[k], fuses);
      world_close(&w);
    }
}

static void expect_counts(const char *text, const char *counts) {
  plan_world w;
  neo_str out;
  make(&w, text, true);
  neo_str_init(&out, &w.c.arena);
  neo_fact_check_add_counts(w.c.facts, &out);
  assert_string_equal(neo_str_text(&out), counts);
  assert_int_equal(neo_fact_check_has_left_out(w.c.facts), strstr(counts, "left out") != NULL);
  world_close(&w);
}

static void evaluations_that_are_left_out_are_counted(void **state) {
  (void)state;
  expect_counts("input x[8]\ny[i < 8] = 2*x[i]\noutput y\n",
                "facts: 4 evaluations before and after passes, 4 of plans");
  expect_counts(
      "input x[900000]\ny[i < 900000] = 2*x[i]\noutput y\n",
      "facts: 0 evaluations before and after passes, 0 of plans; left out: 8 (tensors are large)");
  expect_counts(
      "input x[600]\ny[i < 600] = sum[j < 600] sin(x[i]*x[j])\noutput y\n",
      "facts: 0 evaluations before and after passes, 0 of plans; left out: 8 (it takes long)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_live_tensors_in_one_place_are_found),
      cmocka_unit_test(units_that_write_the_same_element_are_found),
      cmocka_unit_test(rows_that_are_shorter_than_their_readers_need_are_found),
      cmocka_unit_test(kernels_that_compute_another_value_are_found),
      cmocka_unit_test(outputs_that_nothing_writes_are_found),
      cmocka_unit_test(plans_that_are_right_are_not_refused),
      cmocka_unit_test(evaluations_that_are_left_out_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
