/* See edges.h. */
#include "tests/pairs/edges.h"
#include "tests/pick.h"
#include <string.h>

typedef struct {
  neo_arena *a;
  uint64_t seed;
  pairs_program *p;
  const char *type;
  bool typed, places; /* edges of another type; places for children */
  bool
      /* the function at hand: gradients of products from parents take the interpreter minutes */
      down;
} drawn;

static int64_t pick(drawn *k, int64_t lo, int64_t hi) {
  return neo_pick(&k->seed, lo, hi);
}

static bool chance(drawn *k, int64_t percent) {
  return pick(k, 1, 100) <= percent;
}

#define ANY(k, list) (list)[pick(k, 0, (int64_t)(sizeof(list) / sizeof *(list)) - 1)]

/* Beside places for children the list has a name: G.own.edges. */
static const char *named(const drawn *k, const char *text) {
  static const char *const members[] = {"G.edges", "G.begin", "G.child"};
  neo_str s;
  neo_str_init(&s, k->a);
  while (*text) {
    bool is = false;
    for (size_t i = 0; i < 3 && k->places; i++)
      is = is || strncmp(text, members[i], strlen(members[i])) == 0;
    if (is)
      neo_str_add(&s, "G.own");
    neo_str_addc(&s, text[is]);
    text += is + 1;
  }
  return neo_str_text(&s);
}

static void add(drawn *k, pairs_kind kind, const char *name, const char *text, bool output) {
  uint64_t reads = ((uint64_t)1 << k->p->lines.n) - 1;
  NEO_PUSH(k->a, &k->p->lines,
           ((pairs_statement){.kind = kind,
                              .name = name,
                              .text = named(k, text),
                              .output = output,
                              .reads = kind == PAIRS_DEFINITION ? reads : 0}));
}

static void size(drawn *k, const char *name, int64_t now) {
  NEO_PUSH(k->a, &k->p->sizes, ((pairs_size){name, now}));
}

/* ---- inputs */

static void graph(drawn *k) {
  static const int64_t vertices[] = {0, 1, 2, 3, 5, 9, 17, 40}, edges[] = {0, 1, 3, 10, 40, 150};
  int64_t v = ANY(k, vertices), most = chance(k, 50) ? 60 : 3000;
  add(k, PAIRS_SIZE_LINE, "G",
      neo_arena_printf(k->a, "graph G(%sedges <= %lld%s, vertices <= %lld)",
                       k->places ? "children <= 2, own." : "", (long long)(5 * most),
                       k->typed ? ", mod.edges <= 400" : "", (long long)most),
      false);
  size(k, "G.vertices", v);
  size(k, k->places ? "G.own.edges" : "G.edges", v > 1 ? ANY(k, edges) : 0);
  if (k->typed)
    size(k, "G.mod.edges", v > 1 ? ANY(k, edges) : 0);
}

static void given(drawn *k, const char *name, const char *shape, const char *type) {
  add(k, PAIRS_GIVEN, name, neo_arena_printf(k->a, "input %s[%s] : %s", name, shape, type), false);
}

static void inputs(drawn *k) {
  given(k, "x", "G.vertices, 5", k->type);
  given(k, "feat", "G.edges, 5", k->type);
  given(k, "w", "G.edges", k->type);
  given(k, "kind", "G.edges", "i32 < 3");
  given(k, "rel", "3, 5", k->type);
  given(k, "u", "5, 5", k->type);
  if (k->typed)
    given(k, "m", "G.mod.edges, 5", k->type);
}

/* ---- messages along edges */

/* `of`: the child's value, a pattern of its column. */
static const char *message(drawn *k, const char *of, bool mod) {
  static const char *const plain[] = {"%s",
                                      "%s*feat[e, j]",
                                      "tanh(%s + feat[e, j])",
                                      "%s*w[e]",
                                      "sigmoid(%s*rel[kind[e], j])",
                                      "select(w[e] > 0, %s, feat[e, j])"};
  static const char *const typed[] = {"%s", "%s*m[e, j]", "tanh(%s + m[e, j])"};
  const char *shape = mod ? ANY(k, typed) : ANY(k, plain), *at = strchr(shape, '%');
  return neo_arena_printf(k->a, "(%.*s%s%s)", (int)(at - shape), shape, of, at + 2);
}

static const char *reducer(drawn *k) {
  static const char *const names[] = {"sum", "sum",  "sum",  "max",
                                      "min", "mean", "prod", "logsumexp"};
  const char *name = ANY(k, names);
  return k->down && strcmp(name, "prod") == 0 ? "sum" : name;
}

/* The maximum of no elements is infinite, their mean NaN. */
static const char *guarded(drawn *k, const char *value) {
  return neo_arena_printf(k->a, "select(abs(%s) < 1000, %s, 0)", value, value);
}

static const char *reduced(drawn *k, const char *range, const char *where, const char *value) {
  static const char *const more[] = {"w[e] > 0", "e % 3 != 1", "kind[e] != 2"};
  const char *conditions = where;
  if (chance(k, 25))
    conditions = neo_arena_printf(k->a, "%s%s%s", where, *where ? " and " : "", ANY(k, more));
  return guarded(k, neo_arena_printf(k->a, "(%s[%s%s%s] %s)", reducer(k), range,
                                     *conditions ? " where " : "", conditions, value));
}

/* ---- recurrences */

/* A reduction for each edge, of the child with the edge, with what belongs to the vertex, or,
 * towards the parents, with what the vertex made of its other edges. */
static const char *edge_key(drawn *k) {
  static const char *const keys[] = {"sum[l] h[e, l]*feat[e, l]",
                                     "sum[l] h[e, l]*x[l]",
                                     "sum[l] tanh(h[e, l] + x[l])*feat[e, l]",
                                     "max[l] (h[e, l]*w[e])",
                                     "mean[l where l != 1] h[e, l]*rel[kind[e], l]",
                                     "sum[l] h[e, l]*s[l]",
                                     "logsumexp[l] (h[e, l] - s[l]*w[e])"};
  return keys[pick(k, 0, k->down ? 4 : 6)];
}

static const char *edge_value(drawn *k) {
  static const char *const values[] = {
      "sum[l] h[e, l]*u[l, j]*feat[e, l]", "tanh(sum[l] h[e, l]*u[l, j]*w[e])",
      "h[e, j]*sum[l] u[j, l]*n[e]*rel[kind[e], l]", "sum[l] sin(h[e, l]*x[j])*u[l, j]",
      "tanh(0.5*sum[l] (h[e, l] + s[j])*u[l, j]*w[e])"};
  return values[pick(k, 0, k->down ? 3 : 4)];
}

/* Values of edges that have names: of the child alone with products, of features, of the vertex,
 * and all of them in a softmax over the edges of the vertex. The last one is r[j]. */
static void add_values(drawn *k, neo_str *s) {
  static const char *const keys[] = {"sum[l] h[e, l]*u[l, 0]", "sum[l] tanh(h[e, l])*u[1, l]",
                                     "max[l] h[e, l]", "h[e, 2]"};
  static const char *const values[] = {"h[e, j]*feat[e, j]", "tanh(h[e, j]*w[e])",
                                       "h[e, j] + sum[l] h[e, l]*u[l, j]", "rel[kind[e], j]*n[e]"};
  static const char *const scores[] = {"tanh(n[e])", "tanh(n[e] + x[0])", "sin(n[e] + w[e])",
                                       "tanh(sum[l] n[e]*feat[e, l])"};
  bool softmax = chance(k, 60);
  neo_str_addf(s, "  n[e] = %s\n", chance(k, 50) ? edge_key(k) : ANY(k, keys));
  neo_str_addf(s, "  y[e, j < J] = %s\n", chance(k, 50) ? edge_value(k) : ANY(k, values));
  neo_str_addf(s, "  q[e] = %s\n", ANY(k, scores));
  if (softmax)
    neo_str_add(s, "  a[e] = exp(q[e] - max[i] q[i])/sum[i] exp(q[i] - max[o] q[o])\n");
  neo_str_addf(s, "  r[j] = sum[e] %s[e]*y[e, j]\n", softmax ? "a" : "q");
}

/* Values of edges of the other type. */
static const char *typed_value(drawn *k, neo_str *s) {
  if (!chance(k, 40))
    return message(k, "g[e, j]", true);
  neo_str_addf(s, "  o[e, j < J] = %s\n",
               chance(k, 50) ? "sum[l] g[e, l]*m[e, l]*u[l, j]" : message(k, "g[e, j]", true));
  return "o[e, j]";
}

/* The value that a vertex computes from its value h2: in a loop, in one that ends early, in an arm.
 * The result is h2 again, or h3. */
static const char *add_block(drawn *k, neo_str *s) {
  static const char *const blocks[] = {
      "  h3 = scan r < 2 from b[j < J] = h2[j] { next b[j] = tanh(0.5*b[j] + 0.25*s[j]) }\n",
      "  h3, _ = while n > 0.5 limit 3 from b[j < J] = h2[j], n = 0*x[0] + 2 {\n"
      "    next b[j] = tanh(0.5*b[j] + 0.25*s[j]), n = 0.5*n\n  }\n",
      "  h3 = case children > 1 {\n    true { h3[j < J] = sin(h2[j] + s[j]) }\n"
      "    false { h3[j < J] = 0.5*h2[j] }\n  }\n"};
  if (!chance(k, 40))
    return "h2";
  neo_str_add(s, ANY(k, blocks));
  return "h3";
}

static void function(drawn *k, const char *name, const char *of) {
  bool product = chance(k, 60), places = k->places && chance(k, 60), typed = k->typed;
  bool values = chance(k, 50), down = k->down = !places && chance(k, 35);
  neo_str s;
  neo_str_init(&s, k->a);
  neo_str_addf(&s, "vertex f%s(x[J]) over G%s {\n  gather h[G.edges, J] : %s\n", name,
               down ? " down" : "", k->type);
  if (product)
    neo_str_addf(&s, "  gather hu[G.edges, J] : %s\n", k->type);
  if (typed)
    neo_str_addf(&s, "  gather g[G.mod.edges, J] : %s\n", k->type);
  if (places)
    neo_str_add(&s, "  gather c[2, J] = 0*x[0]\n");
  neo_str_addf(
      &s, "  s[j < J] = %s\n",
      reduced(k, "e", "", message(k, product && chance(k, 60) ? "hu[e, j]" : "h[e, j]", false)));
  if (typed) {
    const char *value = typed_value(k, &s);
    neo_str_addf(&s, "  t[j < J] = %s\n",
                 guarded(k, neo_arena_printf(k->a, "(%s[e] %s)", reducer(k), value)));
  }
  if (values)
    add_values(k, &s);
  neo_str_addf(&s, "  h2[j] = tanh(x[j] + 0.5*s[j]%s%s%s%s)\n", typed ? " - 0.25*t[j]" : "",
               places ? " + 0.5*sum[k] c[k, j]" : "", values ? " - 0.5*r[j]" : "",
               chance(k, 40) ? " + select(children > 1, 0.125, 0)" : "");
  const char *last = add_block(k, &s);
  if (product)
    neo_str_addf(&s, "  u2[j] = 0.5*sum[l] %s[l]*u[l, j]\n", last);
  neo_str_addf(&s, "  scatter h = %s%s%s%s\n  push %s\n}\n%s = f%s(%s)", last,
               product ? ", hu = u2" : "", typed ? ", g = h2" : "", places ? ", c = h2" : "", last,
               name, name, of);
  add(k, PAIRS_DEFINITION, name, neo_str_text(&s), true);
  k->down = false;
}

/* The right side of a recurrence over the vertices, of a tensor. */
static const char *plain(drawn *k, const char *of, const char *own) {
  bool product = chance(k, 50);
  const char *child =
      neo_arena_printf(k->a, product ? "%s[G.child[e], l]*u[l, j]" : "%s[G.child[e], j]", of);
  const char *range =
      product ? "G.begin[v] <= e < G.begin[v + 1], l" : "G.begin[v] <= e < G.begin[v + 1]";
  const char *sum =
      product
          ? guarded(k, neo_arena_printf(k->a, "(sum[%s where G.child[e] < v] %s)", range, child))
          : reduced(k, range, "G.child[e] < v", message(k, child, false));
  return neo_arena_printf(k->a, "tanh(%s + 0.5*%s)", own, sum);
}

static void recurrence(drawn *k, const char *name) {
  add(k, PAIRS_DEFINITION, name,
      neo_arena_printf(k->a, "%s[v < G.vertices, j < 5] = %s", name, plain(k, name, "x[v, j]")),
      true);
}

/* A recurrence in each iteration of a loop, or of a loop in one. */
static void loop(drawn *k, const char *name, bool two) {
  const char *text = plain(k, "y", "c[v, j]");
  neo_str s;
  neo_str_init(&s, k->a);
  neo_str_addf(&s, "%s = scan t < 2 from c[v < G.vertices, j < 5] = x[v, j] {\n", name);
  if (two)
    neo_str_add(&s, "  c2 = scan s < 2 from c[v < G.vertices, j < 5] = c[v, j] {\n");
  neo_str_addf(&s, "  y[v < G.vertices, j < 5] = %s\n  next c = y\n", text);
  if (two)
    neo_str_add(&s, "  }\n  next c = c2\n");
  neo_str_add(&s, "}");
  add(k, PAIRS_DEFINITION, name, neo_str_text(&s), true);
}

static void gradients(drawn *k, const char *of) {
  static const char *const to[] = {"x", "feat", "u", "rel"};
  const char *first = ANY(k, to);
  add(k, PAIRS_DEFINITION, neo_arena_printf(k->a, "g%s", of),
      neo_arena_printf(
          k->a,
          "l%s = sum[..] sin(%s[..]) + 0*(sum[e, j] feat[e, j]) + 0*(sum[l, j] u[l, j]) + "
          "0*(sum[l, j] rel[l, j])\ng%s = grad(l%s, %s)",
          of, of, of, of, first),
      true);
}

static pairs_program draw(neo_arena *a, uint64_t seed) {
  static const char *const types[] = {"f32", "f32", "f64"}, *const names[] = {"y1", "y2"};
  pairs_program p = {.seed = seed, .listed = true};
  drawn k = {.a = a, .seed = seed * 77 + 5, .p = &p};
  k.type = ANY(&k, types);
  k.typed = chance(&k, 35);
  k.places = chance(&k, 25);
  graph(&k);
  inputs(&k);
  for (int64_t i = 0, n = pick(&k, 1, 2); i < n; i++) {
    int64_t which = pick(&k, 0, 9);
    if (which < 5)
      function(&k, names[i], i && chance(&k, 50) ? names[0] : "x");
    else if (which < 8)
      recurrence(&k, names[i]);
    else
      loop(&k, names[i], which == 9);
    if (chance(&k, 60))
      gradients(&k, names[i]);
  }
  return p;
}

pairs_program pairs_draw_edges(neo_arena *a, uint64_t seed) {
  return draw(a, seed);
}
