/* `output`: entries that return tensors. Lines without a name make `forward`; lines of one name
 * add up. */
#include "frontend/check/check.h"

typedef struct {
  const char *name;
  neo_span span;
  NEO_VEC(uint32_t) outputs;
  NEO_VEC(uint32_t) names;
  NEO_VEC(uint32_t) updates;
} entry;

static const char *entry_name(const neo_ast_stmt *s) {
  return s->u.output.entry.text ? s->u.output.entry.text : "forward";
}

/* The tensor for an output: one that the model defines; any other value is copied into one. */
static bool output_tensor(neo_inst *in, const neo_ast_path *path, neo_tensor *t) {
  neo_fe *fe = in->fe;
  neo_sym *s = neo_path_find(in, path, false);
  if (!s || s->kind == NEO_SYM_POISON)
    return false;
  neo_val v = s->value;
  if (s->kind != NEO_SYM_VALUE) {
    NEO_ERR(in, path->span, NOT_A_VALUE, neo_path_text(fe, path), "no tensor");
    return false;
  }
  bool own = v.kind == NEO_VAL_VIEW && neo_view_is_whole(&v.view) &&
             neo_tensor_at(fe->m, v.view.tensor)->role == NEO_ROLE_TEMP;
  if (!own)
    v = neo_define_copy(in, v, neo_fe_join(fe, neo_path_text(fe, path), "out"), path->span);
  if (v.kind != NEO_VAL_VIEW)
    return false;
  *t = v.view.tensor;
  return true;
}

static void add_output(neo_inst *in, entry *e, const neo_ast_path *path) {
  neo_tensor t;
  uint32_t name = neo_name_of(in->fe->names, neo_path_text(in->fe, path));
  for (size_t k = 0; k < e->names.n; k++)
    if (e->names.at[k] == name) {
      NEO_ERR(in, path->span, OUTPUT_TWICE, neo_path_text(in->fe, path), e->name);
      return;
    }
  if (!output_tensor(in, path, &t))
    return;
  NEO_PUSH(in->fe->arena, &e->outputs, t.i);
  NEO_PUSH(in->fe->arena, &e->names, name);
}

static void add_update(neo_inst *in, entry *e, const neo_ast_path *path) {
  neo_fe *fe = in->fe;
  neo_sym *s = neo_path_find(in, path, false);
  if (!s || s->kind == NEO_SYM_POISON)
    return;
  for (size_t k = 0; s->value.kind == NEO_VAL_VIEW && k < fe->updates.n; k++)
    if (fe->updates.at[k].updates.i == s->value.view.tensor.i) {
      NEO_PUSH(fe->arena, &e->updates, fe->updates.at[k].update.i);
      return;
    }
  NEO_ERR(in, path->span, NO_UPDATE, neo_path_text(fe, path));
}

static void add_lines(neo_inst *in, entry *e) {
  neo_fe *fe = in->fe;
  for (size_t k = 0; k < fe->outputs.n; k++) {
    const neo_ast_stmt *s = fe->outputs.at[k];
    if (!neo_streq(entry_name(s), e->name))
      continue;
    for (uint32_t j = 0; j < s->u.output.tensors.n; j++)
      add_output(in, e, &s->u.output.tensors.at[j]);
    for (uint32_t j = 0; j < s->u.output.updates.n; j++)
      add_update(in, e, &s->u.output.updates.at[j]);
  }
}

void neo_check_outputs(neo_fe *fe, neo_inst *in) {
  for (size_t k = 0; k < fe->outputs.n; k++) {
    entry e = {.name = entry_name(fe->outputs.at[k]), .span = fe->outputs.at[k]->span};
    bool first = true;
    for (size_t j = 0; j < k; j++)
      first = first && !neo_streq(entry_name(fe->outputs.at[j]), e.name);
    if (!first)
      continue;
    add_lines(in, &e);
    neo_entry_rec rec = {
        .kind = NEO_ENTRY_FORWARD, .name = neo_name_of(fe->names, e.name), .span = e.span};
    rec.outputs = neo_list_new(fe->m, e.outputs.at, e.outputs.n);
    rec.names = neo_list_new(fe->m, e.names.at, e.names.n);
    rec.updates = neo_list_new(fe->m, e.updates.at, e.updates.n);
    NEO_PUSH(fe->arena, &fe->m->entries, rec);
  }
}
