/* A network as constant data of the generated library: the tables of neo_net.h, field by field in
 * their C layout. */
#include "include/neo/neo_net.h"
#include "tools/pipeline/network.h"

typedef const neo_lconst *lc;
typedef NEO_VEC(lc) rows;

typedef struct {
  neo_compilation *c;
  const neo_network *n;
  const char *base;
  neo_llvm *l;
  rows ports, seen, stashes, inputs;
} recorder;

#define RECORD(r, ...) \
  neo_lconst_struct((r)->l, (lc[]){__VA_ARGS__}, sizeof((lc[]){__VA_ARGS__}) / sizeof(lc))

static lc number(recorder *r, int64_t x) {
  return neo_lconst_int(r->l, 32, x);
}

/* The text of a name; 0: null. */
static lc text(recorder *r, uint32_t name) {
  return name ? neo_lconst_string(r->l, neo_name_text(r->c->names, name)) : neo_lconst_null(r->l);
}

static lc tensor(recorder *r, const neo_module *m, neo_tensor t) {
  return text(r, m && t.i ? neo_tensor_at(m, t)->name : 0);
}

static lc entry(recorder *r, const neo_module *m, uint32_t k) {
  return text(r, m && k != NEO_NET_NONE ? m->entries.at[k].name : 0);
}

static lc table(recorder *r, const rows *x) {
  return neo_lconst_array(r->l, x->at, x->n);
}

static const neo_module *module_of(const recorder *r, const neo_net_node *node) {
  return node->actor == NEO_NET_NONE ? NULL : r->n->actors.at[node->actor].module;
}

static void add_ports(recorder *r, const neo_net_node *node, const neo_net_ports *p) {
  const neo_module *m = module_of(r, node);
  for (size_t k = 0; k < p->n; k++)
    NEO_PUSH(&r->c->arena, &r->ports,
             RECORD(r, text(r, p->at[k].name), tensor(r, m, p->at[k].value),
                    tensor(r, m, p->at[k].back), number(r, p->at[k].edge),
                    number(r, p->at[k].gradient)));
}

static lc node_row(recorder *r, const neo_net_node *node) {
  const neo_module *m = module_of(r, node);
  int64_t in = (int64_t)r->ports.n, out, stash = (int64_t)r->stashes.n;
  add_ports(r, node, &node->in);
  out = (int64_t)r->ports.n;
  add_ports(r, node, &node->out);
  for (size_t k = 0; k < node->stash.n; k++)
    NEO_PUSH(&r->c->arena, &r->stashes,
             RECORD(r, tensor(r, m, node->stash.at[k].from), tensor(r, m, node->stash.at[k].to)));
  return RECORD(r, neo_lconst_string(r->l, neo_net_kind_text((neo_net_kind)node->kind)),
                number(r, m ? (int64_t)node->actor : -1), entry(r, m, node->forward),
                entry(r, m, node->backward), entry(r, m, node->first), entry(r, m, node->apply),
                tensor(r, m, node->loss), entry(r, m, node->test), number(r, in),
                number(r, (int64_t)node->in.n), number(r, out), number(r, (int64_t)node->out.n),
                number(r, stash), number(r, (int64_t)node->stash.n));
}

static lc nodes(recorder *r) {
  rows x = {0};
  for (size_t k = 0; k < r->n->nodes.n; k++)
    NEO_PUSH(&r->c->arena, &x, node_row(r, &r->n->nodes.at[k]));
  return table(r, &x);
}

static lc edges(recorder *r) {
  rows x = {0};
  for (size_t k = 0; k < r->n->edges.n; k++) {
    const neo_net_edge *e = &r->n->edges.at[k];
    NEO_PUSH(&r->c->arena, &x,
             RECORD(r, number(r, e->from), number(r, e->from_port), number(r, e->to),
                    number(r, e->to_port)));
  }
  return table(r, &x);
}

static lc actor_row(recorder *r, size_t k) {
  const neo_net_actor *a = &r->n->actors.at[k];
  const char *model = neo_arena_printf(&r->c->arena, "%s_n%zu_model", r->base, k);
  int64_t first = (int64_t)r->seen.n;
  for (size_t j = 0; j < a->seen.n; j++)
    NEO_PUSH(&r->c->arena, &r->seen,
             RECORD(r, tensor(r, a->module, a->seen.at[j].from),
                    tensor(r, a->module, a->seen.at[j].to), number(r, a->seen.at[j].node)));
  return RECORD(r, neo_lconst_symbol(r->l, model), entry(r, a->module, a->update),
                tensor(r, a->module, a->weight), tensor(r, a->module, a->count), number(r, first),
                number(r, (int64_t)a->seen.n));
}

static lc slices(recorder *r) {
  rows x = {0};
  for (size_t k = 0; k < r->n->slices.n; k++) {
    const neo_net_slice *s = &r->n->slices.at[k];
    NEO_PUSH(&r->c->arena, &x,
             RECORD(r, text(r, s->name), text(r, s->of), number(r, s->index), number(r, s->n)));
  }
  return table(r, &x);
}

static lc actors(recorder *r) {
  rows x = {0};
  for (size_t k = 0; k < r->n->actors.n; k++)
    NEO_PUSH(&r->c->arena, &x, actor_row(r, k));
  return table(r, &x);
}

const char *neo_network_base(neo_compilation *c, const neo_network *n) {
  const char *entry = neo_name_text(c->names, n->entry);
  return neo_streq(entry, "step")
             ? c->prefix
             : neo_arena_printf(&c->arena, "%s_%s", c->prefix, neo_plan_ident(&c->arena, entry));
}

/* The controller's inputs, each once: an instance gives them in this order. */
static const char *const *inputs_of(neo_compilation *c, const neo_network *net, size_t *n) {
  const neo_net_ports *out = &net->nodes.at[0].out;
  const char **names = NEO_NEW_ARRAY(&c->arena, const char *, out->n + 1);
  neo_map taken = neo_map_in(&c->arena);
  *n = 0;
  for (size_t k = 0; k < out->n; k++) {
    if (!out->at[k].name || neo_map_get(&taken, out->at[k].name, NULL))
      continue;
    neo_map_set(&taken, out->at[k].name, 1);
    names[(*n)++] = neo_name_text(c->names, out->at[k].name);
  }
  return names;
}

static size_t n_sizes(const neo_network *n) {
  return neo_size_numbers(n->actors.at[0].module);
}

neo_plan_network neo_network_declared(neo_compilation *c, const neo_network *n) {
  neo_plan_network x = {.entry = neo_name_text(c->names, n->entry), .n_sizes = n_sizes(n)};
  x.symbol = neo_arena_printf(&c->arena, "%s_net", neo_network_base(c, n));
  x.inputs = inputs_of(c, n, &x.n_inputs);
  return x;
}

void neo_network_record(neo_compilation *c, const neo_network *n, const char *base, neo_llvm *l) {
  recorder r = {.c = c, .n = n, .base = base, .l = l};
  lc all_nodes = nodes(&r), all_edges = edges(&r), all_actors = actors(&r);
  size_t n_inputs;
  const char *const *inputs = inputs_of(c, n, &n_inputs);
  for (size_t k = 0; k < n_inputs; k++)
    NEO_PUSH(&c->arena, &r.inputs, neo_lconst_string(l, inputs[k]));
  lc record =
      RECORD(&r, number(&r, NEO_RT_NET_ABI), text(&r, n->entry), number(&r, (int64_t)n_sizes(n)),
             number(&r, (int64_t)n->nodes.n), number(&r, (int64_t)n->edges.n),
             number(&r, (int64_t)n->actors.n), number(&r, (int64_t)r.ports.n),
             number(&r, (int64_t)r.seen.n), number(&r, (int64_t)r.stashes.n),
             number(&r, (int64_t)n->slices.n), number(&r, (int64_t)r.inputs.n), all_nodes,
             all_edges, all_actors, table(&r, &r.ports), table(&r, &r.seen), table(&r, &r.stashes),
             slices(&r), table(&r, &r.inputs),
             neo_lconst_symbol(l, neo_arena_printf(&c->arena, "%s_model", c->prefix)));
  neo_llvm_global(l, neo_arena_printf(&c->arena, "%s_net", base), record, true);
}
