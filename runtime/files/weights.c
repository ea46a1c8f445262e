/* weights.c: which tensors of a file fill which slots. */
#include "runtime/files/weights_rules.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_SHOWN = 8 };

/* ------------------------------------------------------------ kinds */

/* The part of `name` after `head` and a point; null if it does not begin so. */
static const char *below(const char *name, const char *head) {
  size_t n = strlen(head);
  return strncmp(name, head, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

neo_rti_slot_kind neo_rti_slot_kind_of(uint8_t role, bool optimizer) {
  if (role == NEO_RT_ROLE_SETTING)
    return NEO_RTI_SETTING;
  return optimizer ? NEO_RTI_OPTIMIZER : NEO_RTI_WEIGHT;
}

/* ------------------------------------------------------------ which are made anew */

bool neo_rti_weights_remakes(const neo_rti_weights *w, const neo_rti_slot *s) {
  if (!s->follows || s->found)
    return false;
  if (s->kind != NEO_RTI_OPTIMIZER)
    return s->wanted;
  const neo_rti_slot *param =
      NULL; /* the longest matching name: "y.g" for "y.g.slow", even if there is a "y" */
  for (size_t k = 0; k < w->n_slots; k++) {
    const neo_rti_slot *p = &w->slots[k];
    bool longer = !param || strlen(p->name) > strlen(param->name);
    param = p->role == NEO_RT_ROLE_PARAM && below(s->name, p->name) && longer ? p : param;
  }
  return param && param->found;
}

/* ------------------------------------------------------------ which are wanted */

static size_t slot_named(const neo_rti_weights *w, const char *name, size_t n) {
  size_t k = 0;
  while (k < w->n_slots && (strncmp(w->slots[k].name, name, n) != 0 || w->slots[k].name[n] != 0))
    k++;
  return k;
}

static size_t length_of_pattern(const char *at) {
  return strcspn(at, ", ");
}

/* Chooses all weights, or those that match a pattern of `only`. Each pattern must match one. */
static neo_rt_status choose(neo_rti_weights *w, const char *only) {
  for (size_t k = 0; k < w->n_slots; k++)
    w->slots[k].wanted = !only && w->slots[k].kind == NEO_RTI_WEIGHT;
  for (const char *at = only; at && *at; at += *at != 0) {
    size_t n = length_of_pattern(at);
    bool fits = n == 0;
    for (size_t k = 0; k < w->n_slots; k++)
      if (w->slots[k].kind == NEO_RTI_WEIGHT && neo_rti_pattern_fits(at, n, w->slots[k].name))
        fits = w->slots[k].wanted = true;
    if (!fits) {
      neo_str_addf(&w->error, "no parameter or state of the model is '%.*s'", (int)n, at);
      return NEO_NAME;
    }
    at += n;
  }
  return NEO_OK;
}

/* ------------------------------------------------------------ a tensor's place */

static void put_shape(neo_str *s, const int64_t *extent, uint32_t rank) {
  for (uint32_t d = 0; d < rank; d++)
    neo_str_addf(s, "%s%" PRId64, d ? ", " : "[", extent[d]);
  neo_str_add(s, rank ? "]" : "[]");
}

/* Whether the file's tensor, with dimensions in this order, has the shape of the slot below its
 * first `n_outer` dimensions. */
static bool same_shape(const neo_rti_slot *s, uint32_t n_outer, const neo_rti_file_tensor *f,
                       const uint8_t *order) {
  bool same = s->rank == f->rank + n_outer;
  for (uint32_t d = 0; same && d < f->rank; d++)
    same = s->extent[n_outer + d] == f->extent[order[d]];
  return same;
}

static neo_rt_status wrong_shape(neo_rti_weights *w, const neo_rti_slot *s, uint32_t n_outer,
                                 const neo_rti_file_tensor *f, const neo_rti_rule *r) {
  static const uint8_t transposed[] = {1, 0};
  neo_str_addf(&w->error, "%s: shape is ", f->name);
  put_shape(&w->error, f->extent, f->rank);
  neo_str_add(&w->error,
              r && (r->transpose || r->n_order) ? " before it is transposed, but " : ", but ");
  neo_str_addf(&w->error, "%s expects ", s->name);
  put_shape(&w->error, s->extent + n_outer, s->rank - n_outer);
  neo_str_addf(&w->error, " (%s)", s->place);
  if (f->rank == 2 && !(r && r->transpose) && same_shape(s, n_outer, f, transposed))
    neo_str_addf(&w->error, "; a line of a table transposes it: %s = %s transpose", f->name,
                 r ? r->ours : s->name);
  return NEO_SHAPE;
}

static bool order_of(const neo_rti_rule *r, const neo_rti_file_tensor *f, uint8_t *order) {
  for (uint8_t d = 0; d < NEO_RTI_MAX_RANK; d++)
    order[d] = r && d < r->n_order ? r->order[d] : d;
  if (r && r->transpose)
    order[0] = 1, order[1] = 0;
  return !r || ((!r->n_order || r->n_order == f->rank) && (!r->transpose || f->rank == 2));
}

/* Parses "[3, 0]" after a name: an iteration's part of a stacked tensor, as the number of its first
 * element. */
static bool read_subscripts(const char *at, const neo_rti_slot *s, uint32_t *n_outer,
                            int64_t *first) {
  *n_outer = 0;
  *first = 0;
  if (!*at)
    return true;
  do {
    int64_t x = 0;
    at += 1 + strspn(at + 1, " ");
    const char *digits = at;
    for (; *at >= '0' && *at <= '9'; at++)
      if (!neo_rti_mul(x, 10, &x) || __builtin_add_overflow(x, *at - '0', &x))
        return false;
    bool none = at == digits;
    at += strspn(at, " ");
    if (none || *n_outer >= s->rank || x >= s->extent[*n_outer])
      return false;
    *first = *first * s->extent[(*n_outer)++] + x;
  } while (*at == ',');
  return at[0] == ']' && at[1] == 0;
}

static neo_rt_status check_type(neo_rti_weights *w, const neo_rti_slot *s,
                                const neo_rti_file_tensor *f) {
  if (neo_rti_file_type_converts(f->type, s->type))
    return NEO_OK;
  neo_str_addf(&w->error, "%s: type is %s, which does not become %s of %s (%s)", f->name,
               neo_rti_file_type_name(f->type), neo_rti_type_name(s->type), s->name, s->place);
  return NEO_TYPE;
}

/* Rejects two tensors of the file that fill the same place. */
static neo_rt_status check_overlap(neo_rti_weights *w, const neo_rti_move *m) {
  for (size_t k = 0; k < w->n_moves; k++) {
    const neo_rti_move *o = &w->moves[k];
    if (o->slot != m->slot || o->first >= m->first + m->count || m->first >= o->first + o->count)
      continue;
    neo_str_addf(&w->error, "%s and %s of the file are both %s", o->from->name, m->from->name,
                 w->slots[m->slot].name);
    return NEO_NAME;
  }
  return NEO_OK;
}

static neo_rt_status add_move(neo_rti_weights *w, size_t slot, const char *subscripts,
                              const neo_rti_file_tensor *f, const neo_rti_rule *r) {
  neo_rti_slot *s = &w->slots[slot];
  neo_rti_move m = {.from = f, .slot = slot, .count = 1};
  uint32_t n_outer;
  if (!read_subscripts(subscripts, s, &n_outer, &m.first)) {
    neo_str_addf(&w->error, "line %d of the table: %s has no part %s", r ? r->line : 0, s->name,
                 subscripts);
    return NEO_NAME;
  }
  if (!order_of(r, f, m.order) || !same_shape(s, n_outer, f, m.order))
    return wrong_shape(w, s, n_outer, f, r);
  for (uint32_t d = n_outer; d < s->rank; d++)
    m.count *= s->extent[d];
  m.first *= m.count;
  neo_rt_status status = check_type(w, s, f);
  if (!status)
    status = check_overlap(w, &m);
  if (status)
    return status;
  s->found += m.count;
  w->moves[w->n_moves++] = m;
  return NEO_OK;
}

static void note_strange(neo_rti_weights *w, const char *name) {
  if (w->n_strange++ < NAMES_SHOWN)
    neo_str_addf(&w->strange, "%s%s", w->strange.n ? ", " : "", name);
}

/* Matches a tensor of the file. Settings and optimizers' states are loaded only if `all` is set and
 * their types and shapes are the model's. */
static neo_rt_status match_one(neo_rti_weights *w, neo_rti_rule *rules, size_t n_rules, bool all,
                               const neo_rti_file_tensor *f) {
  const char *ours;
  neo_rti_rule *r = neo_rti_rule_for(w->arena, rules, n_rules, f->name, &ours);
  if (r && strcmp(ours, "-") == 0)
    return NEO_OK;
  size_t n = r ? strcspn(ours, "[") : strlen(ours), slot = slot_named(w, ours, n);
  if (slot == w->n_slots && r) {
    neo_str_addf(&w->error, "line %d of the table: the model has no parameter or state '%.*s'",
                 r->line, (int)n, ours);
    return NEO_NAME;
  }
  if (slot == w->n_slots) {
    note_strange(w, f->name);
    return NEO_OK;
  }
  bool rest = all && w->slots[slot].kind != NEO_RTI_WEIGHT;
  return w->slots[slot].wanted || rest ? add_move(w, slot, ours + n, f, r) : NEO_OK;
}

/* ------------------------------------------------------------ all of them */

static neo_rt_status check_used(neo_rti_weights *w, const neo_rti_rule *rules, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (!rules[k].used) {
      neo_str_addf(&w->error,
                   rules[k].late ? "line %d of the table: an earlier line takes every '%s'"
                                 : "line %d of the table: the file has no tensor '%s'",
                   rules[k].line, rules[k].theirs);
      return NEO_NAME;
    }
  return NEO_OK;
}

static neo_rt_status check_found(neo_rti_weights *w) {
  size_t n = 0;
  neo_str missing = neo_str_in(w->arena);
  for (size_t k = 0; k < w->n_slots; k++) {
    const neo_rti_slot *s = &w->slots[k];
    bool part = s->found > 0 && s->found < s->count;
    bool none = s->wanted && !s->found && s->count > 0 && !s->follows;
    if ((part || none) && n++ < NAMES_SHOWN)
      neo_str_addf(&missing, "%s%s%s", missing.n ? ", " : "", s->name, part ? " (in part)" : "");
  }
  if (n == 0)
    return NEO_OK;
  neo_str_addf(&w->error, "%s: %s missing from the file", neo_str_text(&missing),
               n == 1 ? "is" : "are");
  if (n > NAMES_SHOWN)
    neo_str_addf(&w->error, ", and %zu more", n - NAMES_SHOWN);
  if (w->n_strange)
    neo_str_addf(&w->error, "; in the file only: %s%s", neo_str_text(&w->strange),
                 w->n_strange > NAMES_SHOWN ? " ..." : "");
  return NEO_NAME;
}

neo_rt_status neo_rti_weights_match(neo_rti_weights *w, const neo_rt_weights *o) {
  neo_rti_rule *rules = NULL;
  size_t n_rules = 0;
  neo_str_init(&w->error, w->arena);
  neo_str_init(&w->strange, w->arena);
  w->moves = NEO_NEW_ARRAY(w->arena, neo_rti_move, w->file->n_tensors + 1);
  if (o->rename && !neo_rti_rules_read(w->arena, o->rename, &rules, &n_rules, &w->error))
    return NEO_FORMAT;
  neo_rt_status status = choose(w, o->only);
  bool all = (o->flags & NEO_RT_WEIGHTS_ALL) != 0;
  for (size_t k = 0; !status && k < w->file->n_tensors; k++)
    status = match_one(w, rules, n_rules, all, &w->file->tensors[k]);
  if (!status)
    status = check_used(w, rules, n_rules);
  return status ? status : check_found(w);
}

/* ------------------------------------------------------------ the summary */

static void count_slots(const neo_rti_weights *w, size_t loaded[2], size_t *unchanged,
                        bool *lacks) {
  for (size_t k = 0; k < w->n_slots; k++) {
    const neo_rti_slot *s = &w->slots[k];
    if (s->follows && !s->found)
      continue;
    if (s->kind == NEO_RTI_WEIGHT && s->wanted)
      loaded[s->role == NEO_RT_ROLE_STATE]++;
    else if (s->kind == NEO_RTI_WEIGHT)
      (*unchanged)++;
    *lacks = *lacks || (s->kind == NEO_RTI_OPTIMIZER && !s->found);
  }
}

void neo_rti_weights_summary(const neo_rti_weights *w, neo_rti_summary *out) {
  size_t loaded[2] = {0, 0}, unchanged = 0;
  bool lacks = false;
  neo_str s = neo_str_in(w->arena);
  count_slots(w, loaded, &unchanged, &lacks);
  neo_str_addf(&s, "%zu parameter%s", loaded[0], loaded[0] == 1 ? "" : "s");
  if (loaded[1])
    neo_str_addf(&s, " and %zu state%s", loaded[1], loaded[1] == 1 ? "" : "s");
  neo_str_add(&s, loaded[0] + loaded[1] == 1 ? " is loaded" : " are loaded");
  if (unchanged)
    neo_str_addf(&s, ", %zu stay%s as %s", unchanged, unchanged == 1 ? "s" : "",
                 unchanged == 1 ? "it is" : "they are");
  if (lacks)
    neo_str_add(&s, "; the optimizer's state starts afresh");
  if (w->n_strange)
    neo_str_addf(&s, "; the model has no %s%s", neo_str_text(&w->strange),
                 w->n_strange > NAMES_SHOWN ? " ..." : "");
  out->partly = unchanged > 0 || w->n_strange > 0;
  snprintf(out->text, sizeof out->text, "%s", neo_str_text(&s));
}
