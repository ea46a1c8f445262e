/* Training on a GPU beside training on the processor: from the same parameters and data, after each
 * step of the models here the losses are the same, and in the end the parameters, up to what
 * rounding grows to. NEO_TEST_TARGET names the GPU. NEO_TEST_STEPS: how many, at most. NEO_TEST_SMALL:
 * smaller sizes, for a GPU that is emulated.
 *
 * Roundings grow: on a processor alone, losses of CapsuleNet with parameters that are 1e-6 apart are 1e-7 apart
 * after 60 steps, and 1 % after 83. So they are compared for as long as they say something. */
#include "tests/oracle/expected.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *path;
  int64_t steps, batch, small_batch;
  neo_define_option small[4]; /* constants for an emulated GPU */
  int n_small;
} training;

static const training trainings[] = {
    {"models/mnist/cnn.expr", 100, 64, 2, {{0}}, 0},
    {"models/zoo/capsulenet.expr",
     60,
     16,
     2,
     {{.name = "C", .value = 8}, {.name = "M", .value = 2}, {.name = "H", .value = 20}},
     3},
};

static bool is_small(void) {
  return getenv("NEO_TEST_SMALL") != NULL;
}

static int64_t steps(const training *t) {
  const char *n = getenv("NEO_TEST_STEPS");
  return n && atoll(n) < t->steps ? atoll(n) : t->steps;
}

/* ---- a machine for each side */

static void open_side(machine *m, const training *t, const char *target) {
  if (target)
    setenv("NEO_TEST_TARGET", target, 1);
  else
    unsetenv("NEO_TEST_TARGET");
  machine_open_with(m, NEO_TEST_SOURCE_DIR, t->path, MACHINE_COMPILED, t->small,
                    is_small() ? t->n_small : 0);
  assert_true(machine_size(m, "B", is_small() ? t->small_batch : t->batch));
}

static double input_value(const machine *m, neo_tensor t, int64_t k) {
  const neo_tensor_rec *rec = neo_tensor_at(m->c.module, t);
  uint64_t h = expected_hash((uint64_t)k, t.i);
  if (neo_type_is_float((neo_type)rec->type))
    return (double)(h % 256) / 255;
  return (double)(h % (uint64_t)neo_size_value(m->c.module, rec->bound, m->sizes));
}

static void fill_inputs(machine *m) {
  for (uint32_t t = 1; t < m->c.module->tensors.n; t++) {
    neo_tensor x = {t};
    if (m->c.module->tensors.at[t].role != NEO_ROLE_INPUT)
      continue;
    int64_t n = machine_elements(m, x);
    double *v = NEO_NEW_ARRAY(&m->c.arena, double, (size_t)n + 1);
    for (int64_t k = 0; k < n; k++)
      v[k] = input_value(m, x, k);
    machine_put(m, x, v, n);
  }
}

static bool is_param(const machine *m, uint32_t t) {
  return m->c.module->tensors.at[t].role == NEO_ROLE_PARAM;
}

static double **params_of(machine *m) {
  double **p = NEO_NEW_ARRAY(&m->c.arena, double *, m->c.module->tensors.n + 1);
  int64_t n;
  for (uint32_t t = 1; t < m->c.module->tensors.n; t++)
    if (is_param(m, t))
      p[t] = machine_get(m, (neo_tensor){t}, &n);
  return p;
}

static neo_tensor same_tensor(const machine *m, const machine *in, uint32_t t) {
  return neo_tensor_find(in->c.module, machine_name(m, (neo_tensor){t}));
}

static double step(machine *m) {
  int64_t n;
  machine_run(m, "step");
  return *machine_output(m, "loss", &n);
}

/* ---- comparing */

static double distance(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sqrt(sum);
}

/* Beside what training changed. */
static void compare_params(machine *cpu, machine *gpu, double **before) {
  for (uint32_t t = 1; t < cpu->c.module->tensors.n; t++) {
    int64_t n;
    if (!is_param(cpu, t))
      continue;
    double *a = machine_get(cpu, (neo_tensor){t}, &n);
    double *b = machine_get(gpu, same_tensor(cpu, gpu, t), &n);
    double far = distance(a, b, n), change = distance(a, before[t], n);
    if (!(far <= 0.05 * change + 1e-6))
      fail_msg("%s: parameter %s: %g apart, training changed it by %g", cpu->c.options.path,
               machine_name(cpu, (neo_tensor){t}), far, change);
  }
}

static void train(const training *t, machine *cpu, machine *gpu) {
  for (int64_t k = 0; k < steps(t); k++) {
    double a = step(cpu), b = step(gpu);
    if (!(fabs(a - b) <= 0.01 * fabs(a) + 1e-4))
      fail_msg("%s: loss %lld: %g on the processor, %g on the GPU", cpu->c.options.path,
               (long long)k, a, b);
  }
}

static void on_both_sides_training_is_the_same(void **state) {
  const training *t = *state;
  const char *target = getenv("NEO_TEST_TARGET");
  machine cpu, gpu;
  target = strdup(target);
  open_side(&cpu, t, NULL);
  open_side(&gpu, t, target);
  double **before = params_of(&cpu);
  for (uint32_t k = 1; k < cpu.c.module->tensors.n; k++)
    if (is_param(&cpu, k))
      machine_put(&gpu, same_tensor(&cpu, &gpu, k), before[k],
                  machine_elements(&cpu, (neo_tensor){k}));
  fill_inputs(&cpu);
  fill_inputs(&gpu);
  train(t, &cpu, &gpu);
  compare_params(&cpu, &gpu, before);
  machine_close(&gpu);
  machine_close(&cpu);
  setenv("NEO_TEST_TARGET", target, 1);
  free((char *)(uintptr_t)target);
}

int main(void) {
  if (!getenv("NEO_TEST_TARGET"))
    return 77;
  const struct CMUnitTest tests[] = {
      {"MNIST cnn: on both sides training is the same", on_both_sides_training_is_the_same, NULL,
       NULL, (void *)(uintptr_t)&trainings[0]},
      {"CapsuleNet: on both sides training is the same", on_both_sides_training_is_the_same, NULL,
       NULL, (void *)(uintptr_t)&trainings[1]},
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
