/* Private to codegen/plan: the planner of one entry. entry.c makes its steps, frame.c the memory of
 * its tensors, choices.c finds results of branches that share memory with the chosen value. */
#pragma once
#include "codegen/plan/exclusive.h"
#include "codegen/plan/internal.h"

typedef struct {
  const plan_entry_env *env;
  neo_plan *p;
  neo_module *m;
  neo_arena *scratch;
  const neo_entry_rec *entry; /* null: init */
  const neo_grouping *grouping;
  plan_groups order;
  int32_t *output;    /* [output of the entry] number in p->tensors */
  neo_map outputs;    /* tensors that the entry returns */
  neo_map updates;    /* tensors that take effect when it ends */
  neo_map last_read;  /* tensor -> last step that reads it */
  neo_map last_write; /* tensor -> last step that writes it */
  neo_map buf_of;     /* tensor -> buf in this entry */
  neo_map item_of;    /* tensor -> item */
  NEO_VEC(neo_dsa_item) items;
  NEO_VEC(neo_expr) item_bytes; /* at the sizes of a call */
  NEO_VEC(neo_tensor) item_tensor;
  NEO_VEC(neo_conditions)
  item_when; /* [item] the conditions under which all of its tensors are written */
  NEO_VEC(plan_lives)
  item_lives; /* [item] lifetimes of the branches' results in it; none if it has other tensors */
  size_t *item_into; /* [item] the item whose memory it shares */
  /* tensor -> the tensor whose memory it shares: the chosen value; or one that is never computed in
   * the same call; or the concatenation that it is a part of */
  neo_map same_place;
  bool *taken; /* [step] the chosen values of its group are in their memory already */
  NEO_VEC(neo_tensor) in_place; /* in the item of another one */
  int32_t *
      /* [group of the order] its first step, from 0; then the first one after all groups */
      first_step;
  uint8_t depth; /* number of loops around the steps that are added */
} planner;

static inline const neo_group *group_at(const planner *q, size_t step) {
  return &q->grouping->groups.at[q->order.at[step]];
}
static inline neo_role role_of(const planner *q, neo_tensor t) {
  return (neo_role)neo_tensor_at(q->m, t)->role;
}
static inline neo_tensor replaced(const planner *q, neo_tensor update) {
  return neo_tensor_at(q->m, update)->updates;
}

static inline bool is_update(const planner *q, neo_tensor t) {
  return neo_map_get(&q->updates, t.i, NULL);
}
static inline bool is_output(const planner *q, neo_tensor t) {
  return neo_map_get(&q->outputs, t.i, NULL);
}

static inline uint32_t n_outputs(const planner *q) {
  return q->entry ? q->entry->outputs.n : 0;
}
static inline neo_tensor output_at(const planner *q, uint32_t k) {
  return neo_list_tensor(q->m, q->entry->outputs, k);
}

static inline void set_buf(planner *q, neo_tensor t, int32_t buf) {
  neo_map_set(&q->buf_of, t.i, (uint64_t)buf);
}

static inline bool has_buf(const planner *q, neo_tensor t, int32_t *buf) {
  uint64_t b;
  if (!neo_map_get(&q->buf_of, t.i, &b) && !neo_map_get(&q->env->store->buf_of, t.i, &b))
    return false;
  *buf = (int32_t)b;
  return true;
}

static inline neo_conditions conditions_at(const planner *q, size_t step) {
  const neo_group *g = group_at(q, step);
  return (neo_conditions){(uint32_t)g->when.n, g->when.at};
}

/* The tree of loops of a group; its root is null if the group is one kernel. */
static inline const neo_plan_tree *tree_at(const planner *q, size_t at) {
  return &q->env->in->tree_of_group[q->order.at[at]];
}

/* ---- plan/choices.c */
/* Finds tensors that share memory with the value that a `case` chooses from them, and the groups
 * that choose. Outer choices come first: one of their alternatives may be the result of an inner
 * choice. */
void plan_find_choices(planner *q);
static inline neo_tensor place_of(const planner *q, neo_tensor t) {
  uint64_t of;
  while (true)
    if (neo_map_get(&q->same_place, t.i, &of))
      t.i = (uint32_t)of;
    else if (neo_tensor_at(q->m, t)->within.i)
      t = neo_tensor_at(q->m, t)->within;
    else
      return t;
}

/* ---- plan/frame.c, for entry.c */
/* Binds outputs to the caller's memory; then plans buffers for all other tensors. */
void plan_bind_outputs(planner *q);
void plan_frame(planner *q, neo_rt_entry *e);
int64_t
plan_frame_bound(planner *q); /* a lower bound of the frame's bytes; q is not used afterwards */
