/* The state of the loop IR's interpreter, for its files. loop/interp.c runs statements,
 * loop/interp_block.c those that a block's threads execute together, loop/interp_box.c boxes,
 * mbarriers and producers; loop/interp_expr.c evaluates expressions. */
#pragma once
#include "codegen/loop/loop.h"

/* The state of an element. ON_ITS_WAY: a product of a warpgroup still adds to it. POISON: it was
 * computed from memory without a value; arithmetic may use it, but it may not be stored or decide a
 * condition. */
enum { UNDEFINED, DEFINED, ON_ITS_WAY, POISON };
typedef struct {
  neo_value *at;
  uint8_t *defined;
  uint64_t batch; /* the last WGMMA statement that adds to the register */
  int64_t n;      /* elements of all threads together */
  int64_t each;   /* elements of one thread; 0: threads do not have copies of their own */
} reg_store;

/* The thread that has accessed an element of a buffer in the THREAD loop number `epoch`. */
enum { NOBODY = -1, SEVERAL = -2, ADDING = -3 /* a writer: any, by additions alone */ };
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

/* An mbarrier: the number of phases that have begun, and of those that have been waited for; the
 * bytes that the last phase expects, and those that it has received. A phase that consumers arrive
 * at is complete when it begins. */
typedef struct {
  int64_t begun, waited, expected, copied;
  bool arrived;
} mbarrier;

/* The mbarrier and phase that make an element which a TMA copy writes readable. */
typedef struct {
  const mbarrier *of;
  int64_t phase;
} awaited;

/* A statement of a producer (EXPECT_TX, TMA_COPY or MBARRIER_WAIT) with the values of its
 * operands. */
typedef struct {
  const neo_ls *s;
  neo_element mbarrier;
  int64_t at, parity, to; /* at: the mbarrier's element */
  int64_t first[2 *
                /* TMA_COPY: the first element of the box by axis, then the tensor's extents */
                NEO_BOX_RANK];
} deed;

/* Flaws of a value, which are an error where it is used: it was computed from memory without a
 * value; its arithmetic left i64, and no STOP hides that. */
enum { POISONED = 1, WRAPPED = 2 };
typedef struct { /* the value of an expression in the statement with this stamp */
  uint64_t stamp;
  neo_value value;
  uint8_t taint;
} node_value;

typedef struct {
  const neo_kernel *k;
  const neo_kernel_run *run;
  neo_arena arena;
  neo_str *why;
  bool failed;
  int64_t *var;
  reg_store *reg;
  node_value *memo; /* by node id */
  uint8_t taint;    /* flaws of the value that was evaluated last */
  uint64_t stamp;
  int64_t threads; /* extent of THREAD loops; 0: there are none */
  int32_t thread;  /* iteration of the THREAD loop around the statement; NOBODY: none is */
  uint64_t epoch, seed;
  int64_t unit; /* the iteration of the UNIT loop; 0 without one */
  uint8_t **
      /* [buffer][element] of scratch: it was written in this unit; null for other buffers */
      written;
  int64_t *origin;     /* [buffer]: number of elements before the kernel's element 0 */
  uint32_t poison_buf; /* the last element that was read and had no value */
  int64_t poison_at;
  access **met; /* [buffer][element]; null without THREAD loops */
  /* Groups of copies, counted from 1: the open one, the last complete one, the last one that has
   * copies. */
  int64_t group, there, started;
  /* [buffer][element]: the group that writes it; -1 - k: awaiting.at[k]; null: the buffer is not
   * scratch, or the kernel has no THREAD loops */
  int64_t **copied;
  mbarrier **mbarriers; /* [buffer][element] of scratch of i64 */
  NEO_VEC(awaited) awaiting;
  bool notes; /* the producer's statements are recorded, not run */
  struct {
    NEO_VEC(deed) all;
    size_t done;
    bool at_work; /* the recorded statements run while consumers do */
  } producer;
  neo_tile *tile; /* null: the kernel uses none */
  bool tile_defined[NEO_TILE_COUNT];
  uint64_t batch; /* WGMMA statements so far */
  NEO_VEC(reading) readings;
} interp;

/* Records a failure; only the first one is reported. */
void neo_li_fail(interp *p, const char *what, const char *name, int64_t at, int64_t n);
/* The value of an expression; p->taint gets its flags, such as POISONED. */
neo_value neo_li_eval(interp *p, const neo_lx *e);
/* The number of a register's element by its indices; an index outside of its extent fails. */
int64_t neo_li_reg_element(interp *p, uint32_t reg, const neo_lx *const *index, size_t n);
/* Whether the element is inside of its buffer; false after a failure, which this is as well. `what`
 * names the access. */
bool neo_li_in_buffer(interp *p, uint32_t buf, int64_t at, const char *what);
/* Reads an element; one without a value fails. */
neo_value neo_li_load_at(interp *p, uint32_t buf, int64_t at);
/* The value of an index or a bound; poison, or arithmetic that leaves i64, is a failure. */
int64_t neo_li_index(interp *p, const neo_lx *e);
/* The value of a condition; poison is a failure. */
bool neo_li_holds(interp *p, const neo_lx *e);
/* Fails if the value is poison. */
void neo_li_refuse_poison(interp *p, uint8_t taint);
/* Reads an element inside of its buffer; false: it has no value. adds: the read is a part of an
 * atomic addition, which other units may make, too. */
bool neo_li_get(interp *p, uint32_t buf, int64_t at, bool adds, neo_value *v);
/* Writes an element inside of its buffer, and notes the write for the checks of races. */
void neo_li_put(interp *p, uint32_t buf, int64_t at, neo_value v, bool adds);
/* Checks, before an access to scratch, that no copy to the element is in flight. */
void neo_li_settled(interp *p, uint32_t buf, int64_t at, const char *what);
/* Checks that no product in flight reads the element. */
void neo_li_free_of_products(interp *p, uint32_t buf, int64_t at);
/* Records the access of this thread to the element. Accesses of two threads of a loop, one of which
 * writes, are a data race, which is a failure. */
void neo_li_meet(interp *p, uint32_t buf, int64_t at, bool write);
/* The same for an addition: other threads may add to the element as well, but neither read nor
 * store it. */
void neo_li_meet_adding(interp *p, uint32_t buf, int64_t at);
/* A number of 4 bytes as its bits, and back. */
uint32_t neo_li_bits(neo_type t, neo_value v);
neo_value neo_li_of_bits(neo_type t, uint32_t u);
/* A random number in [0, n), drawn from the run's seed. */
int64_t neo_li_pick(interp *p, int64_t n);

/* ---- loop/interp_block.c: SHUFFLE, VOTE, MMA, LDMATRIX, WGMMA, WGMMA_WAIT, COPY, COPY_COMMIT,
 * COPY_WAIT; and the checks at the end of a unit that no product and no copy is in flight */
void neo_li_block(interp *p, const neo_ls *s);
void neo_li_end_products(interp *p);
void neo_li_end_copies(interp *p);

/* ---- loop/interp_box.c: TMA_COPY, EXPECT_TX, MBARRIER_WAIT, MBARRIER_ARRIVE; some of the
 * producer's recorded statements, before a statement of consumers; the rest of them, after the
 * consumers; the checks at the end of a unit */
void neo_li_box(interp *p, const neo_ls *s);
void neo_li_producer_goes_on(interp *p);
void neo_li_end_producer(interp *p);
void neo_li_end_boxes(interp *p);
