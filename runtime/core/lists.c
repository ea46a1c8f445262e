/* Checks lists of edges, given by offsets (neo_rt_tensor.offsets): the offsets begin with 0, are
 * nondecreasing, and end with the number of edges; the child of each edge comes before the vertex
 * in whose list the edge is. Generated code relies on both without checks. */
#include "runtime/core/device.h"
#include "runtime/core/run.h"

/* A sequential reader of an integer tensor. From a separate device it copies a part at a time. */
typedef struct {
  neo_rt_ctx *c;
  const neo_rt_tensor *t;
  const char *p;
  int64_t n;
  bool device;
  unsigned char *part; /* room for PART bytes */
  int64_t first, held; /* range of elements in `part` */
} elements;

enum { PART = NEO_RTI_CHUNK / 2 };

static elements elements_of(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args, int32_t arg,
                            int half) {
  int64_t extent[NEO_RTI_MAX_RANK];
  int32_t number = c->model->entry_args[e->args + arg];
  const neo_rt_tensor *t = &c->model->tensors[number];
  elements x = {.c = c, .t = t, .p = args[arg]};
  x.n = neo_rti_extents(c->model, t, c->sizes, extent);
  x.device = neo_rti_on_device(c, args, number);
  x.part = x.device ? c->chunk + half * PART : NULL;
  return x;
}

static neo_rt_status take(elements *x, int64_t at) {
  int64_t size = (int64_t)neo_rti_type_bytes(x->t->type);
  x->first = at;
  x->held = x->n - at < PART / size ? x->n - at : PART / size;
  return neo_rti_take(x->c, x->part, x->p + at * size, (size_t)(x->held * size));
}

static neo_rt_status element(elements *x, int64_t at, int64_t *value) {
  neo_rt_status status = NEO_OK;
  if (x->device && (at < x->first || at >= x->first + x->held))
    status = take(x, at);
  if (!status)
    *value = x->device ? neo_rti_int_at(x->t->type, x->part, at - x->first)
                       : neo_rti_int_at(x->t->type, x->p, at);
  return status;
}

static neo_rt_status check_offsets(elements x) {
  int64_t edges = neo_rti_eval(x.c->model, x.t->bound, x.c->sizes) - 1, before = 0, value = 0;
  neo_rt_status status = NEO_OK;
  for (int64_t k = 0; k < x.n && !status; k++, before = value) {
    status = element(&x, k, &value);
    if (status)
      return status;
    if (k == 0 && value)
      return neo_rti_fail(x.c, NEO_RANGE, "%s[0]: value %lld is not 0 (%s)", x.t->name,
                          (long long)value, x.t->place);
    if (value < before)
      return neo_rti_fail(x.c, NEO_RANGE, "%s[%lld]: value %lld is less than %lld before it (%s)",
                          x.t->name, (long long)k, (long long)value, (long long)before, x.t->place);
  }
  if (before == edges)
    return NEO_OK;
  return neo_rti_fail(x.c, NEO_RANGE, "%s[%lld]: value %lld is not the number of edges, %lld (%s)",
                      x.t->name, (long long)(x.n - 1), (long long)before, (long long)edges,
                      x.t->place);
}

/* Checks the children; the offsets have been checked. */
static neo_rt_status check_children(elements begin, elements child) {
  int64_t end = 0, value = 0;
  neo_rt_status status = NEO_OK;
  for (int64_t v = 0, e = 0; v + 1 < begin.n; v++) {
    status = element(&begin, v + 1, &end);
    for (; e < end && !status; e++) {
      status = element(&child, e, &value);
      if (!status && value >= v)
        return neo_rti_fail(
            child.c, NEO_RANGE,
            "%s[%lld]: vertex %lld is not before vertex %lld, whose child it is (%s)",
            child.t->name, (long long)e, (long long)value, (long long)v, child.t->place);
    }
    if (status)
      return status;
  }
  return NEO_OK;
}

static bool is_trusted(const elements *x) {
  return x->device && x->c->flags & NEO_RT_TRUST_INDICES;
}

/* The input of the entry that has the offsets; null: it takes none. */
static bool find_offsets(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args, int32_t number,
                         elements *out) {
  for (int32_t i = 0; i < e->n_inputs; i++)
    if (c->model->entry_args[e->args + i] == number) {
      *out = elements_of(c, e, args, i, 0);
      return out->p != NULL;
    }
  return false;
}

neo_rt_status neo_rti_check_lists(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  neo_rt_status status = NEO_OK;
  elements begin;
  for (int lists = 0; lists < 2; lists++) /* offsets first */
    for (int32_t i = 0; i < e->n_inputs && !status; i++) {
      int32_t number = c->model->entry_args[e->args + i];
      int32_t offsets = c->model->tensors[number].offsets - 1;
      elements x = elements_of(c, e, args, i, 1);
      if (offsets < 0 || !x.p || is_trusted(&x) || (offsets != number) != lists)
        continue;
      if (!lists)
        status = check_offsets(x);
      else if (find_offsets(c, e, args, offsets, &begin))
        status = check_children(begin, x);
    }
  return status;
}
