/* model_check.c: the check that a context can rely on a model record.
 *
 * The record comes from a generated library that another version may have built, so the creation of
 * a context checks versions, and that every reference and address is within the model's
 * declarations. */
#include "runtime/core/call_cache.h"
#include "runtime/core/frame.h"
#include "runtime/processor.h"

typedef struct {
  const neo_rt_model *m;
  const neo_rti_device *device;
  char *error;
  size_t error_bytes;
} checker;

#define BROKEN(c, ...) neo_rti_say((c)->error, (c)->error_bytes, NEO_INTERNAL, __VA_ARGS__)

static neo_rt_status check_version(const checker *c) {
  const neo_rt_model *m = c->m;
  if (m->abi != NEO_RT_ABI)
    return neo_rti_say(c->error, c->error_bytes, NEO_ABI,
                       "the model was generated for ABI %u, this libneort has ABI %d",
                       (unsigned)m->abi, NEO_RT_ABI);
  char missing[256];
  if (!neo_rti_features_check(m->features, missing, sizeof missing))
    return neo_rti_say(c->error, c->error_bytes, NEO_UNSUPPORTED,
                       "%s was compiled for CPU features that this machine lacks: %s", m->name,
                       missing);
  return NEO_OK;
}

static bool program_ok(const neo_rt_model *m, int32_t program) {
  return program >= 0 && neo_rti_eval(m, program, NULL) >= 0;
}

/* Whether the program computes a value. Its value at the largest sizes may be wrong for an
 * iteration of a loop, so the value itself is not checked. */
static bool program_formed(const neo_rt_model *m, int32_t program) {
  int64_t most[NEO_RT_MOST_SIZES], x;
  for (int32_t i = 0; i < m->n_sizes; i++)
    most[i] = m->sizes[i].hi;
  return program >= 0 &&
         neo_rti_program_eval(m->programs + program, most, m->n_sizes, &x) == NEO_OK;
}

static bool is_constant(const neo_rt_model *m, int32_t program) {
  return program >= 0 && m->programs[program] == NEO_RT_OP_CONST &&
         m->programs[program + 2] == NEO_RT_OP_END;
}

/* Whether an extent is well formed. It need not grow with its sizes: 4 - N*M, with an assertion
 * that N*M is at most 4, is negative at the largest sizes. A call with such sizes is refused before
 * any work is done. */
static bool extent_ok(const neo_rt_model *m, int32_t program) {
  return is_constant(m, program) ? program_ok(m, program) : program_formed(m, program);
}

static int64_t class_bytes(const neo_rt_model *m, uint8_t mem) {
  switch (mem) {
  case NEO_RT_MEM_PARAM:
    return m->param_bytes;
  case NEO_RT_MEM_STATE:
    return m->state_bytes;
  case NEO_RT_MEM_FRAME:
    return m->frame_bytes;
  case NEO_RT_MEM_SCRATCH:
    return m->scratch_bytes;
  case NEO_RT_MEM_CACHED:
    return m->cached_bytes;
  default:
    return INT64_MAX;
  }
}

static neo_rt_status check_bufs(const checker *c) {
  for (int32_t i = 0; i < c->m->n_bufs; i++) {
    const neo_rt_buf *b = &c->m->bufs[i];
    int64_t end;
    bool ok = b->mem < NEO_RTI_N_MEM && b->offset >= 0 && b->size_bytes >= 0 &&
              !__builtin_add_overflow(b->offset, b->size_bytes, &end);
    if (ok && b->mem == NEO_RT_MEM_CALLER)
      ok = b->offset < c->m->n_tensors && b->shift >= 0;
    else if (ok)
      ok = end <= class_bytes(c->m, b->mem) && b->shift == 0;
    if (!ok)
      return BROKEN(c, "%s: buffer %d is outside of its memory", c->m->name, i);
  }
  return NEO_OK;
}

/* Checks that offsets, and tensors that they cut into lists, are inputs of integers of one
 * dimension. */
static bool offsets_ok(const neo_rt_model *m, const neo_rt_tensor *t) {
  if (t->offsets < 0 || t->offsets > m->n_tensors)
    return false;
  const neo_rt_tensor *of = &m->tensors[t->offsets - 1];
  return t->role == NEO_RT_ROLE_INPUT && of->role == NEO_RT_ROLE_INPUT && t->rank == 1 &&
         of->rank == 1 && neo_rti_type_is_int(t->type) && neo_rti_type_is_int(of->type) &&
         of->bound >= 0;
}

static neo_rt_status check_tensor(const checker *c, int32_t i) {
  const neo_rt_model *m = c->m;
  const neo_rt_tensor *t = &m->tensors[i];
  if (t->role > NEO_RT_ROLE_OUTPUT || neo_rti_type_bytes(t->type) == 0 ||
      t->rank > NEO_RTI_MAX_RANK)
    return BROKEN(c, "%s: tensor %d has a bad role, type or rank", m->name, i);
  if (t->buf < 0 || t->buf >= m->n_bufs)
    return BROKEN(c, "%s: %s has no buffer", m->name, t->name);
  const neo_rt_buf *b = &m->bufs[t->buf];
  if (b->shift)
    return BROKEN(c, "%s: the buffer of %s is a part", m->name, t->name);
  if (t->role == NEO_RT_ROLE_INPUT && (b->mem != NEO_RT_MEM_CALLER || b->offset != i))
    return BROKEN(c, "%s: input %s is not the caller's buffer", m->name, t->name);
  for (int d = 0; d < t->rank; d++)
    if (!extent_ok(m, m->extents[t->extent + d]))
      return BROKEN(c, "%s: %s has a bad extent", m->name, t->name);
  if (t->bound >= 0 && !program_formed(m, t->bound))
    return BROKEN(c, "%s: %s has a bad bound", m->name, t->name);
  for (int k = 0; t->ends && k < 2; k++) {
    int32_t end = m->extents[t->ends - 1 + k];
    if (end >= 0 && !program_formed(m, end))
      return BROKEN(c, "%s: %s has a bad bound", m->name, t->name);
    for (int d = 0; d < t->rank; d++)
      if (!is_constant(m, m->extents[t->ends + 1 + k * t->rank + d]))
        return BROKEN(c, "%s: %s has a bad bound", m->name, t->name);
  }
  if (t->offsets && !offsets_ok(m, t))
    return BROKEN(c, "%s: %s has bad offsets", m->name, t->name);
  int64_t bytes = neo_rti_most_bytes(m, t);
  if (bytes == INT64_MAX)
    return BROKEN(c, "%s: %s is too large", m->name, t->name);
  if (b->mem != NEO_RT_MEM_CALLER && bytes > b->size_bytes)
    return BROKEN(c, "%s: the buffer of %s is too small", m->name, t->name);
  if (neo_rti_tensor_persists(t) && b->mem != NEO_RT_MEM_PARAM && b->mem != NEO_RT_MEM_STATE)
    return BROKEN(c, "%s: %s does not live in the context", m->name, t->name);
  return NEO_OK;
}

static bool loop_ok(const neo_rt_model *m, const neo_rt_step *s, int32_t i) {
  bool ok = s->arg >= 0 && s->arg < m->n_loops && s->n >= 0 && s->n < m->n_steps - i;
  const neo_rt_loop *l = ok ? &m->loops[s->arg] : NULL;
  ok = ok && l->index >= -1 && l->index < m->n_sizes && program_formed(m, l->lo) &&
       program_formed(m, l->hi);
  if (ok && s->flags & NEO_RT_STEP_BLOCKS)
    ok = l->index >= 0 && l->begin > l->index && l->begin < m->n_sizes && l->end > l->index &&
         l->end < m->n_sizes;
  if (ok && s->flags & (NEO_RT_STEP_ASKS | NEO_RT_STEP_ENDS))
    ok = !(s->flags & NEO_RT_STEP_BLOCKS) && !m->device && program_formed(m, l->element);
  for (int32_t k = i + 1; ok && k <= i + s->n; k++) /* inner loops end within it */
    ok = m->steps[k].op != NEO_RT_STEP_LOOP || k + m->steps[k].n <= i + s->n;
  return ok;
}

/* Whether the step is inside of a loop. */
static bool in_loop(const neo_rt_model *m, int32_t step) {
  bool inside = false;
  for (int32_t i = 0; i < step && !inside; i++)
    inside = m->steps[i].op == NEO_RT_STEP_LOOP && step <= i + m->steps[i].n;
  return inside;
}

static bool kernel_ok(const checker *c, int32_t i) {
  const neo_rt_model *m = c->m;
  if (m->steps[i].arg < 0 || m->steps[i].arg >= m->n_kernels)
    return false;
  const neo_rt_kernel *k = &m->kernels[m->steps[i].arg];
  bool (*units_ok)(const neo_rt_model *, int32_t) = in_loop(m, i) ? program_formed : program_ok;
  return c->device->has_code(k) && units_ok(m, k->units) && k->scratch_bytes <= m->scratch_bytes &&
         (!k->fast || units_ok(m, k->fast_units));
}

static neo_rt_status check_step(const checker *c, int32_t i) {
  const neo_rt_model *m = c->m;
  const neo_rt_step *s = &m->steps[i];
  bool ok = neo_rti_step_kind(s) && !neo_rti_step_alien_flags(s) && s->first >= 0 &&
            s->cached >= 0 && s->cached <= m->n_cached;
  int32_t n = neo_rti_step_args(s);
  if (ok && s->op == NEO_RT_STEP_RUN)
    ok = kernel_ok(c, i);
  else if (ok && s->op == NEO_RT_STEP_LOOP)
    ok = loop_ok(m, s, i);
  else if (ok)
    ok = program_ok(m, s->arg);
  for (int32_t k = 0; ok && k < n; k++)
    ok = m->args[s->first + k] >= 0 && m->args[s->first + k] < m->n_bufs;
  return ok ? NEO_OK : BROKEN(c, "%s: step %d is malformed", m->name, i);
}

static bool is_arg_of(const neo_rt_model *m, const neo_rt_entry *e, int64_t tensor) {
  for (int32_t i = 0; i < e->n_args; i++)
    if (m->entry_args[e->args + i] == tensor)
      return true;
  return false;
}

/* Every caller's buffer that a step uses is an argument of the entry. */
static neo_rt_status check_entry_step(const checker *c, const neo_rt_entry *e,
                                      const neo_rt_step *s) {
  int32_t n = neo_rti_step_args(s);
  for (int32_t k = 0; k < n; k++) {
    const neo_rt_buf *b = &c->m->bufs[c->m->args[s->first + k]];
    if (b->mem == NEO_RT_MEM_CALLER && !is_arg_of(c->m, e, b->offset))
      return BROKEN(c, "%s: entry %s uses %s, which is not its argument", c->m->name, e->name,
                    c->m->tensors[b->offset].name);
  }
  return NEO_OK;
}

static bool place_ok(const neo_rt_model *m, const neo_rt_entry *e, int32_t k) {
  const neo_rt_place *x = &m->places[e->places + k];
  const neo_rt_buf *b = x->buf >= 0 && x->buf < m->n_bufs ? &m->bufs[x->buf] : NULL;
  bool ok = x->offset >= 0 && x->below >= 0 && x->n_below >= 0 &&
            x->n_below <= m->n_places_below - x->below && (b || x->buf == -1);
  if (ok && b)
    ok = b->mem == NEO_RT_MEM_FRAME && b->offset == x->offset && b->whole == x->buf + 1 &&
         b->offset + b->size_bytes <= e->frame_bytes && x->bytes >= 0 &&
         neo_rti_eval(m, x->bytes, NULL) >= 0;
  for (int32_t i = 0; ok && i < x->n_below; i++) { /* ends at the beginning of x, or before */
    int32_t under = m->places_below[x->below + i];
    const neo_rt_place *y = under >= 0 && under < k ? &m->places[e->places + under] : NULL;
    int64_t bytes = y && y->buf >= 0 ? neo_rti_round_up(m->bufs[y->buf].size_bytes) : 0;
    ok = y && y->offset + bytes <= x->offset;
  }
  return ok;
}

static bool buf_ok(const neo_rt_model *m, const neo_rt_entry *e, const neo_rt_buf *b) {
  if (b->mem != NEO_RT_MEM_FRAME || !b->size_bytes)
    return true;
  if (!e->n_places)
    return b->offset + b->size_bytes <= e->frame_bytes;
  const neo_rt_buf *w = b->whole > 0 && b->whole <= m->n_bufs ? &m->bufs[b->whole - 1] : NULL;
  return w && w->mem == NEO_RT_MEM_FRAME && w->offset <= b->offset &&
         b->offset + b->size_bytes <= w->offset + w->size_bytes && w->place > e->places &&
         w->place <= e->places + e->n_places && m->places[w->place - 1].buf == b->whole - 1;
}

/* Whether the entry's table of buffers, and the addresses in it, are sound. */
static bool frame_check(const neo_rt_model *m, const neo_rt_entry *e) {
  bool ok = e->places >= 0 && e->n_places >= 0 && e->n_places <= m->n_places - e->places &&
            e->frame_bytes >= 0 && e->frame_bytes <= m->frame_bytes;
  for (int32_t k = 0; ok && k < e->n_places; k++)
    ok = place_ok(m, e, k);
  for (int32_t i = e->first_step; ok && i < e->first_step + e->n_steps; i++) {
    const neo_rt_step *s = &m->steps[i];
    for (int32_t k = s->first; ok && k < s->first + neo_rti_step_args(s); k++)
      ok = buf_ok(m, e, &m->bufs[m->args[k]]);
  }
  return ok;
}

static neo_rt_status check_entry(const checker *c, int32_t i) {
  const neo_rt_model *m = c->m;
  const neo_rt_entry *e = &m->entries[i];
  bool ok = e->first_step >= 0 && e->n_steps >= 0 && e->first_step + e->n_steps <= m->n_steps &&
            e->n_inputs >= 0 && e->n_inputs <= e->n_args;
  for (int32_t k = 0; ok && k < e->n_args; k++) {
    int32_t t = m->entry_args[e->args + k];
    ok = t >= 0 && t < m->n_tensors;
    if (ok && k < e->n_inputs)
      ok = m->tensors[t].role == NEO_RT_ROLE_INPUT;
  }
  for (int32_t k = 0; ok && k < e->n_sizes; k++) {
    int32_t z = m->entry_sizes[e->sizes + k];
    ok = z >= 0 && z < m->n_sizes;
  }
  if (!ok)
    return BROKEN(c, "%s: entry %d is malformed", m->name, i);
  if (!frame_check(m, e))
    return BROKEN(c, "%s: the frame of entry %d is malformed", m->name, i);
  neo_rt_status status = NEO_OK;
  for (int32_t k = 0; ok && k < e->n_steps; k++) {
    const neo_rt_step *s = &m->steps[e->first_step + k];
    if (s->op == NEO_RT_STEP_LOOP && s->n >= e->n_steps - k)
      return BROKEN(c, "%s: a loop of entry %d has no end", m->name, i);
  }
  for (int32_t k = 0; !status && k < e->n_steps; k++)
    status = check_entry_step(c, e, &m->steps[e->first_step + k]);
  return status;
}

neo_rt_status neo_rti_model_check(const neo_rt_model *m, char *error, size_t error_bytes) {
  checker c = {m, neo_rti_device_of(m), error, error_bytes};
  neo_rt_status status = check_version(&c);
  if (!status && m->n_sizes > NEO_RT_MOST_SIZES)
    status = BROKEN(&c, "%s: more than %d run-time sizes", m->name, NEO_RT_MOST_SIZES);
  if (!status)
    status = check_bufs(&c);
  for (int32_t i = 0; !status && i < m->n_tensors; i++)
    status = check_tensor(&c, i);
  if (!status && !neo_rti_call_cache_check(m))
    status = BROKEN(&c, "%s: the table of call-invariant values is malformed", m->name);
  for (int32_t i = 0; !status && i < m->n_steps; i++)
    status = check_step(&c, i);
  if (!status && !c.device->model_ok(m))
    status = BROKEN(&c, "%s: a grid of steps is malformed", m->name);
  for (int32_t i = 0; !status && i < m->n_entries; i++)
    status = check_entry(&c, i);
  return status;
}
