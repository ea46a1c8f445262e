/* Parts of statements to items: targets, values, lists, signatures. */
#include "frontend/syntax/format_rec.h"

void neo_f_comma(neo_f *f, uint32_t i) {
  if (i == 0)
    return;
  neo_f_text(f, ",");
  neo_f_break(f, " ");
}

static const char *type_text(neo_type t) {
  static const char *const texts[] = {
#define X(name, text, size, kind) text,
#include "ir/types.def"
#undef X
  };
  return texts[t];
}

static void type(neo_f *f, const neo_ast_type *t) {
  if (!t->given)
    return;
  neo_f_text(f, " : ");
  if (t->lo) {
    neo_f_expr(f, t->lo);
    neo_f_rel(f, t->lo_rel);
  }
  neo_f_text(f, t->wide ? "wide(" : "");
  neo_f_text(f, t->variable.text ? t->variable.text : type_text(t->type));
  neo_f_text(f, t->wide ? ")" : "");
  neo_f_rel(f, t->rel);
  if (t->bound)
    neo_f_expr(f, t->bound);
}

void neo_f_var(neo_f *f, const neo_ast_var *v) {
  neo_f_name(f, v->name);
  if (v->indexed) {
    neo_f_text(f, "[");
    neo_f_open(f, NEO_F_CONTINUE);
    neo_f_axes(f, v->axes);
    neo_f_close(f);
    neo_f_text(f, "]");
  }
  type(f, &v->type);
}

void neo_f_assigned(neo_f *f, const neo_ast_expr *value) {
  neo_f_text(f, " =");
  neo_f_break(f, " ");
  neo_f_expr(f, value);
}

void neo_f_binds(neo_f *f, neo_ast_binds list) {
  for (uint32_t i = 0; i < list.n; i++) {
    neo_f_comma(f, i);
    neo_f_open(f, 0);
    neo_f_var(f, &list.at[i].var);
    if (list.at[i].value)
      neo_f_assigned(f, list.at[i].value);
    neo_f_close(f);
  }
}

void neo_f_literal(neo_f *f, const neo_ast_literal *l) {
  if (l->number) {
    neo_f_expr(f, l->number);
    return;
  }
  neo_f_comments_before(f, neo_f_from(f, l->span));
  neo_f_text(f, "[");
  neo_f_open(f, 1);
  for (uint32_t i = 0; i < l->items.n; i++) {
    neo_f_comma(f, i);
    neo_f_literal(f, &l->items.at[i]);
  }
  neo_f_comments_before(f, neo_f_to(f, l->span));
  neo_f_close(f);
  neo_f_text(f, "]");
}

static void option(neo_f *f, const neo_ast_option *o) {
  neo_f_comments_before(f, neo_f_from(f, o->name.span));
  neo_f_text(f, o->input ? "input " : "");
  neo_f_name(f, o->name);
  type(f, &o->type);
  if (o->value) {
    neo_f_text(f, " = ");
    neo_f_expr(f, o->value);
  }
}

void neo_f_signature(neo_f *f, const neo_ast_sig *s) {
  neo_f_name(f, s->name);
  neo_f_text(f, "(");
  neo_f_open(f, NEO_F_CONTINUE);
  for (uint32_t i = 0; i < s->params.n; i++) {
    neo_f_comma(f, i);
    neo_f_var(f, &s->params.at[i]);
  }
  if (s->options.n) {
    neo_f_text(f, ";");
    neo_f_break(f, " ");
  }
  for (uint32_t i = 0; i < s->options.n; i++) {
    neo_f_comma(f, i);
    option(f, &s->options.at[i]);
  }
  neo_f_comments_before(f, neo_f_to(f, s->span));
  neo_f_close(f);
  neo_f_text(f, ")");
}

void neo_f_paths(neo_f *f, neo_ast_paths list) {
  for (uint32_t i = 0; i < list.n; i++) {
    neo_f_comma(f, i);
    neo_f_path(f, list.at[i].at, list.at[i].n);
  }
}
