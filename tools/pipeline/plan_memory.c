/* See plan_memory.h. */
#include "tools/pipeline/plan_memory.h"
#include "ir/store.h"
#include "tools/pipeline/facts_parts.h"
#include <assert.h>

/* ---- regions */

static int64_t elements_of(const neo_plan_memory *x, neo_tensor t) {
  int64_t n = neo_tensor_elements_at(x->m, t, x->sizes, NULL);
  return n < 0 ? 0 : n;
}

static neo_plan_region *region_new(neo_plan_memory *x, const neo_rt_buf *b) {
  neo_plan_region *r = NEO_NEW(x->arena, neo_plan_region);
  *r = (neo_plan_region){
      .mem = b->mem, .type = (neo_type)b->type, .offset = b->offset, .size_bytes = b->size_bytes};
  if (b->place) {
    const neo_rti_place *at = &x->place[b->place - 1 - x->first_place];
    r->offset = at->at;
    r->size_bytes = at->end - at->at;
  }
  return r;
}

static void grow(neo_plan_memory *x, neo_plan_region *r, neo_tensor like, int64_t n) {
  neo_value *at = NEO_NEW_ARRAY(x->arena, neo_value, n + 1);
  neo_plan_cell *cell = NEO_NEW_ARRAY(x->arena, neo_plan_cell, n + 1);
  for (int64_t k = 0; k < r->n; k++) {
    at[k] = r->at[k];
    cell[k] = r->cell[k];
  }
  r->like = like;
  r->at = at;
  r->cell = cell;
  r->n = n;
}

/* Makes the region of a buffer long enough for tensor t: tensors of different length may share a
 * buffer. */
void neo_plan_memory_reach(neo_plan_memory *x, int32_t buf, neo_tensor t) {
  int32_t whole = x->plan->bufs.at[buf].whole - 1;
  neo_plan_region **r = &x->region[whole];
  int64_t n = elements_of(x, t);
  if (!*r)
    *r = region_new(x, &x->plan->bufs.at[whole]);
  assert((*r)->mem == NEO_RT_MEM_CALLER ||
         n * neo_type_bytes(neo_tensor_type(x->m, t)) <= (*r)->size_bytes);
  if (!(*r)->at || (*r)->n < n)
    grow(x, *r, t, n);
}

static bool share(const neo_plan_region *a, const neo_plan_region *b) {
  if (a->mem != b->mem || a->mem == NEO_RT_MEM_CALLER)
    return a->mem == b->mem && a->offset == b->offset;
  return a->offset < b->offset + b->size_bytes && b->offset < a->offset + a->size_bytes;
}

static void find_shares(neo_plan_memory *x) {
  for (size_t i = 0; i < x->plan->bufs.n; i++)
    for (size_t j = 0; x->region[i] && j < x->plan->bufs.n; j++)
      if (j != i && x->region[j] && share(x->region[i], x->region[j]))
        NEO_PUSH(x->arena, &x->region[i]->shares, (int32_t)j);
}

neo_plan_memory neo_plan_memory_new(neo_arena *a, neo_module *m, const neo_plan *plan,
                                    const neo_rt_entry *e, const int64_t *sizes,
                                    const neo_rti_place *place) {
  neo_plan_memory x = {
      .arena = a, .m = m, .plan = plan, .sizes = sizes, .place = place, .first_place = e->places};
  x.region = NEO_NEW_ARRAY(a, neo_plan_region *, plan->bufs.n + 1);
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps; i++) {
    const neo_rt_step *s = &plan->steps.at[i];
    for (int32_t k = s->first; k < s->first + neo_rti_step_args(s); k++)
      neo_plan_memory_reach(&x, plan->args.at[k], plan->arg_tensors.at[k]);
  }
  find_shares(&x);
  return x;
}

neo_plan_region *neo_plan_region_of(const neo_plan_memory *x, int32_t buf, int64_t *shift) {
  const neo_rt_buf *b = &x->plan->bufs.at[buf], *whole = &x->plan->bufs.at[b->whole - 1];
  int64_t bytes = b->mem == NEO_RT_MEM_CALLER ? b->shift : b->offset - whole->offset;
  *shift = bytes / neo_type_bytes((neo_type)b->type);
  return x->region[b->whole - 1];
}

/* ---- accesses */

void neo_plan_add_element(neo_str *out, const neo_module *m, const int64_t *sizes, neo_tensor t,
                          int64_t element) {
  int64_t extent[16], n = neo_tensor_elements_at(m, t, sizes, extent);
  t = neo_tensor_store(m, t);
  neo_str_add(out, neo_tensor_name(m, t));
  if (element < n)
    neo_fact_add_index(out, extent, neo_tensor_rank(m, t), element);
}

static bool meets(const neo_plan_memory *x, const neo_plan_region *r, int64_t at, int64_t unit,
                  int64_t other, neo_str *why) {
  if (other == NEO_PLAN_SEVERAL)
    neo_str_addf(why, "unit %lld and others meet at ", (long long)unit);
  else
    neo_str_addf(why, "units %lld and %lld meet at ", (long long)other, (long long)unit);
  neo_plan_add_element(why, x->m, x->sizes, r->like, at);
  return false;
}

void neo_plan_add_empty(neo_str *out, const neo_plan_memory *x, const neo_plan_region *r,
                        int64_t at, neo_tensor t) {
  neo_tensor over = r->cell[at].tensor;
  neo_str_add(out, "it reads ");
  neo_plan_add_element(out, x->m, x->sizes, t, at);
  if (over.i)
    neo_str_addf(out, ", where %s has been written since", neo_tensor_name(x->m, over));
  else
    neo_str_add(out, ", which nothing has written");
}

neo_memory_state neo_plan_memory_read(neo_plan_memory *x, neo_plan_region *r, int64_t at,
                                      uint32_t run, int64_t unit, bool adds, neo_str *why) {
  neo_plan_cell *c = &r->cell[at];
  if (!c->time)
    return NEO_MEMORY_EMPTY;
  if (adds)
    return NEO_MEMORY_HELD;
  if (c->written_in == run && c->written_by != unit) {
    (void)meets(x, r, at, unit, c->written_by, why);
    return NEO_MEMORY_BROKEN;
  }
  bool again = c->read_in == run && c->read_by != unit;
  c->read_by = again ? NEO_PLAN_SEVERAL : unit;
  c->read_in = run;
  return NEO_MEMORY_HELD;
}

/* Marks as lost the elements of other regions that share bytes with this element. */
static void overwrite(const neo_plan_memory *x, const neo_plan_region *r, int64_t at,
                      neo_tensor t) {
  int64_t size = neo_type_bytes(r->type), from = r->offset + at * size;
  for (size_t k = 0; k < r->shares.n; k++) {
    neo_plan_region *other = x->region[r->shares.at[k]];
    int64_t bytes = neo_type_bytes(other->type), first = from - other->offset;
    if (first + size <= 0)
      continue;
    int64_t lo = first < 0 ? 0 : first / bytes, hi = (first + size + bytes - 1) / bytes;
    for (int64_t i = lo; i < hi && i < other->n; i++)
      other->cell[i] = (neo_plan_cell){.tensor = t};
  }
}

bool neo_plan_memory_write(neo_plan_memory *x, neo_plan_region *r, int64_t at, neo_tensor t,
                           uint32_t run, int64_t unit, bool adds, neo_str *why) {
  neo_plan_cell *c = &r->cell[at];
  bool written = c->written_in == run && c->written_by != unit;
  bool read = c->read_in == run && c->read_by != unit;
  if (!adds && (written || read))
    return meets(x, r, at, unit, written ? c->written_by : c->read_by, why);
  *c = (neo_plan_cell){++x->time, t,          c->read_in,
                       run,       c->read_by, adds && written ? NEO_PLAN_SEVERAL : unit};
  overwrite(x, r, at, t);
  return true;
}
