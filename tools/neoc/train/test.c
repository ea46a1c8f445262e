/* --test: the scalar outputs of an entry over every row of held-out data.
 *
 * A model whose batch is a constant cannot take the last rows, if they are fewer: its outputs are
 * means over the whole batch, from which padding rows cannot be removed. So the model is compiled
 * once more, for that many rows, with the constant `dim` that determines the batch replaced as by
 * -D; the context's tensors are copied over. The mean over all rows is then exact: that of each
 * call, weighted by its rows. */
#include "frontend/syntax/parser.h"
#include "runtime/context.h"
#include "runtime/model.h"
#include "tools/neoc/train/train.h"
#include <math.h>

static neoc_exit find_entry(const neoc_trainer *t, int32_t *out) {
  const neo_rt_model *m = t->r.lib.model;
  const char *name = neoc_text(t->cli, NEOC_O_TEST_ENTRY, "test");
  *out = neo_rt_find_entry(m, name);
  if (*out < 0)
    return neoc_fail(t->cli, NEOC_FAILED, "the model has no entry '%s'", name);
  if (m->entries[*out].kind != NEO_RT_ENTRY_FORWARD)
    return neoc_fail(t->cli, NEOC_FAILED, "entry '%s' is not one for testing", name);
  return NEOC_OK;
}

/* ---- the model for fewer rows */

/* Whether a tensor has the same extents in both models: constants are equal, except the rows, and
 * other extents are run-time sizes in both. */
static bool same_extents(const neo_module *m, const neo_rt_model *rt, const neo_rt_tensor *x,
                         int64_t rows) {
  int64_t extent[NEO_RTI_MAX_RANK], have;
  neo_tensor a = neo_tensor_find(m, x->name);
  bool same = a.i && neo_tensor_rank(m, a) == x->rank;
  neo_rti_extents(rt, x, NULL, extent);
  for (uint32_t d = 0; same && d < x->rank; d++) {
    if (neo_expr_is_int(m, neo_tensor_extent(m, a, d), &have))
      same = have == (rows && d == 0 ? rows : extent[d]);
    else
      same = neo_rti_program_size(rt, rt->extents[x->extent + (int32_t)d]) >= 0;
  }
  return same;
}

/* Whether the module is the same model, except for the number of rows of the entry's inputs. */
static bool same_model(const neoc_trainer *t, const neo_module *m) {
  const neo_rt_model *rt = t->r.lib.model;
  const neo_rt_entry *e = &rt->entries[t->test.feed.entry];
  bool same = true;
  for (int32_t k = 0; same && k < e->n_inputs; k++)
    same = same_extents(m, rt, neoc_feed_tensor(&t->test.feed, k), t->test.left);
  for (int32_t k = 0; same && k < rt->n_tensors; k++)
    if (neo_rti_tensor_persists(&rt->tensors[k]))
      same = same_extents(m, rt, &rt->tensors[k], 0);
  return same;
}

/* The options with one more constant replaced. */
static neo_compile_options with_define(neo_arena *a, const neo_compile_options *o, const char *name,
                                       int64_t value) {
  neo_compile_options more = *o;
  neo_define_option *d = NEO_NEW_ARRAY(a, neo_define_option, o->n_defines + 1);
  more.n_defines = 0;
  for (int k = 0; k < o->n_defines; k++)
    if (!neo_streq(o->defines[k].name, name))
      d[more.n_defines++] = o->defines[k];
  d[more.n_defines++] = (neo_define_option){.name = name, .value = value};
  more.defines = d;
  return more;
}

static bool fits(const neoc_trainer *t, const neo_compile_options *o) {
  neo_compilation c;
  neo_compilation_init(&c, o);
  bool same = neo_compile_front(&c) == NEO_OK && same_model(t, c.module);
  neo_compilation_free(&c);
  return same;
}

static bool is_given(const neo_compile_options *o, const char *name) {
  for (int k = 0; k < o->n_defines; k++)
    if (neo_streq(o->defines[k].name, name))
      return true;
  return false;
}

/* Whether the name by itself is the number of rows of an input. Another constant may have the same
 * value, but replacing it would change other parts of the model. */
static bool counts_rows(const neo_ast_file *file, const char *name) {
  for (uint32_t k = 0; k < file->stmts.n; k++) {
    const neo_ast_stmt *s = file->stmts.at[k];
    const neo_ast_axes *axes = &s->u.decl.var.axes;
    if (s->kind == NEO_AST_INPUT && axes->n && axes->at[0].hi && neo_ast_is_bare(axes->at[0].hi) &&
        neo_streq(axes->at[0].hi->u.ref.path.at[0].text, name))
      return true;
  }
  return false;
}

/* Constants that may be the number of rows, in order: those that the model's file declares, and
 * sizes that the options fix. */
static neoc_texts constants_of(neoc_cli *cli, const char *path, const neo_compile_options *given) {
  neoc_texts out = {0};
  neo_names *names = neo_names_new(cli->arena);
  neo_diags *diags = neo_diags_new(cli->arena, neo_sources_new(cli->arena));
  char *text;
  size_t n;
  if (neo_file_read(&neo_io_default, cli->arena, path, 0, &text, &n))
    return out;
  const neo_ast_file *file = neo_parse(cli->arena, names, diags, path, text, n);
  for (uint32_t k = 0; k < file->stmts.n; k++) {
    const neo_ast_stmt *s = file->stmts.at[k];
    if (s->kind == NEO_AST_DIM && counts_rows(file, s->u.dim.name.text) &&
        (s->u.dim.rel == NEO_AST_REL_NONE || is_given(given, s->u.dim.name.text)))
      NEO_PUSH(cli->arena, &out, s->u.dim.name.text);
  }
  return out;
}

/* Finds a constant by which the model takes the remaining rows. o: the options that replace it. */
static bool choose_constant(const neoc_trainer *t, neo_compile_options *o) {
  const char *path = t->cli->args[0];
  neo_compile_options given;
  if (neoc_compile_options(t->cli, path, &given))
    return false;
  neoc_texts dims = constants_of(t->cli, path, &given);
  for (size_t k = 0; k < dims.n; k++) {
    *o = with_define(t->cli->arena, &given, dims.at[k], t->test.left);
    if (fits(t, o))
      return true;
  }
  return false;
}

static neoc_exit open_rest(neoc_trainer *t) {
  neoc_test *x = &t->test;
  neo_compile_options o;
  const char *name = t->r.lib.model->entries[x->feed.entry].name;
  if (!choose_constant(t, &o))
    return neoc_fail(t->cli, NEOC_FAILED,
                     "entry %s takes exactly %lld rows, which no `dim` of the model says alone, so "
                     "the last %lld of the test rows cannot be counted: write `dim B = %lld`",
                     name, (long long)x->feed.batch, (long long)x->left, (long long)x->feed.batch);
  neoc_exit e = neoc_runner_compile(&x->rest, t->cli, &o, false);
  if (e)
    return e;
  x->has_rest = true;
  x->rest.aside = true;
  e = neoc_runner_begin(&x->rest, t->threads, t->seed);
  int32_t entry = neo_rt_find_entry(x->rest.lib.model, name);
  if (!e)
    e = neoc_data_open(&x->rest, NEOC_O_TEST, &entry, 1, &t->data, &x->rest_data);
  return e ? e : neoc_feed_open(&x->rest_data, entry, 0, &x->rest_feed);
}

/* --mean-over all=G.vertices: the output is a mean over this size, not over rows. */
static neoc_exit read_means(neoc_trainer *t) {
  neoc_test *x = &t->test;
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_entry *e = &m->entries[x->feed.entry];
  neoc_texts words = neoc_words(t->cli, NEOC_O_MEAN_OVER);
  neoc_exit code = neoc_pairs_differ(t->cli, "--mean-over ", words);
  if (code)
    return code;
  x->mean_over = NEO_NEW_ARRAY(t->cli->arena, int32_t, e->n_args + 1);
  for (int32_t k = 0; k < e->n_args - e->n_inputs; k++)
    x->mean_over[k] = -1;
  for (size_t w = 0; w < words.n; w++) {
    const char *size = NULL, *name = neoc_pair(t->cli, words.at[w], &size);
    int32_t output = -1, number = -1;
    if (!name)
      return neoc_usage(t->cli, "--mean-over takes OUTPUT=SIZE, not '%s'", words.at[w]);
    for (int32_t k = 0; k < e->n_args - e->n_inputs; k++)
      if (neo_streq(neoc_feed_tensor(&x->feed, e->n_inputs + k)->name, name))
        output = k;
    for (int32_t k = 0; k < e->n_sizes; k++)
      if (neo_streq(m->sizes[m->entry_sizes[e->sizes + k]].name, size))
        number = k;
    if (output < 0 || number < 0)
      return neoc_usage(t->cli, "--mean-over %s: entry %s has no %s '%s'", words.at[w], e->name,
                        output < 0 ? "output" : "run-time size", output < 0 ? name : size);
    if (neoc_feed_tensor(&x->feed, e->n_inputs + output)->rank)
      return neoc_usage(t->cli, "--mean-over %s: %s is no scalar, and has no mean over calls",
                        words.at[w], name);
    x->mean_over[output] = number;
  }
  return NEOC_OK;
}

neoc_exit neoc_test_open(neoc_trainer *t) {
  neoc_test *x = &t->test;
  int32_t entry;
  neoc_exit e = find_entry(t, &entry);
  if (!e)
    e = neoc_data_open(&t->r, NEOC_O_TEST, &entry, 1, &t->data, &x->data);
  if (!e)
    e = neoc_feed_open(&x->data, entry, 0, &x->feed);
  if (!e)
    e = read_means(t);
  if (e)
    return e;
  x->order = NEO_NEW_ARRAY(t->cli->arena, int64_t, x->data.rows + 1);
  x->value = NEO_NEW_ARRAY(t->cli->arena, double, t->r.lib.model->entries[entry].n_args + 1);
  neoc_data_in_order(&x->data, x->order);
  x->left = neoc_feed_is_exact(&x->feed) ? x->data.rows % x->feed.batch : 0;
  return x->left ? open_rest(t) : NEOC_OK;
}

void neoc_test_close(neoc_trainer *t) {
  neoc_data_close(&t->test.data);
  neoc_data_close(&t->test.rest_data);
  if (t->test.has_rest)
    neoc_runner_close(&t->test.rest);
}

/* ---- calls */

/* Copies tensors, seed and step of one context to another of the same model. */
static neo_rt_status copy_kept(neo_arena *a, neo_rt_ctx *from, neo_rt_ctx *to) {
  const neo_rt_model *m = neo_rt_model_of(from);
  neo_rt_status s = NEO_OK;
  size_t most = 0;
  for (int32_t k = 0; k < m->n_tensors; k++)
    if (neo_rti_tensor_persists(&m->tensors[k]) &&
        neo_rti_tensor_bytes(m, &m->tensors[k], NULL) > most)
      most = neo_rti_tensor_bytes(m, &m->tensors[k], NULL);
  void *p = neo_arena_alloc(a, most + 1);
  for (int32_t k = 0; k < m->n_tensors && !s; k++) {
    const neo_rt_tensor *x = &m->tensors[k];
    size_t n = neo_rti_tensor_persists(x) ? neo_rti_tensor_bytes(m, x, NULL) : 0;
    if (n == 0)
      continue;
    s = neo_rt_get(from, k, p, n);
    if (!s)
      s = neo_rt_set(to, neo_rt_find(neo_rt_model_of(to), x->name), p, n);
  }
  neo_rti_copy_position(from, to);
  return s;
}

/* Runs one call, and adds the entry's scalars to the sums, weighted by rows, or by the size of
 * --mean-over. */
static neoc_exit add_call(neoc_trainer *t, neoc_feed *f, int64_t at, int64_t n, neoc_mean *sum) {
  const neoc_runner *r = f->data->r;
  const neo_rt_entry *e = &r->lib.model->entries[f->entry];
  neoc_exit code = neoc_feed_fill(f, t->test.order + at, n);
  if (code)
    return code;
  neo_rt_status s = neo_rt_call(r->ctx, f->entry, f->sizes, f->args);
  if (s)
    return neoc_fail(t->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_error(r->ctx));
  for (int32_t k = 0; k < e->n_args - e->n_inputs; k++)
    if (neoc_feed_tensor(f, e->n_inputs + k)->rank == 0) {
      int64_t weight = sum[k].size < 0 ? n : f->sizes[sum[k].size];
      neoc_check_empty(t, f, k);
      sum[k].weight += (double)weight;
      sum[k].sum += (double)weight * neoc_feed_scalar(f, k);
    }
  return NEOC_OK;
}

/* The rows of the next call: as many as it takes, but so that enough are left for the last call. */
static int64_t next_rows(const neoc_feed *f, int64_t left) {
  if (left <= f->batch)
    return left;
  bool few = left - f->batch < f->least && !neoc_feed_is_exact(f);
  return few && left - f->least >= f->least ? left - f->least : f->batch;
}

static neoc_exit run_rest(neoc_trainer *t, neoc_mean *sum) {
  neoc_test *x = &t->test;
  const neo_rt_entry *e = &t->r.lib.model->entries[x->feed.entry];
  neo_arena scratch;
  neo_arena_init(&scratch, neo_alloc_default, t->cli->arena->on_fail);
  neo_rt_status s = copy_kept(&scratch, t->r.ctx, x->rest.ctx);
  neoc_exit code =
      s ? neoc_fail(t->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_error(x->rest.ctx))
        : add_call(t, &x->rest_feed, x->data.rows - x->left, x->left, sum);
  if (!code && e->n_writes && copy_kept(&scratch, x->rest.ctx, t->r.ctx))
    code = neoc_fail(t->cli, NEOC_FAILED, "%s", neo_rt_error(t->r.ctx));
  neo_arena_free(&scratch);
  return code;
}

static void put_means(const neoc_trainer *t, neo_str *out) {
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_entry *e = &m->entries[t->test.feed.entry];
  for (int32_t k = 0; k < e->n_args - e->n_inputs; k++) {
    const neo_rt_tensor *o = neoc_feed_tensor(&t->test.feed, e->n_inputs + k);
    if (o->rank)
      continue;
    double mean = t->test.value[k];
    if (!t->cli->json)
      neo_str_addf(out, " %s %.6g", o->name, mean);
    else if (isfinite(mean))
      neo_str_addf(out, "%s\"%s\": %.9g", out->n ? ", " : "", o->name, mean);
    else
      neo_str_addf(out, "%s\"%s\": null", out->n ? ", " : "", o->name);
  }
}

neoc_exit neoc_test_run(neoc_trainer *t, neo_str *out) {
  neoc_test *x = &t->test;
  const neo_rt_entry *e = &t->r.lib.model->entries[x->feed.entry];
  neoc_mean *sum = NEO_NEW_ARRAY(t->cli->arena, neoc_mean, e->n_args + 1);
  for (int32_t k = 0; k < e->n_args - e->n_inputs; k++)
    sum[k] = (neoc_mean){.size = x->mean_over[k]};
  neoc_exit code = NEOC_OK;
  for (int64_t at = 0, n, end = x->data.rows - x->left; at < end && !code; at += n) {
    n = next_rows(&x->feed, end - at);
    code = add_call(t, &x->feed, at, n, sum);
    neoc_show_test(t, at + n);
  }
  if (!code && x->left)
    code = run_rest(t, sum);
  for (int32_t k = 0; k < e->n_args - e->n_inputs; k++)
    x->value[k] = sum[k].sum / sum[k].weight;
  if (!code)
    put_means(t, out);
  return code;
}
