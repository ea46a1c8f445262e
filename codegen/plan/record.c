/* The plan as constant data of the generated library: the tables of neo_rt.h, field by field in
 * their C layout, and the thin entries that pass their arguments to libneort. */
#include "codegen/plan/internal.h"

typedef const neo_lconst *lc;
typedef struct {
  const neo_plan *p;
  neo_llvm *l;
  const neo_target *t;
  const neo_plan_image *image;
} recorder;

static lc i8(recorder *r, int64_t x) {
  return neo_lconst_int(r->l, 8, x);
}
static lc i32(recorder *r, int64_t x) {
  return neo_lconst_int(r->l, 32, x);
}
static lc i64(recorder *r, int64_t x) {
  return neo_lconst_int(r->l, 64, x);
}
static lc text(recorder *r, const char *s) {
  return neo_lconst_string(r->l, s);
}
#define RECORD(r, ...) \
  neo_lconst_struct((r)->l, (lc[]){__VA_ARGS__}, sizeof((lc[]){__VA_ARGS__}) / sizeof(lc))

static lc table(recorder *r, size_t n, lc (*row)(recorder *r, size_t k)) {
  lc *rows = NEO_NEW_ARRAY(r->p->arena, lc, n + 1);
  for (size_t k = 0; k < n; k++)
    rows[k] = row(r, k);
  return neo_lconst_array(r->l, rows, n);
}

static lc size_row(recorder *r, size_t k) {
  neo_rt_size s = r->p->sizes.at[k];
  return RECORD(r, text(r, s.name), i64(r, s.lo), i64(r, s.hi));
}

static lc assert_row(recorder *r, size_t k) {
  neo_rt_assert a = r->p->asserts.at[k];
  return RECORD(r, text(r, a.text), text(r, a.place), i32(r, a.program));
}

static lc tensor_row(recorder *r, size_t k) {
  neo_rt_tensor t = r->p->tensors.at[k];
  return RECORD(r, text(r, t.name), text(r, t.place), i8(r, t.role), i8(r, t.type), i8(r, t.rank),
                i8(r, t.in_safetensors), i8(r, t.optimizer), i32(r, t.extent), i32(r, t.bound),
                i32(r, t.ends), i32(r, t.buf), i32(r, t.offsets));
}

static lc buf_row(recorder *r, size_t k) {
  neo_rt_buf b = r->p->bufs.at[k];
  return RECORD(r, i8(r, b.mem), i8(r, b.type), i64(r, b.offset), i64(r, b.size_bytes),
                i64(r, b.shift), i32(r, b.whole), i32(r, b.place));
}

static lc kernel_row(recorder *r, size_t k) {
  neo_rt_kernel n = r->p->rt_kernels.at[k];
  const neo_plan_kernel *from = &r->p->kernels.at[k];
  lc none = neo_lconst_null(r->l);
  bool gpu = from->block != 0;
  return RECORD(r, text(r, n.name), gpu ? none : neo_lconst_symbol(r->l, from->symbol),
                i32(r, n.units), i64(r, n.scratch_bytes), from->fast ? text(r, n.needs) : none,
                from->fast ? neo_lconst_symbol(r->l, from->fast_symbol) : none,
                i32(r, n.fast_units), gpu ? text(r, from->symbol) : none, i32(r, from->block),
                i32(r, from->block_units), i32(r, n.first_map), i32(r, n.n_maps),
                i32(r, n.persistent));
}

static lc numbers(recorder *r, const int32_t *at, size_t n) {
  lc *x = NEO_NEW_ARRAY(r->p->arena, lc, n);
  for (size_t k = 0; k < n; k++)
    x[k] = i32(r, at[k]);
  return neo_lconst_struct(r->l, x, n);
}

static lc array(recorder *r, const int32_t *at, size_t n) {
  lc *x = NEO_NEW_ARRAY(r->p->arena, lc, n + 1);
  for (size_t k = 0; k < n; k++)
    x[k] = i32(r, at[k]);
  return neo_lconst_array(r->l, x, n);
}

static lc map_row(recorder *r, size_t k) {
  neo_rt_map m = r->p->maps.at[k];
  lc stride[NEO_RT_MAP_RANK];
  for (int d = 0; d < NEO_RT_MAP_RANK; d++)
    stride[d] = i64(r, m.stride_bytes[d]);
  return RECORD(r, i32(r, m.arg), i8(r, m.type), i8(r, m.rank),
                numbers(r, m.extent, NEO_RT_MAP_RANK), numbers(r, m.box, NEO_RT_MAP_RANK),
                neo_lconst_struct(r->l, stride, NEO_RT_MAP_RANK));
}

static lc image_row(recorder *r, size_t k) {
  const neo_plan_image *x = &r->image[k];
  return RECORD(r, i8(r, x->kind), neo_lconst_bytes(r->l, x->data, x->n, NEO_RT_ALIGN_BYTES),
                i64(r, (int64_t)x->n));
}

static lc step_row(recorder *r, size_t k) {
  neo_rt_step s = r->p->steps.at[k];
  if (s.op == NEO_RT_STEP_RUN && neo_target_waits(r->t))
    s.flags |= NEO_RT_STEP_WAITS;
  lc field[] = {
#define FIELD(bits, name) neo_lconst_int(r->l, bits, s.name),
#include "base/steps.def"
#undef FIELD
  };
  return neo_lconst_struct(r->l, field, sizeof field / sizeof *field);
}

static lc loop_row(recorder *r, size_t k) {
  neo_rt_loop x = r->p->loops.at[k];
  return RECORD(r, i32(r, x.index), i32(r, x.lo), i32(r, x.hi), i32(r, x.down), i32(r, x.begin),
                i32(r, x.end), i32(r, x.element));
}

static lc grid_row(recorder *r, size_t k) {
  neo_rt_grid x = r->p->grids.at[k].rt;
  return RECORD(r, text(r, x.name), text(r, r->p->grids.at[k].symbol), i32(r, x.first_step),
                i32(r, x.n_steps), i32(r, x.part), i32(r, x.block), i64(r, x.scratch_bytes));
}

static lc grid_part_row(recorder *r, size_t k) {
  neo_rt_grid_part x = r->p->grid_parts.at[k];
  return RECORD(r, i32(r, x.phase), i32(r, x.lone), i32(r, x.meets));
}

static lc cached_row(recorder *r, size_t k) {
  neo_rt_cached x = r->p->cached.at[k];
  return RECORD(r, i32(r, x.sources), i32(r, x.n_sources));
}

static lc entry_row(recorder *r, size_t k) {
  neo_rt_entry e = r->p->entries.at[k];
  return RECORD(r, text(r, e.name), i8(r, e.kind), i8(r, e.ends_early), i32(r, e.first_step),
                i32(r, e.n_steps), i32(r, e.args), i32(r, e.n_args), i32(r, e.n_inputs),
                i32(r, e.sizes), i32(r, e.n_sizes), i64(r, e.frame_bytes),
                i64(r, e.lower_bound_bytes), i32(r, e.writes), i32(r, e.n_writes), i32(r, e.places),
                i32(r, e.n_places));
}

static lc place_row(recorder *r, size_t k) {
  neo_rt_place x = r->p->rt_places.at[k];
  return RECORD(r, i64(r, x.offset), i32(r, x.buf), i32(r, x.bytes), i32(r, x.below),
                i32(r, x.n_below));
}

static lc program_row(recorder *r, size_t k) {
  return i64(r, r->p->programs.at[k]);
}

static lc model_record(recorder *r, size_t n_images) {
  const neo_plan *p = r->p;
  lc data = p->const_data.n
                ? neo_lconst_bytes(r->l, p->const_data.at, p->const_data.n, NEO_RT_ALIGN_BYTES)
                : neo_lconst_null(r->l);
  return RECORD(
      r, i32(r, NEO_RT_ABI), text(r, neo_name_text(p->m->names, p->m->name)), text(r, p->prefix),
      text(r, p->source_hash), text(r, r->t->triple), text(r, r->t->rt_features),
      i32(r, (int64_t)p->sizes.n), i32(r, (int64_t)p->tensors.n), i32(r, (int64_t)p->bufs.n),
      i32(r, (int64_t)p->kernels.n), i32(r, (int64_t)p->steps.n), i32(r, (int64_t)p->entries.n),
      table(r, p->sizes.n, size_row), table(r, p->tensors.n, tensor_row),
      table(r, p->bufs.n, buf_row), table(r, p->kernels.n, kernel_row),
      table(r, p->steps.n, step_row), table(r, p->entries.n, entry_row),
      array(r, p->extents.at, p->extents.n), array(r, p->args.at, p->args.n),
      array(r, p->entry_args.at, p->entry_args.n), array(r, p->entry_sizes.at, p->entry_sizes.n),
      table(r, p->programs.n, program_row), data, i64(r, p->param_bytes), i64(r, p->state_bytes),
      i64(r, p->frame_bytes), i64(r, p->scratch_bytes), i32(r, (int64_t)p->cached.n),
      table(r, p->cached.n, cached_row), array(r, p->cached_sources.at, p->cached_sources.n),
      array(r, p->entry_writes.at, p->entry_writes.n), i64(r, p->cached_bytes),
      r->t->sm ? text(r, r->t->level) : neo_lconst_null(r->l), i32(r, (int64_t)n_images),
      table(r, n_images, image_row), table(r, p->maps.n, map_row), i32(r, (int64_t)p->grids.n),
      table(r, p->grids.n, grid_row), table(r, p->grid_parts.n, grid_part_row),
      i32(r, (int64_t)p->asserts.n), table(r, p->asserts.n, assert_row),
      i32(r, (int64_t)p->loops.n), table(r, p->loops.n, loop_row),
      i64(r, (int64_t)neo_plan_interface(p)), i32(r, (int64_t)p->rt_places.n),
      i32(r, (int64_t)p->places_below.n), table(r, p->rt_places.n, place_row),
      array(r, p->places_below.at, p->places_below.n));
}

/* ---- thin entries */

typedef struct {
  const char *name, *callee, *params;
  char ret;
  int model; /* the model record goes before the parameters */
} wrapper;

/* Every function of the header but the model's own entries. */
static const wrapper wrappers[] = {
    {"create", "neo_rt_create", "pp", 'i', 1},
    {"create_for", "neo_rt_create_for", "lpp", 'i', 1},
    {"destroy", "neo_rt_destroy", "p", 'v', 0},
    {"error", "neo_rt_error", "p", 'p', 0},
    {"status_text", "neo_rt_status_text", "i", 'p', 0},
    {"reset", "neo_rt_reset", "pl", 'i', 0},
    {"bind", "neo_rt_bind", "pip", 'i', 0},
    {"view", "neo_rt_view", "pipp", 'i', 0},
    {"run", "neo_rt_run", "pi", 'i', 0},
    {"get", "neo_rt_get", "pipz", 'i', 0},
    {"set", "neo_rt_set", "pipz", 'i', 0},
    {"set_scalar", "neo_rt_set_scalar", "ppd", 'i', 0},
    {"find", "neo_rt_find", "p", 'i', 1},
    {"save", "neo_rt_save", "pppi", 'i', 0},
    {"load", "neo_rt_load", "pp", 'i', 0},
    {"load_weights", "neo_rt_load_weights", "ppp", 'i', 0},
    {"loaded", "neo_rt_loaded", "pp", 'p', 0},
    {"step_count", "neo_rt_step_count", "p", 'l', 0},
    {"warm", "neo_rt_warm", "p", 'i', 0},
    {"wait", "neo_rt_wait", "p", 'i', 0},
    {"trace", "neo_rt_trace", "pp", 'i', 0},
    {"describe", "neo_rt_describe", "ipz", 'z', 1},
    {"arena_size", "neo_rt_arena_size", "i", 'l', 1},
    {"frame_bytes", "neo_rt_frame_bytes", "ip", 'l', 1},
    {"bytes", "neo_rt_bytes", "p", 'l', 0},
};

const char *neo_plan_function(size_t k) {
  return k < sizeof wrappers / sizeof *wrappers ? wrappers[k].name : NULL;
}

static void add_wrapper(recorder *r, const wrapper *w, const char *model) {
  neo_entry_arg arg[8];
  size_t n = 0;
  if (w->model)
    arg[n++] = (neo_entry_arg){.kind = NEO_ARG_SYMBOL, .symbol = model};
  for (int k = 0; w->params[k]; k++)
    arg[n++] = (neo_entry_arg){.kind = NEO_ARG_PARAM, .value = k};
  const char *symbol = neo_arena_printf(r->p->arena, "%s_%s", r->p->prefix, w->name);
  neo_llvm_entry(r->l, symbol, w->ret, w->params, w->callee, arg, n);
}

/* Does the header say "<prefix>_<name>" already: a function, a type, an entry? */
static bool is_taken(const neo_plan *p, const char *name) {
  static const char *const types[] = {"model", "ctx", "config", "status"};
  bool taken = false;
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    taken = taken || neo_streq(name, types[k]);
  for (size_t k = 0; k < sizeof wrappers / sizeof *wrappers; k++)
    taken = taken || neo_streq(name, wrappers[k].name);
  const char *symbol = neo_arena_printf(p->arena, "%s_%s", p->prefix, name);
  for (size_t k = 0; k < p->kernels.n; k++)
    taken = taken || neo_streq(symbol, p->kernels.at[k].symbol) ||
            (p->kernels.at[k].fast && neo_streq(symbol, p->kernels.at[k].fast_symbol));
  for (size_t k = 0; k < p->entry_symbols.n; k++)
    taken = taken || neo_streq(symbol, p->entry_symbols.at[k]);
  return taken;
}

void plan_name_entries(neo_plan *p) {
  for (size_t e = 0; e < p->entries.n; e++) {
    const char *base = neo_plan_ident(p->arena, p->entries.at[e].name), *name = base;
    for (int k = 1; is_taken(p, name); k++)
      name = k == 1 ? neo_arena_printf(p->arena, "%s_entry", base)
                    : neo_arena_printf(p->arena, "%s_entry%d", base, k);
    NEO_PUSH(p->arena, &p->entry_symbols,
             (const char *)neo_arena_printf(p->arena, "%s_%s", p->prefix, name));
  }
}

/* mlp_step(ctx, B, X, Y, loss): sizes and pointers as two arrays. */
static void add_entry(recorder *r, size_t k) {
  const neo_plan *p = r->p;
  neo_rt_entry e = p->entries.at[k];
  neo_str params = neo_str_in(p->arena);
  neo_str_addc(&params, 'p');
  for (int32_t i = 0; i < e.n_sizes; i++)
    neo_str_addc(&params, 'l');
  for (int32_t i = 0; i < e.n_args; i++)
    neo_str_addc(&params, 'p');
  neo_entry_arg arg[4] = {{.kind = NEO_ARG_PARAM, .value = 0},
                          {.kind = NEO_ARG_INT, .value = (int32_t)k},
                          {.kind = NEO_ARG_ARRAY, .value = 1, .n = e.n_sizes},
                          {.kind = NEO_ARG_ARRAY, .value = 1 + e.n_sizes, .n = e.n_args}};
  neo_llvm_entry(r->l, p->entry_symbols.at[k], 'i', neo_str_text(&params), "neo_rt_call", arg, 4);
}

static const char *model_symbol(const neo_plan *p) {
  return neo_arena_printf(p->arena, "%s_model", p->prefix);
}

void neo_plan_emit(const neo_plan *p, const neo_target *t, const neo_plan_image *image,
                   size_t n_images, neo_llvm *l) {
  recorder r = {p, l, t, image};
  neo_llvm_global(l, model_symbol(p), model_record(&r, n_images), true);
}

void neo_plan_emit_functions(const neo_plan *p, const neo_target *t, neo_llvm *l) {
  recorder r = {p, l, t, NULL};
  const char *model = model_symbol(p);
  for (size_t k = 0; k < sizeof wrappers / sizeof *wrappers; k++)
    add_wrapper(&r, &wrappers[k], model);
  for (size_t k = 0; k < p->entries.n; k++)
    if (p->entries.at[k].kind != NEO_RT_ENTRY_INIT)
      add_entry(&r, k);
}
