/* `train`: an entry for the step, one for the gradients, and an optimizer instance for each
 * parameter.
 *
 * All statements with the same name make one entry. They share the loss, and each parameter is
 * trained by one of them. The gradients of an entry are a single request. Updates that the model
 * itself writes (batch norm) belong to every training entry, including those that an
 * `output … update` names. */
#include "frontend/sema/train.h"
#include "frontend/check/check.h"

static const char *tensor_name(neo_fe *fe, neo_tensor t) {
  return neo_name_text(fe->names, neo_tensor_at(fe->m, t)->name);
}

/* ---- the loss */

static bool loss_of(neo_inst *in, const neo_ast_path *path, neo_tensor *t) {
  neo_sym *s = neo_path_find(in, path, false);
  if (!s || s->kind == NEO_SYM_POISON)
    return false;
  bool scalar = s->kind == NEO_SYM_VALUE && s->value.kind == NEO_VAL_VIEW &&
                s->value.view.rank == 0 && neo_view_is_whole(&s->value.view);
  if (scalar)
    *t = s->value.view.tensor;
  if (scalar && neo_type_is_float(neo_tensor_type(in->fe->m, *t)))
    return true;
  int h = NEO_ERR(in, path->span, LOSS_NOT_SCALAR, neo_path_text(in->fe, path));
  neo_fe_note_place(in->fe, h, "it is defined", s->span);
  if (s->kind == NEO_SYM_VALUE && s->value.kind == NEO_VAL_VIEW && s->value.view.rank > 0)
    neo_diag_help(in->fe->diags, h, "a mean makes one number of it: loss = mean[..] %s[..]",
                  neo_path_text(in->fe, path));
  return false;
}

/* ---- which parameters */

static bool part_matches(const char *want, const char *have, size_t n) {
  if (!want)
    return true;
  for (size_t k = 0; k < n; k++)
    if (want[k] != have[k])
      return false;
  return want[n] == '\0';
}

/* Whether the pattern matches the name. A last `*` matches one or more parts of a name, another `*`
 * one part; a pattern that ends early names a call. */
static bool matches(const neo_ast_pattern *p, const char *name) {
  for (uint32_t k = 0; k < p->parts.n; k++) {
    size_t n = 0;
    if (!name)
      return false;
    while (name[n] && name[n] != '.')
      n++;
    if (!part_matches(p->parts.at[k].text, name, n))
      return false;
    if (k + 1 == p->parts.n)
      return true;
    name = name[n] ? name + n + 1 : NULL;
  }
  return true;
}

static bool named(trainer *t, const neo_ast_stmt *s, neo_tensor param, bool *used) {
  bool found = false;
  for (uint32_t k = 0; k < s->u.train.patterns.n; k++) {
    if (!matches(&s->u.train.patterns.at[k], tensor_name(t->fe, param)))
      continue;
    found = true;
    if (used)
      used[k] = true;
  }
  return found;
}

static bool others_name(trainer *t, const neo_ast_stmt *s, neo_tensor param) {
  for (size_t k = 0; k < t->parts.n; k++) {
    const neo_ast_stmt *o = t->parts.at[k].s;
    if (o != s && o->u.train.patterns.n && !o->u.train.except && named(t, o, param, NULL))
      return true;
  }
  return false;
}

static bool takes(trainer *t, const neo_ast_stmt *s, neo_tensor param, bool *used) {
  if (s->u.train.patterns.n == 0)
    return !others_name(t, s, param);
  bool is_named = named(t, s, param, used);
  return s->u.train.except ? !is_named && !others_name(t, s, param) : is_named;
}

static void unmatched(trainer *t, const neo_ast_stmt *s, const bool *used) {
  for (uint32_t k = 0; k < s->u.train.patterns.n; k++)
    if (!used[k])
      NEO_ERR(t->in, s->u.train.patterns.at[k].span, PATTERN_UNMATCHED, t->loss_name);
}

static void choose_params(trainer *t, trained_part *p, const bool *reached) {
  bool *used = NEO_NEW_ARRAY(t->fe->arena, bool, p->s->u.train.patterns.n + 1);
  for (uint32_t k = 1; k < t->fe->m->tensors.n; k++) {
    neo_tensor param = {k};
    if (neo_tensor_at(t->fe->m, param)->role != NEO_ROLE_PARAM || !reached[k])
      continue;
    if (!takes(t, p->s, param, used))
      continue;
    for (size_t j = 0; j < t->params.n; j++)
      if (t->params.at[j].i == k) {
        NEO_ERR(t->in, p->s->span, TRAINED_TWICE, tensor_name(t->fe, param));
        p->ok = false;
      }
    NEO_PUSH(t->fe->arena, &p->params, param);
    NEO_PUSH(t->fe->arena, &t->params, param);
  }
  unmatched(t, p->s, used);
  if (p->params.n || p->s->u.train.patterns.n)
    return;
  NEO_ERR(t->in, p->s->span, NOTHING_TO_TRAIN, t->loss_name);
}

/* ---- options */

/* Counts the other train statements that have a run-time option of this name. */
static uint32_t rivals(neo_fe *fe, neo_inst *in, const neo_ast_stmt *self, const char *name) {
  uint32_t n = 0;
  for (size_t k = 0; k < fe->trains.n; k++) {
    neo_sym *o = neo_path_find(in, &fe->trains.at[k]->u.train.optimizer, true);
    if (fe->trains.at[k] == self || !o || o->kind != NEO_SYM_OPTIMIZER)
      continue;
    const neo_ast_options *options = &o->fn->u.fn.sig.options;
    for (uint32_t j = 0; j < options->n; j++)
      n += options->at[j].input && options->at[j].name.text == name;
  }
  return n;
}

/* The type of a setting: the written one, else a float type in which all parameters of the
 * statement have their value exactly. */
static neo_type setting_type(const trainer *t, const trained_part *p, const neo_ast_option *o) {
  neo_type type = NEO_F32_T;
  if (o->type.given && !o->type.variable.text)
    return o->type.type;
  for (size_t k = 0; k < p->params.n; k++)
    if (neo_tensor_at(t->fe->m, p->params.at[k])->type == NEO_F64_T)
      type = NEO_F64_T;
  return type;
}

/* Adds a scalar that the caller may set; its default is the option's value. */
static neo_val setting(trainer *t, const trained_part *p, const neo_ast_option *o, neo_lit x,
                       neo_span span) {
  neo_module *m = t->fe->m;
  const char *name = o->name.text;
  bool plain = rivals(t->fe, t->in, p->s, name) == 0;
  neo_type type = setting_type(t, p, o);
  const char *full = plain ? name : neo_fe_join(t->fe, t->entry, name);
  neo_tensor_rec rec = {.role = NEO_ROLE_SETTING, .type = type, .span = span};
  neo_tensor k = neo_tensor_make(t->in, rec, NULL, 0, neo_fe_unique(t->fe, full));
  neo_expr e = neo_const_float(m, type, x.f);
  neo_def_rec init = {.reducer = NEO_RED_NONE, .span = span};
  init.finish = neo_list_one(m, e.i);
  init.out = neo_list_one(m, k.i);
  neo_def d = neo_def_add(m, init, false);
  neo_tensor_at(m, k)->init = d;
  return neo_val_expr(neo_load(m, k, NULL, 0, span));
}

static void default_setting(trainer *t, trained_part *p, uint32_t k) {
  const neo_ast_option *o = &p->opt->fn->u.fn.sig.options.at[k];
  neo_frame *f = NEO_NEW(t->fe->arena, neo_frame);
  neo_inst *in = neo_inst_new(t->fe, p->opt->scope, "");
  if (p->span[k] || !o->input || !o->value)
    return;
  in->trainer = t;
  neo_frame_init(f, in, t->entry);
  f->sizes_only = true;
  p->option[k] = neo_val_known(f, neo_check_expr(f, o->value));
  p->span[k] = o->span;
  p->ok = p->ok && p->option[k].kind != NEO_VAL_POISON;
}

/* Reads the optimizer's arguments after the trained tensor and its gradient, which each parameter
 * supplies. */
static bool read_arguments(trainer *t, trained_part *p, neo_frame *f) {
  const neo_ast_sig *sig = &p->opt->fn->u.fn.sig;
  const neo_ast_args *args = &p->s->u.train.args;
  p->actual.n = 2;
  for (uint32_t k = 0; k < args->n && sig->params.n == 2; k++)
    if (!args->at[k].name.text) {
      NEO_ERR(t->in, args->at[k].span, OPTION_BY_NAME, sig->name.text);
      return false;
    }
  return neo_call_arguments(f, args, p->s->span, sig, false, &p->actual);
}

static void read_options(trainer *t, trained_part *p) {
  const neo_ast_sig *sig = &p->opt->fn->u.fn.sig;
  neo_frame *f = NEO_NEW(t->fe->arena, neo_frame);
  p->option = NEO_NEW_ARRAY(t->fe->arena, neo_val, sig->options.n + 1);
  p->span = NEO_NEW_ARRAY(t->fe->arena, neo_span, sig->options.n + 1);
  neo_frame_init(f, t->in, t->entry);
  p->ok = neo_every_open(t, p);
  t->part = p;
  p->ok = read_arguments(t, p, f) && p->ok;
  p->ok = neo_call_options(f, &p->s->u.train.args, sig, false, p->option, p->span) && p->ok;
  for (uint32_t k = 0; k < sig->options.n && p->ok; k++) {
    default_setting(t, p, k);
    const neo_ast_option *o = &sig->options.at[k];
    neo_val *v = &p->option[k];
    if (o->input && p->span[k] && v->kind == NEO_VAL_LIT && v->lit.kind != NEO_LIT_BOOL)
      *v = setting(t, p, o, v->lit, p->span[k]);
  }
  t->part = NULL;
}

static void find_optimizer(trainer *t, trained_part *p) {
  const neo_ast_path *path = &p->s->u.train.optimizer;
  p->opt = neo_path_find(t->in, path, false);
  p->ok = p->opt && p->opt->kind == NEO_SYM_OPTIMIZER;
  if (p->opt && !p->ok && p->opt->kind != NEO_SYM_POISON)
    NEO_ERR(t->in, path->span, NOT_AN_OPTIMIZER, neo_path_text(t->fe, path));
  if (p->ok && p->opt->fn->u.fn.sig.params.n < 2) {
    NEO_ERR(t->in, p->opt->span, OPTIMIZER_PARAMS, p->opt->name);
    p->ok = false;
  }
}

/* ---- instances */

static void train_one(trainer *t, const trained_part *p, neo_tensor param, neo_tensor grad) {
  neo_fe *fe = t->fe;
  const neo_ast_stmt *fn = p->opt->fn;
  const char *prefix =
      neo_inst_prefix(t->in, neo_fe_join(fe, tensor_name(fe, param), p->opt->name));
  neo_inst *in = neo_inst_new(fe, neo_scope_new(fe, p->opt->scope), prefix);
  neo_trainee *trainee = NEO_NEW(fe->arena, neo_trainee);
  neo_actuals *a = NEO_NEW(fe->arena, neo_actuals);
  neo_val *option = NEO_NEW_ARRAY(fe->arena, neo_val, fn->u.fn.sig.options.n + 1);
  neo_type type = neo_tensor_type(fe->m, param);
  *trainee = (neo_trainee){param, grad, t, t->first_update};
  in->fn = fn;
  in->call = p->s->span;
  in->caller = t->in;
  in->trainee = trainee;
  *a = p->actual;
  a->at[0] = neo_val_view(neo_view_whole(fe->m, param));
  a->at[1] = neo_val_view(neo_view_whole(fe->m, grad));
  a->span[0] = a->span[1] = p->s->span;
  for (uint32_t k = 0; k < fn->u.fn.sig.options.n; k++) { /* numbers, in the parameter's type */
    option[k] = p->option[k];
    bool plain = option[k].kind == NEO_VAL_EXPR && !fn->u.fn.sig.options.at[k].type.given;
    if (plain && neo_type_is_float(neo_expr_type(fe->m, option[k].e)))
      option[k].e = neo_cast(fe->m, type, option[k].e);
  }
  if (!neo_fe_spend(fe, in, p->s->span))
    return;
  neo_types_bind(in, &fn->u.fn.sig, a, option);
  if (!neo_params_bind(in, &fn->u.fn.sig, a, option, p->span))
    return;
  in->scope = neo_scope_new(fe, in->scope);
  neo_check_stmts(in, &fn->u.fn.block.stmts);
}

/* ---- entries */

static uint32_t name_id(neo_fe *fe, const char *text) {
  return neo_name_of(fe->names, text);
}

static neo_list step_updates(trainer *t, size_t n_model) {
  NEO_VEC(uint32_t) v = {0};
  for (size_t k = 0; k < t->fe->updates.n; k++) {
    const neo_update_rec *u = &t->fe->updates.at[k];
    if (k < n_model || k >= t->first_update)
      NEO_PUSH(t->fe->arena, &v, u->update.i);
  }
  return neo_list_new(t->fe->m, v.at, v.n);
}

/* The entry that gives the gradients of a training entry. */
static const char *gradients_entry(neo_fe *fe, const char *entry) {
  return neo_streq(entry, "step") ? "grad" : neo_arena_printf(fe->arena, "grad_%s", entry);
}

static void add_entries(trainer *t, size_t n_model) {
  neo_fe *fe = t->fe;
  size_t n = t->params.n + 1;
  uint32_t *list = NEO_NEW_ARRAY(fe->arena, uint32_t, 2 * n);
  list[0] = t->loss.i;
  list[n] = name_id(fe, t->loss_name);
  for (size_t k = 1; k < n; k++) {
    const char *param = tensor_name(fe, t->params.at[k - 1]);
    list[k] = t->grad[k - 1].i;
    list[n + k] = name_id(fe, neo_arena_printf(fe->arena, "grad:%s", param));
  }
  neo_entry_rec step = {.kind = NEO_ENTRY_TRAIN, .name = name_id(fe, t->entry), .span = t->span};
  step.outputs = neo_list_new(fe->m, list, 1);
  step.names = neo_list_new(fe->m, list + n, 1);
  step.updates = step_updates(t, n_model);
  NEO_PUSH(fe->arena, &fe->m->entries, step);
  const char *name = gradients_entry(fe, t->entry);
  neo_entry_rec grad = {.kind = NEO_ENTRY_GRAD, .name = name_id(fe, name), .span = t->span};
  grad.outputs = neo_list_new(fe->m, list, n);
  grad.names = neo_list_new(fe->m, list + n, n);
  NEO_PUSH(fe->arena, &fe->m->entries, grad);
}

/* ---- the statements of one entry */

static bool gather_parts(trainer *t) {
  bool ok = true;
  for (size_t k = 0; k < t->fe->trains.n; k++) {
    const neo_ast_stmt *s = t->fe->trains.at[k];
    const char *name = s->u.train.entry.text ? s->u.train.entry.text : "step";
    neo_tensor loss;
    if (!neo_streq(name, t->entry))
      continue;
    if (!loss_of(t->in, &s->u.train.loss, &loss)) {
      ok = false;
      continue;
    }
    if (t->loss.i && t->loss.i != loss.i) {
      int h = NEO_ERR(t->in, s->u.train.loss.span, TWO_LOSSES, t->entry);
      neo_diag_help(t->fe->diags, h, "add them, as in 'total = %s + %s'", t->loss_name,
                    neo_path_text(t->fe, &s->u.train.loss));
      ok = false;
    } else if (!t->loss.i) {
      t->loss = loss;
      t->loss_name = neo_path_text(t->fe, &s->u.train.loss);
      t->span = s->span;
    }
    NEO_PUSH(t->fe->arena, &t->parts, (trained_part){.s = s});
  }
  return ok;
}

static void request_gradients(trainer *t) {
  neo_fe *fe = t->fe;
  size_t n = t->params.n;
  const char **full = NEO_NEW_ARRAY(fe->arena, const char *, n + 1);
  t->grad = NEO_NEW_ARRAY(fe->arena, neo_tensor, n + 1);
  for (size_t k = 0; k < n; k++) {
    const char *name = neo_arena_printf(fe->arena, "%s.grad", tensor_name(fe, t->params.at[k]));
    full[k] = neo_fe_intern(fe, name);
  }
  neo_grad_request(fe, t->loss, (neo_tensor){0}, t->params.at, (uint32_t)n, full, t->span, t->grad);
}

/* The gradients as the optimizers get them. */
static void prepare_gradients(trainer *t) {
  t->given = NEO_NEW_ARRAY(t->fe->arena, neo_tensor, t->params.n + 1);
  for (size_t k = 0, j = 0; k < t->parts.n; k++)
    for (size_t i = 0; i < t->parts.at[k].params.n; i++, j++)
      t->given[j] = neo_every_gradient(t, &t->parts.at[k], t->params.at[j], t->grad[j]);
}

/* Optimizers of a statement: `first` is the number of its first parameter in the entry. */
static void train_part(trainer *t, const trained_part *p, size_t first) {
  size_t updates = t->fe->updates.n;
  t->part = p;
  for (size_t k = 0; k < p->params.n; k++)
    train_one(t, p, p->params.at[k], t->given[first + k]);
  neo_every_hold(t, p, updates);
  t->part = NULL;
}

static void train_entry(neo_fe *fe, neo_inst *in, const char *entry, size_t n_model) {
  trainer *t = NEO_NEW(fe->arena, trainer);
  size_t errors = neo_diags_errors(fe->diags);
  *t = (trainer){.fe = fe, .in = in, .entry = entry, .first_update = fe->updates.n};
  in->trainer = t;
  if (!gather_parts(t))
    return;
  for (size_t k = 0; k < t->parts.n; k++)
    find_optimizer(t, &t->parts.at[k]);
  bool *reached = neo_tensor_reach(fe, t->loss);
  for (size_t k = 0; k < t->parts.n; k++)
    choose_params(t, &t->parts.at[k], reached);
  for (size_t k = 0; k < t->parts.n; k++)
    if (t->parts.at[k].ok)
      read_options(t, &t->parts.at[k]);
  bool ok = neo_diags_errors(fe->diags) == errors;
  for (size_t k = 0; k < t->parts.n; k++)
    ok = ok && t->parts.at[k].ok;
  if (!ok)
    return;
  request_gradients(t);
  prepare_gradients(t);
  for (size_t k = 0, first = 0; k < t->parts.n; first += t->parts.at[k++].params.n)
    train_part(t, &t->parts.at[k], first);
  add_entries(t, n_model);
}

void neo_check_trains(neo_fe *fe, neo_inst *in) {
  size_t n_model = fe->updates.n;
  for (size_t k = 0; k < fe->trains.n; k++) {
    const neo_ast_name *name = &fe->trains.at[k]->u.train.entry;
    const char *entry = name->text ? name->text : "step";
    bool first = true;
    for (size_t j = 0; j < k; j++) {
      const char *other = fe->trains.at[j]->u.train.entry.text;
      first = first && !neo_streq(other ? other : "step", entry);
    }
    if (!first)
      continue;
    const char *own[] = {entry, gradients_entry(fe, entry)};
    for (size_t j = 0; first && j < 2 * fe->m->entries.n; j++)
      if (neo_streq(neo_name_text(fe->names, fe->m->entries.at[j / 2].name), own[j % 2])) {
        NEO_ERR(in, name->text ? name->span : fe->trains.at[k]->span, ENTRY_TWICE, own[j % 2]);
        first = false;
      }
    if (first)
      train_entry(fe, in, entry, n_model);
    in->trainer = NULL;
  }
}
