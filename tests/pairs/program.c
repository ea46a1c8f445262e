/* Programs as text, and what they run on. */
#include "tests/pairs/program.h"
#include "base/hash.h"
#include <stdlib.h>
#include <string.h>

uint32_t pairs_definitions(const pairs_program *p) {
  uint32_t n = 0;
  for (size_t k = 0; k < p->lines.n; k++)
    n += p->lines.at[k].kind == PAIRS_DEFINITION && !p->lines.at[k].gone;
  return n;
}

/* Bit k: statement k is needed by an output or an update. */
static uint64_t needed(const pairs_program *p) {
  uint64_t need = p->train ? p->trains : 0;
  for (size_t k = p->lines.n; k-- > 0;) {
    const pairs_statement *s = &p->lines.at[k];
    if (s->gone)
      continue;
    if (s->output || s->update || need >> k & 1)
      need |= (uint64_t)1 << k | s->reads;
  }
  return need;
}

static void put_names(const pairs_program *p, uint64_t need, bool updates, neo_str *out) {
  const char *before = updates ? " update " : "output ";
  for (size_t k = 0; k < p->lines.n; k++) {
    const pairs_statement *s = &p->lines.at[k];
    if (!(need >> k & 1) || s->gone || !(updates ? s->update : s->output))
      continue;
    neo_str_addf(out, "%s%s", before, s->names && !updates ? s->names : s->name);
    before = ", ";
  }
}

void pairs_text(const pairs_program *p, neo_str *out) {
  uint64_t need = needed(p);
  for (size_t k = 0; k < p->lines.n; k++)
    if (need >> k & 1)
      neo_str_addf(out, "%s\n", p->lines.at[k].gone ? p->lines.at[k].input : p->lines.at[k].text);
  put_names(p, need, false, out);
  put_names(p, need, true, out);
  neo_str_add(out, "\n");
  if (p->train)
    neo_str_addf(out, "%s\n", p->train);
}

int64_t pairs_size_now(const pairs_program *p, const char *name, int64_t otherwise) {
  for (size_t k = 0; k < p->sizes.n; k++)
    if (strcmp(p->sizes.at[k].name, name) == 0)
      return p->sizes.at[k].now;
  return otherwise;
}

int64_t pairs_constant(const pairs_program *p, const char *name) {
  for (size_t k = 0; k < p->lines.n; k++)
    if (p->lines.at[k].kind == PAIRS_SIZE_LINE && strcmp(p->lines.at[k].name, name) == 0)
      return strtoll(strchr(p->lines.at[k].text, '=') + 1, NULL, 10);
  return 0;
}

neo_value pairs_element(uint64_t seed, const char *name, neo_type type, int64_t bound, uint64_t k) {
  uint64_t h = neo_hash_mix(neo_hash(name, strlen(name), seed), k);
  static const double vast[] = {1e37, -1e37, 3e37, 2e37}, tiny[] = {1e-3, 0, 1e-6, 0.5, 1e-9};
  if (strncmp(name, "vast", 4) == 0)
    return (neo_value){.f = neo_value_round(type, vast[h % 4])};
  if (strncmp(name, "tiny", 4) == 0)
    return (neo_value){.f = neo_value_round(type, tiny[h % 5])};
  if (bound > 0)
    return (neo_value){.i = (int64_t)(h % (uint64_t)bound)};
  if (neo_type_is_float(type))
    return (neo_value){.f = ((double)(h % 17) - 8) / 4};
  if (type == NEO_BOOL_T)
    return (neo_value){.i = (int64_t)(h & 1)};
  return (neo_value){.i = type == NEO_U8_T ? (int64_t)(h % 10) : (int64_t)(h % 19) - 9};
}

/* ---- whose a tensor is */

/* Does the statement define a tensor of this name? */
static bool defines(const pairs_statement *s, const char *name, size_t n) {
  const char *at = s->names ? s->names : s->name;
  bool found = false;
  while (at && *at && !found) {
    size_t own = strcspn(at, ",");
    found = own == n && memcmp(at, name, n) == 0;
    at += own + strspn(at + own, ", ");
  }
  return found;
}

static pairs_set features_of_name(const pairs_program *p, const char *name, size_t n) {
  pairs_set has = 0;
  for (size_t k = 0; k < p->lines.n; k++) {
    const pairs_statement *s = &p->lines.at[k];
    if (defines(s, name, n))
      has |= s->has;
  }
  return has;
}

pairs_set pairs_features_of(const pairs_program *p, const char *tensor) {
  pairs_set types = PAIRS_BIT(PAIRS_F64) | PAIRS_BIT(PAIRS_F32) | PAIRS_BIT(PAIRS_F16) |
                    PAIRS_BIT(PAIRS_BF16) | PAIRS_BIT(PAIRS_SIZE);
  pairs_set has = 0;
  bool derived = false, twice = false;
  for (const char *at = tensor; *at;) {
    size_t n = strcspn(at, ".");
    if (n == 1 && *at == 'd') {
      twice = derived;
      derived = true;
    }
    has |= features_of_name(p, at, n);
    at += n + (at[n] == '.');
  }
  if (derived)
    has = (has & types) | PAIRS_BIT(PAIRS_GRAD);
  return twice ? has | PAIRS_BIT(PAIRS_GRAD2) : has;
}

uint64_t pairs_recurrences_of(const pairs_program *p, const char *tensor) {
  uint64_t recurs = 0;
  for (const char *at = tensor; *at;) {
    size_t n = strcspn(at, ".");
    for (size_t k = 0; k < p->lines.n; k++)
      if (defines(&p->lines.at[k], at, n))
        recurs |= p->lines.at[k].recurs;
    at += n + (at[n] == '.');
  }
  return recurs;
}
