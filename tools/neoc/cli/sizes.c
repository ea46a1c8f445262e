/* The values of --size, by the names and bounds of a module's sizes or of those of a library's
 * model. */
#include "runtime/model.h"
#include "tools/neoc/neoc.h"

typedef struct {
  const char *name;
  int64_t lo, hi;
} row;
typedef NEO_VEC(row) rows;

/* Reads one word. *at: the number of its size. */
static neoc_exit read_size(const neoc_cli *cli, const rows *sizes, const char *text, size_t *at,
                           int64_t *x) {
  const char *value = NULL, *name = neoc_pair(cli, text, &value);
  if (!name || !neoc_parse_int(value, x))
    return neoc_usage(cli, "--size takes NAME=NUMBER, not '%s'", text);
  for (*at = 0; *at < sizes->n && !neo_streq(sizes->at[*at].name, name);)
    ++*at;
  if (*at == sizes->n)
    return neoc_usage(cli, "%s is no run-time size of the model", name);
  const row *r = &sizes->at[*at];
  if (*x < r->lo || *x > r->hi)
    return neoc_fail(cli, NEOC_FAILED, "%s = %lld is not in [%lld, %lld]", name, (long long)*x,
                     (long long)r->lo, (long long)r->hi);
  return NEOC_OK;
}

static neoc_exit read_sizes(const neoc_cli *cli, const rows *sizes, int64_t *out) {
  const neoc_texts *given = &cli->value[NEOC_O_SIZE];
  neoc_exit e = neoc_pairs_differ(cli, "--size ", *given);
  for (size_t k = 0; k < given->n && !e; k++) {
    size_t at = 0;
    int64_t x = 0;
    e = read_size(cli, sizes, given->at[k], &at, &x);
    if (!e)
      out[at] = x;
  }
  return e;
}

neoc_exit neoc_read_sizes(const neoc_cli *cli, const neo_module *m, int64_t *sizes) {
  rows r = {0};
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *s = &m->sizes.at[k];
    NEO_PUSH(cli->arena, &r, (row){neo_name_text(m->names, s->name), s->lo, s->hi});
  }
  return read_sizes(cli, &r, sizes + 1);
}

neoc_exit neoc_read_model_sizes(const neoc_cli *cli, const neo_rt_model *m, int64_t **sizes) {
  rows r = {0};
  *sizes = NULL;
  if (!neoc_has(cli, NEOC_O_SIZE))
    return NEOC_OK;
  *sizes = NEO_NEW_ARRAY(cli->arena, int64_t, m->n_sizes + 1);
  for (int32_t k = 0; k < m->n_sizes; k++)
    (*sizes)[k] = m->sizes[k].hi;
  for (int32_t k = 0; k < neo_rti_call_sizes(m); k++)
    NEO_PUSH(cli->arena, &r, (row){m->sizes[k].name, m->sizes[k].lo, m->sizes[k].hi});
  return read_sizes(cli, &r, *sizes);
}
