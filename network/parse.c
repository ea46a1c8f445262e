/* Reads the text form of a network (text.c). The modules are read first, as all other lines name
 * their tensors and entries. A line is words between blanks and commas, read from left to right;
 * its first error ends the reading. */
#include "ir/print.h"
#include "network/network.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  neo_arena *a;
  neo_names *names;
  neo_diags *d;
  neo_network *n;
  const char *path, *text;
  size_t n_text, at; /* the next character */
  uint32_t file;
  bool failed;
} reader;

/* ---- words */

static void fail(reader *r, size_t at, const char *wanted) {
  size_t n = 0;
  if (r->failed)
    return;
  r->failed = true;
  while (at + n < r->n_text && r->text[at + n] != ' ' && r->text[at + n] != '\n')
    n++;
  neo_span span =
      neo_span_of(neo_diags_sources(r->d), r->file, (uint32_t)at, (uint32_t)(at + (n ? n : 1)));
  neo_diag(r->d, span, NEO_D_IR_EXPECTED, wanted, neo_arena_strndup(r->a, r->text + at, n));
}

static bool is_blank(char c) {
  return c == ' ' || c == ',' || c == '\r';
}

static void skip_blanks(reader *r) {
  while (r->at < r->n_text && is_blank(r->text[r->at]))
    r->at++;
}

static bool at_end(reader *r) {
  skip_blanks(r);
  return r->failed || r->at >= r->n_text || r->text[r->at] == '\n';
}

/* The end of the word that begins here. */
static size_t word_end(const reader *r) {
  size_t k = r->at;
  if (k < r->n_text && r->text[k] == '"') {
    for (k++; k < r->n_text && r->text[k] != '"' && r->text[k] != '\n'; k++)
      k += r->text[k] == '\\' && k + 1 < r->n_text;
    return k < r->n_text && r->text[k] == '"' ? k + 1 : k;
  }
  while (k < r->n_text && !is_blank(r->text[k]) && r->text[k] != '\n')
    k++;
  return k;
}

static const char *unquoted(const reader *r, const char *word, size_t n) {
  neo_str s = neo_str_in(r->a);
  bool quoted = n > 1 && word[0] == '"' && word[n - 1] == '"';
  for (size_t k = quoted; k < n - quoted; k++) {
    k += quoted && word[k] == '\\' && k + 2 < n;
    neo_str_addc(&s, word[k]);
  }
  return neo_str_text(&s);
}

static const char *word(reader *r, const char *wanted) {
  if (at_end(r)) {
    fail(r, r->at, wanted);
    return "";
  }
  size_t from = r->at;
  r->at = word_end(r);
  return unquoted(r, r->text + from, r->at - from);
}

static bool accept(reader *r, const char *text) {
  if (at_end(r))
    return false;
  size_t end = word_end(r), n = strlen(text);
  if (end - r->at != n || memcmp(r->text + r->at, text, n) != 0)
    return false;
  r->at = end;
  return true;
}

static void expect(reader *r, const char *text) {
  if (!accept(r, text))
    fail(r, r->at, text);
}

static uint32_t number(reader *r, size_t below, const char *wanted) {
  size_t from = r->at;
  char *end;
  const char *text = word(r, wanted);
  unsigned long x = strtoul(text, &end, 10);
  if (*end || end == text || x >= below)
    fail(r, from, wanted);
  return r->failed ? 0 : (uint32_t)x;
}

static uint32_t name(reader *r) {
  return accept(r, "-") ? 0 : neo_name_of(r->names, word(r, "a name"));
}

static neo_tensor tensor(reader *r, const neo_module *m) {
  size_t from = r->at;
  neo_tensor t = {0};
  if (accept(r, "-"))
    return t;
  t = neo_tensor_find(m, word(r, "a tensor of the module"));
  if (!t.i)
    fail(r, from, "a tensor of the module");
  return t;
}

static uint32_t entry(reader *r, const neo_module *m) {
  size_t from = r->at;
  uint32_t wanted = name(r);
  for (uint32_t k = 0; k < m->entries.n; k++)
    if (m->entries.at[k].name == wanted)
      return k;
  fail(r, from, "an entry of the module");
  return NEO_NET_NONE;
}

/* The entry after the word, if the word follows and there is a module. */
static uint32_t optional_entry(reader *r, const neo_module *m, const char *before) {
  return m && accept(r, before) ? entry(r, m) : NEO_NET_NONE;
}

/* ---- modules */

static size_t line_end(const reader *r, size_t at) {
  const char *end = memchr(r->text + at, '\n', r->n_text - at);
  return end ? (size_t)(end - r->text) + 1 : r->n_text;
}

static bool begins(const reader *r, size_t at, const char *what) {
  size_t n = strlen(what);
  return at + n <= r->n_text && memcmp(r->text + at, what, n) == 0;
}

/* The line at `at` or a later one that begins a module's part of the text. */
static size_t module_line(const reader *r, size_t at) {
  while (at < r->n_text && !(begins(r, at, "module ") && begins(r, line_end(r, at), "neo-ir ")))
    at = line_end(r, at);
  return at;
}

static void read_modules(reader *r, size_t at) {
  while (at < r->n_text && !r->failed) {
    size_t from = line_end(r, at), next = module_line(r, from);
    neo_net_actor actor = {.update = NEO_NET_NONE};
    r->at = at;
    expect(r, "module");
    if (number(r, SIZE_MAX, "the number of a module") != r->n->actors.n)
      fail(r, at, "modules in the order of their numbers");
    actor.module = neo_module_parse(r->a, r->names, r->d, r->path, r->text + from, next - from);
    r->failed = r->failed || !actor.module;
    NEO_PUSH(r->a, &r->n->actors, actor);
    at = next;
  }
}

/* ---- lines */

static const neo_module *module_of(const reader *r, uint32_t node) {
  uint32_t actor = r->n->nodes.at[node].actor;
  return actor == NEO_NET_NONE ? NULL : r->n->actors.at[actor].module;
}

static void read_node(reader *r) {
  neo_net_node node = {.actor = NEO_NET_NONE};
  neo_net_kind kind = NEO_NET_CONTROLLER;
  size_t from = r->at;
  if (number(r, SIZE_MAX, "the number of a node") != r->n->nodes.n)
    fail(r, from, "nodes in the order of their numbers");
  from = r->at;
  if (!neo_net_kind_of_text(word(r, "a kind"), &kind))
    fail(r, from, "a kind of node");
  node.kind = (uint8_t)kind;
  if (accept(r, "actor"))
    node.actor = number(r, r->n->actors.n, "the number of an actor");
  const neo_module *m =
      node.actor == NEO_NET_NONE || r->failed ? NULL : r->n->actors.at[node.actor].module;
  node.forward = optional_entry(r, m, "forward");
  node.backward = optional_entry(r, m, "backward");
  node.first = optional_entry(r, m, "first");
  node.apply = optional_entry(r, m, "apply");
  node.test = optional_entry(r, m, "test");
  if (m && accept(r, "loss"))
    node.loss = tensor(r, m);
  if (accept(r, "additions"))
    node.additions = strtod(word(r, "a number"), NULL);
  NEO_PUSH(r->a, &r->n->nodes, node);
}

static void read_end(reader *r, const char *which, uint32_t node, neo_net_port *p) {
  const neo_module *m = module_of(r, node);
  if (!m)
    return;
  expect(r, which);
  p->value = tensor(r, m);
  p->back = tensor(r, m);
}

static void read_edge(reader *r) {
  neo_network *n = r->n;
  neo_net_port from = {.edge = (uint32_t)n->edges.n}, to;
  uint32_t a = number(r, n->nodes.n, "the number of a node");
  expect(r, "->");
  uint32_t b = number(r, n->nodes.n, "the number of a node");
  from.name = name(r);
  if (r->failed)
    return;
  to = from;
  read_end(r, "from", a, &from);
  read_end(r, "to", b, &to);
  from.gradient = to.gradient = accept(r, "gradient");
  neo_net_edge e = {a, (uint32_t)n->nodes.at[a].out.n, b, (uint32_t)n->nodes.at[b].in.n};
  NEO_PUSH(r->a, &n->edges, e);
  NEO_PUSH(r->a, &n->nodes.at[a].out, from);
  NEO_PUSH(r->a, &n->nodes.at[b].in, to);
}

static neo_net_actor *actor(reader *r) {
  uint32_t k = number(r, r->n->actors.n, "the number of an actor");
  return r->failed ? NULL : &r->n->actors.at[k];
}

static void read_actor(reader *r) {
  neo_net_actor *a = actor(r);
  if (!a)
    return;
  expect(r, "weight");
  a->weight = tensor(r, a->module);
  if (accept(r, "count"))
    a->count = tensor(r, a->module);
  if (accept(r, "update"))
    a->update = entry(r, a->module);
}

static void read_stash(reader *r) {
  uint32_t k = number(r, r->n->nodes.n, "the number of a node");
  size_t from = r->at;
  const neo_module *m = r->failed ? NULL : module_of(r, k);
  neo_net_stash stash = {0};
  if (!m) {
    fail(r, from, "a node with an actor");
    return;
  }
  expect(r, "from");
  stash.from = tensor(r, m);
  expect(r, "to");
  stash.to = tensor(r, m);
  NEO_PUSH(r->a, &r->n->nodes.at[k].stash, stash);
}

static void read_seen(reader *r) {
  neo_net_actor *a = actor(r);
  neo_net_seen seen = {0};
  if (!a)
    return;
  expect(r, "from");
  seen.from = tensor(r, a->module);
  expect(r, "to");
  seen.to = tensor(r, a->module);
  expect(r, "node");
  seen.node = number(r, r->n->nodes.n, "the number of a node");
  NEO_PUSH(r->a, &a->seen, seen);
}

static void read_slice(reader *r) {
  neo_net_slice s = {.name = name(r)};
  expect(r, "of");
  s.of = name(r);
  expect(r, "at");
  s.index = number(r, UINT32_MAX, "the number of a slice");
  expect(r, "of");
  s.n = number(r, UINT32_MAX, "the number of slices");
  NEO_PUSH(r->a, &r->n->slices, s);
}

static void read_line(reader *r) {
  if (at_end(r) || r->text[r->at] == '#')
    return;
  if (accept(r, "network")) {
    r->n->name = name(r);
    r->n->entry = name(r);
  } else if (accept(r, "node")) {
    read_node(r);
  } else if (accept(r, "edge")) {
    read_edge(r);
  } else if (accept(r, "stash")) {
    read_stash(r);
  } else if (accept(r, "actor")) {
    read_actor(r);
  } else if (accept(r, "seen")) {
    read_seen(r);
  } else if (accept(r, "slice")) {
    read_slice(r);
  } else {
    fail(r, r->at, "a line of a network");
  }
  if (!at_end(r))
    fail(r, r->at, "the end of the line");
}

static void read_lines(reader *r, size_t end) {
  size_t at = line_end(r, 0);
  for (; at < end && !r->failed; at = line_end(r, at)) {
    r->at = at;
    read_line(r);
  }
}

static void check(reader *r) {
  neo_str why = neo_str_in(r->a);
  if (!r->failed && neo_network_verify(r->n, &why)) {
    neo_diag(r->d, neo_span_of(neo_diags_sources(r->d), r->file, 0, 0), NEO_D_IR_BROKEN,
             neo_str_text(&why));
    r->failed = true;
  }
}

neo_network *neo_network_parse(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                               const char *text, size_t n) {
  reader r = {.a = a, .names = names, .d = d, .path = path, .n_text = n};
  r.text = neo_arena_strndup(a, text, n);
  r.n = NEO_NEW(a, neo_network);
  *r.n = (neo_network){.arena = a};
  r.file = neo_sources_add(neo_diags_sources(d), neo_arena_strdup(a, path), r.text, (uint32_t)n);
  size_t modules = module_line(&r, 0);
  if (!begins(&r, 0, "neo-net 1"))
    fail(&r, 0, "the line 'neo-net 1'");
  read_modules(&r, modules);
  read_lines(&r, modules);
  check(&r);
  return r.failed ? NULL : r.n;
}
