/* What the files of the loop IR's interpreter share: its state. loop/interp.c runs statements,
 * loop/interp_block.c those of a block's threads together, loop/interp_box.c those of boxes,
 * mbarriers and producers; loop/interp_expr.c evaluates expressions. */
#ifndef NEO_CODEGEN_LOOP_INTERP_H
#define NEO_CODEGEN_LOOP_INTERP_H
#include "codegen/loop/loop.h"

enum { UNDEFINED, DEFINED, ON_ITS_WAY }; /* of an element; the last: a warpgroup adds to it */
typedef struct {
  neo_value *at;
  uint8_t *defined;
  uint64_t batch; /* the last WGMMA statement that adds to it */
  int64_t n;      /* elements, of all threads */
  int64_t each;   /* of one thread; 0: it is not of threads */
} reg_store;

/* Who met at an element of a buffer in the THREAD loop that ran as number `epoch`. */
enum { NOBODY = -1, SEVERAL = -2 };
typedef struct {
  uint64_t epoch;
  int32_t writer, reader;
} access;

/* Elements of a buffer that a WGMMA statement reads until it is waited for. */
typedef struct {
  uint64_t batch;
  uint32_t buf;
  int64_t lo, hi;
} reading;

/* Phases of an mbarrier: begun, waited for; bytes of the last one that are to come, and that have
 * come. Phases of one that consumers arrive at complete when they begin. */
typedef struct {
  int64_t begun, waited, expected, copied;
  bool arrived;
} mbarrier;

/* What an element that a TMA copy writes waits for. */
typedef struct {
  const mbarrier *of;
  int64_t phase;
} awaited;

/* What a producer does, with all values that it takes: EXPECT_TX, TMA_COPY, MBARRIER_WAIT. */
typedef struct {
  const neo_ls *s;
  neo_element mbarrier;
  int64_t at, parity, to;          /* at: which mbarrier */
  int64_t first[2 * NEO_BOX_RANK]; /* TMA_COPY: where the box begins, the tensor's extents */
} deed;

typedef struct {
  const neo_kernel *k;
  const neo_kernel_run *run;
  neo_arena arena;
  neo_str *why;
  bool failed;
  int64_t *var;
  reg_store *reg;
  struct {
    uint64_t stamp;
    neo_value value;
  } * memo; /* by node id */
  uint64_t stamp;
  int64_t threads; /* of THREAD loops; 0: there are none */
  int32_t thread;  /* the iteration of the one around; NOBODY: none is */
  uint64_t epoch, seed;
  access **met; /* [buffer][element]; null without THREAD loops */
  /* Groups of copies, counted from 1: the one that is open, the last that is there, the last that
   * has copies. */
  int64_t group, there, started;
  /* [buffer][element]: the group that writes it, -1 - k: awaiting.at[k]; null: no scratch of
   * threads */
  int64_t **copied;
  mbarrier **mbarriers; /* [buffer][element] of scratch of i64 */
  NEO_VEC(awaited) awaiting;
  bool notes; /* deeds are noted, not done */
  struct {
    NEO_VEC(deed) all;
    size_t done;
    bool at_work; /* consumers run meanwhile */
  } producer;
  neo_tile *tile; /* null: the kernel uses none */
  bool tile_defined[NEO_TILE_COUNT];
  uint64_t batch; /* WGMMA statements so far */
  NEO_VEC(reading) readings;
} interp;

/* The first failure is the one that is told. */
void neo_li_fail(interp *p, const char *what, const char *name, int64_t at, int64_t n);
neo_value neo_li_eval(interp *p, const neo_lx *e);
int64_t neo_li_reg_element(interp *p, uint32_t reg, const neo_lx *const *index, size_t n);
bool neo_li_in_buffer(interp *p, uint32_t buf, int64_t at, const char *what);
neo_value neo_li_load_at(interp *p, uint32_t buf, int64_t at);
/* Before an access to what may lie in scratch. */
void neo_li_settled(interp *p, uint32_t buf, int64_t at, const char *what);
/* Does no warpgroup read it any more? */
void neo_li_free_of_products(interp *p, uint32_t buf, int64_t at);
/* This thread is at an element of a buffer: others that were in the same loop must not mind. */
void neo_li_meet(interp *p, uint32_t buf, int64_t at, bool write);
/* A number of 4 bytes as its bits, and back. */
uint32_t neo_li_bits(neo_type t, neo_value v);
neo_value neo_li_of_bits(neo_type t, uint32_t u);
/* A number below n, of the run's seed. */
int64_t neo_li_pick(interp *p, int64_t n);

/* ---- loop/interp_block.c: SHUFFLE, MMA, LDMATRIX, WGMMA, WGMMA_WAIT, COPY, COPY_COMMIT, COPY_WAIT;
 * at the end of a unit, where no product, and no copy, may be under way */
void neo_li_block(interp *p, const neo_ls *s);
void neo_li_end_products(interp *p);
void neo_li_end_copies(interp *p);

/* ---- loop/interp_box.c: TMA_COPY, EXPECT_TX, MBARRIER_WAIT, MBARRIER_ARRIVE; before a statement of
 * consumers what a producer may do by then, and the rest of it when they have ended; at the end of a
 * unit */
void neo_li_box(interp *p, const neo_ls *s);
void neo_li_producer_goes_on(interp *p);
void neo_li_end_producer(interp *p);
void neo_li_end_boxes(interp *p);

#endif
