/* Schedules are data: named parameters for a group, chosen by an analytic model of the target,
 * legality checked. */
#ifndef NEO_SCHEDULE_SCHEDULE_H
#define NEO_SCHEDULE_SCHEDULE_H
#include "fusion/group.h"

typedef enum {
#define X(name, text, meaning) NEO_SCHED_##name,
#include "schedule/sched.def"
#undef X
  NEO_SCHED_COUNT
} neo_sched_param;

typedef struct {
  int64_t at[NEO_SCHED_COUNT];
} neo_schedule;

/* Raised when what a schedule says comes to mean something else, by another meaning of a parameter
 * or by another lowering: records of schedules from before are then not used. A new parameter whose
 * plain value means what was before does not need it. */
#define NEO_SCHEDULE_MEANING 5

/* How products of pairs of bf16 are summed, as `matrix` of a processor's schedule says it: by tiles
 * of the matrix unit, or by dots of vectors (codegen/loop/tile.h). */
enum { NEO_PAIRS_TILES = 1, NEO_PAIRS_DOTS = 2 };

/* The part of a target that schedules depend on. */
typedef struct {
  uint32_t vector_bytes, vector_regs;
  int64_t l1_bytes, l2_bytes;
  bool fma;
  int matrix;       /* what it has of NEO_PAIRS_TILES and _DOTS; 0: neither */
  uint32_t threads; /* that kernels run on; 0: not known. Schedules are priced by it, no more */
  bool gpu;         /* units of work are threads */
  uint32_t warps;   /* generation of its warps' products (codegen/loop/warp.h): 75, 80, 90; 0: none */
  bool warpgroups;  /* and groups of four of them (codegen/loop/warpgroup.h) */
  bool async;       /* whose threads copy asynchronously into shared memory */
  int64_t shared_bytes; /* of that, what a block may ask for */
} neo_machine;

/* The analytic model's choice: legal for every group. */
neo_schedule neo_schedule_default(neo_module *m, const neo_group *g, const neo_machine *machine);
/* A random legal schedule, for tests. */
neo_schedule neo_schedule_random(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 uint64_t *seed);
/* *why says what is wrong. */
bool neo_schedule_legal(neo_module *m, const neo_group *g, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why);
/* No lanes, no tiles, one unit: legal for every group. */
neo_schedule neo_schedule_plain(void);
/* Name of a parameter, and what it means. */
const char *neo_sched_param_text(neo_sched_param k);
const char *neo_sched_param_meaning(neo_sched_param k);
void neo_schedule_print(const neo_schedule *s,
                        neo_str *out); /* "vector_axis=1 vector_width=8 ..." */
bool neo_schedule_parse(const char *text, neo_schedule *out);

#endif
