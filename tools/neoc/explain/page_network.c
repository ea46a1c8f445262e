/* The networks of a model (network/network.h), as pictures: the controller on top, each node in the
 * row below those whose messages it waits for. Boxes of one actor have one colour. Lines are edges,
 * broken where the answer is empty. */
#include "tools/neoc/explain/page.h"
#include <string.h>

#define WIDTH 1060.0
#define TOP 14.0
#define BOX 230.0
#define HEIGHT 40.0
#define GAP 44.0
#define BEND 40.0

enum { COLOURS = 6, LETTER = 7 };

typedef struct {
  page *p;
  const neo_network *n;
  uint32_t *row, *at, *in_row; /* by node: its row, its place in it; by row: its nodes */
  uint32_t rows;
} picture;

static const char *number(const picture *f, double x) {
  return neo_arena_printf(f->p->a, "%.2f", x);
}

/* ---- places */

/* A node is one row below the lowest that sends it a message. There are no circles, so that as many
 * rounds as there are nodes are enough. */
static void find_rows(picture *f) {
  const neo_network *n = f->n;
  f->row = NEO_NEW_ARRAY(f->p->a, uint32_t, n->nodes.n);
  f->at = NEO_NEW_ARRAY(f->p->a, uint32_t, n->nodes.n);
  f->in_row = NEO_NEW_ARRAY(f->p->a, uint32_t, n->nodes.n + 1);
  for (size_t round = 0; round < n->nodes.n; round++)
    for (size_t k = 0; k < n->edges.n; k++) {
      const neo_net_edge *e = &n->edges.at[k];
      if (f->row[e->to] <= f->row[e->from])
        f->row[e->to] = f->row[e->from] + 1;
    }
  for (size_t k = 0; k < n->nodes.n; k++) {
    f->at[k] = f->in_row[f->row[k]]++;
    f->rows = f->row[k] + 1 > f->rows ? f->row[k] + 1 : f->rows;
  }
}

static double pitch(const picture *f, uint32_t node) {
  return WIDTH / f->in_row[f->row[node]];
}

static double box_of(const picture *f, uint32_t node) {
  return pitch(f, node) - 12 < BOX ? pitch(f, node) - 12 : BOX;
}

static double middle(const picture *f, uint32_t node) {
  return (f->at[node] + 0.5) * pitch(f, node);
}

static double top(const picture *f, uint32_t node) {
  return TOP + f->row[node] * (HEIGHT + GAP);
}

/* ---- edges */

static const char *name_of(const picture *f, uint32_t name) {
  return name ? neo_name_text(f->p->c->names, name) : "a start without payload";
}

static void put_edge(const picture *f, size_t k) {
  const neo_net_edge *e = &f->n->edges.at[k];
  const neo_net_port *port = &f->n->nodes.at[e->from].out.at[e->from_port];
  uint32_t down = f->row[e->to] - f->row[e->from];
  double x0 = middle(f, e->from), x1 = middle(f, e->to), bend = down > 1 ? BOX / 2 + BEND : 0;
  double y0 = top(f, e->from) + HEIGHT, y1 = top(f, e->to), by = GAP * 0.6;
  neoc_html_open(f->p->out, "g", NULL);
  neoc_html_leaf(
      f->p->out, "title",
      neo_arena_printf(f->p->a, "edge %zu: %u -> %u: %s; %s", k, e->from, e->to,
                       name_of(f, port->name),
                       port->gradient ? "its adjoint comes back" : "the answer is empty"),
      NULL);
  neoc_html_empty(f->p->out, "path", "class", port->gradient ? "edge" : "edge empty", "d",
                  neo_arena_printf(f->p->a, "M%.2f %.2fC%.2f %.2f %.2f %.2f %.2f %.2f", x0, y0,
                                   x0 + bend, y0 + by, x1 + bend, y1 - by, x1, y1),
                  NULL);
  neoc_html_close(f->p->out, "g");
  neo_str_addc(f->p->out, '\n');
}

/* ---- nodes */

/* "W, b and 2 more": what the actor trains. */
static const char *params_text(const picture *f, const neo_net_node *node) {
  enum { MOST = 2 };
  neo_str s = neo_str_in(f->p->a);
  uint32_t found = 0;
  const neo_module *m = node->actor == NEO_NET_NONE ? NULL : f->n->actors.at[node->actor].module;
  for (uint32_t k = 1; m && k < m->tensors.n; k++) {
    if (m->tensors.at[k].role != NEO_ROLE_PARAM || found++ >= MOST)
      continue;
    neo_str_addf(&s, "%s%s", found > 1 ? ", " : "", neo_tensor_name(m, (neo_tensor){k}));
  }
  if (found > MOST)
    neo_str_addf(&s, " and %u more", found - MOST);
  return neo_str_text(&s);
}

static const char *price_text(const picture *f, const neo_net_node *node) {
  return node->actor == NEO_NET_NONE
             ? "moves rows"
             : neo_arena_printf(f->p->a, "actor %u, %s additions", node->actor,
                                page_count(f->p, node->additions));
}

static const char *cut(const picture *f, const char *text, double width) {
  size_t most = (size_t)(width / LETTER);
  return strlen(text) <= most || most < 4
             ? text
             : neo_arena_printf(f->p->a, "%.*s...", (int)most - 3, text);
}

static void put_line(const picture *f, uint32_t k, const char *class, double y, const char *text) {
  neoc_html_leaf(f->p->out, "text", cut(f, text, box_of(f, k) - 8), "class", class, "x",
                 number(f, middle(f, k)), "y", number(f, top(f, k) + y), NULL);
}

static void put_node(const picture *f, uint32_t k) {
  const neo_net_node *node = &f->n->nodes.at[k];
  const char *kind = neo_net_kind_text((neo_net_kind)node->kind), *params = params_text(f, node);
  const char *head = neo_arena_printf(f->p->a, "%u %s%s%s", k, kind, *params ? ": " : "", params);
  const char *class = node->actor == NEO_NET_NONE
                          ? "node moves"
                          : neo_arena_printf(f->p->a, "node a%u", node->actor % COLOURS);
  neoc_html_open(f->p->out, "g", NULL);
  neoc_html_leaf(f->p->out, "title",
                 neo_arena_printf(f->p->a, "node %s, %s", head, price_text(f, node)), NULL);
  neoc_html_empty(f->p->out, "rect", "class", class, "x",
                  number(f, middle(f, k) - box_of(f, k) / 2), "y", number(f, top(f, k)), "width",
                  number(f, box_of(f, k)), "height", number(f, HEIGHT), "rx", "5", NULL);
  put_line(f, k, "mid name", 16, head);
  put_line(f, k, "mid", 32, price_text(f, node));
  neoc_html_close(f->p->out, "g");
  neo_str_addc(f->p->out, '\n');
}

/* ---- the whole */

static void put_network(page *p, const neo_network *n) {
  picture f = {.p = p, .n = n};
  const char *entry = neo_name_text(p->c->names, n->entry);
  find_rows(&f);
  neoc_html_leaf(p->out, "h3", neo_arena_printf(p->a, "Network of %s", entry), NULL);
  if (n->whole)
    neoc_html_leaf(p->out, "p", neo_arena_printf(p->a, "One node: %s.", n->whole), "class", "note",
                   NULL);
  neo_str_add(p->out, "<figure>\n");
  neoc_html_open(
      p->out, "svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox",
      neo_arena_printf(p->a, "0 0 %.0f %.0f", WIDTH, 2 * TOP + f.rows * (HEIGHT + GAP) - GAP),
      "role", "img", "class", "network", NULL);
  neoc_html_leaf(p->out, "title",
                 neo_arena_printf(p->a, "network of %s: %zu nodes, %zu edges, %zu actors", entry,
                                  n->nodes.n, n->edges.n, n->actors.n),
                 NULL);
  for (size_t k = 0; k < n->edges.n; k++)
    put_edge(&f, k);
  for (uint32_t k = 0; k < n->nodes.n; k++)
    put_node(&f, k);
  neo_str_add(p->out, "</svg>\n</figure>\n");
}

void page_put_networks(page *p) {
  if (!p->c->networks.n)
    return;
  neo_str_add(p->out, "<section id=\"networks\"><h2>Networks</h2>\n");
  neoc_html_leaf(
      p->out, "p",
      "Nodes exchange messages along edges: values down, adjoints back up; a broken line "
      "has an empty answer. Boxes of one colour may be of one actor, which runs one of "
      "its nodes at a time. Prices are of the forward pass, at usual sizes.",
      "class", "note", NULL);
  for (size_t k = 0; k < p->c->networks.n; k++)
    put_network(p, p->c->networks.at[k]);
  neo_str_add(p->out, "</section>\n");
}
