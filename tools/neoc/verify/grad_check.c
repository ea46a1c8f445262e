/* `neoc grad-check`: gradients against central differences, everything in f64.
 *
 * What is differentiated: the loss of a `train` statement; a model without one: every float output,
 * through a random seed (so f = sum of seed*y). Between frontend and passes the module gets, for
 * each such y, an entry that returns y and one that returns its gradients: those of the GRAD
 * entry, and requests of our own for float inputs and parameters that nobody trains. Then all
 * floats become f64. With --order=2, each of these gradients is a function too, and so on.
 *
 * What stop() takes, and what functions with their own gradient give, is held fixed for the
 * differences (grad_hold.h); the latter's gradients are the model's word and are not compared.
 *
 * An element that disagrees is tried again at other random points: at a kink (relu at 0, a tie of
 * max) the difference is no derivative, but kinks are rare. What disagrees every time is
 * reported. */
#include "base/random.h"
#include "include/neo/dlpack.h"
#include "tools/neoc/run/runner.h"
#include "tools/neoc/verify/grad_hold.h"
#include <math.h>
#include <string.h>

enum { TRIES = 3, SHOWN = 10, SMALL = 3, MOST_ORDER = 4 };

typedef struct { /* one function of the model */
  const char *name;
  neo_tensor y, seed; /* seed 0: y is a scalar */
  neo_tensor y_held;  /* y as differences see it (grad_hold.h) */
  neoc_holds *holds;
  NEO_VEC(neo_tensor) wrt;
  uint32_t value, gradient, hold; /* entries; hold: what is held, if holds->at.n */
} function;

typedef struct {
  neoc_cli *cli;
  neoc_runner r;
  NEO_VEC(function) functions;
  uint64_t state;
  double eps, rtol, atol;
  int64_t samples, order;
  int64_t checked, failures, kinks;
  NEO_VEC(const char *) own; /* what is not compared */
} checker;

/* ---- preparing the module */

static bool is_chosen(checker *c, const char *name) {
  neoc_texts words = neoc_words(c->cli, NEOC_O_WRT);
  for (size_t k = 0; k < words.n; k++)
    if (neo_streq(words.at[k], name))
      return true;
  return words.n == 0;
}

/* The gradient that an entry returns already, as "grad:W". */
static neo_tensor known_gradient(const neo_module *m, const neo_entry_rec *e, const char *name) {
  for (uint32_t k = 1; e && k < e->outputs.n; k++) {
    const char *own = neo_name_text(m->names, neo_list_at(m, e->names, k));
    if (strncmp(own, "grad:", 5) == 0 && neo_streq(own + 5, name))
      return (neo_tensor){neo_list_at(m, e->outputs, k)};
  }
  return (neo_tensor){0};
}

static neo_tensor like(neo_module *m, neo_tensor t, neo_role role, const char *name) {
  neo_tensor_rec of = *neo_tensor_at(m, t);
  neo_tensor_rec rec = {.role = (uint8_t)role, .type = of.type, .span = of.span};
  rec.name = neo_name_of(m->names, name);
  rec.extent = of.extent;
  return neo_tensor_add(m, rec);
}

static uint32_t add_entry(neo_module *m, const char *name, const uint32_t *out,
                          const uint32_t *names, size_t n) {
  neo_entry_rec e = {.kind = NEO_ENTRY_GRAD, .name = neo_name_of(m->names, name)};
  e.outputs = neo_list_new(m, out, n);
  e.names = neo_list_new(m, names, n);
  NEO_PUSH(m->arena, &m->entries, e);
  return (uint32_t)m->entries.n - 1;
}

static void add_request(neo_module *m, const function *f, const uint32_t *wrt, const uint32_t *out,
                        size_t n) {
  if (!n)
    return;
  neo_grad_rec g = {.y = f->y, .seed = f->seed};
  g.wrt = neo_list_new(m, wrt, n);
  g.out = neo_list_new(m, out, n);
  NEO_PUSH(m->arena, &m->grads, g);
}

/* The gradients of y_held as tensors of their own, where its graph is another one than y's. */
static uint32_t *held_gradients(checker *c, neo_module *m, const function *f) {
  size_t n = f->wrt.n;
  uint32_t *out = NEO_NEW_ARRAY(c->cli->arena, uint32_t, n + 1);
  uint32_t *wrt = NEO_NEW_ARRAY(c->cli->arena, uint32_t, n + 1);
  function held = *f;
  held.y = f->y_held;
  for (size_t k = 0; k < n; k++) {
    wrt[k] = f->wrt.at[k].i;
    const char *own = neo_name_text(m->names, neo_tensor_at(m, f->wrt.at[k])->name);
    out[k] =
        like(m, f->wrt.at[k], NEO_ROLE_TEMP, neo_arena_printf(m->arena, "held.%s.%s", f->name, own))
            .i;
  }
  add_request(m, &held, wrt, out, n);
  return out;
}

static void add_function(checker *c, neo_module *m, function f, const neo_entry_rec *known,
                         int64_t order);

/* The gradients of f are functions too. */
static void add_next_order(checker *c, neo_module *m, const function *f, const uint32_t *out,
                           int64_t order) {
  if (order >= c->order)
    return;
  const uint32_t *held = f->y_held.i == f->y.i ? out : held_gradients(c, m, f);
  for (size_t k = 0; k < f->wrt.n; k++) {
    const char *wrt = neo_name_text(m->names, neo_tensor_at(m, f->wrt.at[k])->name);
    function next = {.y = {out[k]}, .y_held = {held[k]}, .holds = f->holds, .hold = f->hold};
    next.name = neo_arena_printf(c->cli->arena, "(d %s/d %s)", f->name, wrt);
    add_function(c, m, next, NULL, order + 1);
  }
}

/* Is it a float that differences can be taken in? */
static bool is_variable(checker *c, const neo_module *m, uint32_t t, const neoc_holds *holds) {
  const neo_tensor_rec *rec = &m->tensors.at[t];
  bool good = rec->role == NEO_ROLE_INPUT || rec->role == NEO_ROLE_PARAM;
  return good && neo_type_is_float((neo_type)rec->type) &&
         !neoc_holds_input(holds, (neo_tensor){t}) &&
         is_chosen(c, neo_name_text(m->names, rec->name));
}

/* `order` of the derivatives of f.y. */
static void add_function(checker *c, neo_module *m, function f, const neo_entry_rec *known,
                         int64_t order) {
  neo_arena *a = c->cli->arena;
  size_t n = m->tensors.n, n_out = 0, n_new = 0;
  uint32_t *out = NEO_NEW_ARRAY(a, uint32_t, n + 2), *names = NEO_NEW_ARRAY(a, uint32_t, n + 2);
  uint32_t *wrt = NEO_NEW_ARRAY(a, uint32_t, n + 2), *made = NEO_NEW_ARRAY(a, uint32_t, n + 2);
  bool *read = neoc_reads(m, a, f.y);
  if (neo_tensor_rank(m, f.y))
    f.seed = like(m, f.y, NEO_ROLE_INPUT, neo_arena_printf(m->arena, "seed of %s", f.name));
  for (uint32_t t = 1; t < n; t++) {
    const char *own = neo_name_text(m->names, m->tensors.at[t].name);
    if (!read[t] || !is_variable(c, m, t, f.holds))
      continue;
    neo_tensor g = known_gradient(m, known, own);
    if (!g.i) {
      g = like(m, (neo_tensor){t}, NEO_ROLE_TEMP,
               neo_arena_printf(m->arena, "check.%s.%s", f.name, own));
      wrt[n_new] = t;
      made[n_new++] = g.i;
    }
    NEO_PUSH(a, &f.wrt, (neo_tensor){t});
    out[n_out] = g.i;
    names[n_out++] = neo_name_of(m->names, neo_arena_printf(m->arena, "grad:%s:%s", f.name, own));
  }
  add_request(m, &f, wrt, made, n_new);
  uint32_t y_name = neo_name_of(m->names, neo_arena_printf(m->arena, "value:%s", f.name));
  f.value =
      add_entry(m, neo_arena_printf(m->arena, "value of %s", f.name), &f.y_held.i, &y_name, 1);
  f.gradient =
      add_entry(m, neo_arena_printf(m->arena, "gradients of %s", f.name), out, names, n_out);
  if (n_out)
    NEO_PUSH(a, &c->functions, f);
  add_next_order(c, m, &f, out, order);
}

/* The entry that computes what is held. */
static uint32_t add_hold_entry(checker *c, neo_module *m, const function *f) {
  size_t n = 0;
  uint32_t *out = NEO_NEW_ARRAY(c->cli->arena, uint32_t, f->holds->at.n + 1);
  uint32_t *names = NEO_NEW_ARRAY(c->cli->arena, uint32_t, f->holds->at.n + 1);
  for (size_t k = 0; k < f->holds->at.n; k++) {
    neo_tensor t = f->holds->at.at[k].of;
    if (neo_tensor_at(m, t)->role != NEO_ROLE_TEMP)
      continue;
    out[n] = t.i;
    names[n++] = neo_tensor_at(m, f->holds->at.at[k].input)->name;
  }
  return add_entry(m, neo_arena_printf(m->arena, "held for %s", f->name), out, names, n);
}

/* What the model's y depends on through functions with their own gradient alone. */
static void note_own(checker *c, neo_module *m, neo_tensor y, const function *f) {
  bool *read = neoc_reads(m, c->cli->arena, y), *left = neoc_reads(m, c->cli->arena, f->y);
  bool none = neoc_holds_input(f->holds, f->y);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (read[t] && (none || !left[t]) && is_variable(c, m, t, f->holds))
      NEO_PUSH(c->cli->arena, &c->own,
               neo_arena_printf(c->cli->arena, "d %s/d %s", f->name,
                                neo_name_text(m->names, m->tensors.at[t].name)));
}

static void add_first(checker *c, neo_module *m, neo_tensor y, const char *name,
                      const neo_entry_rec *known) {
  neo_arena *a = c->cli->arena;
  function f = {.name = neo_arena_strdup(a, name), .holds = NEO_NEW(a, neoc_holds)};
  neoc_holds_init(f.holds, a, neoc_has(c->cli, NEOC_O_OWN));
  f.y = neoc_hold(m, a, y, false, f.holds);
  if (f.holds->at.n)
    note_own(c, m, y, &f);
  if (neoc_holds_input(f.holds, f.y))
    return;
  f.y_held = neoc_hold(m, a, y, true, f.holds);
  if (f.holds->at.n)
    f.hold = add_hold_entry(c, m, &f);
  add_function(c, m, f, f.y.i == y.i ? known : NULL, 1);
}

static bool is_float(const neo_module *m, neo_tensor t) {
  return neo_type_is_float((neo_type)neo_tensor_at(m, t)->type);
}

static void add_outputs(checker *c, neo_module *m, const neo_entry_rec *e) {
  for (uint32_t k = 0; k < e->outputs.n; k++) {
    neo_tensor y = {neo_list_at(m, e->outputs, k)};
    uint8_t role = neo_tensor_at(m, y)->role;
    if (is_float(m, y) && (role == NEO_ROLE_TEMP || role == NEO_ROLE_UPDATE))
      add_first(c, m, y, neo_name_text(m->names, neo_list_at(m, e->names, k)), NULL);
  }
}

/* The entries that are checked: the one named; else all with gradients; else all with outputs. */
static bool wanted(checker *c, const neo_module *m, const neo_entry_rec *e, bool any_grad) {
  const char *name = neoc_text(c->cli, NEOC_O_ENTRY, NULL);
  if (name)
    return neo_streq(name, neo_name_text(m->names, e->name));
  return any_grad ? e->kind == NEO_ENTRY_GRAD : e->kind == NEO_ENTRY_FORWARD;
}

static neo_status prepare(void *ctx, neo_module *m) {
  checker *c = ctx;
  size_t n = m->entries.n;
  bool any_grad = false;
  for (size_t k = 0; k < n; k++)
    any_grad = any_grad || m->entries.at[k].kind == NEO_ENTRY_GRAD;
  neo_entry_rec *old = neo_arena_copy(m->arena, m->entries.at, (n + 1) * sizeof *old);
  m->entries.n = 0;
  for (size_t k = 0; k < n; k++) {
    if (!wanted(c, m, &old[k], any_grad))
      continue;
    neo_tensor y = {neo_list_at(m, old[k].outputs, 0)};
    if (old[k].kind == NEO_ENTRY_FORWARD)
      add_outputs(c, m, &old[k]);
    else
      add_first(c, m, y, neo_name_text(m->names, neo_list_at(m, old[k].names, 0)),
                old[k].kind == NEO_ENTRY_GRAD ? &old[k] : NULL);
  }
  neo_module_widen(m);
  return NEO_OK;
}

/* ---- points */

static double uniform(checker *c) {
  return (double)(neo_splitmix(&c->state) >> 11) * 0x1p-52 - 1;
}

/* The place of an element of a parameter or an input (all f64). */
static double *element(checker *c, neo_tensor t, int64_t k) {
  neoc_runner *r = &c->r;
  if (neo_tensor_at(r->c.module, t)->role == NEO_ROLE_INPUT)
    return (double *)r->input[t.i].data + k;
  if (r->interp)
    return &neo_interp_tensor(r->interp, t)->at[k].f;
  neo_dl_tensor dl;
  int64_t shape[16];
  int32_t number = neo_rt_find(r->lib.model, neoc_tensor_name(r, t));
  if (neo_rt_view(r->ctx, number, &dl, shape))
    return NULL;
  return (double *)dl.data + k;
}

static int64_t elements(checker *c, neo_tensor t, int64_t extent[16]) {
  return neo_tensor_elements_at(c->r.c.module, t, neoc_runner_sizes(&c->r), extent);
}

/* Zeros for an input that no entry reads: the function does not depend on it after all. */
static void unread_input(checker *c, neo_tensor t) {
  neo_rt_array *x = &c->r.input[t.i];
  int64_t extent[16];
  elements(c, t, extent);
  if (!x->data)
    *x = neoc_array_new(c->cli->arena, NEO_F64_T, neo_tensor_rank(c->r.c.module, t), extent);
}

/* Elements of a held tensor to the input that stands for it. */
static void put_held(checker *c, neo_tensor input, const void *from) {
  neo_rt_array *x = &c->r.input[input.i];
  if (x->data && from)
    memcpy(x->data, from, (size_t)neoc_array_count(x) * neo_type_bytes((neo_type)x->type));
}

/* Held values are those at this point. */
static neoc_exit hold(checker *c, const function *f) {
  neoc_output *out = NULL;
  size_t n = 0, k_out = 0;
  if (!f->holds->at.n)
    return NEOC_OK;
  neoc_exit e = neoc_runner_run(&c->r, (int)f->hold, &out, &n);
  for (size_t k = 0; k < f->holds->at.n && !e; k++) {
    neoc_held held = f->holds->at.at[k];
    bool computed = neo_tensor_at(c->r.c.module, held.of)->role == NEO_ROLE_TEMP;
    put_held(c, held.input, computed ? out[k_out++].array.data : element(c, held.of, 0));
  }
  return e;
}

/* Inputs anew, and parameters moved a little from where they are: zeros hide errors. */
static neoc_exit new_point(checker *c, const function *f) {
  neoc_exit e = f->holds->at.n ? neoc_runner_randomize(&c->r, (int)f->hold, &c->state) : NEOC_OK;
  if (!e)
    e = neoc_runner_randomize(&c->r, (int)f->value, &c->state);
  if (!e)
    e = neoc_runner_randomize(&c->r, (int)f->gradient, &c->state);
  int64_t extent[16];
  for (size_t k = 0; k < f->wrt.n && !e; k++) {
    neo_tensor t = f->wrt.at[k];
    if (neo_tensor_at(c->r.c.module, t)->role == NEO_ROLE_INPUT) {
      unread_input(c, t);
      continue;
    }
    for (int64_t i = 0, n = elements(c, t, extent); i < n; i++)
      *element(c, t, i) += 0.05 * uniform(c);
  }
  return e ? e : hold(c, f);
}

static neoc_exit value(checker *c, const function *f, double *out) {
  neoc_output *y;
  size_t n;
  neoc_exit e = neoc_runner_run(&c->r, (int)f->value, &y, &n);
  if (e)
    return e;
  const double *v = y[0].array.data, *seed = f->seed.i ? c->r.input[f->seed.i].data : NULL;
  *out = 0;
  for (int64_t k = 0, m = neoc_array_count(&y[0].array); k < m; k++)
    *out += seed ? seed[k] * v[k] : v[k];
  return NEOC_OK;
}

static neoc_exit difference(checker *c, const function *f, neo_tensor t, int64_t k, double *out) {
  double *x = element(c, t, k), was = *x, h = c->eps * fmax(1, fabs(was)), up = 0, down = 0;
  *x = was + h;
  double width = *x;
  neoc_exit e = value(c, f, &up);
  *element(c, t, k) = was - h;
  width -= was - h;
  if (!e)
    e = value(c, f, &down);
  *element(c, t, k) = was;
  *out = (up - down) / width;
  return e;
}

/* ---- checking */

static bool agree(const checker *c, double a, double b) {
  return fabs(a - b) <= c->atol + c->rtol * fmax(fabs(a), fabs(b));
}

static void complain(checker *c, const function *f, neo_tensor t, int64_t k, double a, double b) {
  int64_t extent[16], index[16], rest = k;
  uint32_t rank = neo_tensor_rank(c->r.c.module, t);
  elements(c, t, extent);
  for (uint32_t d = rank; d-- > 0; rest /= extent[d])
    index[d] = rest % extent[d];
  if (c->failures++ < SHOWN)
    neoc_fail(c->cli, NEOC_FAILED, "d %s/d %s%s: the gradient is %.9g, the difference %.9g",
              f->name, neoc_tensor_name(&c->r, t),
              rank ? neoc_shape_text(c->cli->arena, rank, index) : "", a, b);
}

static neoc_exit gradient_at(checker *c, const function *f, size_t which, int64_t k, double *out) {
  neoc_output *g;
  size_t n;
  neoc_exit e = neoc_runner_run(&c->r, (int)f->gradient, &g, &n);
  if (!e)
    *out = ((const double *)g[which].array.data)[k];
  return e;
}

/* Again at other points: does it agree at one of them? */
static neoc_exit retry(checker *c, const function *f, size_t which, int64_t k, bool *good) {
  *good = false;
  for (int i = 1; i < TRIES && !*good; i++) {
    double a = 0, b = 0;
    neoc_exit e = new_point(c, f);
    if (!e)
      e = gradient_at(c, f, which, k, &a);
    if (!e)
      e = difference(c, f, f->wrt.at[which], k, &b);
    if (e)
      return e;
    *good = agree(c, a, b);
  }
  return NEOC_OK;
}

static neoc_exit check_tensor(checker *c, const function *f, size_t which) {
  neo_tensor t = f->wrt.at[which];
  int64_t extent[16], n = elements(c, t, extent), m = c->samples && c->samples < n ? c->samples : n;
  int64_t failed = c->failures;
  double worst = 0;
  neoc_output *g;
  size_t n_out;
  neoc_exit e = neoc_runner_run(&c->r, (int)f->gradient, &g, &n_out);
  for (int64_t i = 0; i < m && !e; i++) {
    int64_t k = m == n ? i : (int64_t)(neo_splitmix(&c->state) % (uint64_t)n);
    double a = ((const double *)g[which].array.data)[k], b = 0;
    e = difference(c, f, t, k, &b);
    c->checked++;
    worst = fmax(worst, fabs(a - b));
    if (e || agree(c, a, b))
      continue;
    bool good;
    e = retry(c, f, which, k, &good);
    if (!good)
      complain(c, f, t, k, a, b);
    c->kinks += good;
    if (!e)
      e = neoc_runner_run(&c->r, (int)f->gradient, &g, &n_out); /* at the point we are now */
  }
  if (!e && !c->cli->json && !neoc_has(c->cli, NEOC_O_QUIET))
    printf("d %s/d %s: %s, %lld of %lld elements, largest difference %.2g\n", f->name,
           neoc_tensor_name(&c->r, t), c->failures > failed ? "FAILED" : "ok", (long long)m,
           (long long)n, worst);
  return e;
}

static neoc_exit check_function(checker *c, const function *f) {
  double y;
  neoc_exit e = new_point(c, f);
  if (!e)
    e = value(c, f, &y);
  if (!e && !isfinite(y))
    return neoc_fail(c->cli, NEOC_FAILED, "%s is %g at random inputs: nothing can be checked",
                     f->name, y);
  for (size_t k = 0; k < f->wrt.n && !e; k++)
    e = check_tensor(c, f, k);
  return e;
}

/* ---- the command */

static void small_sizes(checker *c) {
  neo_module *m = c->r.c.module;
  int64_t *given = neo_arena_copy(c->cli->arena, c->r.sizes, (m->sizes.n + 1) * sizeof *given);
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    int64_t lo = m->sizes.at[k].lo, hi = m->sizes.at[k].hi;
    if (c->r.sizes[k] < 0)
      c->r.sizes[k] = SMALL < lo ? lo : SMALL > hi ? hi : SMALL;
  }
  neoc_sizes_settle(m, given, c->r.sizes);
}

static void put_own(const checker *c) {
  for (size_t k = 0; k < c->own.n; k++)
    if (!c->cli->json && !neoc_has(c->cli, NEOC_O_QUIET))
      printf("%s: own gradient, not compared\n", c->own.at[k]);
}

static neoc_exit check_all(checker *c, int64_t seed) {
  small_sizes(c);
  neoc_exit e = neoc_runner_begin(&c->r, 1, (uint64_t)seed);
  if (!e)
    put_own(c);
  if (!e && !c->functions.n && !c->own.n)
    e = neoc_fail(c->cli, NEOC_FAILED,
                  "nothing to check: no `train`, and no float output that "
                  "depends on a parameter or a float input");
  for (size_t k = 0; k < c->functions.n && !e; k++)
    e = check_function(c, &c->functions.at[k]);
  return e;
}

static neoc_exit finish(checker *c) {
  if (c->cli->json)
    printf("{\"checked\": %lld, \"failures\": %lld, \"kinks\": %lld, \"not_compared\": %zu}\n",
           (long long)c->checked, (long long)c->failures, (long long)c->kinks, c->own.n);
  else if (!neoc_has(c->cli, NEOC_O_QUIET) || c->failures)
    printf("%lld elements checked, %lld failed, %lld at kinks\n", (long long)c->checked,
           (long long)c->failures, (long long)c->kinks);
  return c->failures ? NEOC_FAILED : NEOC_OK;
}

neoc_exit neoc_grad_check(neoc_cli *cli) {
  checker c = {.cli = cli};
  neo_compile_options o;
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  c.eps = neoc_real(cli, NEOC_O_EPS, 1e-6, &e);
  c.rtol = neoc_real(cli, NEOC_O_RTOL, 1e-3, &e);
  c.atol = neoc_real(cli, NEOC_O_ATOL, 1e-5, &e);
  c.order = neoc_int(cli, NEOC_O_ORDER, 1, 1, &e);
  if (!e && c.order > MOST_ORDER)
    return neoc_usage(cli, "--order is at most %d", (int)MOST_ORDER);
  c.samples = neoc_int(cli, NEOC_O_SAMPLES, 32, 0, &e);
  int64_t seed = neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  c.state = (uint64_t)seed;
  o.prepare = prepare;
  o.prepare_ctx = &c;
  if (!e)
    e = neoc_runner_compile(&c.r, cli, &o, neoc_has(cli, NEOC_O_INTERP));
  if (e)
    return e;
  e = check_all(&c, seed);
  neoc_runner_close(&c.r);
  return e ? e : finish(&c);
}
