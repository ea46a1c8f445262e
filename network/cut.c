/* The cut: classes of definitions, each of which becomes a node.
 *
 *     h1 = sum X W1        an anchor: a contraction with a parameter
 *     h2 = relu(h1)        reads one class, and joins it: an epilogue
 *     y  = sum h2 W2       an anchor
 *     z  = y + h2          reads two classes: joins the one that reads it, if that is one
 *
 * 1. Definitions that one module must hold are linked both ways: the pieces of a tensor, a function
 *    with its own gradient and its clause, a state's new value and its readers, a request for
 *    gradients and everything. Strongly connected components are the units; recurrences are among
 *    them.
 * 2. A unit is an anchor if it contracts or looks up a parameter, or is a recurrence that reads
 *    one.
 * 3. Other classes join their one producer, else their one reader, until nothing changes. Both keep
 *    the graph of classes acyclic, as no path between the two leads through a third.
 * 4. What the loss leads to joins the loss.
 * 5. The lightest neighbours merge while there are more classes than wanted, unless a path between
 *    them leads through a third. */
#include "ir/component.h"
#include "network/parts.h"
#include "network/slice.h"

typedef NEO_VEC(neo_dependence) dependences;
typedef NEO_VEC(uint32_t) numbers;

typedef struct {
  const neo_net_step *s;
  neo_arena *a;
  dependences reads;  /* between definitions, by number */
  dependences linked; /* in addition, both ways */
  /* units, producers first; a class is named by its first unit */
  uint32_t n, *unit; /* unit of a definition */
  bool *anchor;      /* by class */
  double *price;     /* by class */
  uint32_t *class;   /* by unit: a unit of the same class that is nearer to its first one */
  numbers *in, *out; /* by class: units that it reads, and that read it; may be its own */
} cutter;

/* ---- links */

static void link_up(cutter *c, uint32_t x, uint32_t y) {
  NEO_PUSH(c->a, &c->linked, (neo_dependence){x, y});
  NEO_PUSH(c->a, &c->linked, (neo_dependence){y, x});
}

/* Links all numbers of the list. */
static void link_all(cutter *c, const numbers *l) {
  for (size_t k = 1; k < l->n; k++)
    link_up(c, l->at[0], l->at[k]);
}

static void add_pieces(const cutter *c, neo_tensor t, numbers *to) {
  neo_list pieces = neo_tensor_at(c->s->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++) {
    uint32_t place = c->s->place[neo_list_at(c->s->m, pieces, k)];
    if (place)
      NEO_PUSH(c->a, to, place - 1);
  }
}

static void find_reads(cutter *c) {
  for (uint32_t k = 0; k < c->s->n_defs; k++) {
    neo_tensors read = neo_net_reads(c->s, c->s->defs[k]);
    for (size_t j = 0; j < read.n; j++) {
      numbers made = {0};
      add_pieces(c, read.at[j], &made);
      for (size_t i = 0; i < made.n; i++)
        NEO_PUSH(c->a, &c->reads, (neo_dependence){made.at[i], k});
    }
  }
}

static void link_pieces(cutter *c) {
  for (uint32_t k = 0; k < c->s->n_defs; k++) {
    neo_list out = neo_def_at(c->s->m, c->s->defs[k])->out;
    for (uint32_t j = 0; j < out.n; j++) {
      numbers made = {0};
      add_pieces(c, neo_list_tensor(c->s->m, out, j), &made);
      link_all(c, &made);
    }
  }
}

/* Adds the definitions that read a tensor of the set, directly or through others. */
static void add_affected(const cutter *c, neo_map *set, numbers *to) {
  for (uint32_t k = 0; k < c->s->n_defs; k++) { /* producers come first */
    neo_tensor *read;
    size_t n = neo_def_reads(c->s->m, c->s->defs[k], c->a, &read);
    bool affected = false;
    for (size_t j = 0; j < n; j++)
      affected = affected || neo_map_get(set, read[j].i, NULL);
    if (!affected)
      continue;
    NEO_PUSH(c->a, to, k);
    neo_list out = neo_def_at(c->s->m, c->s->defs[k])->out;
    for (uint32_t j = 0; j < out.n; j++)
      neo_map_set(set, neo_list_at(c->s->m, out, j), 1);
  }
}

/* A function with its own gradient: its results, and its clause. */
static void link_customs(cutter *c) {
  const neo_module *m = c->s->m;
  for (size_t k = 0; k < m->customs.n; k++) {
    const neo_custom_rec *x = &m->customs.at[k];
    neo_map dy = neo_map_in(c->a);
    numbers own = {0};
    for (uint32_t j = 0; j < x->outs.n; j++)
      add_pieces(c, neo_list_tensor(m, x->outs, j), &own);
    if (!own.n)
      continue;
    for (uint32_t j = 0; j < x->dys.n; j++)
      neo_map_set(&dy, neo_list_at(m, x->dys, j), 1);
    add_affected(c, &dy, &own);
    link_all(c, &own);
  }
}

static bool reads_tensor(const cutter *c, uint32_t k, neo_tensor t) {
  neo_tensors read = neo_net_reads(c->s, c->s->defs[k]);
  for (size_t j = 0; j < read.n; j++)
    if (read.at[j].i == t.i)
      return true;
  return false;
}

/* The new value of a state commits with `backward`: those that read the state are of its node. */
static void link_updates(cutter *c) {
  for (size_t k = 0; k < c->s->own.n; k++) {
    neo_tensor update = c->s->own.at[k], state = neo_tensor_at(c->s->m, update)->updates;
    numbers own = {0};
    add_pieces(c, update, &own);
    for (uint32_t j = 0; j < c->s->n_defs; j++)
      if (reads_tensor(c, j, state))
        NEO_PUSH(c->a, &own, j);
    link_all(c, &own);
  }
}

static void link_whole(cutter *c) {
  for (uint32_t k = 1; c->s->whole && k < c->s->n_defs; k++)
    link_up(c, 0, k);
}

/* ---- units */

static bool is_param(const cutter *c, neo_tensor t) {
  return neo_tensor_at(c->s->m, t)->role == NEO_ROLE_PARAM;
}

typedef struct {
  const cutter *c;
  bool param, operand,
      lookup; /* reads a parameter; anything else; a parameter at indices of data */
} uses;

static void note_use(void *ctx, neo_expr e) {
  uses *u = ctx;
  const neo_module *m = u->c->s->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n))
    return;
  bool param = is_param(u->c, (neo_tensor){n->attr});
  u->param = u->param || param;
  u->operand = u->operand || !param;
  for (uint32_t k = 0; k < n->arg.n && param; k++)
    u->lookup = u->lookup || neo_expr_has_loads(m, neo_list_expr(m, n->arg, k));
}

static bool is_anchor(const cutter *c, neo_def d) {
  const neo_def_rec *r = neo_def_at(c->s->m, d);
  uses body = {.c = c}, rest = {.c = c};
  for (uint32_t k = 0; k < r->body.n; k++)
    neo_expr_visit(c->s->m, neo_list_expr(c->s->m, r->body, k), note_use, &body);
  for (uint32_t k = 0; k < r->finish.n; k++)
    neo_expr_visit(c->s->m, neo_list_expr(c->s->m, r->finish, k), note_use, &rest);
  return (body.param && body.operand) || body.lookup || rest.lookup;
}

static bool reads_param(const cutter *c, neo_def d) {
  neo_tensors read = neo_net_reads(c->s, d);
  for (size_t k = 0; k < read.n; k++)
    if (is_param(c, read.at[k]))
      return true;
  return false;
}

static void find_anchors(cutter *c) {
  bool *recurs = NEO_NEW_ARRAY(c->a, bool, c->n);
  for (size_t k = 0; k < c->reads.n; k++) {
    neo_dependence d = c->reads.at[k];
    bool back = d.producer >= d.reader; /* never between definitions in their order */
    recurs[c->unit[d.reader]] = recurs[c->unit[d.reader]] || back;
  }
  for (uint32_t k = 0; k < c->s->n_defs; k++) {
    neo_def d = c->s->defs[k];
    uint32_t u = c->unit[k];
    c->anchor[u] = c->anchor[u] || is_anchor(c, d) || (recurs[u] && reads_param(c, d));
    c->price[u] += neo_net_price(c->s->m, d);
  }
}

static void find_units(cutter *c) {
  uint32_t n = (uint32_t)c->s->n_defs;
  for (size_t k = 0; k < c->reads.n; k++)
    NEO_PUSH(c->a, &c->linked, c->reads.at[k]);
  c->unit = NEO_NEW_ARRAY(c->a, uint32_t, n + 1);
  c->n = neo_components_of(c->linked.at, c->linked.n, n, c->a, c->unit);
  for (uint32_t k = 0; k < n; k++)
    c->unit[k]--;
  c->anchor = NEO_NEW_ARRAY(c->a, bool, c->n);
  c->price = NEO_NEW_ARRAY(c->a, double, c->n);
  c->class = NEO_NEW_ARRAY(c->a, uint32_t, c->n);
  c->in = NEO_NEW_ARRAY(c->a, numbers, c->n);
  c->out = NEO_NEW_ARRAY(c->a, numbers, c->n);
  for (uint32_t u = 0; u < c->n; u++)
    c->class[u] = u;
  for (size_t k = 0; k < c->reads.n; k++) {
    uint32_t from = c->unit[c->reads.at[k].producer], to = c->unit[c->reads.at[k].reader];
    if (from != to) {
      NEO_PUSH(c->a, &c->in[to], from);
      NEO_PUSH(c->a, &c->out[from], to);
    }
  }
  find_anchors(c);
}

/* ---- classes */

static uint32_t class_of(cutter *c, uint32_t unit) {
  while (c->class[unit] != unit)
    unit = c->class[unit] = c->class[c->class[unit]];
  return unit;
}

static void append(const cutter *c, numbers *to, const numbers *from) {
  for (size_t k = 0; k < from->n; k++)
    NEO_PUSH(c->a, to, from->at[k]);
}

static void merge(cutter *c, uint32_t x, uint32_t y) {
  uint32_t to = x < y ? x : y, from = x < y ? y : x;
  c->class[from] = to;
  c->anchor[to] = c->anchor[to] || c->anchor[from];
  c->price[to] += c->price[from];
  append(c, &c->in[to], &c->in[from]);
  append(c, &c->out[to], &c->out[from]);
}

/* The one other class among the neighbours; NEO_NET_NONE: there is none, or more than one. */
static uint32_t only_neighbour(cutter *c, uint32_t of, const numbers *neighbours) {
  uint32_t found = NEO_NET_NONE;
  for (size_t k = 0; k < neighbours->n; k++) {
    uint32_t x = class_of(c, neighbours->at[k]);
    if (x == of || x == found)
      continue;
    if (found != NEO_NET_NONE)
      return NEO_NET_NONE;
    found = x;
  }
  return found;
}

/* Whether class u, no anchor, joined its one producer, or its one reader. */
static bool joins(cutter *c, uint32_t u, const numbers *neighbours) {
  bool free = class_of(c, u) == u && !c->anchor[u];
  uint32_t to = free ? only_neighbour(c, u, neighbours) : NEO_NET_NONE;
  if (to == NEO_NET_NONE)
    return false;
  merge(c, u, to);
  return true;
}

static void join_neighbours(cutter *c) {
  for (bool more = true; more;) {
    more = false;
    for (uint32_t u = 0; u < c->n; u++)
      more = joins(c, u, &c->in[u]) || more;
    for (uint32_t u = c->n; u-- > 0;)
      more = joins(c, u, &c->out[u]) || more;
  }
}

/* ---- what the loss leads to */

static void reach(cutter *c, uint32_t from, bool *is) {
  numbers work = {0};
  NEO_PUSH(c->a, &work, class_of(c, from));
  while (work.n) {
    uint32_t x = work.at[--work.n];
    if (is[x])
      continue;
    is[x] = true;
    for (size_t k = 0; k < c->out[x].n; k++)
      NEO_PUSH(c->a, &work, class_of(c, c->out[x].at[k]));
  }
}

/* A loss that is a gradient itself has no pieces yet; then there is one unit. */
static uint32_t loss_unit(const cutter *c) {
  neo_list pieces = neo_tensor_at(c->s->m, c->s->loss)->pieces;
  return c->unit[pieces.n ? c->s->place[neo_list_at(c->s->m, pieces, 0)] - 1 : 0];
}

static void join_loss(cutter *c) {
  bool *is = NEO_NEW_ARRAY(c->a, bool, c->n);
  reach(c, loss_unit(c), is);
  for (uint32_t u = 0; u < c->n; u++)
    if (is[u] && class_of(c, u) == u && u != class_of(c, loss_unit(c)))
      merge(c, u, class_of(c, loss_unit(c)));
}

/* ---- light neighbours */

/* Whether a path leads from x to y through a third class. */
static bool detours(cutter *c, uint32_t x, uint32_t y) {
  bool *is = NEO_NEW_ARRAY(c->a, bool, c->n);
  is[x] = is[y] = true; /* paths end there */
  for (size_t k = 0; k < c->out[x].n; k++) {
    uint32_t next = class_of(c, c->out[x].at[k]);
    if (next != x && next != y)
      reach(c, next, is);
  }
  is[x] = is[y] = false;
  for (size_t k = 0; k < c->in[y].n; k++) {
    uint32_t before = class_of(c, c->in[y].at[k]);
    if (before != x && before != y && is[before])
      return true;
  }
  return false;
}

typedef struct {
  uint32_t x, y;
  double price;
} pair;

/* The lightest neighbours that may merge; x == y: there are none. */
static pair lightest(cutter *c) {
  pair best = {0};
  for (uint32_t x = 0; x < c->n; x++) {
    for (size_t k = 0; k < c->out[x].n && class_of(c, x) == x; k++) {
      uint32_t y = class_of(c, c->out[x].at[k]);
      double price = c->price[x] + c->price[y];
      bool better = y != x && (best.x == best.y || price < best.price);
      if (better && !detours(c, x, y))
        best = (pair){x, y, price};
    }
  }
  return best;
}

static uint32_t count(cutter *c) {
  uint32_t n = 0;
  for (uint32_t u = 0; u < c->n; u++)
    n += class_of(c, u) == u;
  return n;
}

static void merge_light(cutter *c, uint32_t most) {
  for (uint32_t n = count(c); most && n > most; n--) {
    pair p = lightest(c);
    if (p.x == p.y)
      return;
    merge(c, p.x, p.y);
  }
}

/* ---- the result */

/* Numbers the classes, producers first, those with earlier units before others. */
static uint32_t *number_classes(cutter *c) {
  uint32_t *number = NEO_NEW_ARRAY(c->a, uint32_t, c->n), n = 0, all = count(c);
  for (uint32_t u = 0; u < c->n; u++)
    number[u] = NEO_NET_NONE;
  while (n < all) {
    uint32_t before = n;
    for (uint32_t u = 0; u < c->n; u++) {
      bool ready = class_of(c, u) == u && number[u] == NEO_NET_NONE;
      for (size_t k = 0; ready && k < c->in[u].n; k++) {
        uint32_t x = class_of(c, c->in[u].at[k]);
        ready = x == u || number[x] != NEO_NET_NONE;
      }
      if (ready)
        number[u] = n++;
    }
    assert(n > before && "classes are in no circle");
    if (n == before)
      break;
  }
  return number;
}

static neo_net_classes result_of(cutter *c) {
  neo_net_classes r = {.n = count(c)};
  const uint32_t *number = number_classes(c);
  r.of = NEO_NEW_ARRAY(c->a, uint32_t, c->s->n_defs + 1);
  r.additions = NEO_NEW_ARRAY(c->a, double, r.n + 1);
  for (size_t k = 0; k < c->s->n_defs; k++)
    r.of[k] = number[class_of(c, c->unit[k])];
  for (uint32_t u = 0; u < c->n; u++)
    if (class_of(c, u) == u)
      r.additions[number[u]] = c->price[u];
  r.loss = number[class_of(c, loss_unit(c))];
  return r;
}

static neo_net_classes classes_of(const neo_net_step *s, uint32_t most) {
  cutter c = {.s = s, .a = s->a};
  find_reads(&c);
  link_pieces(&c);
  link_customs(&c);
  link_updates(&c);
  link_whole(&c);
  find_units(&c);
  join_neighbours(&c);
  join_loss(&c);
  merge_light(&c, most);
  return result_of(&c);
}

neo_network *neo_network_cut(const neo_module *m, uint32_t entry, const neo_net_options *o,
                             neo_arena *a) {
  neo_arena scratch = neo_arena_scratch(a);
  neo_network *n = NEO_NEW(a, neo_network);
  assert(m->entries.at[entry].kind == NEO_ENTRY_TRAIN);
  *n = (neo_network){.arena = a, .name = m->name, .entry = m->entries.at[entry].name};
  m = neo_net_sliced(m, &entry, n, &scratch);
  neo_net_step s = neo_net_step_of(m, entry, &scratch);
  neo_net_classes c = classes_of(&s, o->nodes);
  neo_net_owners owners = neo_net_owners_of(&s, &c);
  n->whole = s.whole;
  neo_net_connect(&s, &c, &owners, n);
  for (uint32_t k = 0; k < owners.n; k++)
    neo_net_make_actor(&s, &c, &owners, k, n);
  neo_arena_free(&scratch);
  return n;
}
