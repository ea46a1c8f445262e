/* The tensors that the caller can name, and where everything outside the frame lives. */
#include "codegen/plan_internal.h"
#include <assert.h>
#include <string.h>

enum { ALIGN = 64 };

int64_t plan_store_max_bytes(plan_store *s, neo_tensor t) {
  neo_module *m = s->p->m;
  neo_facts none = {0};
  int64_t bytes = neo_type_bytes((neo_type)neo_tensor_at(m, t)->type), lo, hi;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    bool bounded = neo_interval(s->prover, &none, neo_tensor_extent(m, t, k), &lo, &hi);
    assert(bounded && "sizes have bounds");
    if (!bounded || hi < 0)
      hi = 0;
    bytes *= hi;
  }
  return bytes;
}

int32_t plan_store_buf(plan_store *s, uint8_t mem, neo_type type, int64_t offset,
                       int64_t size_bytes) {
  neo_rt_buf b = {.mem = mem, .type = (uint8_t)type, .offset = offset, .size_bytes = size_bytes};
  NEO_PUSH(s->p->arena, &s->p->bufs, b);
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

/* Without the folder: the library must not depend on where it was compiled. */
static const char *place_of(const char *place) {
  const char *slash = strrchr(place, '/');
  return slash ? slash + 1 : place;
}

static int32_t add_named(plan_store *s, neo_tensor t, uint8_t role, const char *name) {
  neo_module *m = s->p->m;
  neo_tensor_rec r = *neo_tensor_at(m, t);
  neo_rt_tensor rt = {
      .name = name, .role = role, .type = r.type, .rank = (uint8_t)r.extent.n, .bound = -1};
  rt.place = place_of(neo_span_text(neo_diags_sources(m->diags), r.span));
  rt.in_safetensors =
      role == NEO_RT_ROLE_PARAM || role == NEO_RT_ROLE_STATE || role == NEO_RT_ROLE_SETTING;
  rt.extent = add_extents(s, t);
  if (r.bound.i && role == NEO_RT_ROLE_INPUT)
    rt.bound = neo_plan_program(s->p, r.bound);
  NEO_PUSH(s->p->arena, &s->p->tensors, rt);
  return (int32_t)s->p->tensors.n - 1;
}

/* Room of t at the end of a class; returns its offset. */
static int64_t reserve(int64_t *class_bytes, int64_t bytes) {
  int64_t at = *class_bytes;
  *class_bytes += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  return at;
}

static int64_t add_const(plan_store *s, const neo_tensor_rec *r) {
  int64_t at = (int64_t)s->p->const_data.n;
  const char *bytes = r->data;
  for (size_t k = 0; k < r->n_data_bytes; k++)
    NEO_PUSH(s->p->arena, &s->p->const_data, bytes[k]);
  while (s->p->const_data.n % ALIGN)
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

void plan_store_fixed(plan_store *s) {
  neo_module *m = s->p->m;
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    neo_size_rec r = m->sizes.at[k];
    assert(r.kind == NEO_SIZE_RUNTIME && "derived sizes are written as expressions");
    neo_rt_size size = {neo_name_text(m->names, r.name), r.lo, r.hi};
    NEO_PUSH(s->p->arena, &s->p->sizes, size);
  }
  for (uint32_t k = 1; k < m->tensors.n; k++)
    fix_tensor(s, (neo_tensor){k});
}

static bool taken(plan_store *s, const char *name) {
  for (size_t k = 0; k < s->p->tensors.n; k++)
    if (neo_streq(s->p->tensors.at[k].name, name))
      return true;
  return false;
}

int32_t plan_store_output(plan_store *s, uint32_t name, neo_tensor t) {
  uint64_t known;
  if (neo_map_get(&s->output_of, name, &known))
    return (int32_t)known;
  const char *text = neo_name_text(s->p->m->names, name);
  if (taken(s, text))
    text = neo_arena_printf(s->p->arena, "output:%s", text);
  int32_t number = add_named(s, t, NEO_RT_ROLE_OUTPUT, text);
  neo_type type = (neo_type)neo_tensor_at(s->p->m, t)->type;
  int32_t buf = plan_store_buf(s, NEO_RT_MEM_CALLER, type, number, plan_store_max_bytes(s, t));
  s->p->tensors.at[number].buf = buf;
  neo_map_set(&s->output_of, name, (uint64_t)number);
  return number;
}
