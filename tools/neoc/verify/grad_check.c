/* `neoc grad-check`: gradients against central differences, everything in f64.
 *
 * The functions differentiated are the loss of a `train` statement or, in a model without one,
 * every float output, through a random seed (so f = sum of seed*y). Between frontend and passes the
 * module gets, for each such y, an entry that returns y and one that returns its gradients: those
 * of the GRAD entry, and requests of our own for float inputs and parameters that no statement
 * trains. Then all floats become f64. With --order=2, each of these gradients is a grad_function
 * too, and so on.
 *
 * Arguments of stop(), and results of functions with their own gradient, are held fixed for the
 * differences (grad_hold.h); the latter's gradients are the model's word, and are not compared.
 *
 * An element that disagrees is tried again at other random points: at a kink (relu at 0, a tie of
 * max) the difference is no derivative, but kinks are rare. An element that disagrees every time is
 * reported. The difference of large values has no meaning below their rounding. */
#include "tools/neoc/verify/grad_check.h"
#include "base/random.h"
#include "include/neo/dlpack.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { TRIES = 3, SHOWN = 10, SMALL = 3, MOST_ORDER = 4, ROUNDINGS = 64 };

/* ---- points */

static double uniform(grad_checker *c) {
  return (double)(neo_splitmix(&c->state) >> 11) * 0x1p-52 - 1;
}

/* The place of an element of a parameter or an input (all f64). */
static double *element(grad_checker *c, neo_tensor t, int64_t k) {
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

static int64_t elements(grad_checker *c, neo_tensor t, int64_t extent[16]) {
  return neo_tensor_elements_at(c->r.c.module, t, neoc_runner_sizes(&c->r), extent);
}

/* Gives zeros to an input that no entry reads: the function does not depend on it. */
static void unread_input(grad_checker *c, neo_tensor t) {
  neo_rt_array *x = &c->r.input[t.i];
  int64_t extent[16];
  elements(c, t, extent);
  if (!x->data)
    *x = neoc_array_new(c->cli->arena, NEO_F64_T, neo_tensor_rank(c->r.c.module, t), extent);
}

/* Copies the elements of a held tensor to the input that stands for it. */
static void put_held(grad_checker *c, neo_tensor input, const void *from) {
  neo_rt_array *x = &c->r.input[input.i];
  if (x->data && from)
    memcpy(x->data, from, (size_t)neoc_array_count(x) * neo_type_bytes((neo_type)x->type));
}

/* Sets the held values to their values at this point. */
static neoc_exit hold(grad_checker *c, const grad_function *f) {
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

/* Chooses a new point: new inputs, and parameters moved by a small amount, since zeros hide
 * errors. */
static neoc_exit new_point(grad_checker *c, const grad_function *f) {
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

static neoc_exit value(grad_checker *c, const grad_function *f, double *out) {
  neoc_output *y;
  size_t n;
  neoc_exit e = neoc_runner_run(&c->r, (int)f->value, &y, &n);
  if (e)
    return e;
  const double *v = y[0].array.data, *seed = f->seed.i ? c->r.input[f->seed.i].data : NULL;
  *out = c->size = 0;
  for (int64_t k = 0, m = neoc_array_count(&y[0].array); k < m; k++) {
    double x = seed ? seed[k] * v[k] : v[k];
    *out += x;
    c->size += fabs(x);
  }
  return NEOC_OK;
}

static neoc_exit difference(grad_checker *c, const grad_function *f, neo_tensor t, int64_t k,
                            double *out) {
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
  c->rounding = ROUNDINGS * DBL_EPSILON * c->size / width;
  return e;
}

/* ---- checking */

static bool agree(const grad_checker *c, double a, double b) {
  return fabs(a - b) <= c->atol + c->rounding + c->rtol * fmax(fabs(a), fabs(b));
}

static void complain(grad_checker *c, const grad_function *f, neo_tensor t, int64_t k, double a,
                     double b) {
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

static neoc_exit gradient_at(grad_checker *c, const grad_function *f, size_t which, int64_t k,
                             double *out) {
  neoc_output *g;
  size_t n;
  neoc_exit e = neoc_runner_run(&c->r, (int)f->gradient, &g, &n);
  if (!e)
    *out = ((const double *)g[which].array.data)[k];
  return e;
}

/* Compares again at other points. *good: the values agree at one of them. */
static neoc_exit retry(grad_checker *c, const grad_function *f, size_t which, int64_t k,
                       bool *good) {
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

static neoc_exit check_tensor(grad_checker *c, const grad_function *f, size_t which) {
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
      e = neoc_runner_run(&c->r, (int)f->gradient, &g, &n_out); /* at the present point */
  }
  if (!e && !c->cli->json && !neoc_has(c->cli, NEOC_O_QUIET))
    printf("d %s/d %s: %s, %lld of %lld elements, largest difference %.2g\n", f->name,
           neoc_tensor_name(&c->r, t), c->failures > failed ? "FAILED" : "ok", (long long)m,
           (long long)n, worst);
  return e;
}

static neoc_exit check_function(grad_checker *c, const grad_function *f) {
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

static void small_sizes(grad_checker *c) {
  neo_module *m = c->r.c.module;
  int64_t *given = neo_arena_copy(c->cli->arena, c->r.sizes, (m->sizes.n + 1) * sizeof *given);
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    int64_t lo = m->sizes.at[k].lo, hi = m->sizes.at[k].hi;
    if (c->r.sizes[k] < 0)
      c->r.sizes[k] = SMALL < lo ? lo : SMALL > hi ? hi : SMALL;
  }
  neoc_sizes_settle(m, given, c->r.sizes);
}

static void put_own(const grad_checker *c) {
  for (size_t k = 0; k < c->own.n; k++)
    if (!c->cli->json && !neoc_has(c->cli, NEOC_O_QUIET))
      printf("%s: own gradient, not compared\n", c->own.at[k]);
}

/* Whether a derivative with respect to the tensor of this name is checked, or is not compared. */
static bool is_wrt(const grad_checker *c, const char *name) {
  const char *end = neo_arena_printf(c->cli->arena, "/d %s", name);
  for (size_t k = 0; k < c->functions.n; k++)
    for (size_t i = 0; i < c->functions.at[k].wrt.n; i++)
      if (neo_streq(neoc_tensor_name(&c->r, c->functions.at[k].wrt.at[i]), name))
        return true;
  for (size_t k = 0; k < c->own.n; k++)
    if (neoc_ends_with(c->own.at[k], end))
      return true;
  return false;
}

static neoc_exit check_wrt(const grad_checker *c) {
  neoc_texts words = neoc_words(c->cli, NEOC_O_WRT);
  for (size_t k = 0; k < words.n; k++)
    if (!is_wrt(c, words.at[k]))
      return neoc_usage(c->cli, "--wrt: '%s' is no parameter or float input that is depended on",
                        words.at[k]);
  return NEOC_OK;
}

static neoc_exit check_all(grad_checker *c, int64_t seed) {
  small_sizes(c);
  neoc_exit e = check_wrt(c);
  if (!e)
    e = neoc_runner_begin(&c->r, 1, (uint64_t)seed);
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

static neoc_exit finish(grad_checker *c) {
  if (c->cli->json)
    printf("{\"checked\": %lld, \"failures\": %lld, \"kinks\": %lld, \"not_compared\": %zu}\n",
           (long long)c->checked, (long long)c->failures, (long long)c->kinks, c->own.n);
  else if (!neoc_has(c->cli, NEOC_O_QUIET) || c->failures)
    printf("%lld elements checked, %lld failed, %lld at kinks\n", (long long)c->checked,
           (long long)c->failures, (long long)c->kinks);
  return c->failures ? NEOC_FAILED : NEOC_OK;
}

neoc_exit neoc_grad_check(neoc_cli *cli) {
  grad_checker c = {.cli = cli};
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
  o.prepare = neoc_grad_prepare;
  o.prepare_ctx = &c;
  if (!e)
    e = neoc_runner_compile(&c.r, cli, &o, neoc_has(cli, NEOC_O_INTERP));
  if (e)
    return e;
  e = c.empty ? neoc_fail(cli, NEOC_FAILED, "the model has no outputs") : check_all(&c, seed);
  neoc_runner_close(&c.r);
  return e ? e : finish(&c);
}
