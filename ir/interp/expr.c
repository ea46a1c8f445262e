/* Evaluation of nodes on demand. */
#include "base/random.h"
#include "ir/interp/parts.h"
#include <stdarg.h>

static const neo_value zero = {.i = 0};

void neo_interp_frame_fail(neo_interp_frame *f, neo_status status, const char *fmt, ...) {
  va_list ap;
  if (f->status)
    return;
  f->status = status;
  va_start(ap, fmt);
  neo_str_add(f->why, neo_arena_vprintf(f->arena, fmt, ap));
  va_end(ap);
}

/* ---- loads */

static const char *tensor_name(const neo_interp_frame *f, uint32_t t) {
  return neo_tensor_name(f->m, (neo_tensor){t});
}

/* The name of the tensor that the frame computes, for messages; a tree's expressions have no
 * definition. */
static const char *made_name(const neo_interp_frame *f) {
  return f->d.out.n ? tensor_name(f, neo_list_at(f->m, f->d.out, 0)) : "the tree";
}

static void fail_range(neo_interp_frame *f, const neo_inode *n, uint32_t dim, int64_t index) {
  neo_interp_frame_fail(f, NEO_RANGE, "%s reads %s at index %lld of dimension %u, which has %lld",
                        made_name(f), tensor_name(f, n->attr), (long long)index, dim,
                        (long long)n->from->v.extent[dim]);
}

/* The linear index, -1 where it is out of range; an index that is not certain sets *error. */
static int64_t load_offset(neo_interp_frame *f, const neo_inode *n, bool guarded, double *error) {
  const neo_values *from = &n->from->v;
  int64_t at = 0;
  for (uint32_t k = 0; k < from->rank; k++) {
    int64_t i = neo_interp_frame_eval(f, n->arg[k]).i;
    if (f->env->track)
      *error += f->node.at[n->arg[k]].error;
    if (i < 0 || i >= from->extent[k]) {
      if (!guarded)
        fail_range(f, n, k, i);
      return -1;
    }
    at = at * from->extent[k] + i;
  }
  return at;
}

int64_t neo_interp_frame_offset(neo_interp_frame *f, const neo_inode *load_node, double *error) {
  return load_offset(f, load_node, false, error);
}

/* ---- cells of a tree's stores */

static int64_t cell_of(neo_interp_frame *where, const neo_interp_cells *c, const neo_values *v,
                       int64_t at) {
  int64_t cell = 0;
  for (uint32_t k = v->rank; k-- > 0; at /= v->extent[k])
    neo_interp_frame_set_axis(where, k, at % v->extent[k]);
  for (uint32_t k = 0; k < c->rank; k++) {
    int64_t x = neo_interp_frame_eval(where, c->at[k]).i;
    if (x < 0 || x >= c->extent[k])
      return -1;
    cell = cell * c->extent[k] + x;
  }
  return cell;
}

int64_t neo_interp_frame_cell(neo_interp_frame *f, const neo_interp_cells *c, const neo_values *v,
                              uint32_t tensor, int64_t at, bool read) {
  int64_t cell = c->where ? cell_of(c->where, c, v, at) : at;
  if (cell < 0) {
    neo_interp_frame_fail(f, NEO_INTERNAL, "element %lld of %s has no cell", (long long)at,
                          tensor_name(f, tensor));
    return -1;
  }
  if (!read || c->holds[cell] == at + 1)
    return cell;
  if (c->holds[cell])
    neo_interp_frame_fail(
        f, NEO_INTERNAL, "%s reads element %lld of %s, whose cell holds element %lld", made_name(f),
        (long long)at, tensor_name(f, tensor), (long long)c->holds[cell] - 1);
  else
    neo_interp_frame_fail(f, NEO_INTERNAL, "%s reads element %lld of %s before it is made",
                          made_name(f), (long long)at, tensor_name(f, tensor));
  return -1;
}

static neo_value load_cell(neo_interp_frame *f, neo_inode *n, int64_t at, double error) {
  const neo_interp_cells *c = n->from->cells;
  int64_t cell = neo_interp_frame_cell(f, c, &n->from->v, n->attr, at, true);
  if (cell < 0)
    return zero;
  if (f->env->track)
    n->error = error + (n->from->error_valid && c->error ? c->error[cell] : 0);
  return c->v[cell];
}

static neo_value load(neo_interp_frame *f, neo_inode *n) {
  double error = 0;
  bool guarded = n->op == NEO_OP_LOAD_ELSE;
  int64_t at = load_offset(f, n, guarded, &error);
  if (at >= 0 && n->from->cells)
    return load_cell(f, n, at, error);
  if (at >= 0) {
    if (f->env->track)
      n->error = error + (n->from->error_valid ? n->from->error[at] : 0);
    return n->from->v.at[at];
  }
  if (!guarded)
    return zero;
  neo_value v = neo_interp_frame_eval(f, n->arg[n->n_arg - 1]);
  if (f->env->track)
    n->error = error + f->node.at[n->arg[n->n_arg - 1]].error;
  return v;
}

/* ---- operators that may leave an argument unevaluated */

static neo_value logic(neo_interp_frame *f, neo_inode *n) {
  bool decides = n->op == NEO_OP_OR; /* the value that needs no second argument */
  neo_value x = neo_interp_frame_eval(f, n->arg[0]);
  double error = f->node.at[n->arg[0]].error;
  if ((x.i != 0) != decides) {
    x = neo_interp_frame_eval(f, n->arg[1]);
    /* A certain second argument may decide alone. */
    double second = f->node.at[n->arg[1]].error;
    error = second == 0 && (x.i != 0) == decides ? 0 : error + second;
  }
  n->error = error;
  return x;
}

static neo_value select_one(neo_interp_frame *f, neo_inode *n) {
  neo_value c = neo_interp_frame_eval(f, n->arg[0]);
  uint32_t taken = n->arg[c.i ? 1 : 2];
  neo_value v = neo_interp_frame_eval(f, taken);
  n->error = f->node.at[n->arg[0]].error + f->node.at[taken].error;
  return v;
}

static neo_value random_number(neo_interp_frame *f, neo_inode *n) {
  uint64_t element = (uint64_t)neo_interp_frame_eval(f, n->arg[0]).i;
  const neo_interp_env *env = f->env;
  double x = neo_rand_uniform(env->seed, env->step, n->attr, (uint32_t)env->call, element);
  return (neo_value){.f = neo_value_round((neo_type)n->type, x)};
}

/* Evaluates an operator. The two that matter for time are inlined, without the operator table. */
static neo_value operation(neo_interp_frame *f, neo_inode *n) {
  neo_value x[3];
  double e[3];
  for (uint32_t k = 0; k < n->n_arg; k++)
    x[k] = neo_interp_frame_eval(f, n->arg[k]);
  if (!f->env->track) {
    if (n->op == NEO_OP_MUL && n->type == NEO_F32_T)
      return (neo_value){.f = (double)(float)(x[0].f * x[1].f)};
    if (n->op == NEO_OP_ADD && n->type == NEO_I64_T)
      return (neo_value){.i = (int64_t)((uint64_t)x[0].i + (uint64_t)x[1].i)};
    return neo_value_op((neo_op)n->op, (neo_type)n->type, (neo_type)n->arg_type, x);
  }
  for (uint32_t k = 0; k < n->n_arg; k++)
    e[k] = f->node.at[n->arg[k]].error;
  neo_value y = neo_value_op((neo_op)n->op, (neo_type)n->type, (neo_type)n->arg_type, x);
  n->error = neo_error_op((neo_op)n->op, (neo_type)n->type, (neo_type)n->arg_type, x, e, y);
  if (f->m->math == NEO_PRECISION_3XTF32 && n->op == NEO_OP_MUL && n->type == NEO_F32_T)
    n->error += neo_error_split(x, y.f);
  return y;
}

static neo_value compute(neo_interp_frame *f, neo_inode *n) {
  switch ((neo_op)n->op) {
  case NEO_OP_ACC:
    n->error = f->acc_error[n->attr];
    return f->acc[n->attr];
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    return load(f, n);
  case NEO_OP_AND:
  case NEO_OP_OR:
    return logic(f, n);
  case NEO_OP_SELECT:
    return select_one(f, n);
  case NEO_OP_RAND:
    return random_number(f, n);
  default:
    return operation(f, n);
  }
}

/* Constants, sizes, `training` and `step` were filled in when the node was made. */
static bool is_fixed(neo_op op) {
  return op == NEO_OP_CONST || op == NEO_OP_SIZE || op == NEO_OP_TRAINING || op == NEO_OP_STEP;
}

neo_value neo_interp_frame_eval(neo_interp_frame *f, uint32_t node) {
  neo_inode *n = &f->node.at[node];
  if (n->op == NEO_OP_AXIS)
    return (neo_value){.i = f->axis[n->attr]};
  if (n->stamp >= f->since[n->level] || is_fixed((neo_op)n->op))
    return n->v;
  n->v = compute(f, n);
  n->stamp = f->tick;
  return n->v;
}

void neo_interp_frame_set_axis(neo_interp_frame *f, uint32_t k, int64_t x) {
  f->axis[k] = x;
  f->tick++;
  for (uint32_t level = k + 1; level <= f->d.axes.n; level++)
    f->since[level] = f->tick;
}

void neo_interp_frame_forget(neo_interp_frame *f) {
  f->tick++;
  for (uint32_t level = 0; level <= f->d.axes.n; level++)
    f->since[level] = f->tick;
}
