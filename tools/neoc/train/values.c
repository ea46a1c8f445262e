/* Values of data files as an input's: converted once, 8-bit pictures scaled to [0, 1], and each
 * inside of its bound, or the message names the file's row, which shuffling would hide. */
#include "runtime/model.h"
#include "tools/neoc/train/stream.h"

static neoc_exit scale_of(neoc_runner *r, const char *name, bool picture, double *out) {
  neoc_texts words = neoc_words(r->cli, NEOC_O_SCALE);
  *out = picture ? 1.0 / 255 : 1;
  for (size_t k = 0; k < words.n; k++) {
    const char *value = NULL, *own = neoc_pair(r->cli, words.at[k], &value);
    if (own && neo_streq(own, name) && !neoc_parse_real(value, out))
      return neoc_usage(r->cli, "--scale %s=%s is no number or fraction", name, value);
  }
  return NEOC_OK;
}

typedef struct { /* a part of the values, which is checked */
  const neoc_data *d;
  int32_t tensor;
  int64_t base; /* index of its first element along the first dimension */
  neo_rt_array *x;
} part;

static neoc_exit outside(const part *p, int64_t at, int64_t bound) {
  const neoc_data *d = p->d;
  const neoc_source *s = &d->source[p->tensor];
  const neo_rt_tensor *t = &d->r->lib.model->tensors[p->tensor];
  int64_t of = neoc_array_count(p->x) / p->x->extent[0], first = p->base * of;
  const char *place = s->window ? neoc_data_place(d, p->tensor, -s->shift, first + at)
                                : neoc_data_place(d, p->tensor, (first + at) / of, 0);
  const char *value = neoc_element_text(d->r->cli->arena, p->x, at);
  if (bound < 0)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s: %s: value %s is no %s (%s)", t->name, place,
                     value, neo_rti_type_name(t->type), t->place);
  return neoc_fail(d->r->cli, NEOC_FAILED, "%s: %s: value %s is not in [0, %lld) (%s)", t->name,
                   place, value, (long long)bound, t->place);
}

int64_t neoc_data_bound(const neoc_data *d, const neo_rt_tensor *t) {
  const neo_rt_model *m = d->r->lib.model;
  bool fixed = t->bound >= 0 && neo_rti_program_fixed(m, t->bound);
  if (t->type == NEO_RT_BOOL)
    return 2;
  return fixed && neo_rti_type_is_int(t->type) ? neo_rti_eval(m, t->bound, NULL) : -1;
}

/* Checks that integers are within their bound and in the range of the input's type. */
static neoc_exit check_ints(const part *p) {
  const neoc_data *d = p->d;
  const neo_rt_tensor *t = &d->r->lib.model->tensors[p->tensor];
  const neo_rt_array *x = p->x;
  int64_t bound = neoc_data_bound(d, t), n = neoc_array_count(x), bad = -1;
  if (!neo_rti_type_is_int(t->type) && (t->type != NEO_RT_BOOL || x->type != t->type))
    return NEOC_OK; /* a bool of another type is "not zero" */
  if (x->type == t->type) {
    bad = bound < 0 ? -1 : neo_rti_scan(x->type, x->data, n, bound);
    return bad < 0 ? NEOC_OK : outside(p, bad, bound);
  }
  for (int64_t k = 0; k < n && bound >= 0; k++) {
    double v = neoc_array_at(x, k);
    if (!(v >= 0 && v < (double)bound))
      return outside(p, k, bound);
  }
  bad = neoc_array_misfit(x, (neo_type)t->type);
  if (bad >= 0)
    return outside(p, bad, -1);
  return NEOC_OK;
}

static void scale_all(neo_rt_array *x, double scale) {
  for (int64_t k = 0, n = neoc_array_count(x); k < n; k++)
    neoc_array_put(x, k, neoc_array_at(x, k) * scale);
}

neoc_exit neoc_data_convert_part(const neoc_data *d, int32_t tensor, int64_t base,
                                 neo_rt_array *x) {
  neoc_runner *r = d->r;
  const neo_rt_tensor *t = &r->lib.model->tensors[tensor];
  const part p = {d, tensor, base, x};
  neo_rt_array y;
  bool floats = neo_type_is_float((neo_type)t->type);
  double scale;
  neoc_exit e = scale_of(r, t->name, floats && x->type == NEO_RT_U8, &scale);
  if (!e && scale != 1 && !floats)
    e = neoc_usage(r->cli, "--scale %s: its elements are %s: only floats are scaled", t->name,
                   neo_rti_type_name(t->type));
  if (!e)
    e = check_ints(&p);
  if (e)
    return e;
  bool own = scale != 1 &&
             neo_type_is_float((neo_type)x->type); /* in the file's type: 1e39 by 1e-39 is 1 */
  if (own)
    scale_all(x, scale);
  int64_t bad = floats ? neoc_array_misfit(x, (neo_type)t->type) : -1;
  if (bad >= 0)
    return outside(&p, bad, -1);
  if (x->type != t->type) {
    neo_rt_status s = neo_rt_array_convert(x, t->type, &y);
    if (s)
      return neoc_fail(r->cli, neoc_exit_of((neo_status)s), "%s: %s", t->name,
                       neo_rt_status_text(s));
    neo_rt_array_free(x);
    *x = y;
  }
  if (scale != 1 && !own)
    scale_all(x, scale);
  return NEOC_OK;
}

/* Checks a stream's values part by part; they stay in the file. */
static neoc_exit look_through(neoc_data *d, int32_t tensor) {
  enum { PART_BYTES = 4 << 20 };
  const neoc_stream *s = d->source[tensor].stream;
  int64_t all = d->source[tensor].array.extent[0],
          n = PART_BYTES / ((int64_t)s->element_bytes + 1) + 1;
  neoc_exit e = neoc_stream_check(d, tensor);
  for (int64_t at = 0; at < all && !e; at += n) {
    neo_rt_array x;
    e = neoc_stream_chunk(d, tensor, at, all - at < n ? all - at : n, &x);
    if (e)
      return e;
    e = neoc_data_convert_part(d, tensor, at, &x);
    neo_rt_array_free(&x);
  }
  return e;
}

neoc_exit neoc_data_convert(neoc_data *d, int32_t tensor) {
  return d->source[tensor].stream ? look_through(d, tensor)
                                  : neoc_data_convert_part(d, tensor, 0, &d->source[tensor].array);
}
