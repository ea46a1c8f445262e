/* Writes jobs for the measurer (job.h). Tolerance: two orders of adding K numbers differ by a
 * rounding error that grows with the square root of K, and each stage of a group adds its own.
 * Where a result is compared, rounded or counted, its last bit may change it completely; a small
 * share of elements may then have any value. */
#include "tools/tune/job.h"
#include "fusion/form.h"
#include "schedule/extent.h"
#include "tools/measure/measure.h"
#include <math.h>
#include <unistd.h>

typedef struct {
  neo_module *m;
  bool jumps;
} look;

/* Does the expression compute anything, so that its bits may differ between schedules? */
static bool is_computed(const neo_module *m, neo_expr e) {
  switch (neo_expr_node(m, e)->op) {
  case NEO_OP_LOAD:
  case NEO_OP_CONST:
  case NEO_OP_RAND:
    return false;
  default:
    return neo_type_is_float(neo_expr_type(m, e));
  }
}

static void look_at(void *ctx, neo_expr e) {
  look *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  bool steps = neo_op_rule((neo_op)n->op) == NEO_RULE_CMP || n->op == NEO_OP_FLOOR ||
               n->op == NEO_OP_CEIL || n->op == NEO_OP_ROUND || n->op == NEO_OP_MOD ||
               n->op == NEO_OP_SIGN ||
               (n->op == NEO_OP_CAST && !neo_type_is_float((neo_type)n->type));
  for (uint32_t k = 0; steps && k < n->arg.n; k++)
    c->jumps = c->jumps || is_computed(c->m, neo_list_expr(c->m, n->arg, k));
}

typedef struct {
  double sums; /* square root of the number of terms, over all stages */
  double stages;
  bool jumps;
} shape;

static shape shape_of(neo_module *m, const neo_form *f) {
  shape x = {0, 0, false};
  look c = {m, false};
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    double n = 1;
    for (size_t i = 0; i < s->axes.n; i++)
      n *= (double)neo_axis_most(m, &s->axes.at[i]);
    x.sums += s->accs.n ? sqrt(n) : 0;
    x.stages++;
    for (size_t i = 0; i < s->accs.n; i++)
      c.jumps = c.jumps || s->accs.at[i].kind == NEO_RED_NONE; /* the payload of an argmax */
    neo_stage_visit(m, s, look_at, &c);
  }
  x.jumps = c.jumps;
  return x;
}

static double epsilon(neo_type t) {
  switch (t) {
  case NEO_F64_T:
    return 0x1p-53;
  case NEO_F16_T:
    return 0x1p-11;
  case NEO_BF16_T:
    return 0x1p-8;
  default:
    return 0x1p-24;
  }
}

static void add_tolerance(const shape *x, neo_type t, const neo_job_options *o, neo_str *out) {
  double computing = t == NEO_F64_T ? epsilon(t) : 0x1p-24;
  double rounding = computing * x->stages * (16 + 8 * x->sums);
  if (!neo_type_is_float(t))
    rounding = 0;
  else if (t == NEO_F16_T || t == NEO_BF16_T)
    rounding += 2 * epsilon(t);
  neo_str_addf(out, " rtol=%.3g", rounding);
  if (neo_type_is_float(t))
    neo_str_addf(out, o->loose ? " atol=%.3g" : " loose=%.3g",
                 computing * x->stages * (16 + 4 * x->sums * x->sums));
  if (x->jumps)
    neo_str_add(out, " rare=0.0002");
}

/* Elements that the kernel sees: from its offset to the tensor's end. */
int64_t neo_job_elements(const neo_compilation *c, const neo_kbuf *b, const int64_t *sizes) {
  int64_t n = neo_tensor_elements_at(c->module, b->tensor, sizes, NULL) - b->shift;
  return n < 0 ? 0 : n;
}

/* Values that are right for all elements, as far as there are such. */
static void add_ends(const neo_ends_at *ends, neo_str *out) {
  int64_t least, below;
  neo_ends_of_all(ends, &least, &below);
  if (least == INT32_MIN)
    least = below - 1;
  neo_str_addf(out, " least=%lld bound=%lld", (long long)least,
               (long long)(below > least ? below : least + 1));
}

/* Adds the contents of a buffer that is read. */
static void add_contents(neo_compilation *c, const neo_kbuf *b, const char *input,
                         const int64_t *sizes, neo_str *out) {
  const neo_tensor_rec *r = neo_tensor_at(c->module, b->tensor);
  neo_ends_at ends = neo_tensor_ends_at(c->module, b->tensor, sizes);
  if (input)
    neo_str_addf(out, " path=%s", input);
  else if (ends.given)
    add_ends(&ends, out);
  else if (r->bound.i)
    neo_str_addf(out, " bound=%lld", (long long)neo_size_value(c->module, r->bound, sizes));
}

static void add_buffer(neo_compilation *c, const neo_kbuf *b, const char *input, const shape *x,
                       const neo_job_options *o, neo_str *out) {
  static const char *const use[] = {"", "read", "write", "update"};
  neo_str_addf(out, "buffer %s %s %lld", use[b->use & (NEO_BUF_READ | NEO_BUF_WRITE)],
               neo_type_text((neo_type)b->type), (long long)neo_job_elements(c, b, o->sizes));
  if (b->use & NEO_BUF_WRITE)
    add_tolerance(x, (neo_type)b->type, o, out);
  if (b->use & NEO_BUF_READ)
    add_contents(c, b, input, o->sizes, out);
  neo_str_add(out, "\n");
}

void neo_job_text(neo_compilation *c, const neo_group *g, const neo_kernel *k,
                  const neo_job_options *o, neo_str *out) {
  neo_module *m = c->module;
  enum {
    ITERATIONS = 16
  }; /* rounding errors that iterations add up: later ones forget older errors */
  shape x = shape_of(m, neo_group_form(m, g));
  x.stages *= o->in_loop ? ITERATIONS : 1;
  neo_str_addf(out, "job\nthreads %d\nseed %llu\nfill %s\n", o->threads,
               (unsigned long long)o->seed, o->positive ? "positive" : "signed");
  neo_str_addf(out,
               "limit wall_ms=%lld cpu_ms=%lld memory_mb=512\n"
               "time run_ms=%g total_ms=%g least_runs=7\nbetween bytes=%lld\nsizes",
               (long long)o->limit_ms, (long long)o->cpu_ms, o->run_ms, o->total_ms,
               (long long)o->between_bytes);
  for (uint32_t i = 0; i < neo_size_numbers(m); i++)
    neo_str_addf(out, " %lld", (long long)o->numbers[i]);
  neo_str_add(out, "\n");
  for (size_t i = 0; i < k->bufs.n; i++)
    if (!(k->bufs.at[i].use & NEO_BUF_SCRATCH))
      add_buffer(c, &k->bufs.at[i], o->input ? o->input[i] : NULL, &x, o, out);
  neo_str_add(out, "ready\n");
}

static double bytes_of(neo_compilation *c, const neo_kbuf *b, const int64_t *sizes) {
  return (double)neo_job_elements(c, b, sizes) * neo_type_bytes((neo_type)b->type);
}

double neo_job_bytes(neo_compilation *c, const neo_kernel *k, const int64_t *sizes) {
  double bytes = 0;
  for (size_t i = 0; i < k->bufs.n; i++)
    if (!(k->bufs.at[i].use & NEO_BUF_SCRATCH))
      bytes += bytes_of(c, &k->bufs.at[i], sizes);
  return bytes;
}

/* Memory has room for up to four copies of an output: the buffer, an answer, and two references. */
const char *neo_job_refused(neo_compilation *c, const neo_kernel *k, const int64_t *sizes) {
  double bytes = 0, most = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 4;
  size_t n = 0;
  for (size_t i = 0; i < k->bufs.n; i++)
    if (!(k->bufs.at[i].use & NEO_BUF_SCRATCH)) {
      bytes += bytes_of(c, &k->bufs.at[i], sizes);
      n++;
    }
  if (n > MEASURE_MAX_BUFS)
    return neo_arena_printf(&c->arena, "it has %zu buffers, more than %d", n, MEASURE_MAX_BUFS);
  if (bytes > most)
    return neo_arena_printf(&c->arena, "its buffers have %.1f GiB, too many for this machine",
                            bytes / (1 << 30));
  return NULL;
}
