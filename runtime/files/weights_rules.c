/* weights_rules.c: the table by which names of a file become names of the model.
 *
 *   # theirs               = ours
 *   fc1.weight             = W1 transpose
 *   layers.*.attn.weight   = x.attn.W[*] permute 1,0
 *   bn.num_batches_tracked = -
 */
#include "runtime/files/weights_rules.h"
#include <string.h>

typedef struct {
  const char *at;
  size_t n;
} piece;

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static piece trimmed(piece p) {
  while (p.n > 0 && is_space(p.at[0]))
    p.at++, p.n--;
  while (p.n > 0 && is_space(p.at[p.n - 1]))
    p.n--;
  return p;
}

/* Cuts `rest` at the first character that `stops`, and drops that character; without one, takes
 * all. */
static piece cut(piece *rest, bool (*stops)(char)) {
  piece p = {rest->at, 0};
  while (p.n < rest->n && !stops(rest->at[p.n]))
    p.n++;
  size_t taken = p.n < rest->n ? p.n + 1 : p.n;
  rest->at += taken;
  rest->n -= taken;
  return p;
}

static bool is_newline(char c) {
  return c == '\n';
}
static bool is_hash(char c) {
  return c == '#';
}
static bool is_comma(char c) {
  return c == ',';
}

static bool says(piece p, const char *word) {
  return p.n == strlen(word) && memcmp(p.at, word, p.n) == 0;
}

/* "1,0": each dimension once. */
static bool read_order(piece list, neo_rti_rule *r) {
  uint32_t seen = 0;
  while (list.n > 0) {
    piece p = trimmed(cut(&list, is_comma));
    unsigned d = 0;
    for (size_t k = 0; k < p.n; k++)
      d = p.at[k] >= '0' && p.at[k] <= '9' ? 10 * d + (unsigned)(p.at[k] - '0') : 99;
    if (p.n == 0 || p.n > 2 || d >= NEO_RTI_MAX_RANK || r->n_order == NEO_RTI_MAX_RANK)
      return false;
    seen |= 1u << d;
    r->order[r->n_order++] = (uint8_t)d;
  }
  return r->n_order > 0 && seen == (1u << r->n_order) - 1;
}

static bool read_permutation(piece how, neo_rti_rule *r) {
  how = trimmed(how);
  piece word = cut(&how, is_space);
  r->transpose = says(word, "transpose");
  if (word.n == 0 || (r->transpose && how.n == 0))
    return true;
  return says(word, "permute") && read_order(how, r);
}

/* The name, with its subscripts, which may have spaces in them. */
static piece cut_name(piece *rest) {
  piece p = {rest->at, 0};
  for (bool inside = false; p.n < rest->n && (inside || !is_space(rest->at[p.n])); p.n++)
    inside = rest->at[p.n] == '[' || (inside && rest->at[p.n] != ']');
  rest->at += p.n;
  rest->n -= p.n;
  return p;
}

static bool read_rule(neo_arena *a, piece line, neo_rti_rule *r) {
  const char *equals = memchr(line.at, '=', line.n);
  if (!equals)
    return false;
  piece theirs = trimmed((piece){line.at, (size_t)(equals - line.at)});
  piece rest = trimmed((piece){equals + 1, (size_t)(line.at + line.n - equals) - 1});
  piece ours = cut_name(&rest);
  if (theirs.n == 0 || ours.n == 0)
    return false;
  r->theirs = neo_arena_strndup(a, theirs.at, theirs.n);
  r->ours = neo_arena_strndup(a, ours.at, ours.n);
  return read_permutation(rest, r);
}

bool neo_rti_rules_read(neo_arena *a, const char *table, neo_rti_rule **out, size_t *n,
                        neo_str *error) {
  size_t lines = 1;
  for (const char *c = table; *c; c++)
    lines += *c == '\n';
  *out = NEO_NEW_ARRAY(a, neo_rti_rule, lines);
  *n = 0;
  piece text = {table, strlen(table)};
  for (int number = 1; text.n > 0; number++) {
    piece whole = cut(&text, is_newline), line = trimmed(cut(&whole, is_hash));
    if (line.n == 0)
      continue;
    neo_rti_rule *r = &(*out)[(*n)++];
    r->line = number;
    if (read_rule(a, line, r))
      continue;
    neo_str_addf(error,
                 "line %d of the table is not THEIRS = OURS, perhaps with `transpose` or "
                 "`permute 1,0` after it: '%.*s'",
                 number, (int)line.n, line.at);
    return false;
  }
  return true;
}

/* ------------------------------------------------------------ names */

/* Matches `name` with `pattern`; star[k] is the shortest text for the k-th `*`. */
static bool fits(const char *pattern, const char *name, piece *star) {
  if (*pattern != '*')
    return *pattern == *name && (!*name || fits(pattern + 1, name + 1, star));
  for (size_t n = 1; name[n - 1] && name[n - 1] != '.'; n++)
    if (fits(pattern + 1, name + n, star + 1)) {
      *star = (piece){name, n};
      return true;
    }
  return false;
}

static const char *with_stars(neo_arena *a, const char *ours, const piece *star) {
  neo_str s = neo_str_in(a);
  for (; *ours; ours++)
    if (*ours == '*' && star->at) {
      neo_str_addn(&s, star->at, star->n);
      star++;
    } else {
      neo_str_addc(&s, *ours);
    }
  return neo_str_text(&s);
}

neo_rti_rule *neo_rti_rule_for(neo_arena *a, neo_rti_rule *rules, size_t n, const char *theirs,
                               const char **ours) {
  piece *star = NEO_NEW_ARRAY(a, piece, strlen(theirs) + 2); /* each stands for at least one byte */
  neo_rti_rule *first = NULL;
  for (size_t k = 0; k < n; k++) {
    if (!fits(rules[k].theirs, theirs, star))
      continue;
    rules[k].late = first != NULL;
    if (first)
      continue;
    first = &rules[k];
    first->used = true;
    *ours = with_stars(a, first->ours, star);
  }
  if (!first)
    *ours = theirs;
  return first;
}

bool neo_rti_pattern_fits(const char *pattern, size_t n, const char *name) {
  const char *end = pattern + n;
  while (pattern < end) {
    const char *point = memchr(pattern, '.', (size_t)(end - pattern));
    size_t want = (size_t)((point ? point : end) - pattern), have = strcspn(name, ".");
    bool any = want == 1 && *pattern == '*';
    if (have == 0 || (!any && (want != have || memcmp(pattern, name, want) != 0)))
      return false;
    pattern += want + 1;
    name += have + (name[have] == '.');
    if (any && pattern >= end)
      return true;
  }
  return n > 0;
}
