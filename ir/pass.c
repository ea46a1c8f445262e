/* Runs passes in order. Comparing the module's text before and after a pass shows whether the pass
 * changed it; this is done only if somebody asks. */
#include "ir/pass.h"
#include "ir/component.h"
#include "ir/order.h"
#include "ir/print.h"
#include <setjmp.h>

static bool skipped(const neo_pass *pass, const neo_pass_options *o) {
  if (pass->required || !o->skip)
    return false;
  for (const char *const *name = o->skip; *name; name++)
    if (neo_streq(*name, pass->name))
      return true;
  return false;
}

static bool looked_at(const neo_pass *pass, const neo_pass_options *o) {
  return o->dump && o->dump_after &&
         (neo_streq(o->dump_after, "all") || neo_streq(o->dump_after, pass->name));
}

static const char *text_of(const neo_module *m, neo_arena *scratch) {
  neo_str s = neo_str_in(scratch);
  neo_module_print(m, &s);
  return neo_str_text(&s);
}

static const char *name_of(const neo_module *m, neo_def d) {
  neo_tensor t = neo_def_out(m, d, 0);
  return neo_tensor_name(m, t);
}

/* Reports a recurrence for which no order is found. This is no bug: it may be part of a gradient,
 * or a limit may be reached. */
static neo_status tell_unordered(neo_module *m, const neo_order_failure *f) {
  int h = neo_diag(m->diags, neo_def_at(m, f->reader)->span, NEO_D_ORDER_NOT_FOUND,
                   name_of(m, f->reader), name_of(m, f->producer));
  if (f->gave_up)
    neo_diag_help(m->diags, h,
                  "the search was given up; --proof-quota=N allows proofs N operations");
  return NEO_INPUT;
}

/* A pass that leaves a broken module is a bug: reported as such, with the pass's name. */
static neo_status verify_after(neo_module *m, const neo_pass *pass) {
  neo_order_failure unordered;
  neo_str why = neo_str_in(m->arena);
  neo_status status = neo_module_check_orders(m, &why, &unordered);
  if (status && unordered.reader.i && (pass->required || unordered.gave_up))
    return tell_unordered(m, &unordered);
  if (status)
    neo_diag(m->diags, 0, NEO_D_INTERNAL,
             neo_arena_printf(m->arena, "after %s: %s", pass->name, neo_str_text(&why)));
  return status;
}

/* Reports a pass that failed without a diagnostic. */
static void tell_failure(neo_module *m, const neo_pass *pass, neo_status status) {
  neo_diag(m->diags, 0, NEO_D_INTERNAL,
           neo_arena_printf(m->arena, "pass %s: %s", pass->name, neo_status_text(status)));
}

neo_status neo_pass_broken(neo_module *m, neo_def d, const char *what) {
  neo_diag(m->diags, neo_def_at(m, d)->span, NEO_D_INTERNAL, what);
  return NEO_INTERNAL;
}

/* ---- properties */

static bool is_derived(const neo_module *m) {
  bool done = true;
  for (size_t k = 0; k < m->grads.n; k++)
    done = done && m->grads.at[k].done;
  return done;
}

static bool is_unordered(const neo_module *m) {
  return m->rows.n <= 1;
}

static bool is_unchunked(const neo_module *m) {
  bool whole = true;
  for (uint32_t k = 1; k < m->defs.n; k++)
    whole = whole && !m->defs.at[k].chunk_loop;
  return whole;
}

static const struct {
  const char *text;
  bool (*holds)(const neo_module *m);
} properties[] = {
#define X(id, text, holds) {text, holds},
#include "ir/properties.def"
#undef X
};

static uint32_t properties_of(const neo_module *m) {
  uint32_t all = 0;
  for (uint32_t k = 0; k < NEO_PROPERTIES; k++)
    all |= (uint32_t)properties[k].holds(m) << k;
  return all;
}

/* Reports the first property of the set, if it is not empty. */
static neo_status tell_property(neo_module *m, const neo_pass *pass, const char *what,
                                uint32_t set) {
  if (!set)
    return NEO_OK;
  neo_diag(m->diags, 0, NEO_D_INTERNAL,
           neo_arena_printf(m->arena, "pass %s %s: %s", pass->name, what,
                            properties[__builtin_ctz(set)].text));
  return NEO_INTERNAL;
}

/* ---- running */

/* Gives the pass its part of what belongs to it. */
static neo_status call_with(neo_pass_context *c, neo_pass_fn *run) {
  uint32_t *number;
  c->p = neo_prover_new(c->m);
  c->n_defs = (uint32_t)c->m->defs.n;
  c->n_recurrences = neo_all_recurrences(c->m, c->a, &number);
  c->number = number;
  neo_status s = run(c);
  neo_prover_free(c->p);
  return s;
}

neo_status neo_pass_call(neo_module *m, const neo_pass_target *target, neo_pass_fn *run) {
  jmp_buf here, *volatile outer = m->arena->on_fail;
  volatile neo_status status = NEO_MEMORY;
  m->arena->on_fail = &here;
  neo_arena scratch = neo_arena_scratch(m->arena);
  neo_pass_context c = {.m = m, .target = target, .a = &scratch};
  if (!setjmp(here))
    status = call_with(&c, run);
  neo_arena_free(&scratch);
  m->arena->on_fail = outer;
  return status;
}

static neo_status run_one(neo_module *m, const neo_pass_target *target, const neo_pass *pass,
                          const neo_pass_options *o) {
  bool look = looked_at(pass, o), compare = look || o->check;
  neo_arena scratch = neo_arena_scratch(m->arena);
  const char *before = compare ? text_of(m, &scratch) : "";
  size_t errors = neo_diags_errors(m->diags);
  uint32_t had = properties_of(m);
  neo_status status = tell_property(m, pass, "needs", pass->needs & ~had);
  if (!status)
    status = neo_pass_call(m, target, pass->run);
  bool told = neo_diags_errors(m->diags) > errors;
  if (status && status != NEO_MEMORY && !told)
    tell_failure(m, pass, status);
  else if (told && !status)
    status = NEO_INPUT;
  bool changed = compare && status != NEO_MEMORY && !neo_streq(before, text_of(m, &scratch));
  if (look && status != NEO_MEMORY)
    o->dump(o->dump_ctx, pass->name, m, changed);
  neo_arena_free(&scratch);
  if (!status && o->verify)
    status = tell_property(m, pass, "breaks", had & ~pass->breaks & ~properties_of(m));
  if (!status && o->verify)
    status = verify_after(m, pass);
  return !status && changed && o->check ? o->check(o->check_ctx, m, pass->name) : status;
}

neo_status neo_passes_run(neo_module *m, const neo_pass_target *target, const neo_pass *passes,
                          size_t n, const neo_pass_options *o) {
  neo_status status = NEO_OK;
  for (size_t k = 0; k < n && !status; k++) {
    if (skipped(&passes[k], o))
      continue;
    if (o->cancelled && o->cancelled(o->cancelled_ctx))
      return NEO_INTERRUPTED;
    status = run_one(m, target, &passes[k], o);
    if (status && o->failed)
      *o->failed = passes[k].name;
    if (o->done)
      o->done(o->done_ctx, passes[k].name);
  }
  return status;
}
