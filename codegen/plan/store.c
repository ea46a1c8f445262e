/* The tensors with names for callers, and the memory of all tensors outside of the frame. */
#include "ir/store.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/whole.h"
#include "codegen/plan/internal.h"
#include "ir/element.h"
#include "ir/print.h"
#include <assert.h>

int64_t plan_store_max_bytes(plan_store *s, neo_tensor t) {
  neo_module *m = s->p->m;
  int64_t bytes = neo_type_bytes(neo_tensor_type(m, t)), lo, hi;
  t = neo_tensor_store(m, t);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    bool bounded = neo_interval(s->prover, NULL, neo_tensor_extent(m, t, k), &lo, &hi);
    assert(bounded && "sizes have bounds");
    if (!bounded || hi < 0)
      hi = 0;
    if (__builtin_mul_overflow(bytes, hi, &bytes))
      bytes = INT64_MAX;
  }
  return bytes;
}

int32_t plan_store_buf(plan_store *s, uint8_t mem, neo_type type, int64_t offset,
                       int64_t size_bytes) {
  neo_rt_buf b = {.mem = mem, .type = (uint8_t)type, .offset = offset, .size_bytes = size_bytes};
  b.whole = (int32_t)s->p->bufs.n + 1;
  NEO_PUSH(s->p->arena, &s->p->bufs, b);
  return b.whole - 1;
}

static bool same(const neo_rt_buf *a, const neo_rt_buf *b) {
  return a->mem == b->mem && a->type == b->type && a->offset == b->offset &&
         a->size_bytes == b->size_bytes && a->shift == b->shift;
}

int32_t plan_store_part(plan_store *s, int32_t buf, int64_t bytes) {
  neo_rt_buf b = s->p->bufs.at[buf];
  uint64_t known, key = neo_hash_mix((uint64_t)buf + 1, (uint64_t)bytes);
  if (bytes == 0 || bytes > b.size_bytes) /* beyond the end: nothing is ever read or written */
    return buf;
  if (b.mem == NEO_RT_MEM_CALLER)
    b.shift += bytes;
  else
    b.offset += bytes;
  b.size_bytes -= bytes;
  b.place = 0;
  if (neo_map_get(&s->parts, key, &known) && same(&s->p->bufs.at[known], &b))
    return (int32_t)known;
  NEO_PUSH(s->p->arena, &s->p->bufs, b);
  neo_map_set(&s->parts, key, s->p->bufs.n - 1);
  return (int32_t)s->p->bufs.n - 1;
}

static int32_t add_extents(plan_store *s, neo_tensor t) {
  int32_t at = (int32_t)s->p->extents.n;
  for (uint32_t k = 0; k < neo_tensor_rank(s->p->m, t); k++) {
    int32_t program = neo_plan_program(s->p, neo_tensor_extent(s->p->m, t, k));
    NEO_PUSH(s->p->arena, &s->p->extents, program);
  }
  return at;
}

static int32_t end_program(plan_store *s, neo_expr e, uint32_t rank, neo_element_end *end) {
  *end = (neo_element_end){0};
  if (!e.i || !neo_element_end_of(s->p->m, e, rank, end))
    return -1;
  return neo_plan_program(s->p, end->rest);
}

static int32_t add_ends(plan_store *s, const neo_tensor_rec *r) {
  neo_element_end least, below;
  uint32_t rank = r->extent.n;
  if (!r->least.i && !r->below.i)
    return 0;
  int32_t programs[] = {end_program(s, r->least, rank, &least),
                        end_program(s, r->below, rank, &below)};
  int32_t at = (int32_t)s->p->extents.n;
  for (int k = 0; k < 2; k++)
    NEO_PUSH(s->p->arena, &s->p->extents, programs[k]);
  for (uint32_t k = 0; k < 2 * rank; k++) {
    int64_t by = k < rank ? least.coef[k] : below.coef[k - rank];
    int32_t program = neo_plan_program(s->p, neo_const_i64(s->p->m, by));
    NEO_PUSH(s->p->arena, &s->p->extents, program);
  }
  return at + 1;
}

static int32_t add_named(plan_store *s, neo_tensor t, uint8_t role, const char *name) {
  neo_module *m = s->p->m;
  neo_tensor_rec r = *neo_tensor_at(m, t);
  neo_rt_tensor rt = {
      .name = name, .role = role, .type = r.type, .rank = (uint8_t)r.extent.n, .bound = -1};
  /* Without the folder: the library must not depend on where it was compiled. */
  rt.place = neo_path_name(neo_span_text(neo_diags_sources(m->diags), r.span));
  rt.in_safetensors =
      role == NEO_RT_ROLE_PARAM || role == NEO_RT_ROLE_STATE || role == NEO_RT_ROLE_SETTING;
  rt.optimizer = r.optimizer;
  rt.extent = add_extents(s, t);
  if (r.bound.i &&
      role != NEO_RT_ROLE_OUTPUT) /* the runtime checks values that the caller writes */
    rt.bound = neo_plan_program(s->p, r.bound);
  if (role != NEO_RT_ROLE_OUTPUT)
    rt.ends = add_ends(s, &r);
  NEO_PUSH(s->p->arena, &s->p->tensors, rt);
  return (int32_t)s->p->tensors.n - 1;
}

/* Room of t at the end of a class; returns its offset. */
static int64_t reserve(int64_t *class_bytes, int64_t bytes) {
  int64_t at = *class_bytes;
  *class_bytes += neo_round_up(bytes, NEO_RT_ALIGN_BYTES);
  return at;
}

static int64_t add_const(plan_store *s, const neo_tensor_rec *r) {
  int64_t at = (int64_t)s->p->const_data.n;
  const char *bytes = r->data;
  for (size_t k = 0; k < r->n_data_bytes; k++)
    NEO_PUSH(s->p->arena, &s->p->const_data, bytes[k]);
  while (s->p->const_data.n % NEO_RT_ALIGN_BYTES)
    NEO_PUSH(s->p->arena, &s->p->const_data, 0);
  return at;
}

static void fix_tensor(plan_store *s, neo_tensor t) {
  neo_plan *p = s->p;
  neo_tensor_rec r = *neo_tensor_at(p->m, t);
  const char *name = neo_name_text(p->m->names, r.name);
  uint8_t role, mem;
  int64_t offset, bytes = plan_store_max_bytes(s, t);
  switch ((neo_role)r.role) {
  case NEO_ROLE_INPUT:
    role = NEO_RT_ROLE_INPUT, mem = NEO_RT_MEM_CALLER, offset = (int64_t)p->tensors.n;
    break;
  case NEO_ROLE_SETTING:
    role = NEO_RT_ROLE_SETTING, mem = NEO_RT_MEM_STATE, offset = reserve(&p->state_bytes, bytes);
    break;
  case NEO_ROLE_PARAM:
    role = NEO_RT_ROLE_PARAM, mem = NEO_RT_MEM_PARAM, offset = reserve(&p->param_bytes, bytes);
    break;
  case NEO_ROLE_STATE:
    role = NEO_RT_ROLE_STATE, mem = NEO_RT_MEM_STATE, offset = reserve(&p->state_bytes, bytes);
    break;
  case NEO_ROLE_CONST:
    neo_map_set(
        &s->buf_of, t.i,
        (uint64_t)plan_store_buf(s, NEO_RT_MEM_CONST, (neo_type)r.type, add_const(s, &r), bytes));
    return;
  default:
    return;
  }
  int32_t number = add_named(s, t, role, name);
  int32_t buf = plan_store_buf(s, mem, (neo_type)r.type, offset, bytes);
  p->tensors.at[number].buf = buf;
  neo_map_set(&s->named, t.i, (uint64_t)number);
  neo_map_set(&s->buf_of, t.i, (uint64_t)buf);
}

static void fix_offsets(plan_store *s, neo_tensor t) {
  neo_tensor of = neo_tensor_at(s->p->m, t)->offsets;
  uint64_t number, offsets;
  if (of.i && neo_map_get(&s->named, t.i, &number) && neo_map_get(&s->named, of.i, &offsets))
    s->p->tensors.at[number].offsets = (int32_t)offsets + 1;
}

static void fix_assert(neo_plan *p, const neo_assert_rec *a) {
  neo_str text = neo_str_in(p->arena);
  neo_expr_print(p->m, NULL, a->holds, &text);
  neo_rt_assert made = {neo_str_text(&text),
                        neo_path_name(neo_span_text(neo_diags_sources(p->m->diags), a->span)),
                        neo_plan_program(p, a->holds)};
  NEO_PUSH(p->arena, &p->asserts, made);
}

/* Indices of loops, in the room of all that have the same number. */
static void fix_indices(plan_store *s) {
  neo_module *m = s->p->m;
  uint32_t first = (uint32_t)s->p->sizes.n;
  for (uint32_t k = first; k < neo_size_numbers(m); k++) {
    const char *name = neo_arena_printf(s->p->arena, "iteration:%u", k - first);
    neo_rt_size size = {name, INT64_MAX, INT64_MIN};
    NEO_PUSH(s->p->arena, &s->p->sizes, size);
  }
  for (uint32_t k = first + 1; k < m->sizes.n; k++) {
    neo_rt_size *size = &s->p->sizes.at[neo_size_number(m, (neo_size){k})];
    size->lo = m->sizes.at[k].lo < size->lo ? m->sizes.at[k].lo : size->lo;
    size->hi = m->sizes.at[k].hi > size->hi ? m->sizes.at[k].hi : size->hi;
  }
}

/* Derived sizes are listed, so that numbers are ids; no entry takes them, and no program uses them.
 */
void plan_store_fixed(plan_store *s) {
  neo_module *m = s->p->m;
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    neo_size_rec r = m->sizes.at[k];
    if (r.loop_index) /* indices of loops follow all other sizes */
      break;
    neo_rt_size size = {neo_name_text(m->names, r.name), r.lo, r.hi};
    NEO_PUSH(s->p->arena, &s->p->sizes, size);
  }
  fix_indices(s);
  for (size_t k = 0; k < m->asserts.n; k++)
    fix_assert(s->p, &m->asserts.at[k]);
  for (uint32_t k = 1; k < m->tensors.n; k++)
    fix_tensor(s, (neo_tensor){k});
  for (uint32_t k = 1; k < m->tensors.n; k++)
    fix_offsets(s, (neo_tensor){k});
}

static bool is_named(const plan_store *s, const char *name) {
  for (size_t k = 0; k < s->p->tensors.n; k++)
    if (neo_streq(s->p->tensors.at[k].name, name))
      return true;
  return false;
}

static bool same_storage(const neo_module *m, neo_tensor a, neo_tensor b) {
  const neo_tensor_rec *x = neo_tensor_at(m, a), *y = neo_tensor_at(m, b);
  bool same = x->type == y->type && x->extent.n == y->extent.n;
  for (uint32_t k = 0; same && k < x->extent.n; k++)
    same = neo_list_at(m, x->extent, k) == neo_list_at(m, y->extent, k);
  return same;
}

static bool has_number(const int32_t *at, size_t n, int32_t number) {
  for (size_t k = 0; k < n; k++)
    if (at[k] == number)
      return true;
  return false;
}

/* A name that no tensor has: "loss", "output:loss", "step:loss", "step:loss:2" ... */
static const char *output_name(plan_store *s, const char *entry, const char *text) {
  neo_arena *a = s->p->arena;
  const char *name = text;
  if (is_named(s, name))
    name = neo_arena_printf(a, "output:%s", text);
  if (is_named(s, name))
    name = neo_arena_printf(a, "%s:%s", entry, text);
  for (int k = 2; is_named(s, name); k++)
    name = neo_arena_printf(a, "%s:%s:%d", entry, text, k);
  return name;
}

int32_t plan_store_output(plan_store *s, const char *entry, uint32_t name, neo_tensor t,
                          const int32_t *taken, size_t n_taken) {
  for (size_t k = 0; k < s->outputs.n; k++) {
    plan_output o = s->outputs.at[k];
    if (o.name == name && same_storage(s->p->m, o.like, t) && !has_number(taken, n_taken, o.number))
      return o.number;
  }
  const char *text = output_name(s, entry, neo_name_text(s->p->m->names, name));
  int32_t number = add_named(s, t, NEO_RT_ROLE_OUTPUT, text);
  neo_type type = neo_tensor_type(s->p->m, t);
  int32_t buf = plan_store_buf(s, NEO_RT_MEM_CALLER, type, number, plan_store_max_bytes(s, t));
  s->p->tensors.at[number].buf = buf;
  NEO_PUSH(s->scratch, &s->outputs, (plan_output){name, number, t});
  return number;
}
