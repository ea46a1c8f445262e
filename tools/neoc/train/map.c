/* --map: a second model changes the rows of each batch, for augmentation. Its entry X,
 * `output X: Z`, gets the batch's tensors by their names, and its result replaces the input X. All
 * entries get the batch as it was read.
 *
 * Its rand() depends on seed and step alone, so that a training that continues has the same
 * batches. The seed differs from that of the training, as its numbers would otherwise be those of
 * the model's own rand(). */
#include "runtime/context.h"
#include "runtime/model.h"
#include "tools/neoc/train/train.h"
#include <string.h>

typedef struct {         /* an entry of the map */
  int32_t entry, tensor; /* number of the entry; the tensor of the training's model that it
                            replaces */
  void **args;
  int64_t *sizes;
  size_t bytes; /* bytes of the last call's result */
} step;

struct neoc_map {
  neoc_runner r;
  step *steps;
  size_t n;
  int64_t *all; /* sizes of the map's model */
};

static const neo_rt_model *model_of(const neoc_map *m) {
  return m->r.lib.model;
}

static const neo_rt_tensor *arg_of(const neoc_map *m, const neo_rt_entry *e, int32_t k) {
  return &model_of(m)->tensors[model_of(m)->entry_args[e->args + k]];
}

/* ---- does it fit? */

/* Whether type and shape of a row are the same; the numbers of rows are checked in each call. */
static bool same_rows(const neo_rt_model *a, const neo_rt_tensor *x, const neo_rt_model *b,
                      const neo_rt_tensor *y) {
  int64_t of_x[NEO_RTI_MAX_RANK], of_y[NEO_RTI_MAX_RANK];
  bool same = x->type == y->type && x->rank == y->rank && x->rank > 0;
  if (!same)
    return false;
  neo_rti_extents(a, x, NULL, of_x);
  neo_rti_extents(b, y, NULL, of_y);
  for (int d = 1; d < x->rank; d++)
    same = same && of_x[d] == of_y[d] && neo_rti_program_fixed(a, a->extents[x->extent + d]) &&
           neo_rti_program_fixed(b, b->extents[y->extent + d]);
  return same;
}

static neoc_exit fail(const neoc_trainer *t, const neo_rt_entry *e, const char *what) {
  return neoc_fail(t->cli, NEOC_FAILED, "--map %s: entry %s: %s", neoc_text(t->cli, NEOC_O_MAP, ""),
                   e->name, what);
}

static neoc_exit check_tensor(const neoc_trainer *t, const neo_rt_entry *e, const neo_rt_tensor *x,
                              const char *name) {
  const neo_rt_model *own = t->r.lib.model;
  int32_t k = neo_rt_find(own, name);
  if (k < 0 || !t->data.source[k].path)
    return fail(t, e, neo_arena_printf(t->cli->arena, "the training has no input '%s'", name));
  if (same_rows(model_of(t->map), x, own, &own->tensors[k]))
    return NEOC_OK;
  return fail(t, e,
              neo_arena_printf(t->cli->arena, "%s has not the type and row of %s (%s)", x->name,
                               name, own->tensors[k].place));
}

/* Checks that every size is the first dimension of an input. */
static neoc_exit check_sizes(const neoc_trainer *t, const neo_rt_entry *e) {
  const neo_rt_model *m = model_of(t->map);
  for (int32_t s = 0; s < e->n_sizes; s++) {
    bool found = false;
    for (int32_t k = 0; k < e->n_inputs; k++)
      found = found || neo_rti_program_size(m, m->extents[arg_of(t->map, e, k)->extent]) ==
                           m->entry_sizes[e->sizes + s];
    if (!found)
      return fail(t, e,
                  neo_arena_printf(t->cli->arena, "%s is the first dimension of none of its inputs",
                                   m->sizes[m->entry_sizes[e->sizes + s]].name));
  }
  return NEOC_OK;
}

static neoc_exit check_entry(const neoc_trainer *t, const neo_rt_entry *e) {
  const neoc_map *m = t->map;
  if (e->n_args != e->n_inputs + 1)
    return fail(t, e, "gives one tensor, the input of its name");
  neoc_exit code = check_tensor(t, e, arg_of(m, e, e->n_inputs), e->name);
  for (int32_t k = 0; k < e->n_inputs && !code; k++)
    code = check_tensor(t, e, arg_of(m, e, k), arg_of(m, e, k)->name);
  return code ? code : check_sizes(t, e);
}

/* ---- opening */

static void *room(const neoc_trainer *t, const neo_rt_model *m, const neo_rt_tensor *x) {
  void *p = neo_arena_alloc(t->cli->arena, (size_t)neo_rti_spill_bytes(m, x) + 128);
  return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
}

static neoc_exit add_step(neoc_trainer *t, int32_t entry) {
  neoc_map *m = t->map;
  const neo_rt_entry *e = &model_of(m)->entries[entry];
  neoc_exit code = check_entry(t, e);
  if (code)
    return code;
  step *s = &m->steps[m->n++];
  *s = (step){.entry = entry, .tensor = neo_rt_find(t->r.lib.model, e->name)};
  s->args = NEO_NEW_ARRAY(t->cli->arena, void *, e->n_args + 1);
  s->sizes = NEO_NEW_ARRAY(t->cli->arena, int64_t, e->n_sizes + 1);
  s->args[e->n_inputs] = room(t, model_of(m), arg_of(m, e, e->n_inputs));
  return NEOC_OK;
}

neoc_exit neoc_map_open(neoc_trainer *t) {
  const char *path = neoc_text(t->cli, NEOC_O_MAP, NULL);
  neo_compile_options o;
  neoc_map *m = NEO_NEW(t->cli->arena, neoc_map);
  if (!path)
    return NEOC_OK;
  neoc_exit e = neoc_compile_options(t->cli, path, &o);
  o.n_defines = 0; /* -D is for the model that is trained */
  o.prefix = NULL;
  if (!e)
    e = neoc_runner_compile(&m->r, t->cli, &o, false);
  if (e)
    return e;
  m->r.aside = true;
  t->map = m;
  m->all = NEO_NEW_ARRAY(t->cli->arena, int64_t, model_of(m)->n_sizes + 1);
  m->steps = NEO_NEW_ARRAY(t->cli->arena, step, model_of(m)->n_entries + 1);
  e = neoc_runner_begin(&m->r, t->threads, t->seed);
  for (int32_t k = 0; k < model_of(m)->n_entries && !e; k++)
    if (model_of(m)->entries[k].kind == NEO_RT_ENTRY_FORWARD)
      e = add_step(t, k);
  return e || m->n
             ? e
             : neoc_fail(t->cli, NEOC_FAILED, "--map %s: has no entry, as `output X: Z`", path);
}

void neoc_map_close(neoc_trainer *t) {
  if (t->map)
    neoc_runner_close(&t->map->r);
}

const char *neoc_map_name(const neoc_trainer *t) {
  return t->map ? model_of(t->map)->name : "";
}

/* ---- batches */

/* The buffer of an input in the batch of the trained entry; null: it has no such input. */
static void *batch_of(const neoc_feed *f, const char *name) {
  const neo_rt_entry *e = &f->data->r->lib.model->entries[f->entry];
  for (int32_t k = 0; k < e->n_inputs; k++)
    if (neo_streq(neoc_feed_tensor(f, k)->name, name))
      return f->args[k];
  return NULL;
}

static int64_t rows_of(const neoc_feed *f, const char *name, int64_t n) {
  const neo_rt_model *m = f->data->r->lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  int32_t tensor = neo_rt_find(m, name);
  int32_t size = neo_rti_program_size(m, m->extents[m->tensors[tensor].extent]);
  for (int32_t k = 0; k < e->n_sizes; k++)
    if (m->entry_sizes[e->sizes + k] == size)
      return f->sizes[k];
  return n;
}

static neoc_exit set_inputs(const neoc_trainer *t, const neoc_feed *f, step *s, int64_t n) {
  const neo_rt_model *m = model_of(t->map);
  const neo_rt_entry *e = &m->entries[s->entry];
  for (int32_t k = 0; k < e->n_inputs; k++) {
    const neo_rt_tensor *x = arg_of(t->map, e, k);
    int64_t rows = rows_of(f, x->name, n), fixed[NEO_RTI_MAX_RANK];
    int32_t size = neo_rti_program_size(m, m->extents[x->extent]);
    s->args[k] = batch_of(f, x->name);
    if (!s->args[k])
      return fail(
          t, e,
          neo_arena_printf(t->cli->arena, "the entry that is trained has no input '%s'", x->name));
    neo_rti_extents(m, x, NULL, fixed);
    if (size < 0 && fixed[0] != rows)
      return fail(
          t, e,
          neo_arena_printf(t->cli->arena,
                           "%s has %lld rows in this batch, not %lld (write `dim B <= %lld`)",
                           x->name, (long long)rows, (long long)fixed[0], (long long)fixed[0]));
    for (int32_t i = 0; i < e->n_sizes; i++)
      if (m->entry_sizes[e->sizes + i] == size)
        s->sizes[i] = rows;
  }
  return NEOC_OK;
}

/* Checks that the result has as many rows as the input. */
static neoc_exit check_result(const neoc_trainer *t, const neoc_feed *f, step *s, int64_t n) {
  const neo_rt_model *m = model_of(t->map);
  const neo_rt_entry *e = &m->entries[s->entry];
  const neo_rt_tensor *x = arg_of(t->map, e, e->n_inputs);
  int64_t extent[NEO_RTI_MAX_RANK], *all = t->map->all;
  for (int32_t k = 0; k < e->n_sizes; k++)
    all[m->entry_sizes[e->sizes + k]] = s->sizes[k];
  int64_t count = neo_rti_extents(m, x, all, extent), rows = rows_of(f, e->name, n);
  s->bytes = (size_t)count * neo_rti_type_bytes(x->type);
  if (extent[0] == rows)
    return NEOC_OK;
  return fail(t, e,
              neo_arena_printf(t->cli->arena, "%s has %lld rows, but the batch has %lld", x->name,
                               (long long)extent[0], (long long)rows));
}

static neoc_exit run(neoc_trainer *t, const neoc_feed *f, step *s, int64_t n) {
  neoc_map *m = t->map;
  neoc_exit e = set_inputs(t, f, s, n);
  if (!e)
    e = check_result(t, f, s, n);
  if (e)
    return e;
  neo_rti_set_position(m->r.ctx, t->seed ^ UINT64_C(0x9e3779b97f4a7c15),
                       neo_rt_step_count(t->r.ctx));
  neo_rt_status status = neo_rt_call(m->r.ctx, s->entry, s->sizes, s->args);
  return status ? neoc_runner_failed(&m->r, status) : NEOC_OK;
}

neoc_exit neoc_map_apply(neoc_trainer *t, neoc_feed *f, int64_t n) {
  neoc_map *m = t->map;
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; m && k < m->n && !e; k++)
    e = run(t, f, &m->steps[k], n);
  for (size_t k = 0; m && k < m->n && !e; k++) {
    const neo_rt_entry *entry = &model_of(m)->entries[m->steps[k].entry];
    void *to = batch_of(f, entry->name);
    if (to) /* an entry of several may lack it */
      memcpy(to, m->steps[k].args[entry->n_inputs], m->steps[k].bytes);
  }
  return e;
}
