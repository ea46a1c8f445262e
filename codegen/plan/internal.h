/* Private to codegen/plan and its tests: functions that its files share. */
#pragma once
#include "codegen/dsa/dsa.h"
#include "codegen/plan/plan.h"

/* ---- plan/program.c: size expressions as programs of the runtime */
int32_t neo_plan_program(neo_plan *p, neo_expr e);        /* e over constants and sizes */
int32_t neo_plan_units(neo_plan *p, const neo_lx *units); /* over loop-IR sizes */
/* Marks the run-time sizes in e, by id; those in the value of a derived size too. */
void neo_plan_sizes(const neo_module *m, neo_expr e, bool *used);

/* ---- plan/store.c, for frame.c: tensors with names for callers, and the buffers of all tensors
 * outside of the frame */
typedef struct {
  uint32_t name; /* name id */
  int32_t number;
  neo_tensor like; /* a tensor that is returned under this name */
} plan_output;
typedef struct {
  neo_plan *p;
  neo_prover *prover;
  neo_arena *scratch;
  neo_map named;       /* tensor id -> number in p->tensors (inputs, settings, params, states) */
  neo_map buf_of;      /* tensor id -> buf, for tensors outside of the frame */
  neo_map parts;       /* hash of (buf, bytes) -> buf from there on */
  neo_map cached;      /* group -> number of its row in p->cached + 1 */
  neo_map cached_bufs; /* (entry's groups, tensor) -> buf in CACHED memory */
  NEO_VEC(plan_output) outputs;
} plan_store;
void plan_store_fixed(plan_store *s);
/* Number in p->tensors of an output of `entry` under `name`. Outputs of several entries that agree
 * in name, type and shape are one tensor, `taken` are those that this entry has already. */
int32_t plan_store_output(plan_store *s, const char *entry, uint32_t name, neo_tensor t,
                          const int32_t *taken, size_t n_taken);
int32_t plan_store_buf(plan_store *s, uint8_t mem, neo_type type, int64_t offset,
                       int64_t size_bytes);
/* The part of the buffer `buf` after its first `bytes`. */
int32_t plan_store_part(plan_store *s, int32_t buf, int64_t bytes);
/* Bytes of the memory that holds t, at the largest sizes. */
int64_t plan_store_max_bytes(plan_store *s, neo_tensor t);

/* ---- header_text.c: for the header */
/* The text as an identifier, in capitals. */
char *neo_plan_capitals(neo_arena *a, const char *s);
/* An identifier for `name` that is not among the n used ones: "a.b" and "a_b" are "a_b",
 * "a_b_2". */
const char *neo_plan_distinct(const neo_plan *p, const char *name, const char *const *used,
                              size_t n);
/* An identifier for each of n names, no two of them equal. */
const char **neo_plan_idents(const neo_plan *p, const char *const *names, size_t n);
/* Adds type, extents and range of a tensor: "i32 [B] in [0, 10)". */
void neo_plan_put_shape(const neo_plan *p, const neo_rt_tensor *t, neo_str *out);
/* ---- header_network.c: declares a network in the header */
void neo_plan_put_network(const neo_plan *p, const neo_plan_network *net, neo_str *out);

/* ---- record.c: fills `entry_symbols` after kernels and entries are added: "<prefix>_step", or
 * "<prefix>_load_entry" if the header has another function of that name. */
void plan_name_entries(neo_plan *p);

/* ---- plan/order.c, for entry.c */
typedef struct {
  plan_store *store;
  const neo_plan_input *in;
  bool roots_only; /* initialise the roots alone, not all parameters, states and settings */
} plan_entry_env;
typedef NEO_VEC(uint32_t) plan_groups;
/* The groups that `roots` need, in the order in which they run. updates: tensors that take effect
 * when the entry ends. entry: null for the entry of initial values. frugal: groups that free memory
 * run as early as possible. */
plan_groups plan_order(const plan_entry_env *env, neo_arena *scratch, const neo_map *updates,
                       const neo_tensor *roots, size_t n_roots, const neo_entry_rec *entry,
                       bool frugal);

/* ---- plan/places.c, for frame.c: an entry's frame at the sizes of a call */
typedef struct {
  const neo_dsa_item *items; /* planned */
  const neo_expr *bytes;     /* size of each item */
  const int32_t *buf;        /* buffer of each item */
  size_t n;
  bool always; /* separate buffers stay separate, even if they are not alive at the same time */
} plan_frame_items;
/* Adds the places of the entry; there are none if all of its sizes are fixed. */
void plan_places_add(neo_plan *p, neo_arena *scratch, const plan_frame_items *f, neo_rt_entry *e);
/* The bytes of the memory that holds t at the sizes of a call, for all iterations of the loops
 * around it. */
neo_expr plan_places_bytes(plan_store *s, neo_tensor t);

/* ---- plan/call_cache.c: results that stay in the context between calls */
/* The number of a cached group's row, + 1. The first call makes the row and the buffers of its
 * roots. */
int32_t plan_cached_group(const plan_entry_env *env, uint32_t group);
/* The buffer of a root of a cached group; false: t is no such root. */
bool plan_cached_buf(const plan_store *s, uint32_t entry, neo_tensor t, int32_t *buf);

/* ---- plan/cooperative.c: runs of an entry's steps that become one kernel each */
void plan_grid_add(const plan_entry_env *env, size_t entry);

/* ---- plan/entry.c, for plan.c: the steps of one entry */
void plan_entry_add(const plan_entry_env *env, const neo_entry_rec *e);
/* Adds the entry that computes all initial values; after it, if there are any, the entry that
 * computes the initial values of states which depend on parameters, for calls after these have been
 * loaded. */
void plan_entry_init(const plan_entry_env *env);
