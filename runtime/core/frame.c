/* frame.c: the memory of a call at its sizes: the offsets of the buffers in the entry's frame, and
 * the bytes of the context's work.
 *
 * The model tells which buffers are above which (neo_rt_place), so that offsets follow from sizes
 * without a search. They are computed again if the entry's sizes differ from those of its last
 * call. The work grows by at least a quarter, so that calls of any sizes in any order allocate few
 * times; it holds nothing between calls, so nothing is copied. */
#include "runtime/core/frame.h"
#include "base/alloc.h"
#include "runtime/context.h"
#include <string.h>

/* ------------------------------------------------------------ offsets */

/* The size of a buffer in the frame, at most that in the plan: so no frame is larger than
 * planned. */
static int64_t bytes_of(const neo_rt_model *m, const neo_rt_place *x, const int64_t *sizes) {
  int64_t n = x->buf < 0 ? 0 : neo_rti_eval(m, x->bytes, sizes);
  int64_t most = x->buf < 0 ? 0 : m->bufs[x->buf].size_bytes;
  n = n < 0 ? 0 : n;
  return n < most ? n : most;
}

int64_t neo_rti_frame_stack(const neo_rt_model *m, const neo_rt_entry *e, const int64_t *sizes,
                            neo_rti_place *place) {
  int64_t top = e->n_places ? 0 : e->frame_bytes;
  for (int32_t k = 0; k < e->n_places; k++) {
    const neo_rt_place *x = &m->places[e->places + k];
    const int32_t *below = m->places_below + x->below;
    int64_t at = 0;
    for (int32_t i = 0; i < x->n_below; i++)
      at = place[below[i]].end > at ? place[below[i]].end : at;
    int64_t bytes = bytes_of(m, x, sizes);
    place[k] = (neo_rti_place){at, at + neo_rti_round_up(bytes)};
    top = at + bytes > top ? at + bytes : top;
  }
  return top;
}

static void stack(neo_rt_ctx *c, const neo_rt_entry *e, neo_rti_frame *f, int64_t *sizes) {
  memcpy(sizes, c->sizes, (size_t)c->model->n_sizes * sizeof *sizes);
  f->bytes = neo_rti_frame_stack(c->model, e, c->sizes, c->place + e->places);
  f->known = true;
  f->resolved = false;
}

static bool same(const int64_t *a, const int64_t *b, int32_t n) {
  bool are = true;
  for (int32_t i = 0; i < n && are; i++)
    are = a[i] == b[i];
  return are;
}

int64_t neo_rti_frame_bytes(const neo_rt_model *m, const neo_rt_entry *e, const int64_t *sizes) {
  size_t n = ((size_t)e->n_places + 1) * sizeof(neo_rti_place);
  neo_rti_place *place = neo_alloc_default.resize(neo_alloc_default.ctx, NULL, n);
  if (!place)
    return -1;
  int64_t bytes = neo_rti_frame_stack(m, e, sizes, place);
  NEO_RTI_FREE(&neo_alloc_default, place);
  return bytes;
}

int64_t neo_rt_frame_bytes(const neo_rt_model *model, int32_t entry, const int64_t *sizes) {
  int64_t all[NEO_RT_MOST_SIZES];
  if (!model || entry < 0 || entry >= model->n_entries)
    return -1;
  const neo_rt_entry *e = &model->entries[entry];
  if (!sizes)
    return e->frame_bytes;
  for (int32_t i = 0; i < model->n_sizes; i++)
    all[i] = model->sizes[i].hi;
  for (int32_t i = 0; i < e->n_sizes; i++)
    all[model->entry_sizes[e->sizes + i]] = sizes[i];
  return neo_rti_frame_bytes(model, e, all);
}

/* ------------------------------------------------------------ addresses */

/* The address of the frame. Without memory for it all buffers are empty; they get an address all
 * the same. */
static unsigned char *base_of(const neo_rt_ctx *c) {
  return c->work ? c->work : c->arena;
}

static void resolve_places(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t k = 0; k < e->n_places; k++) {
    const neo_rt_place *x = &c->model->places[e->places + k];
    if (x->buf < 0)
      continue;
    c->addr[x->buf] = base_of(c) + c->place[e->places + k].at;
    c->room[x->buf] = bytes_of(c->model, x, c->sizes);
  }
}

/* Sets the address of a buffer in the frame. A buffer without a place is empty for all sizes. */
static void resolve_buf(neo_rt_ctx *c, const neo_rt_entry *e, int32_t number) {
  const neo_rt_buf *b = &c->model->bufs[number];
  if (b->mem != NEO_RT_MEM_FRAME)
    return;
  if (!e->n_places) {
    c->addr[number] = base_of(c) + b->offset;
  } else if (b->whole - 1 != number) {
    int64_t before = b->offset - c->model->bufs[b->whole - 1].offset;
    int64_t room = c->room[b->whole - 1] - before;
    c->addr[number] = (unsigned char *)c->addr[b->whole - 1] + before;
    c->room[number] = room > 0 ? room : 0;
  } else if (!b->size_bytes) {
    c->addr[number] = base_of(c);
  }
}

static void resolve(neo_rt_ctx *c, const neo_rt_entry *e) {
  const neo_rt_model *m = c->model;
  resolve_places(c, e);
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps; i++) {
    const neo_rt_step *s = &m->steps[i];
    for (int32_t k = s->first; k < s->first + neo_rti_step_args(s); k++) {
      resolve_buf(c, e, m->args[k]);
      c->ptr[k] = c->addr[m->args[k]];
    }
  }
}

/* ------------------------------------------------------------ room */

static neo_rt_status grow(neo_rt_ctx *c, size_t need) {
  size_t n = c->work_bytes + c->work_bytes / 4;
  n = n < c->most_work_bytes ? n : c->most_work_bytes;
  n = n > need ? n : need;
  if (!c->work_grows)
    return neo_rti_fail(c, NEO_INTERNAL, "%s: a call needs %zu bytes, more than the largest sizes",
                        c->model->name, need);
  neo_rt_status s = c->device->regrow(c, n, need);
  for (int32_t i = 0; i < c->model->n_entries; i++)
    c->frame[i].resolved = false;
  return s;
}

neo_rt_status neo_rti_frame_take(neo_rt_ctx *c, const neo_rt_entry *e, int64_t spill) {
  int64_t number = e - c->model->entries;
  neo_rti_frame *f = &c->frame[number];
  int64_t *sizes = c->frame_sizes + number * c->model->n_sizes;
  if (!f->known || (e->n_places && !same(sizes, c->sizes, c->model->n_sizes)))
    stack(c, e, f, sizes);
  size_t frame = (size_t)neo_rti_round_up(f->bytes), need = frame + (size_t)spill;
  neo_rt_status s = need > c->work_bytes ? grow(c, need) : NEO_OK;
  if (s)
    return s;
  c->spill = base_of(c) + frame;
  if (!f->resolved)
    resolve(c, e);
  f->resolved = true;
  return NEO_OK;
}

void *neo_rti_work(const neo_rt_ctx *c, size_t *bytes) {
  *bytes = c->work_bytes;
  return c->work;
}
