#include "tools/benchmarks/sides/gpu_values.h"
#include "tools/benchmarks/sides/gpu_reference.h"
#include "tools/benchmarks/sides/gpu_samples.h"

enum { LINE = 64, WHOLE_LINE = 1 << 14 };

typedef struct {
  gpu_side *s;
  gpu_values_how how;
  gpu_tensor *t;
  int n, room;
} values;

static void *add(values *v, const char *name, const char *suffix, const char *type, size_t size,
                 int64_t n) {
  if (v->n == v->room) {
    v->room = v->room ? 2 * v->room : 64;
    v->t = realloc(v->t, (size_t)v->room * sizeof *v->t);
    gpu_must(!v->t, "memory", "out of memory");
  }
  gpu_tensor *t = &v->t[v->n++];
  *t = (gpu_tensor){.type = type, .bytes = (size_t)n * size, .rank = 1, .shape = {n}};
  snprintf(t->name, sizeof t->name, "%s%s", name, suffix);
  void *data = bench_memory(t->bytes);
  t->data = data;
  return data;
}

static void add_samples(values *v, const neo_rt_tensor *t, const char *suffix, const void *data,
                        gpu_samples at) {
  if (t->type > NEO_RT_BF16) /* integers have no errors of rounding, and entries return none */
    return;
  bool wide = t->type == NEO_RT_F64;
  void *to = add(v, t->name, suffix, wide ? "F64" : "F32", wide ? 8 : 4, at.n);
  for (int64_t k = 0; k < at.n; k++) {
    double x = gpu_element(data, t->type, at.at[k]);
    if (wide)
      ((double *)to)[k] = x;
    else
      ((float *)to)[k] = (float)x;
  }
}

/* ---- products and convolutions */

/* An input, or a parameter as the context has it. */
static const void *operand(void *ctx, const char *name, uint8_t *type, const int64_t **shape) {
  static gpu_kept kept;
  gpu_side *s = ctx;
  int32_t number = neo_rt_find(s->model, name);
  for (int k = 0; k < s->entry->n_inputs; k++)
    if (!strcmp(gpu_argument(s, k)->name, name)) {
      *type = gpu_argument(s, k)->type;
      *shape = s->shape[k];
      return s->host[k];
    }
  if (number < 0 || s->model->tensors[number].role != NEO_RT_ROLE_PARAM)
    return NULL;
  if (!kept.of)
    gpu_must(!gpu_keep(s, number, &kept), name, "is no parameter");
  gpu_must(strcmp(kept.of->name, name) != 0, name, "there is room for one parameter");
  *type = kept.of->type;
  *shape = kept.shape;
  return kept.data;
}

static void add_reference(values *v, const neo_rt_tensor *t, const int64_t *shape, gpu_samples at,
                          const gpu_reference *r) {
  gpu_expected *e = bench_memory((size_t)at.n * sizeof *e);
  const char *why = gpu_reference_make(r, t->type, shape, at.at, at.n, e);
  gpu_must(why != NULL, r->text, why);
  double *want = add(v, t->name, " want", "F64", sizeof *want, at.n);
  double *bound = add(v, t->name, " bound", "F64", sizeof *bound, at.n);
  for (int64_t k = 0; k < at.n; k++) {
    want[k] = e[k].want;
    bound[k] = e[k].bound;
  }
  free(e);
}

static void add_output(values *v, int k) {
  const neo_rt_tensor *t = gpu_argument(v->s, k);
  gpu_reference r = {v->how.reference, operand, v->s};
  int64_t most = r.text ? gpu_reference_most(&r, v->s->shape[k]) : v->how.most;
  gpu_samples at = gpu_samples_of(t->rank, v->s->shape[k], most,
                                  r.text && most > WHOLE_LINE ? WHOLE_LINE : LINE);
  add_samples(v, t, "", v->s->host[k], at);
  if (r.text)
    add_reference(v, t, v->s->shape[k], at, &r);
  free(at.at);
}

/* ---- parameters and states */

static void add_kept(values *v, const char *suffix) {
  gpu_kept x;
  for (int32_t k = 0; k < v->s->model->n_tensors; k++)
    if (gpu_keep(v->s, k, &x)) {
      gpu_samples at = gpu_samples_of(x.of->rank, x.shape, v->how.most, LINE);
      add_samples(v, x.of, suffix, x.data, at);
      free(at.at);
      free(x.data);
    }
}

void gpu_values_write(gpu_side *s, const char *path, gpu_values_how how) {
  bool training = s->entry->kind == NEO_RT_ENTRY_TRAIN;
  values v = {.s = s, .how = how};
  if (training)
    add_kept(&v, " before");
  gpu_run(s);
  gpu_take(s);
  for (int k = s->entry->n_inputs; k < s->entry->n_args; k++)
    add_output(&v, k);
  if (training) {
    add_kept(&v, "");
    gpu_must(neo_rt_reset(s->ctx, 1), "reset", neo_rt_error(s->ctx));
  }
  gpu_save(path, v.t, v.n);
}
