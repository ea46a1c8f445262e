/* Decisions as lines of text. */
#include "fusion/decision.h"

static const char *tensor_text(const neo_module *m, neo_tensor t) {
  return neo_tensor_name(m, t);
}

static void print_with(const neo_module *m, const neo_decision *d, neo_str *out) {
  for (uint32_t k = 0; k < d->n_with; k++)
    neo_str_addf(out, "%s%s", k ? ", " : "", tensor_text(m, d->with[k]));
}

static void print_saving(const neo_decision *d, neo_str *out) {
  neo_str_addf(out, "saves %.3g us", 1e6 * d->saves_s);
  if (d->byte_s > 0)
    neo_str_addf(out, " at %.3g us a saved byte", 1e6 * d->byte_s);
}

static void print_copy(const neo_module *m, const neo_decision *d, neo_str *out) {
  static const char *const readers[] = {"all readers", "the backward pass", "the forward pass", ""};
  neo_str_addf(out, "%s %s into %s", neo_fuse_kind_text(d->kind), tensor_text(m, d->of),
               readers[d->readers]);
  print_with(m, d, out);
  neo_str_add(out, ": ");
  print_saving(d, out);
}

static void print_join(const neo_module *m, const neo_decision *d, neo_str *out) {
  neo_str_addf(out, "join %s to ", tensor_text(m, d->of));
  print_with(m, d, out);
  neo_str_addf(out, ": %s, ", neo_fuse_kind_text(d->kind));
  print_saving(d, out);
}

static void print_reject(const neo_module *m, const neo_decision *d, neo_str *out) {
  neo_str_addf(out, "reject %s, ", tensor_text(m, d->of));
  print_with(m, d, out);
  neo_str_addf(out, ": %s", d->why);
  if (d->saves_s < 0)
    neo_str_addf(out, " (%.3g us)", -1e6 * d->saves_s);
}

void neo_decision_print(const neo_module *m, const neo_decision *d, neo_str *out) {
  switch (d->verb) {
  case NEO_DECISION_COPY:
    print_copy(m, d, out);
    return;
  case NEO_DECISION_JOIN:
    print_join(m, d, out);
    return;
  case NEO_DECISION_CACHE:
    neo_str_addf(out, "cache %s between calls", tensor_text(m, d->of));
    return;
  case NEO_DECISION_REJECT:
    print_reject(m, d, out);
    return;
  }
}

static void print_of(const neo_module *m, const neo_decisions *all, uint32_t entry, neo_str *out) {
  for (size_t k = 0; k < all->list.n; k++)
    if (all->list.at[k].entry == entry) {
      neo_decision_print(m, &all->list.at[k], out);
      neo_str_addc(out, '\n');
    }
}

void neo_decisions_print(const neo_module *m, const neo_decisions *all, neo_str *out) {
  print_of(m, all, 0, out);
  for (size_t k = 0; k < m->entries.n; k++) {
    const neo_entry_rec *e = &m->entries.at[k];
    if (!neo_group_entry(m, e))
      continue;
    neo_str_addf(out, "in %s:\n", neo_name_text(m->names, e->name));
    print_of(m, all, neo_group_entry(m, e), out);
  }
}
