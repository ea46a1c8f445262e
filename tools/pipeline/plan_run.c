/* See plan_run.h. */
#include "tools/pipeline/plan_run.h"

enum { ORDER = 0x5eed }; /* seed for the order of a block's threads, which must not matter */

neo_plan_run neo_plan_run_new(neo_arena *a, neo_compilation *c, const neo_rt_entry *e,
                              const int64_t *sizes, uint64_t seed, neo_str *why) {
  neo_plan_run x = {.c = c, .entry = e, .key = {seed, 0, 0}, .why = why};
  size_t n_sizes = c->module->sizes.n;
  x.model = neo_compile_model(c);
  x.size_of = neo_arena_copy(a, sizes, n_sizes * sizeof *sizes);
  x.size = NEO_NEW_ARRAY(a, int64_t, x.model.n_sizes + 1);
  for (uint32_t k = 1; k < c->module->sizes.n; k++)
    if (!c->module->sizes.at[k].loop_index)
      x.size[neo_size_number(c->module, (neo_size){k})] = sizes[k];
  neo_rti_place *place = NEO_NEW_ARRAY(a, neo_rti_place, e->n_places + 1);
  (void)neo_rti_frame_stack(&x.model, e, x.size, place);
  x.memory = neo_plan_memory_new(a, c->module, c->plan, e, x.size_of, place);
  return x;
}

/* Sets a size, in all loops of the same depth: they share one number. */
static void set_size(neo_plan_run *x, int32_t number, int64_t value) {
  const neo_module *m = x->c->module;
  x->size[number] = value;
  for (uint32_t k = 1; k < m->sizes.n; k++)
    if (m->sizes.at[k].loop_index && neo_size_number(m, (neo_size){k}) == (uint32_t)number)
      x->size_of[k] = value;
}

/* ---- one kernel */

typedef struct {
  neo_plan_run *x;
  const neo_rt_step *s;
  neo_plan_region **region; /* by the kernel's buffers */
  int64_t *shift;
  uint32_t empty;   /* the last buffer of which an element without a value was read */
  int64_t empty_at; /* that element; -1: none */
} kernel_run;

static neo_tensor tensor_of(const kernel_run *r, uint32_t buf) {
  return r->x->c->plan->arg_tensors.at[r->s->first + (int32_t)buf];
}

static neo_memory_state read_element(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds) {
  kernel_run *r = ctx;
  neo_memory_state s = neo_plan_memory_read(&r->x->memory, r->region[buf], r->shift[buf] + at,
                                            r->x->runs, unit, adds, r->x->why);
  if (s == NEO_MEMORY_EMPTY) {
    r->empty = buf;
    r->empty_at = r->shift[buf] + at;
  }
  return s;
}

static bool write_element(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds) {
  kernel_run *r = ctx;
  return neo_plan_memory_write(&r->x->memory, r->region[buf], r->shift[buf] + at, tensor_of(r, buf),
                               r->x->runs, unit, adds, r->x->why);
}

static const neo_kernel *kernel_of(const neo_plan_run *x, const neo_rt_step *s) {
  const neo_plan_kernel *k = &x->c->plan->kernels.at[s->arg];
  return x->fast && k->fast ? k->fast : k->kernel;
}

/* Finds the kernel's buffers: regions of the memory, and scratch. */
static void place(kernel_run *r, neo_arena *a, const neo_kernel *k, neo_value **at, int64_t *n) {
  for (int32_t b = 0; b < r->s->n; b++)
    neo_plan_memory_reach(&r->x->memory, r->x->c->plan->args.at[r->s->first + b],
                          tensor_of(r, (uint32_t)b));
  for (size_t b = 0; b < k->bufs.n; b++) {
    if (k->bufs.at[b].use & NEO_BUF_SCRATCH) {
      n[b] = k->bufs.at[b].scratch_elems;
      at[b] = NEO_NEW_ARRAY(a, neo_value, n[b] + 1);
      continue;
    }
    int32_t buf = r->x->c->plan->args.at[r->s->first + (int32_t)b];
    neo_plan_region *in = r->region[b] = neo_plan_region_of(&r->x->memory, buf, &r->shift[b]);
    if (r->shift[b] > in->n)
      r->shift[b] = in->n;
    at[b] = in->at + r->shift[b];
    n[b] = in->n - r->shift[b];
  }
}

static neo_status run_kernel(neo_plan_run *x, const neo_rt_step *s) {
  const neo_kernel *k = kernel_of(x, s);
  kernel_run r = {.x = x, .s = s, .empty_at = -1};
  neo_kernel_memory memory = {&r, read_element, write_element};
  neo_arena scratch = neo_arena_scratch(x->memory.arena);
  r.region = NEO_NEW_ARRAY(&scratch, neo_plan_region *, k->bufs.n + 1);
  r.shift = NEO_NEW_ARRAY(&scratch, int64_t, k->bufs.n + 1);
  neo_value **at = NEO_NEW_ARRAY(&scratch, neo_value *, k->bufs.n + 1);
  int64_t *n = NEO_NEW_ARRAY(&scratch, int64_t, k->bufs.n + 1);
  place(&r, &scratch, k, at, n);
  x->runs++;
  neo_kernel_run run = {.bufs = at,
                        .n_elems = n,
                        .sizes = x->size,
                        .key = {x->key[0], x->key[1], x->key[2]},
                        .hi = neo_kernel_units(k, x->size),
                        .seed = neo_kernel_threads(k) ? ORDER : 0,
                        .memory = &memory};
  neo_status status = neo_kernel_interp(k, &run, x->why);
  if (status && r.empty_at >= 0) {
    neo_str_add(x->why, "; ");
    neo_plan_add_empty(x->why, &x->memory, r.region[r.empty], r.empty_at, tensor_of(&r, r.empty));
  }
  neo_arena_free(&scratch);
  return status;
}

/* ---- steps */

static void run_copy(neo_plan_run *x, const neo_rt_step *s) {
  int64_t shift;
  const neo_plan *p = x->c->plan;
  neo_plan_region *to = neo_plan_region_of(&x->memory, p->args.at[s->first], &shift);
  neo_plan_region *from = neo_plan_region_of(&x->memory, p->args.at[s->first + 1], &shift);
  int64_t n = neo_rt_eval(&x->model, s->arg, x->size) / neo_type_bytes(to->type);
  x->runs++;
  for (int64_t k = 0; k < n; k++) {
    if (!from->cell[k].time)
      continue;
    to->at[k] = from->at[k];
    (void)neo_plan_memory_write(&x->memory, to, k, p->arg_tensors.at[s->first], x->runs, 0, false,
                                x->why);
  }
}

static neo_status run_steps(neo_plan_run *x, int32_t first, int32_t end);

/* The first row of block b. */
static bool row_at(neo_plan_run *x, const neo_plan_region *rows, int64_t b, int64_t *row) {
  *row = b < rows->n ? rows->at[b].i : 0;
  if (b < rows->n && rows->cell[b].time)
    return true;
  neo_str_addf(x->why, "a loop reads where block %lld begins, which nothing has written",
               (long long)b);
  return false;
}

/* The number of the first block without rows. */
static bool blocks_end(neo_plan_run *x, const neo_plan_region *rows, int64_t lo, int64_t *hi) {
  int64_t all, row = 0;
  bool good = lo >= *hi || row_at(x, rows, *hi, &all);
  for (int64_t b = lo; good && lo < *hi; b++) {
    good = row_at(x, rows, b, &row);
    if (!good || b == *hi || row >= all) {
      *hi = b;
      break;
    }
  }
  return good;
}

static bool blocks_wide_end(neo_plan_run *x, const neo_plan_region *rows, int64_t lo,
                            int64_t *end) {
  int64_t row, next;
  while (lo < *end) {
    if (!row_at(x, rows, *end - 1, &row) || !row_at(x, rows, *end, &next))
      return false;
    if (next - row != 1)
      break;
    --*end;
  }
  return true;
}

/* Whether the iteration runs, and those after it. */
static neo_status ask(neo_plan_run *x, const neo_rt_step *s, bool *more) {
  int64_t shift, at = neo_rt_eval(&x->model, x->model.loops[s->arg].element, x->size);
  const neo_plan_region *r = neo_plan_region_of(&x->memory, x->model.args[s->first], &shift);
  if (at < 0)
    return NEO_OK;
  at += shift;
  *more = at < r->n && r->at[at].i;
  if (at < r->n && r->cell[at].time)
    return NEO_OK;
  neo_str_addf(x->why, "a loop asks for element %lld, which nothing has written", (long long)at);
  return NEO_INTERNAL;
}

/* The end of a loop that is an element. */
static neo_status end_of(neo_plan_run *x, const neo_rt_step *s, int64_t lo, int64_t *hi) {
  int64_t shift, at = neo_rt_eval(&x->model, x->model.loops[s->arg].element, x->size);
  const neo_plan_region *r = neo_plan_region_of(&x->memory, x->model.args[s->first], &shift);
  at += shift;
  bool there = at >= 0 && at < r->n && r->cell[at].time;
  if (there && r->at[at].i < *hi)
    *hi = r->at[at].i > lo ? r->at[at].i : lo;
  if (there)
    return NEO_OK;
  neo_str_addf(x->why, "a loop ends at element %lld, which nothing has written", (long long)at);
  return NEO_INTERNAL;
}

static neo_status run_iteration(neo_plan_run *x, int32_t step, const neo_plan_region *rows,
                                int64_t at, int64_t end, bool *more) {
  const neo_rt_step *s = &x->model.steps[step];
  const neo_rt_loop *l = &x->model.loops[s->arg];
  if (l->index >= 0)
    set_size(x, l->index, at);
  if (rows) {
    int64_t first, next;
    if (!row_at(x, rows, at, &first) || !row_at(x, rows, end, &next))
      return NEO_INTERNAL;
    set_size(x, l->begin, first);
    set_size(x, l->end, next);
    if (first >= next)
      return NEO_OK;
  }
  neo_status status = s->flags & NEO_RT_STEP_ASKS ? ask(x, s, more) : NEO_OK;
  return status || !*more ? status : run_steps(x, step + 1, step + 1 + s->n);
}

static neo_status run_loop(neo_plan_run *x, int32_t step) {
  const neo_rt_step *s = &x->model.steps[step];
  const neo_rt_loop *l = &x->model.loops[s->arg];
  bool blocks = s->flags & NEO_RT_STEP_BLOCKS, serial = s->flags & NEO_RT_STEP_SERIAL;
  int64_t lo = neo_rt_eval(&x->model, l->lo, x->size), hi = neo_rt_eval(&x->model, l->hi, x->size);
  int64_t shift;
  const neo_plan_region *rows =
      blocks ? neo_plan_region_of(&x->memory, x->model.args[s->first], &shift) : NULL;
  bool whole = s->flags & NEO_RT_STEP_WHOLE;
  if (rows && !whole && !blocks_end(x, rows, lo, &hi))
    return NEO_INTERNAL;
  int64_t end = hi;
  if (rows && s->flags & (NEO_RT_STEP_WIDE | NEO_RT_STEP_SERIAL) &&
      !blocks_wide_end(x, rows, lo, &hi))
    return NEO_INTERNAL;
  bool more = true;
  serial = serial || whole;
  neo_status status = s->flags & NEO_RT_STEP_ENDS && lo < hi ? end_of(x, s, lo, &hi) : NEO_OK;
  if (serial && lo <= hi)
    status = run_iteration(x, step, rows, whole ? lo : hi, end, &more);
  for (int64_t k = lo; k < hi && !serial && !status && more; k++) {
    int64_t at = l->down ? lo + hi - 1 - k : k;
    status = run_iteration(x, step, rows, at, at + 1, &more);
  }
  return status;
}

static neo_status run_steps(neo_plan_run *x, int32_t first, int32_t end) {
  neo_status status = NEO_OK;
  for (int32_t i = first; i < end && !status; i++) {
    const neo_rt_step *s = &x->model.steps[i];
    if (s->op == NEO_RT_STEP_LOOP) {
      status = run_loop(x, i);
      i += s->n;
    } else if (s->op == NEO_RT_STEP_COPY) {
      run_copy(x, s);
    } else {
      x->kernel = kernel_of(x, s)->name;
      status = run_kernel(x, s);
    }
  }
  return status;
}

neo_status neo_plan_run_group(neo_plan_run *x, int32_t *step) {
  const neo_plan *p = x->c->plan;
  int32_t first = *step, group = p->step_group.at[first];
  int32_t all = x->entry->first_step + x->entry->n_steps;
  while (*step < all && p->step_group.at[*step] == group && (group >= 0 || *step == first))
    ++*step;
  return run_steps(x, first, *step);
}
