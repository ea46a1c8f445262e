/* The start of a kernel's search, and the time that it has to beat. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "tools/pipeline/records.h"
#include "tools/tune/task.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char model[] = "input X[64, 40]\ninput W[40, 24]\n"
                            "Y[b, j] = sum[i] X[b, i] * W[i, j]\noutput Y\n";

typedef struct {
  char folder[64], path[80], file[80];
  neo_records_source records[2];
  neo_compilation c;
} world;

static void compile(world *w) {
  neo_compile_options o = {.path = w->path, .records = w->records};
  neo_compilation_init(&w->c, &o);
  assert_int_equal(neo_compile_plan(&w->c), NEO_OK);
}

static int make(void **state) {
  world *w = test_calloc(1, sizeof *w);
  strcpy(w->folder, "/tmp/neo-task-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  snprintf(w->path, sizeof w->path, "%s/m.expr", w->folder);
  snprintf(w->file, sizeof w->file, "%s/records", w->folder);
  w->records[0] = (neo_records_source){w->file, 0, true};
  assert_int_equal(neo_file_write(&neo_io_default, w->path, model, strlen(model)), NEO_OK);
  *state = w;
  return 0;
}

static int drop(void **state) {
  world *w = *state;
  unlink(w->path);
  unlink(w->file);
  assert_int_equal(rmdir(w->folder), 0); /* nothing was left */
  test_free(w);
  return 0;
}

/* Writes a record of the model's product, of a schedule that is not the default. */
static neo_schedule write_record(world *w, double ratio) {
  const char *why;
  neo_str text;
  neo_record r = {.threads = 1, .time_ns = 1000 * ratio, .default_ns = 1000};
  compile(w);
  const neo_group *g = &w->c.grouping.groups.at[0];
  neo_schedule s = neo_schedule_default(w->c.module, g, &w->c.machine);
  s.loops.tile_m = s.loops.tile_m == 2 ? 1 : 2;
  assert_true(neo_schedule_legal(w->c.module, g, &w->c.machine, &s, NULL));
  neo_record_describe(&w->c, g, &r);
  neo_str_init(&text, &w->c.arena);
  neo_schedule_print(&s, &text);
  r.schedule = neo_str_text(&text);
  assert_int_equal(neo_record_append(&neo_io_default, &w->c.arena, w->file, &r, 0, &why), NEO_OK);
  neo_compilation_free(&w->c);
  return s;
}

static void the_base_of_a_search_is_the_schedule_of_the_record_in_force(void **state) {
  world *w = *state;
  neo_tune t;
  neo_schedule recorded = write_record(w, 0.5);
  neo_tune_options o = {.seconds = 60, .threads = 1, .workers = 1, .records = w->file};
  compile(w);
  assert_int_equal(neo_tune_init(&t, &w->c, &o), NEO_OK);
  neo_task *x = &t.tasks.at[0];
  assert_int_equal(neo_task_begin(&t, x), NEO_OK);
  assert_null(x->failed);
  assert_true(neo_schedule_equal(&x->base.schedule, &recorded));
  assert_true(neo_schedule_equal(&x->search.trials.at[0].schedule, &recorded));
  assert_true(neo_task_base_ratio(x) == 0.5);
  neo_tune_free(&t);
  neo_compilation_free(&w->c);
}

static void without_a_record_the_base_is_the_models_choice(void **state) {
  world *w = *state;
  neo_tune t;
  neo_tune_options o = {.seconds = 60, .threads = 1, .workers = 1, .records = w->file};
  compile(w);
  neo_schedule choice =
      neo_schedule_default(w->c.module, &w->c.grouping.groups.at[0], &w->c.machine);
  assert_int_equal(neo_tune_init(&t, &w->c, &o), NEO_OK);
  neo_task *x = &t.tasks.at[0];
  assert_int_equal(neo_task_begin(&t, x), NEO_OK);
  assert_true(neo_schedule_equal(&x->base.schedule, &choice));
  assert_true(neo_task_base_ratio(x) == 1);
  neo_tune_free(&t);
  neo_compilation_free(&w->c);
}

/* In the training step, not in the test beside it. */
static void a_kernel_is_measured_behind_what_the_others_of_its_step_touch(void **state) {
  static const char layer[] =
      "optimizer sgd(w[..], g[..]; lr = 0.1) {\n  update w[..] = w[..] - lr*g[..]\n}\n"
      "input X[64, 40]\nparam W[40, 24] = normal(0, 0.1)\n"
      "Y[b, j] = sum[i] X[b, i] * W[i, j]\nL = sum[b, j] Y[b, j] * Y[b, j]\n"
      "output test: L\ntrain L using sgd()\n";
  world *w = *state;
  neo_tune t;
  neo_tune_options o = {.seconds = 60, .threads = 1, .workers = 1, .records = w->file};
  assert_int_equal(neo_file_write(&neo_io_default, w->path, layer, strlen(layer)), NEO_OK);
  compile(w);
  assert_int_equal(neo_tune_init(&t, &w->c, &o), NEO_OK);
  double all = 0;
  for (size_t k = 0; k < t.tasks.n; k++)
    if (t.tasks.at[k].count)
      all += neo_job_bytes(&w->c, w->c.kernels.at[t.tasks.at[k].kernel].kernel, o.sizes);
  assert_true(t.tasks.n > 1);
  for (size_t k = 0; k < t.tasks.n; k++) {
    neo_task *x = &t.tasks.at[k];
    double own = neo_job_bytes(&w->c, w->c.kernels.at[x->kernel].kernel, o.sizes);
    double others = x->count ? all - own : 0;
    assert_true(!x->count || others > 0);
    assert_true((double)x->between_bytes == others);
    assert_non_null(strstr(neo_task_job(&t, x),
                           neo_arena_printf(&w->c.arena, "\nbetween bytes=%.0f\n", others)));
  }
  neo_tune_free(&t);
  neo_compilation_free(&w->c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_base_of_a_search_is_the_schedule_of_the_record_in_force,
                                      make, drop),
      cmocka_unit_test_setup_teardown(without_a_record_the_base_is_the_models_choice, make, drop),
      cmocka_unit_test_setup_teardown(a_kernel_is_measured_behind_what_the_others_of_its_step_touch,
                                      make, drop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
