/* Names of tensors, sizes and entries for programs that differ from the identifiers of the model's
 * text: a tensor traced in another language may be called `layers.0.weight`, `größe` or `max`. A
 * table has pairs {identifier, name}. A pair of a tensor or size also renames the longer
 * identifiers that continue with a dot: with {"h", "encoder.0"} the parameter h.W is "encoder.0.W",
 * and its optimizer's state h.W.adam.m is "encoder.0.W.adam.m".
 *
 * The record, files, messages of the runtime and neo_rt_find use the names. C identifiers come from
 * the text, so a name may be any valid UTF-8 without control characters. */
#include "base/hash.h"
#include "base/utf8.h"
#include "codegen/plan/internal.h"
#include <string.h>

enum { MOST_BYTES = 500 };

typedef struct {
  neo_plan *p;
  const neo_plan_name *name;
  size_t n;
  neo_map number; /* hash of an identifier -> its pair + 1 */
  bool *used;
  const char *why;
} renaming;

/* ---- the table */

static bool has_control(const char *s) {
  size_t n = strlen(s);
  for (size_t k = 0, size; k < n; k += size) {
    uint32_t c = 0;
    size = neo_utf8_decode(s + k, n - k, &c);
    if (c < 0x20 || (c >= 0x7f && c < 0xa0))
      return true;
  }
  return false;
}

static bool is_utf8(const char *s) {
  size_t n = strlen(s);
  for (size_t k = 0, size; k < n; k += size)
    if (!(size = neo_utf8_decode(s + k, n - k, NULL)))
      return false;
  return true;
}

/* The fault of a name, as the end of a message; null: it has none. */
static const char *fault_of(const char *name) {
  if (!name || !*name)
    return "is empty";
  if (strlen(name) > MOST_BYTES)
    return "is longer than 500 bytes";
  if (!is_utf8(name))
    return "is not valid UTF-8";
  if (has_control(name))
    return "has control characters";
  return neo_streq(name, "__metadata__")
             ? "is '__metadata__', which files of safetensors keep for themselves"
             : NULL;
}

static uint64_t hash_of(const char *s, size_t n) {
  return neo_hash(s, n, 0);
}

/* The pair of an identifier that is text[0..n); null: there is none. */
static const neo_plan_name *pair_of(const renaming *r, const char *text, size_t n) {
  uint64_t number;
  if (!neo_map_get(&r->number, hash_of(text, n), &number))
    return NULL;
  const neo_plan_name *pair = &r->name[number - 1];
  return strlen(pair->ident) == n && memcmp(pair->ident, text, n) == 0 ? pair : NULL;
}

static bool read_table(renaming *r) {
  neo_arena *a = r->p->arena;
  for (size_t k = 0; k < r->n; k++) {
    const char *ident = r->name[k].ident, *fault;
    if (!ident || !*ident) {
      r->why = "names: an identifier is empty";
      return false;
    }
    if ((fault = fault_of(r->name[k].name))) {
      r->why = neo_arena_printf(a, "names: the name of '%.100s' %s", ident, fault);
      return false;
    }
    if (pair_of(r, ident, strlen(ident))) {
      r->why = neo_arena_printf(a, "names: '%.100s' has two names", ident);
      return false;
    }
    neo_map_set(&r->number, hash_of(ident, strlen(ident)), k + 1);
  }
  return true;
}

/* ---- one name */

/* The name of an identifier, by the longest part before a dot that has one. */
static const char *name_of(renaming *r, const char *ident, size_t n) {
  for (size_t k = n; k > 0; k--) {
    if (k < n && ident[k] != '.')
      continue;
    const neo_plan_name *pair = pair_of(r, ident, k);
    if (!pair)
      continue;
    r->used[pair - r->name] = true;
    return neo_arena_printf(r->p->arena, "%s%.*s", pair->name, (int)(n - k), ident + k);
  }
  return NULL;
}

/* A tensor may be an output that another tensor takes the name of: "output:loss", "step:loss",
 * "step:loss:2". */
static const char *tensor_name(renaming *r, const char *text) {
  const char *colon = strchr(text, ':'), *from = colon ? colon + 1 : text;
  size_t n = strcspn(from, ":");
  const char *name = name_of(r, from, n);
  return !name ? text
         : colon
             ? neo_arena_printf(r->p->arena, "%.*s%s%s", (int)(from - text), text, name, from + n)
             : name;
}

static const char *entry_name(renaming *r, const char *text) {
  const neo_plan_name *pair = pair_of(r, text, strlen(text));
  if (!pair)
    return text;
  r->used[pair - r->name] = true;
  return pair->name;
}

/* ---- all names */

static bool stays(renaming *r, neo_map *taken, const char *kind, const char *ident,
                  const char *name) {
  uint64_t other;
  uint64_t key = hash_of(name, strlen(name));
  if (neo_map_get(taken, key, &other)) {
    r->why = neo_arena_printf(r->p->arena,
                              "names: the %s '%.100s' and '%.100s' are both called '%.200s'", kind,
                              (const char *)(uintptr_t)other, ident, name);
    return false;
  }
  neo_map_set(taken, key, (uint64_t)(uintptr_t)ident);
  return true;
}

static bool rename_tensors(renaming *r) {
  neo_plan *p = r->p;
  neo_map taken = neo_map_in(p->arena);
  for (size_t k = 0; k < p->tensors.n; k++) {
    const char *ident = p->tensors.at[k].name;
    NEO_PUSH(p->arena, &p->tensor_idents, ident);
    p->tensors.at[k].name = tensor_name(r, ident);
    if (!stays(r, &taken, "tensors", ident, p->tensors.at[k].name))
      return false;
  }
  return true;
}

static bool rename_sizes(renaming *r) {
  neo_plan *p = r->p;
  neo_map taken = neo_map_in(p->arena);
  for (size_t k = 0; k < p->sizes.n; k++) {
    const char *ident = p->sizes.at[k].name, *name = name_of(r, ident, strlen(ident));
    NEO_PUSH(p->arena, &p->size_idents, ident);
    p->sizes.at[k].name = name ? name : ident;
    if (!stays(r, &taken, "sizes", ident, p->sizes.at[k].name))
      return false;
  }
  return true;
}

static bool rename_entries(renaming *r) {
  neo_plan *p = r->p;
  neo_map taken = neo_map_in(p->arena);
  for (size_t k = 0; k < p->entries.n; k++) {
    const char *ident = p->entries.at[k].name;
    NEO_PUSH(p->arena, &p->entry_idents, ident);
    p->entries.at[k].name = entry_name(r, ident);
    if (!stays(r, &taken, "entries", ident, p->entries.at[k].name))
      return false;
  }
  return true;
}

static bool begins(const char *text, const char *ident) {
  size_t n = strlen(ident);
  return strncmp(text, ident, n) == 0 && (!text[n] || text[n] == '.');
}

/* Does the model have an object of this name? Tensors that no entry reads, and intermediate values,
 * have no name outside, so it is no error if their pair renames nothing. */
static bool is_of_model(const neo_module *m, const char *ident) {
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (begins(neo_name_text(m->names, m->tensors.at[t].name), ident))
      return true;
  for (uint32_t s = 1; s < m->sizes.n; s++)
    if (begins(neo_name_text(m->names, m->sizes.at[s].name), ident))
      return true;
  return false;
}

static bool all_known(renaming *r) {
  for (size_t k = 0; k < r->n; k++)
    if (!r->used[k] && !is_of_model(r->p->m, r->name[k].ident)) {
      r->why = neo_arena_printf(r->p->arena, "names: the model has nothing that is called '%.100s'",
                                r->name[k].ident);
      return false;
    }
  return true;
}

neo_status neo_plan_rename(neo_plan *p, const neo_plan_name *name, size_t n, const char **why) {
  renaming r = {.p = p, .name = name, .n = n, .used = NEO_NEW_ARRAY(p->arena, bool, n + 1)};
  neo_map_init(&r.number, p->arena);
  bool ok = !n || (read_table(&r) && rename_tensors(&r) && rename_sizes(&r) && rename_entries(&r) &&
                   all_known(&r));
  *why = r.why;
  return ok ? NEO_OK : NEO_ARGUMENT;
}
