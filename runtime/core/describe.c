/* describe.c: describes a model, as text for people or JSON for programs, in a buffer of the
 * caller's. As snprintf does, it counts the bytes that did not fit. */
#include "runtime/model.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct {
  char *buf;
  size_t cap, n;
  const neo_rt_model *m;
  const int64_t *sizes; /* null: none are given */
} out;

static void add(out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(out *o, const char *fmt, ...) {
  bool room = o->n < o->cap;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(room ? o->buf + o->n : NULL, room ? o->cap - o->n : 0, fmt, ap);
  va_end(ap);
  if (n > 0)
    o->n += (size_t)n;
}

static void add_json(out *o, const char *text) {
  add(o, "\"");
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      add(o, "\\%c", c);
    else if (c < 0x20)
      add(o, "\\u%04x", c);
    else
      add(o, "%c", c);
  }
  add(o, "\"");
}

/* ------------------------------------------------------------ size programs as formulas */

enum { MOST_WORDS = 64 };

typedef struct {
  const int64_t *code;
  int starts[MOST_WORDS], n; /* where each word of the code starts */
} formula;

static bool is_leaf(const formula *f, int word) {
  int64_t op = f->code[f->starts[word]];
  return op == NEO_RT_OP_CONST || op == NEO_RT_OP_SIZE;
}

/* The first word of the operand whose words end before `end`. It is found from the right, where
 * every operator asks for one operand more. */
static int operand_start(const formula *f, int end) {
  int i = end;
  for (int need = 1; need > 0 && i > 0;)
    need += is_leaf(f, --i) ? -1 : 1;
  return i;
}

/* Adds the text of the formula whose words end before `end`. */
static void add_formula(out *o, const formula *f, int end, bool outer) {
  static const char *const infix[] = {[NEO_RT_OP_ADD] = " + ",
                                      [NEO_RT_OP_SUB] = " - ",
                                      [NEO_RT_OP_MUL] = "*",
                                      [NEO_RT_OP_DIV] = "/",
                                      [NEO_RT_OP_MOD] = " % "};
  const int64_t *at = f->code + f->starts[end - 1];
  if (at[0] == NEO_RT_OP_CONST) {
    add(o, "%" PRId64, at[1]);
  } else if (at[0] == NEO_RT_OP_SIZE) {
    add(o, "%s", o->m->sizes[at[1]].name);
  } else {
    int middle = operand_start(f, end - 1);
    bool call = at[0] == NEO_RT_OP_MIN || at[0] == NEO_RT_OP_MAX;
    if (call)
      add(o, at[0] == NEO_RT_OP_MIN ? "min(" : "max(");
    else if (!outer)
      add(o, "(");
    add_formula(o, f, middle, call);
    add(o, "%s", call ? ", " : infix[at[0]]);
    add_formula(o, f, end - 1, call);
    if (call || !outer)
      add(o, ")");
  }
}

static void add_program(out *o, int32_t program) {
  formula f = {.code = o->m->programs + program};
  int at = 0;
  for (; f.code[at] != NEO_RT_OP_END && f.n < MOST_WORDS; f.n++) {
    f.starts[f.n] = at;
    at += f.code[at] == NEO_RT_OP_CONST || f.code[at] == NEO_RT_OP_SIZE ? 2 : 1;
  }
  if (f.code[at] == NEO_RT_OP_END && f.n > 0)
    add_formula(o, &f, f.n, true);
  else
    add(o, "?"); /* too long to be read */
}

/* ------------------------------------------------------------ text */

static void add_bytes(out *o, int64_t n) {
  if (n < 10240)
    add(o, "%" PRId64 " B", n);
  else if (n < 10 * 1024 * 1024)
    add(o, "%.1f KiB", (double)n / 1024);
  else
    add(o, "%.1f MiB", (double)n / (1024 * 1024));
}

/* Adds a bound of the elements, a formula of the indices d0, d1 …; which: 0 the lower, 1 the upper
 * one. */
static bool add_end(out *o, const neo_rt_tensor *t, int which) {
  const int32_t *row = o->m->extents + t->ends - 1, *adds = row + 2 + which * t->rank;
  if (!t->ends || row[which] < 0)
    return false;
  const int64_t *code = o->m->programs + row[which];
  bool any = false, zero = code[0] == NEO_RT_OP_CONST && !code[1] && code[2] == NEO_RT_OP_END;
  for (int d = 0; d < t->rank; d++) {
    int64_t by = o->m->programs[adds[d] + 1]; /* after CONST */
    if (!by)
      continue;
    if (by == 1)
      add(o, any ? " + d%d" : "d%d", d);
    else
      add(o, any ? " + %" PRId64 "*d%d" : "%" PRId64 "*d%d", by, d);
    any = true;
  }
  if (any && !zero)
    add(o, " + ");
  if (!any || !zero)
    add_program(o, row[which]);
  return true;
}

static void text_type(out *o, const neo_rt_tensor *t) {
  if (t->ends && add_end(o, t, 0))
    add(o, " <= ");
  add(o, "%s", neo_rti_type_name(t->type));
  if (t->ends) {
    const int32_t below = o->m->extents[t->ends];
    add(o, below >= 0 ? " < " : "");
    (void)add_end(o, t, 1);
  } else if (t->bound >= 0) {
    add(o, " < ");
    add_program(o, t->bound);
  }
}

static void text_tensor(out *o, const neo_rt_tensor *t) {
  add(o, "  %s", t->name);
  for (int d = 0; d < t->rank; d++) {
    add(o, d ? ", " : "[");
    add_program(o, o->m->extents[t->extent + d]);
  }
  add(o, t->rank ? "] : " : " : ");
  text_type(o, t);
  add(o, "  (%s)\n", t->place);
}

static void text_role(out *o, uint8_t role, const char *title) {
  bool any = false;
  for (int32_t i = 0; i < o->m->n_tensors; i++) {
    if (o->m->tensors[i].role != role)
      continue;
    if (!any)
      add(o, "%s\n", title);
    any = true;
    text_tensor(o, &o->m->tensors[i]);
  }
}

static const char *kind_name(uint8_t kind) {
  static const char *const names[] = {"forward", "train", "grad", "init"};
  return kind <= NEO_RT_ENTRY_INIT ? names[kind] : "?";
}

static void text_args(out *o, const neo_rt_entry *e) {
  add(o, "(");
  for (int32_t i = 0; i < e->n_sizes; i++)
    add(o, i ? ", %s" : "%s", o->m->sizes[o->m->entry_sizes[e->sizes + i]].name);
  for (int32_t i = 0; i < e->n_args; i++) {
    if (i == e->n_inputs)
      add(o, ") -> (");
    else if (i > 0 || e->n_sizes > 0)
      add(o, ", ");
    add(o, "%s", o->m->tensors[o->m->entry_args[e->args + i]].name);
  }
  add(o, e->n_inputs == e->n_args ? ") -> ()" : ")");
}

static int64_t least_frame_bytes(const neo_rt_model *m, const neo_rt_entry *e) {
  int64_t least[NEO_RT_MOST_SIZES];
  for (int32_t i = 0; i < m->n_sizes; i++)
    least[i] = m->sizes[i].lo;
  return neo_rti_frame_bytes(m, e, least);
}

/* "B = 48, T = 7" */
static void text_given(out *o) {
  for (int32_t i = 0; i < neo_rti_call_sizes(o->m); i++)
    add(o, "%s%s = %" PRId64, i ? ", " : "", o->m->sizes[i].name, o->sizes[i]);
}

/* Describes how the size of the frame depends on the sizes. */
static void text_frame(out *o, const neo_rt_entry *e) {
  if (!e->n_places)
    return;
  add(o, "    frame at the smallest sizes ");
  add_bytes(o, least_frame_bytes(o->m, e));
  if (o->sizes) {
    add(o, ", at ");
    text_given(o);
    add(o, ": ");
    add_bytes(o, neo_rti_frame_bytes(o->m, e, o->sizes));
  }
  add(o, "\n");
}

static void text_entry(out *o, const neo_rt_entry *e) {
  add(o, "  %s", e->name);
  text_args(o, e);
  add(o, "\n    %s, %d steps, frame ", kind_name(e->kind), e->n_steps);
  add_bytes(o, e->frame_bytes);
  add(o, ", lower bound ");
  add_bytes(o, e->lower_bound_bytes);
  if (e->lower_bound_bytes > 0)
    add(o, " (%.3f)", (double)e->frame_bytes / (double)e->lower_bound_bytes);
  add(o, e->n_places ? ", at the largest sizes\n" : "\n");
  text_frame(o, e);
}

static void text_all(out *o) {
  bool dynamic = o->m->n_places > 0;
  add(o, "\n  in all, 1 thread: ");
  add_bytes(o, neo_rt_arena_size(o->m, 1));
  if (dynamic)
    add(o, " at the largest sizes");
  if (dynamic && o->sizes) {
    add(o, ", ");
    add_bytes(o, neo_rti_ctx_bytes(o->m, o->sizes));
    add(o, " at ");
    text_given(o);
  }
  add(o, "\n");
}

static void describe_text(out *o) {
  const neo_rt_model *m = o->m;
  add(o, "%s\n  target %s%s%s, features %s\n  built from %s\n", m->name, m->target,
      m->device ? " " : "", m->device ? m->device : "",
      m->features && m->features[0] ? m->features : "none beyond the target's", m->source_hash);
  int32_t n_sizes = neo_rti_call_sizes(m);
  if (n_sizes > 0)
    add(o, "sizes known at run time\n");
  for (int32_t i = 0; i < n_sizes; i++)
    add(o, "  %" PRId64 " <= %s <= %" PRId64 "\n", m->sizes[i].lo, m->sizes[i].name,
        m->sizes[i].hi);
  text_role(o, NEO_RT_ROLE_INPUT, "inputs");
  text_role(o, NEO_RT_ROLE_SETTING, "settings");
  text_role(o, NEO_RT_ROLE_PARAM, "parameters");
  text_role(o, NEO_RT_ROLE_STATE, "state");
  text_role(o, NEO_RT_ROLE_OUTPUT, "outputs");
  add(o, "entries\n");
  for (int32_t i = 0; i < m->n_entries; i++)
    if (m->entries[i].kind != NEO_RT_ENTRY_INIT) /* callers cannot call it */
      text_entry(o, &m->entries[i]);
  add(o, "memory\n  parameters ");
  add_bytes(o, m->param_bytes);
  add(o, ", state ");
  add_bytes(o, m->state_bytes);
  add(o, ", call-invariant ");
  add_bytes(o, m->cached_bytes);
  add(o, ", frame ");
  add_bytes(o, m->frame_bytes);
  add(o, ", scratch per thread ");
  add_bytes(o, m->scratch_bytes);
  text_all(o);
}

/* ------------------------------------------------------------ JSON */

static void json_program(out *o, int32_t program) {
  int32_t size = neo_rti_program_size(o->m, program);
  const int64_t *code = o->m->programs + program;
  if (code[0] == NEO_RT_OP_CONST && code[2] == NEO_RT_OP_END)
    add(o, "%" PRId64, code[1]);
  else if (size >= 0)
    add_json(o, o->m->sizes[size].name);
  else {
    add(o, "\"");
    add_program(o, program);
    add(o, "\"");
  }
}

static void json_tensor(out *o, const neo_rt_tensor *t) {
  add(o, "{\"name\": ");
  add_json(o, t->name);
  add(o, ", \"role\": \"%s\", \"type\": \"%s\", \"shape\": [", neo_rti_role_name(t->role),
      neo_rti_type_name(t->type));
  for (int d = 0; d < t->rank; d++) {
    add(o, d ? ", " : "");
    json_program(o, o->m->extents[t->extent + d]);
  }
  add(o, "]");
  if (t->bound >= 0) {
    add(o, ", \"bound\": ");
    json_program(o, t->bound);
  }
  for (int which = 0; t->ends && which < 2; which++) {
    if (o->m->extents[t->ends - 1 + which] < 0)
      continue;
    add(o, which ? ", \"below\": \"" : ", \"least\": \"");
    (void)add_end(o, t, which);
    add(o, "\"");
  }
  add(o, ", \"saved\": %s, \"place\": ", t->in_safetensors ? "true" : "false");
  add_json(o, t->place);
  add(o, "}");
}

static void json_names(out *o, const neo_rt_entry *e, int32_t from, int32_t to) {
  add(o, "[");
  for (int32_t i = from; i < to; i++) {
    add(o, i > from ? ", " : "");
    add_json(o, o->m->tensors[o->m->entry_args[e->args + i]].name);
  }
  add(o, "]");
}

static void json_entry(out *o, const neo_rt_entry *e) {
  add(o, "{\"name\": ");
  add_json(o, e->name);
  add(o, ", \"kind\": \"%s\", \"sizes\": [", kind_name(e->kind));
  for (int32_t i = 0; i < e->n_sizes; i++) {
    add(o, i ? ", " : "");
    add_json(o, o->m->sizes[o->m->entry_sizes[e->sizes + i]].name);
  }
  add(o, "], \"inputs\": ");
  json_names(o, e, 0, e->n_inputs);
  add(o, ", \"outputs\": ");
  json_names(o, e, e->n_inputs, e->n_args);
  add(o,
      ", \"steps\": %d, \"frame_bytes\": %" PRId64 ", \"lower_bound_bytes\": %" PRId64
      ", \"least_frame_bytes\": %" PRId64,
      e->n_steps, e->frame_bytes, e->lower_bound_bytes, least_frame_bytes(o->m, e));
  if (o->sizes)
    add(o, ", \"frame_bytes_at\": %" PRId64, neo_rti_frame_bytes(o->m, e, o->sizes));
  add(o, "}");
}

static void json_head(out *o) {
  const char *const values[] = {o->m->name,   o->m->prefix,   o->m->source_hash,
                                o->m->target, o->m->features, o->m->device};
  static const char *const keys[] = {"name",   "prefix",   "source_hash",
                                     "target", "features", "device"};
  add(o, "{\"abi\": %u", (unsigned)o->m->abi);
  for (int i = 0; i < (o->m->device ? 6 : 5); i++) {
    add(o, ", \"%s\": ", keys[i]);
    add_json(o, values[i] ? values[i] : "");
  }
  add(o, ", \"interface\": \"%016" PRIx64 "\"", o->m->interface); /* JSON has no such integers */
}

/* Writes the sizes that --size gave, at which frame_bytes_at and ctx_bytes_at are computed. */
static void json_given(out *o) {
  add(o, ", \"at\": {");
  for (int32_t i = 0; i < neo_rti_call_sizes(o->m); i++) {
    add(o, i ? ", " : "");
    add_json(o, o->m->sizes[i].name);
    add(o, ": %" PRId64, o->sizes[i]);
  }
  add(o, "}, \"ctx_bytes_at\": %" PRId64, neo_rti_ctx_bytes(o->m, o->sizes));
}

static void describe_json(out *o) {
  const neo_rt_model *m = o->m;
  json_head(o);
  add(o, ",\n \"sizes\": [");
  for (int32_t i = 0; i < neo_rti_call_sizes(m); i++) {
    add(o, i ? ", {\"name\": " : "{\"name\": ");
    add_json(o, m->sizes[i].name);
    add(o, ", \"lo\": %" PRId64 ", \"hi\": %" PRId64 "}", m->sizes[i].lo, m->sizes[i].hi);
  }
  add(o, "],\n \"tensors\": [");
  for (int32_t i = 0; i < m->n_tensors; i++) {
    add(o, i ? ",\n  " : "\n  ");
    json_tensor(o, &m->tensors[i]);
  }
  add(o, "],\n \"entries\": [");
  for (int32_t i = 0; i < m->n_entries; i++) {
    add(o, i ? ",\n  " : "\n  ");
    json_entry(o, &m->entries[i]);
  }
  add(o,
      "],\n \"memory\": {\"param_bytes\": %" PRId64 ", \"state_bytes\": %" PRId64
      ", \"cached_bytes\": %" PRId64 ", \"frame_bytes\": %" PRId64 ", \"scratch_bytes\": %" PRId64
      ", \"arena_bytes\": %" PRId64,
      m->param_bytes, m->state_bytes, m->cached_bytes, m->frame_bytes, m->scratch_bytes,
      neo_rt_arena_size(m, 1));
  if (o->sizes)
    json_given(o);
  add(o, "}}\n");
}

size_t neo_rti_describe(const neo_rt_model *model, const int64_t *sizes, int json, char *buf,
                        size_t n) {
  out o = {buf, buf ? n : 0, 0, model, sizes};
  if (buf && n > 0)
    buf[0] = 0;
  if (!model)
    return 0;
  if (json)
    describe_json(&o);
  else
    describe_text(&o);
  return o.n;
}

size_t neo_rt_describe(const neo_rt_model *model, int json, char *buf, size_t n) {
  return neo_rti_describe(model, NULL, json, buf, n);
}
