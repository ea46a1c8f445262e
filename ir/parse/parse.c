/* A module from its text: names first, then declarations, then all else, so that the order of the
 * statements does not matter where it carries no meaning. The result has passed the verifier. */
#include "ir/parse/parse.h"
#include "ir/interp/interp.h"
#include "ir/limits.h"
#include "ir/order.h"
#include "ir/print.h"
#include <string.h>

enum { MAX_TEXT = 1 << 28, MAX_SITES = 1 << 24 };

typedef struct {
  size_t at, stop;
  uint32_t id; /* id of a size or tensor */
  bool bad;    /* the name was wrong and has been reported: ignore the rest */
} statement;

typedef struct {
  neo_ir_parser p;
  NEO_VEC(statement) statements;
} reader;

static void begin(neo_ir_parser *p, const statement *s) {
  p->at = s->at;
  p->stop = s->stop;
  p->failed = false;
  p->depth = 0;
  p->n_axes = 0;
  p->n_accs = 0;
}

static void end(neo_ir_parser *p) {
  if (!p->failed && p->at < p->stop)
    neo_parse_expected(p, "the end of the statement");
}

static bool role_of(const neo_ir_parser *p, neo_role *role) {
  for (int k = NEO_ROLE_INPUT; k <= NEO_ROLE_COTANGENT; k++)
    if (neo_parse_is(p, neo_role_text((neo_role)k))) {
      *role = (neo_role)k;
      return true;
    }
  return false;
}

/* ---- names */

/* Parses a declared name; 0 for `?n` with the right n. */
static uint32_t declared_name(neo_ir_parser *p, const char *what, neo_map *map, size_t id) {
  token t = neo_parse_peek(p, 0);
  if (t.kind == T_ANON) {
    if (neo_parse_tag(p, neo_parse_next(p)) != id)
      neo_parse_fail(p, t, NEO_D_IR_NAME, what, neo_parse_word(p, t));
    return 0;
  }
  uint32_t name = neo_parse_name(p, "a name");
  if (p->failed)
    return 0;
  if (neo_map_get(map, name, NULL))
    neo_parse_fail(p, t, NEO_D_IR_TWICE, what, neo_parse_word(p, t));
  else
    neo_map_set(map, name, id);
  return name;
}

static void declare(neo_ir_parser *p, statement *s) {
  neo_role role;
  begin(p, s);
  if (neo_parse_accept(p, "size")) {
    s->id = (uint32_t)p->m->sizes.n;
    uint32_t name = declared_name(p, "size", &p->sizes, s->id);
    (void)neo_size_add(p->m, (neo_size_rec){.name = name});
  } else if (role_of(p, &role)) {
    (void)neo_parse_next(p);
    s->id = (uint32_t)p->m->tensors.n;
    uint32_t name = declared_name(p, "tensor", &p->tensors, s->id);
    (void)neo_tensor_add(p->m, (neo_tensor_rec){.role = (uint8_t)role, .name = name});
    NEO_PUSH(p->arena, &p->bad_tensors, p->failed);
  }
  s->bad = p->failed;
}

/* ---- declarations */

static void parse_size(neo_ir_parser *p, uint32_t id) {
  size_t first = p->at;
  neo_size_rec rec = *neo_size_at(p->m, (neo_size){id});
  p->at += 2;
  rec.lo = neo_parse_integer(p);
  neo_parse_expect(p, "..");
  rec.hi = neo_parse_integer(p);
  rec.kind = NEO_SIZE_RUNTIME;
  if (neo_parse_accept(p, "=")) {
    rec.kind = NEO_SIZE_DERIVED;
    rec.value = neo_parse_expr(p);
  }
  end(p);
  rec.span = neo_parse_span_from(p, first);
  if (!p->failed)
    *neo_size_at(p->m, (neo_size){id}) = rec;
}

static neo_list parse_extents(neo_ir_parser *p) {
  uint32_t at[NEO_TENSOR_RANK], n = 0;
  neo_parse_expect(p, "[");
  if (neo_parse_accept(p, "]"))
    return (neo_list){0, 0};
  do {
    if (n == NEO_TENSOR_RANK)
      neo_parse_limit(p, NEO_TENSOR_RANK, "dimensions");
    neo_expr e = neo_parse_expr(p);
    if (!p->failed)
      at[n++] = e.i;
  } while (neo_parse_accept(p, ","));
  neo_parse_expect(p, "]");
  return p->failed ? (neo_list){0, 0} : neo_list_new(p->m, at, n);
}

static neo_type parse_type(neo_ir_parser *p) {
  token t = neo_parse_peek(p, 0);
  neo_type type = NEO_F32_T;
  if (t.kind == T_NAME && neo_type_of_text(neo_parse_word(p, t), &type))
    (void)neo_parse_next(p);
  else
    neo_parse_expected(p, "a type");
  return type;
}

static void parse_data(neo_ir_parser *p, neo_tensor_rec *r) {
  NEO_VEC(neo_value) values = {0};
  neo_type type = (neo_type)r->type;
  neo_parse_expect(p, "=");
  neo_parse_expect(p, "{");
  while (!p->failed && !neo_parse_is(p, "}")) {
    neo_value v = {.i = 0};
    neo_expr e = neo_parse_number(p, &type);
    if (!p->failed && neo_expr_type(p->m, e) != type)
      neo_parse_expected(p, "the tensor's type");
    if (!p->failed && !neo_expr_is_float(p->m, e, &v.f))
      (void)neo_expr_is_int(p->m, e, &v.i);
    NEO_PUSH(p->arena, &values, v);
    if (!neo_parse_accept(p, ","))
      break;
  }
  neo_parse_expect(p, "}");
  if (p->failed)
    return;
  char *data = neo_arena_array(p->arena, values.n + 1, neo_type_bytes(type));
  for (size_t k = 0; k < values.n; k++)
    neo_value_write(type, values.at[k], data + k * neo_type_bytes(type));
  r->data = data;
  r->n_data_bytes = values.n * neo_type_bytes(type);
}

/* Whether the next token follows the element bounds of a tensor. */
static bool at_end_of_ends(const neo_ir_parser *p) {
  return neo_parse_peek(p, 0).kind == T_END || neo_parse_is(p, "partial") ||
         neo_parse_is(p, "terms") || neo_parse_is(p, "optimizer") || neo_parse_is(p, "inner") ||
         neo_parse_is(p, "offsets") || neo_parse_is(p, "of") || neo_parse_is(p, "=");
}

/* in -1..d0: the indices of the element are d0, d1 … */
static void parse_ends(neo_ir_parser *p, neo_tensor_rec *rec) {
  if (!neo_parse_accept(p, "in"))
    return;
  p->n_axes = 0;
  for (uint32_t k = 0; k < rec->extent.n && k < NEO_TENSOR_RANK; k++)
    p->axis[p->n_axes++] = neo_name_of(p->m->names, neo_arena_printf(p->arena, "d%u", k));
  if (!neo_parse_is(p, ".."))
    rec->least = neo_parse_sum(p);
  neo_parse_expect(p, "..");
  if (!p->failed && !at_end_of_ends(p))
    rec->below = neo_parse_sum(p);
  p->n_axes = 0;
}

static void parse_tensor_rec(neo_ir_parser *p, uint32_t id) {
  size_t first = p->at;
  neo_tensor_rec rec = p->m->tensors.at[id];
  p->at += 2;
  neo_parse_expect(p, ":");
  rec.type = (uint8_t)parse_type(p);
  rec.extent = parse_extents(p);
  if (neo_parse_accept(p, "<"))
    rec.bound = neo_parse_sum(p);
  parse_ends(p, &rec);
  rec.partial = neo_parse_accept(p, "partial");
  rec.terms = neo_parse_accept(p, "terms");
  rec.optimizer = neo_parse_accept(p, "optimizer");
  rec.inner = neo_parse_accept(p, "inner");
  if (neo_parse_accept(p, "offsets"))
    rec.offsets = neo_parse_tensor(p);
  if (rec.role == NEO_ROLE_UPDATE) {
    neo_parse_expect(p, "of");
    rec.updates = neo_parse_tensor(p);
  }
  if (rec.role == NEO_ROLE_CONST)
    parse_data(p, &rec);
  end(p);
  rec.span = neo_parse_span_from(p, first);
  p->bad_tensors.at[id] = p->failed;
  if (!p->failed)
    p->m->tensors.at[id] = rec;
}

/* ---- the rest */

static neo_list parse_tensors(neo_ir_parser *p) {
  NEO_VEC(uint32_t) at = {0};
  do {
    bool absent = neo_parse_accept(p, "-");
    NEO_PUSH(p->arena, &at, absent ? 0 : neo_parse_tensor(p).i);
  } while (neo_parse_accept(p, ","));
  return neo_list_new(p->m, at.at, at.n);
}

static neo_entry_kind parse_entry_kind(neo_ir_parser *p) {
  static const char *const texts[] = {"forward", "train", "grad", "init"};
  for (int k = 0; k < 4; k++)
    if (neo_parse_accept(p, texts[k]))
      return (neo_entry_kind)k;
  neo_parse_expected(p, "forward, train, grad or init");
  return NEO_ENTRY_FORWARD;
}

static void parse_outputs(neo_ir_parser *p, neo_entry_rec *e) {
  NEO_VEC(uint32_t) names = {0};
  NEO_VEC(uint32_t) outputs = {0};
  do {
    uint32_t name = neo_parse_label(p, "an output's name");
    neo_parse_expect(p, "=");
    NEO_PUSH(p->arena, &names, name);
    NEO_PUSH(p->arena, &outputs, neo_parse_tensor(p).i);
  } while (neo_parse_accept(p, ","));
  e->names = neo_list_new(p->m, names.at, names.n);
  e->outputs = neo_list_new(p->m, outputs.at, outputs.n);
}

static void parse_entry(neo_ir_parser *p) {
  size_t first = p->at - 1;
  neo_entry_rec e = {.kind = (uint8_t)parse_entry_kind(p)};
  e.name = neo_parse_label(p, "the entry's name");
  neo_parse_expect(p, ":");
  if (p->at < p->stop && !neo_parse_is(p, ";"))
    parse_outputs(p, &e);
  if (neo_parse_accept(p, ";")) {
    neo_parse_expect(p, "updates");
    e.updates = parse_tensors(p);
  }
  end(p);
  e.span = neo_parse_span_from(p, first);
  if (!p->failed)
    NEO_PUSH(p->arena, &p->m->entries, e);
}

static uint32_t parse_batch(neo_ir_parser *p) {
  token t = neo_parse_peek(p, 0);
  int64_t n = neo_parse_integer(p);
  if (n < 1 || n > NEO_TENSOR_RANK)
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, neo_parse_word(p, t), "");
  return p->failed ? 0 : (uint32_t)n;
}

static void parse_gradient(neo_ir_parser *p) {
  size_t first = p->at - 1;
  neo_grad_rec g = {0};
  neo_parse_expect(p, "of");
  g.y = neo_parse_tensor(p);
  if (neo_parse_accept(p, "seed"))
    g.seed = neo_parse_tensor(p);
  if (neo_parse_accept(p, "batch"))
    g.n_batch = parse_batch(p);
  if (neo_parse_accept(p, "hold"))
    g.hold = parse_tensors(p);
  neo_parse_expect(p, "for");
  g.wrt = parse_tensors(p);
  neo_parse_expect(p, "into");
  g.out = parse_tensors(p);
  g.done = neo_parse_accept(p, "done");
  end(p);
  g.span = neo_parse_span_from(p, first);
  if (!p->failed)
    NEO_PUSH(p->arena, &p->m->grads, g);
}

/* A list may be empty. */
static neo_list parse_tensors_before(neo_ir_parser *p, const char *stop) {
  neo_list l = {0, 0};
  if (!neo_parse_is(p, stop))
    l = parse_tensors(p);
  neo_parse_expect(p, stop);
  return l;
}

static void parse_custom(neo_ir_parser *p) {
  size_t first = p->at - 1;
  neo_custom_rec c = {0};
  c.ins = parse_tensors_before(p, "->");
  c.outs = parse_tensors_before(p, "with");
  c.dys = parse_tensors_before(p, "->");
  if (p->at < p->stop)
    c.dxs = parse_tensors(p);
  end(p);
  c.span = neo_parse_span_from(p, first);
  if (!p->failed)
    NEO_PUSH(p->arena, &p->m->customs, c);
}

static void parse_sites(neo_ir_parser *p) {
  token t = neo_parse_peek(p, 0);
  int64_t n = neo_parse_integer(p);
  if (n < 0 || n > MAX_SITES)
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, neo_parse_word(p, t), "");
  end(p);
  if (!p->failed)
    p->m->n_sites = (uint32_t)n;
}

static void parse_assert(neo_ir_parser *p) {
  size_t first = p->at - 1;
  neo_assert_rec a = {.holds = neo_parse_expr(p)};
  end(p);
  a.span = neo_parse_span_from(p, first);
  if (!p->failed)
    NEO_PUSH(p->arena, &p->m->asserts, a);
}

static void parse_module(neo_ir_parser *p) {
  uint32_t name = neo_parse_label(p, "the module's name");
  end(p);
  if (!p->failed)
    p->m->name = name;
}

/* Parses statements that need no declaration; declarations follow, then statements that need
 * these. */
static void parse_early(neo_ir_parser *p, const statement *s) {
  begin(p, s);
  if (s->bad)
    return;
  if (neo_parse_accept(p, "module"))
    parse_module(p);
  else if (neo_parse_accept(p, "sites"))
    parse_sites(p);
  else if (s->id && neo_parse_is(p, "size"))
    parse_size(p, s->id);
}

static void parse_tensor_statement(neo_ir_parser *p, const statement *s) {
  neo_role role;
  begin(p, s);
  if (role_of(p, &role) && !s->bad)
    parse_tensor_rec(p, s->id);
}

static void parse_late(neo_ir_parser *p, const statement *s) {
  neo_role role;
  begin(p, s);
  if (neo_parse_is(p, "module") || neo_parse_is(p, "sites") || neo_parse_is(p, "size") ||
      role_of(p, &role))
    return;
  if (neo_parse_accept(p, "def"))
    neo_parse_def(p, false);
  else if (neo_parse_accept(p, "init"))
    neo_parse_def(p, true);
  else if (neo_parse_accept(p, "entry"))
    parse_entry(p);
  else if (neo_parse_accept(p, "assert"))
    parse_assert(p);
  else if (neo_parse_accept(p, "gradient"))
    parse_gradient(p);
  else if (neo_parse_accept(p, "custom"))
    parse_custom(p);
  else
    neo_parse_expected(p, "a statement");
}

/* ---- the whole */

static void split(reader *r) {
  neo_ir_parser *p = &r->p;
  size_t from = 0;
  for (size_t k = 1; k < p->tokens.n; k++) {
    if (!p->tokens.at[k].first)
      continue;
    NEO_PUSH(p->arena, &r->statements, (statement){.at = from, .stop = k});
    from = k;
  }
}

/* The length of the first line with its end, 0 if it is not the version. */
static uint32_t version_line(const neo_ir_parser *p) {
  static const char line[] = "neo-ir 1";
  uint32_t n = sizeof line - 1;
  if (p->n_text < n || memcmp(p->text, line, n) != 0)
    return 0;
  while (n < p->n_text && (p->text[n] == ' ' || p->text[n] == '\r'))
    n++;
  return n == p->n_text || p->text[n] == '\n' ? n : 0;
}

static void read_all(reader *r) {
  neo_ir_parser *p = &r->p;
  split(r);
  for (size_t k = 0; k < r->statements.n; k++)
    declare(p, &r->statements.at[k]);
  for (size_t k = 0; k < r->statements.n; k++)
    parse_early(p, &r->statements.at[k]);
  for (size_t k = 0; k < r->statements.n; k++)
    parse_tensor_statement(p, &r->statements.at[k]);
  for (size_t k = 0; k < r->statements.n; k++)
    parse_late(p, &r->statements.at[k]);
}

static neo_module *verified(neo_ir_parser *p, size_t errors_before) {
  neo_str why = neo_str_in(p->arena);
  if (neo_diags_errors(p->m->diags) > errors_before)
    return NULL;
  if (neo_module_check(p->m, &why) == NEO_OK)
    return p->m;
  neo_diag(p->m->diags, neo_span_of(neo_diags_sources(p->m->diags), p->file, 0, 0), NEO_D_IR_BROKEN,
           neo_str_text(&why));
  return NULL;
}

neo_module *neo_module_parse(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                             const char *text, size_t n) {
  reader r = {.p = {.arena = a}};
  neo_ir_parser *p = &r.p;
  size_t errors = neo_diags_errors(d);
  bool fits = n <= MAX_TEXT;
  p->n_text = fits ? (uint32_t)n : 0;
  p->text = neo_arena_strndup(a, text, p->n_text);
  p->m = neo_module_new(a, names, d, "");
  p->file = neo_sources_add(neo_diags_sources(d), neo_arena_strdup(a, path), p->text, p->n_text);
  neo_map_init(&p->sizes, a);
  neo_map_init(&p->tensors, a);
  neo_map_init(&p->lets, a);
  NEO_PUSH(a, &p->bad_tensors, false);
  uint32_t from = version_line(p);
  neo_span start = neo_span_of(neo_diags_sources(d), p->file, 0, from ? from : 1);
  if (!fits || !from) {
    if (fits)
      neo_diag(d, start, NEO_D_IR_VERSION);
    else
      neo_diag(d, start, NEO_D_IR_LIMIT, (int)MAX_TEXT, "bytes of text");
    return NULL;
  }
  neo_parse_lex(p, from);
  read_all(&r);
  return verified(p, errors);
}
