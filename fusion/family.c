/* Hashes of a group's form that are independent of its module.
 *
 * Each expression has four words: two of the key and two of the family. An i64 sum is hashed by a
 * linear map, so that its order and nesting do not matter:
 *
 *   L(a + b) = L(a) + L(b)    L(c*a) = c*L(a)    L(c) = c*ONE    L(atom) = hash(atom)
 *
 * modulo 2^64. For the family L(c) = 0, and c counts as 1, -1, STRIDE or -STRIDE: which axis is
 * contiguous does not depend on the shape. Other commutative operators add the words of their
 * arguments. Forms are linear where they can be (neo_flat_linear), so c is seldom a product. */
#include "fusion/family.h"
#include "base/hash.h"
#include "fusion/form.h"
#include "ir/store.h"

enum { WORDS = 4 }; /* key, key, family, family */
static const uint64_t one = 0x9e3779b97f4a7c15u, stride = 0xd1342543de82ef95u;

typedef struct {
  uint64_t at[WORDS];
} words;

typedef struct {
  neo_module *m;
  neo_map index; /* expression -> index into done */
  NEO_VEC(words) done;
  neo_map buf, size; /* tensor, size -> number in order of occurrence, from 1 */
  words sum;         /* running hash */
} hasher;

static bool of_family(int k) {
  return k >= 2;
}

static words words_of(const hasher *h, neo_expr e) {
  uint64_t at = 0;
  return neo_map_get(&h->index, e.i, &at) ? h->done.at[at] : (words){{0}};
}

static uint64_t number(neo_map *map, uint32_t id) {
  uint64_t n = 0;
  if (!neo_map_get(map, id, &n))
    neo_map_set(map, id, n = map->n + 1);
  return n;
}

/* ---- expressions */

static uint64_t attr_word(hasher *h, const neo_node *n, int k) {
  const neo_size_rec *size;
  switch (n->op) {
  case NEO_OP_CONST:
    return of_family(k) ? 0 : h->m->constants.at[n->attr];
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    return number(&h->buf, n->attr);
  case NEO_OP_SIZE:
    size = neo_size_at(h->m, (neo_size){n->attr});
    if (of_family(k))
      return number(&h->size, n->attr);
    return neo_hash_mix(neo_hash_mix(number(&h->size, n->attr), (uint64_t)size->lo),
                        (uint64_t)size->hi);
  case NEO_OP_RAND:
    return 0;
  default:
    return n->attr;
  }
}

static bool commutes(uint8_t op) {
  return op == NEO_OP_ADD || op == NEO_OP_MUL || op == NEO_OP_MIN || op == NEO_OP_MAX ||
         op == NEO_OP_EQ || op == NEO_OP_NE || op == NEO_OP_AND || op == NEO_OP_OR;
}

static words of_node(hasher *h, const neo_node *n) {
  words w;
  for (int k = 0; k < WORDS; k++) {
    uint64_t x = neo_hash_mix((uint64_t)k % 2 + 1, (uint64_t)n->op << 8 | n->type), both = 0;
    x = neo_hash_mix(x, attr_word(h, n, k));
    for (uint32_t i = 0; i < n->arg.n; i++) {
      uint64_t a = words_of(h, neo_list_expr(h->m, n->arg, i)).at[k];
      if (commutes(n->op))
        both += neo_hash_mix(one, a);
      else
        x = neo_hash_mix(x, a);
    }
    w.at[k] = neo_hash_mix(x, both);
  }
  return w;
}

static words scaled(words a, int64_t c) {
  uint64_t kind = c == 1 || c == -1 ? 1 : stride;
  for (int k = 0; k < WORDS; k++)
    a.at[k] *= !of_family(k) ? (uint64_t)c : c < 0 ? 0 - kind : kind;
  return a;
}

static words plus(words a, words b, uint64_t times) {
  for (int k = 0; k < WORDS; k++)
    a.at[k] += times * b.at[k];
  return a;
}

/* L(e) for the operators of a linear form; false: e is an atom. */
static bool linear(const hasher *h, const neo_node *n, neo_expr e, words *out) {
  int64_t c;
  if (n->type != NEO_I64_T)
    return false;
  if (neo_expr_is_int(h->m, e, &c)) {
    *out = (words){{(uint64_t)c * one, (uint64_t)c * (one + 2), 0, 0}};
    return true;
  }
  if (n->op != NEO_OP_ADD && n->op != NEO_OP_SUB && n->op != NEO_OP_MUL && n->op != NEO_OP_NEG)
    return false;
  neo_expr a = neo_list_expr(h->m, n->arg, 0);
  neo_expr b = n->arg.n > 1 ? neo_list_expr(h->m, n->arg, 1) : a;
  if (n->op == NEO_OP_NEG)
    *out = plus((words){{0}}, words_of(h, a), UINT64_MAX);
  else if (n->op == NEO_OP_ADD)
    *out = plus(words_of(h, a), words_of(h, b), 1);
  else if (n->op == NEO_OP_SUB)
    *out = plus(words_of(h, a), words_of(h, b), UINT64_MAX);
  else if (neo_expr_is_int(h->m, a, &c))
    *out = scaled(words_of(h, b), c);
  else if (neo_expr_is_int(h->m, b, &c))
    *out = scaled(words_of(h, a), c);
  else
    return false;
  return true;
}

static void hash_node(void *ctx, neo_expr e) {
  hasher *h = ctx;
  words w;
  const neo_node *n = neo_expr_node(h->m, e);
  if (neo_map_get(&h->index, e.i, NULL))
    return;
  if (!linear(h, n, e, &w))
    w = of_node(h, n);
  neo_map_set(&h->index, e.i, h->done.n);
  NEO_PUSH(h->m->arena, &h->done, w);
}

/* ---- the form */

static void add(hasher *h, uint64_t x) {
  for (int k = 0; k < WORDS; k++)
    h->sum.at[k] = neo_hash_mix(h->sum.at[k], x);
}

static void add_expr(hasher *h, neo_expr e) {
  add(h, e.i != 0);
  if (!e.i)
    return;
  neo_expr_visit(h->m, e, hash_node, h);
  words w = words_of(h, e);
  for (int k = 0; k < WORDS; k++)
    h->sum.at[k] = neo_hash_mix(h->sum.at[k], w.at[k]);
}

static int64_t extent(neo_module *m, const neo_axis_rec *x) {
  int64_t lo, hi = neo_extent_most(m, x->hi);
  if (neo_expr_is_int(m, x->lo, &lo) && hi >= lo)
    return hi - lo;
  return hi > 0 ? hi : 0;
}

static void add_axes(hasher *h, neo_family *out, const neo_axis_rec *x, size_t n) {
  add(h, n);
  for (size_t k = 0; k < n; k++) {
    add_expr(h, x[k].lo);
    add_expr(h, x[k].hi);
    NEO_PUSH(h->m->arena, &out->sizes, extent(h->m, &x[k]));
  }
}

static void add_stage(hasher *h, neo_family *out, const neo_stage *s) {
  add_axes(h, out, s->axes.at, s->axes.n);
  if (s->over)
    add(h, s->over);
  add_expr(h, s->where);
  add(h, s->accs.n);
  for (size_t k = 0; k < s->accs.n; k++) {
    add(h, (uint64_t)s->accs.at[k].kind << 8 | s->accs.at[k].type);
    add_expr(h, s->accs.at[k].body);
  }
  add(h, s->outs.n);
  for (size_t k = 0; k < s->outs.n; k++) {
    add(h, number(&h->buf, s->outs.at[k].tensor.i));
    add_expr(h, s->outs.at[k].offset);
    add_expr(h, s->outs.at[k].value);
    if (s->outs.at[k].row_block)
      add(h, (uint64_t)s->outs.at[k].row_block);
  }
}

/* Adds the number of elements: loads that are not proved to be inside are compared with it. */
static void add_elements(hasher *h, neo_tensor t) {
  uint64_t constant = 1;
  words rest = {{0}};
  neo_tensor store = neo_tensor_store(h->m, t);
  for (uint32_t k = 0; k < neo_tensor_rank(h->m, store); k++) {
    int64_t n;
    neo_expr e = neo_tensor_extent(h->m, store, k);
    if (neo_expr_is_int(h->m, e, &n)) {
      constant *= (uint64_t)n;
      continue;
    }
    neo_expr_visit(h->m, e, hash_node, h);
    rest = plus(rest, words_of(h, e), 1);
  }
  for (int k = 0; k < WORDS; k++) {
    h->sum.at[k] = neo_hash_mix(h->sum.at[k], rest.at[k]);
    if (!of_family(k))
      h->sum.at[k] = neo_hash_mix(h->sum.at[k], constant);
  }
}

static void add_buffer(hasher *h, const neo_form *f, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(h->m, t);
  add(h, number(&h->buf, t.i));
  add(h, r->type);
  add(h, r->updates.i ? number(&h->buf, r->updates.i) : 0);
  add_expr(h, r->bound);
  if (r->least.i || r->below.i) {
    add_expr(h, r->least);
    add_expr(h, r->below);
  }
  if (r->terms)
    add(h, 1);
  add(h, neo_form_closed(f, t));
  if (!neo_form_closed(f, t))
    add_elements(h, t);
}

void neo_group_family(neo_module *m, const neo_group *g, neo_family *out) {
  const neo_form *f = neo_group_form(m, g);
  hasher h = {.m = m, .sum = {{1, 2, 3, 4}}};
  *out = (neo_family){0};
  neo_map_init(&h.index, m->arena);
  neo_map_init(&h.buf, m->arena);
  neo_map_init(&h.size, m->arena);
  add_axes(&h, out, f->axes.at, f->axes.n);
  add(&h, f->stages.n);
  for (size_t k = 0; k < f->stages.n; k++)
    add_stage(&h, out, &f->stages.at[k]);
  for (size_t k = 0; k < g->reads.n; k++)
    add_buffer(&h, f, g->reads.at[k]);
  for (size_t k = 0; k < g->roots.n; k++)
    add_buffer(&h, f, g->roots.at[k]);
  for (int k = 0; k < 2; k++) {
    out->key[k] = h.sum.at[k];
    out->family[k] = h.sum.at[2 + k];
  }
}
