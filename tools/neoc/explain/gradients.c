/* The tensors of the forward pass that gradients read: one table per request, tensors in order,
 * with their bytes at the largest sizes. */
#include "autodiff/saved.h"
#include "tools/neoc/explain/explain.h"
#include <stdio.h>

enum { NAMED_READERS = 3 };

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_str *out;
  const neo_saved *at;
  size_t n;
  int64_t made_bytes, given_bytes;
} table;

static const char *name_of(const neo_module *m, neo_tensor t) {
  return neo_tensor_name(m, t);
}

static void extents_of(const neo_module *m, neo_arena *a, neo_tensor t, int64_t extent[16]) {
  int64_t *sizes = NEO_NEW_ARRAY(a, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    sizes[k] = m->sizes.at[k].hi;
  (void)neo_tensor_elements_at(m, t, sizes, extent);
}

static const char *shape_text(const neo_module *m, neo_arena *a, neo_tensor t) {
  int64_t extent[16];
  neo_str s = neo_str_in(a);
  extents_of(m, a, t, extent);
  for (uint32_t d = 0; d < neo_tensor_rank(m, t); d++)
    neo_str_addf(&s, "%s%lld", d ? ", " : "", (long long)extent[d]);
  return neo_arena_printf(a, "[%s]", neo_str_text(&s));
}

static table table_of(neo_module *m, const neo_grad_rec *request, neo_arena *a, neo_str *out) {
  table t = {.m = m, .a = a, .out = out};
  t.at = neo_gradient_reads(m, request, a, &t.n);
  for (size_t k = 0; k < t.n; k++)
    *(t.at[k].made ? &t.made_bytes : &t.given_bytes) += neoc_tensor_bytes(m, a, t.at[k].tensor);
  return t;
}

/* ---- text */

static void put_readers(const table *t, const neo_saved *row) {
  size_t n = row->n_by > NAMED_READERS + 1 ? NAMED_READERS : row->n_by;
  for (size_t k = 0; k < n; k++)
    neo_str_addf(t->out, "%s%s", k ? ", " : "", name_of(t->m, row->by[k]));
  if (n < row->n_by)
    neo_str_addf(t->out, " and %zu more", row->n_by - n);
  neo_str_addc(t->out, '\n');
}

static void put_row(const table *t, const neo_saved *row, int width) {
  neo_tensor x = row->tensor;
  neo_str_addf(t->out, "#   %-*s %-5s %-22s %12lld  %-8s ", width, name_of(t->m, x),
               neo_type_text(neo_tensor_type(t->m, x)), shape_text(t->m, t->a, x),
               (long long)neoc_tensor_bytes(t->m, t->a, x),
               row->made ? "computed" : neo_role_text((neo_role)neo_tensor_at(t->m, x)->role));
  put_readers(t, row);
}

static void put_text(const table *t, const neo_grad_rec *request) {
  neo_sources *sources = neo_diags_sources(t->m->diags);
  const char *place = neo_span_text(sources, request->span);
  int width = 16;
  for (size_t k = 0; k < t->n; k++) {
    int n = snprintf(NULL, 0, "%s", name_of(t->m, t->at[k].tensor));
    width = n > width ? n : width;
  }
  neo_str_addf(t->out, "\n# the gradient of %s%s%s%s reads of the forward pass\n",
               name_of(t->m, request->y), *place ? " (" : "", place, *place ? ")" : "");
  neo_str_addf(t->out, "#   %-*s %-5s %-22s %12s  %-8s %s\n", width, "tensor", "type", "shape",
               "bytes", "is", "read for");
  for (size_t k = 0; k < t->n; k++)
    put_row(t, &t->at[k], width);
  neo_str_addf(t->out, "#   in all %lld bytes computed, %lld bytes given, at the largest sizes\n",
               (long long)t->made_bytes, (long long)t->given_bytes);
  neo_str_add(t->out, "#   fusion decides which of what is computed is kept in memory and which is "
                      "computed again\n");
}

/* ---- JSON */

static void put_names(const table *t, const neo_tensor *at, size_t n) {
  neo_str_addc(t->out, '[');
  for (size_t k = 0; k < n; k++) {
    neo_str_add(t->out, k ? ", " : "");
    neo_str_add_json(t->out, name_of(t->m, at[k]));
  }
  neo_str_addc(t->out, ']');
}

static void put_json_row(const table *t, const neo_saved *row) {
  neo_tensor x = row->tensor;
  const neo_tensor_rec *r = neo_tensor_at(t->m, x);
  neo_str_add(t->out, "{\"tensor\": ");
  neo_str_add_json(t->out, name_of(t->m, x));
  neo_str_addf(t->out, ", \"type\": \"%s\", \"shape\": %s, \"bytes\": %lld, \"is\": \"%s\", ",
               neo_type_text((neo_type)r->type), shape_text(t->m, t->a, x),
               (long long)neoc_tensor_bytes(t->m, t->a, x),
               row->made ? "computed" : neo_role_text((neo_role)r->role));
  neo_str_add(t->out, "\"read_for\": ");
  put_names(t, row->by, row->n_by);
  neo_str_addc(t->out, '}');
}

static void put_json(const table *t, const neo_grad_rec *request) {
  neo_tensor *wrt = NEO_NEW_ARRAY(t->a, neo_tensor, request->wrt.n + 1);
  for (uint32_t k = 0; k < request->wrt.n; k++)
    wrt[k].i = neo_list_at(t->m, request->wrt, k);
  neo_str_add(t->out, "{\"of\": ");
  neo_str_add_json(t->out, name_of(t->m, request->y));
  neo_str_add(t->out, ", \"at\": ");
  neo_str_add_json(t->out, neo_span_text(neo_diags_sources(t->m->diags), request->span));
  neo_str_add(t->out, ", \"wrt\": ");
  put_names(t, wrt, request->wrt.n);
  neo_str_add(t->out, ", \"reads\": [");
  for (size_t k = 0; k < t->n; k++) {
    neo_str_add(t->out, k ? ", " : "");
    put_json_row(t, &t->at[k]);
  }
  neo_str_addf(t->out, "], \"computed_bytes\": %lld, \"given_bytes\": %lld}",
               (long long)t->made_bytes, (long long)t->given_bytes);
}

void neoc_explain_gradients(neoc_cli *cli, neo_compilation *c, neo_str *out) {
  neo_module *m = c->module;
  if (cli->json) {
    neoc_explain_member(out, "gradients");
    neo_str_addc(out, '[');
  }
  for (size_t k = 0; k < m->grads.n; k++) {
    neo_grad_rec request = m->grads.at[k];
    table t = table_of(m, &request, cli->arena, out);
    if (cli->json && k)
      neo_str_add(out, ", ");
    if (cli->json)
      put_json(&t, &request);
    else
      put_text(&t, &request);
  }
  if (cli->json)
    neo_str_add(out, "], \"saved_or_recomputed\": \"decided by fusion\"");
}
