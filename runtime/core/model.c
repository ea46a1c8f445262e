/* model.c: questions about a model record, and the check that a context can rely on it.
 *
 * The record comes from a generated library that may have been built by another version, so
 * creation checks versions, and that every reference and address is inside of what the model
 * declares. */
#include "runtime/internal.h"
#include <string.h>

typedef struct {
  const char *name;
  uint8_t bytes;
  bool is_int;
} type_info;
static const type_info types[] = {
    [NEO_RT_F64] = {"f64", 8, false},  [NEO_RT_F32] = {"f32", 4, false},
    [NEO_RT_F16] = {"f16", 2, false},  [NEO_RT_BF16] = {"bf16", 2, false},
    [NEO_RT_I64] = {"i64", 8, true},   [NEO_RT_I32] = {"i32", 4, true},
    [NEO_RT_I8] = {"i8", 1, true},     [NEO_RT_U8] = {"u8", 1, true},
    [NEO_RT_BOOL] = {"bool", 1, false}};
enum { N_TYPES = sizeof types / sizeof types[0] };

size_t neo_rti_type_bytes(uint8_t type) {
  return type < N_TYPES ? types[type].bytes : 0;
}
const char *neo_rti_type_name(uint8_t type) {
  return type < N_TYPES ? types[type].name : "?";
}
bool neo_rti_type_is_int(uint8_t type) {
  return type < N_TYPES && types[type].is_int;
}

const char *neo_rti_role_name(uint8_t role) {
  static const char *const names[] = {"input", "setting", "parameter", "state", "output"};
  return role <= NEO_RT_ROLE_OUTPUT ? names[role] : "?";
}

bool neo_rti_tensor_kept(const neo_rt_tensor *t) {
  return t->role == NEO_RT_ROLE_PARAM || t->role == NEO_RT_ROLE_STATE ||
         t->role == NEO_RT_ROLE_SETTING;
}

int32_t neo_rt_find(const neo_rt_model *model, const char *name) {
  if (!model || !name)
    return -1;
  for (int32_t i = 0; i < model->n_tensors; i++)
    if (strcmp(model->tensors[i].name, name) == 0)
      return i;
  return -1;
}

int32_t neo_rt_find_entry(const neo_rt_model *model, const char *name) {
  if (!model || !name)
    return -1;
  for (int32_t i = 0; i < model->n_entries; i++)
    if (strcmp(model->entries[i].name, name) == 0)
      return i;
  return -1;
}

/* The largest sizes, one at a time: programs grow with sizes, so extents at `hi` are the largest.
 * */
static int64_t eval_at_max(const neo_rt_model *m, int32_t program) {
  int64_t hi[64], x;
  if (m->n_sizes > 64)
    return -1;
  for (int32_t i = 0; i < m->n_sizes; i++)
    hi[i] = m->sizes[i].hi;
  return neo_rti_program_eval(m->programs + program, hi, m->n_sizes, &x) ? -1 : x;
}

int64_t neo_rti_eval(const neo_rt_model *m, int32_t program, const int64_t *sizes) {
  return sizes ? neo_rt_eval(m, program, sizes) : eval_at_max(m, program);
}

int64_t neo_rti_extents(const neo_rt_model *model, const neo_rt_tensor *t, const int64_t *sizes,
                        int64_t *extent) {
  int64_t n = 1;
  for (int d = 0; d < t->rank; d++) {
    int64_t x = neo_rti_eval(model, model->extents[t->extent + d], sizes);
    extent[d] = x < 0 ? 0 : x;
    if (!neo_rti_mul(n, extent[d], &n))
      n = INT64_MAX;
  }
  return n;
}

int64_t neo_rti_tensor_max_bytes(const neo_rt_model *model, const neo_rt_tensor *t) {
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(model, t, NULL, extent);
  return neo_rti_mul(n, (int64_t)neo_rti_type_bytes(t->type), &n) ? n : INT64_MAX;
}

/* An extent need not grow with its sizes (10 - B): the buffer knows the most. */
int64_t neo_rti_spill_bytes(const neo_rt_model *model, const neo_rt_tensor *t) {
  int64_t n = neo_rti_tensor_max_bytes(model, t), most = model->bufs[t->buf].size_bytes;
  return neo_rti_round_up(n > most ? n : most);
}

size_t neo_rti_kept_bytes(const neo_rt_ctx *ctx, const neo_rt_tensor *t, int64_t *extent) {
  int64_t own[NEO_RTI_MAX_RANK];
  return (size_t)neo_rti_extents(ctx->model, t, NULL, extent ? extent : own) *
         neo_rti_type_bytes(t->type);
}

int32_t neo_rti_model_positions(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_steps; i++) {
    const neo_rt_step *s = &m->steps[i];
    int32_t end = s->first + (s->op == NEO_RT_STEP_COPY ? 2 : s->n);
    if (end > n)
      n = end;
  }
  return n;
}

/* ------------------------------------------------------------ checking */

typedef struct {
  const neo_rt_model *m;
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
  return program >= 0 && eval_at_max(m, program) >= 0;
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
  case NEO_RT_MEM_KEPT:
    return m->kept_bytes;
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

static neo_rt_status check_tensor(const checker *c, int32_t i) {
  const neo_rt_model *m = c->m;
  const neo_rt_tensor *t = &m->tensors[i];
  if (t->role > NEO_RT_ROLE_OUTPUT || t->type >= N_TYPES || t->rank > NEO_RTI_MAX_RANK)
    return BROKEN(c, "%s: tensor %d has a bad role, type or rank", m->name, i);
  if (t->buf < 0 || t->buf >= m->n_bufs)
    return BROKEN(c, "%s: %s has no buffer", m->name, t->name);
  const neo_rt_buf *b = &m->bufs[t->buf];
  if (b->shift)
    return BROKEN(c, "%s: the buffer of %s is a part", m->name, t->name);
  if (t->role == NEO_RT_ROLE_INPUT && (b->mem != NEO_RT_MEM_CALLER || b->offset != i))
    return BROKEN(c, "%s: input %s is not the caller's buffer", m->name, t->name);
  for (int d = 0; d < t->rank; d++)
    if (!program_ok(m, m->extents[t->extent + d]))
      return BROKEN(c, "%s: %s has a bad extent", m->name, t->name);
  if (t->bound >= 0 && !program_ok(m, t->bound))
    return BROKEN(c, "%s: %s has a bad bound", m->name, t->name);
  int64_t bytes = neo_rti_tensor_max_bytes(m, t);
  if (bytes == INT64_MAX)
    return BROKEN(c, "%s: %s is too large", m->name, t->name);
  if (b->mem != NEO_RT_MEM_CALLER && bytes > b->size_bytes)
    return BROKEN(c, "%s: the buffer of %s is too small", m->name, t->name);
  if (neo_rti_tensor_kept(t) && b->mem != NEO_RT_MEM_PARAM && b->mem != NEO_RT_MEM_STATE)
    return BROKEN(c, "%s: %s does not live in the context", m->name, t->name);
  return NEO_OK;
}

static bool has_code(const neo_rt_model *m, const neo_rt_kernel *k) {
  if (!m->device)
    return k->fn != NULL;
  return k->device_symbol && k->block > 0 && k->block_units > 0 && k->persistent >= 0;
}

static neo_rt_status check_step(const checker *c, int32_t i) {
  const neo_rt_model *m = c->m;
  const neo_rt_step *s = &m->steps[i];
  bool ok = s->first >= 0 && s->keep >= 0 && s->keep <= m->n_keeps;
  int32_t n = s->n;
  if (ok && s->op == NEO_RT_STEP_RUN) {
    ok = s->arg >= 0 && s->arg < m->n_kernels && has_code(m, &m->kernels[s->arg]) &&
         program_ok(m, m->kernels[s->arg].units) &&
         m->kernels[s->arg].scratch_bytes <= m->scratch_bytes &&
         (!m->kernels[s->arg].fast || program_ok(m, m->kernels[s->arg].fast_units));
  } else if (ok) {
    ok = s->op == NEO_RT_STEP_COPY && program_ok(m, s->arg);
    n = 2;
  }
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
  int32_t n = s->op == NEO_RT_STEP_COPY ? 2 : s->n;
  for (int32_t k = 0; k < n; k++) {
    const neo_rt_buf *b = &c->m->bufs[c->m->args[s->first + k]];
    if (b->mem == NEO_RT_MEM_CALLER && !is_arg_of(c->m, e, b->offset))
      return BROKEN(c, "%s: entry %s uses %s, which is not its argument", c->m->name, e->name,
                    c->m->tensors[b->offset].name);
  }
  return NEO_OK;
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
  neo_rt_status status = NEO_OK;
  for (int32_t k = 0; !status && k < e->n_steps; k++)
    status = check_entry_step(c, e, &m->steps[e->first_step + k]);
  return status;
}

neo_rt_status neo_rti_model_check(const neo_rt_model *m, char *error, size_t error_bytes) {
  checker c = {m, error, error_bytes};
  neo_rt_status status = check_version(&c);
  if (!status && m->n_sizes > 64)
    status = BROKEN(&c, "%s: more than 64 run-time sizes", m->name);
  if (!status)
    status = check_bufs(&c);
  for (int32_t i = 0; !status && i < m->n_tensors; i++)
    status = check_tensor(&c, i);
  if (!status && !neo_rti_keep_check(m))
    status = BROKEN(&c, "%s: what is kept is malformed", m->name);
  for (int32_t i = 0; !status && i < m->n_steps; i++)
    status = check_step(&c, i);
  if (!status && !neo_rti_cuda_grids_check(m))
    status = BROKEN(&c, "%s: a grid of steps is malformed", m->name);
  for (int32_t i = 0; !status && i < m->n_entries; i++)
    status = check_entry(&c, i);
  return status;
}
