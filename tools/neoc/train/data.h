/* Data files of `neoc train`: rows for the inputs of entries.
 *
 *   X=images.npy          a row of the file is a row of a batch
 *   X=iris.csv:1..4       columns of a table (tools/neoc/csv)
 *   X=text.txt:crop+1     a row of a batch is a window of the file's sequence; all such inputs have
 *                         theirs at one place, each as far behind it as is said
 *   V=mol.npz:start       a row is a graph: as many elements of inputs X[V, ..] as are told (graphs.h)
 *   G=trees.txt           a row of a batch is a tree of the file (trees.h)
 *
 * What fills a batch is a list of rows, or of places. */
#pragma once
#include "tools/neoc/run/runner.h"

typedef enum {             /* what an input gets */
               NEOC_ROWS,  /* rows of its own file, or windows */
               NEOC_CHILD, /* of a batch of trees: see trees.h */
               NEOC_WORD,
               NEOC_LABEL,
               NEOC_ROOT,
               NEOC_BEGIN, /* where the edges of each vertex begin, of trees or of compressed rows */
               NEOC_RAGGED, /* of a batch of graphs: see graphs.h; NEOC_VERTEX: the vertex that an edge is of */
               NEOC_GRAPH,
               NEOC_VERTEX
} neoc_member;

typedef struct neoc_stream neoc_stream;

typedef struct {
  const char *path; /* null: no entry at hand reads this input */
  neo_rt_array array;
  neoc_stream
      *stream; /* the values are in the file (stream.h): `array` has no data; null: others */
  int64_t shift,
      window; /* of crops: elements of the sequence. Of graphs, `shift` is the number of the
                            size that the values count, or -1 */
  neoc_member member;
  bool minus_one;     /* of words: -1 is within the bound */
  neoc_texts classes; /* of a table's column of names: which are the integers */
} neoc_source;

typedef struct {
  int64_t n;  /* -1: no file tells it */
  int32_t by; /* whose file does */
} neoc_told;

typedef struct neoc_treebank neoc_treebank;
typedef struct neoc_tree_batch neoc_tree_batch;

typedef struct neoc_data {
  neoc_runner *r;
  neoc_option option;  /* DATA or TEST */
  neoc_source *source; /* by tensor of the runtime's model */
  neoc_told *told;     /* by run-time size: what all rows have (told.c) */
  int64_t rows;        /* in an epoch */
  int64_t places;      /* where crops may begin; 0: the rows are the file's */
  int64_t crop_step;   /* places between the first elements of two rows: crops do not overlap */
  int16_t vocab[256];  /* class of each byte of texts */
  neoc_treebank *bank; /* null: there are no trees */
  int64_t memory;      /* bytes of a file, beyond which rows are read where they are needed */
  struct neoc_prefetch *prefetch; /* of streams; null: no batch was read yet */
  struct neoc_graphs *graphs;     /* null: rows are as long as each other */
  const struct neoc_data *before; /* the training's; null: these are */
} neoc_data;

/* Opens the files of `option` for the inputs of n entries; `before`: the training's data, which has
 * the classes of texts and tables and the ids of words, or null. Values are converted and checked against their bounds. Errors have been reported. */
neoc_exit neoc_data_open(neoc_runner *r, neoc_option option, const int32_t *entries, size_t n,
                         const neoc_data *before, neoc_data *out);
void neoc_data_close(neoc_data *d);
/* ---- files (load.c) */
/* The rows of an input's file. */
neoc_exit neoc_data_load_rows(neoc_data *d, int32_t tensor);
/* One array of a file, a table's columns as floats or integers. */
neoc_exit neoc_data_load(neoc_data *d, const char *name, const char *path, bool floats,
                         neo_rt_array *out);
/* ---- sizes (told.c) */
void neoc_told_init(neoc_data *d);
/* Are all dimensions of the input's rows known, or run-time sizes that a file can tell? Reports it if not. */
neoc_exit neoc_told_can(const neoc_data *d, const neo_rt_tensor *t, bool crop);
/* Takes the sizes that the input's array has. */
neoc_exit neoc_told_take(neoc_data *d, int32_t tensor);
/* The input's extents by what files told; dimension 0 means nothing. */
void neoc_told_extents(const neoc_data *d, const neo_rt_tensor *t, int64_t *extent);

/* The rest of a row gets the shape of the input's, if it has as many elements. */
neoc_exit neoc_data_fit(const neoc_data *d, int32_t tensor);
/* Has the tensor the rows of a file? */
bool neoc_data_has_rows(const neoc_data *d, int32_t tensor);
/* The order of an epoch's rows: a function of both. */
void neoc_data_shuffle(const neoc_data *d, uint64_t seed, int64_t epoch, int64_t *order);
/* The same without chance: the file's order; crops lie side by side. */
void neoc_data_in_order(const neoc_data *d, int64_t *order);
/* Rows order[0 .. n) of an input to `out`. */
neoc_exit neoc_data_gather(neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                           void *out);
/* "row 17 of x.npy": the place of an element of such a row. */
const char *neoc_data_place(const neoc_data *d, int32_t tensor, int64_t row, int64_t element);

/* An input's values as its type, each within its bound: errors name the row (values.c). */
neoc_exit neoc_data_convert(neoc_data *d, int32_t tensor);
/* The same of a part of them, which begins at this element of the first dimension. */
neoc_exit neoc_data_convert_part(const neoc_data *d, int32_t tensor, int64_t base, neo_rt_array *x);
/* The bound that elements of the input must be below in all calls; -1: there is none. A bound that depends
 * on the batch is checked in each call. */
int64_t neoc_data_bound(const neoc_data *d, const neo_rt_tensor *t);

/* ---- batches (feed.c) */

typedef struct {
  neoc_data *data;
  int32_t entry;          /* of the runtime's model */
  int32_t batch_size;     /* number of the run-time size that counts rows; -1: there is none */
  int64_t batch;          /* rows in a step */
  int64_t least, most;    /* rows that a step may take */
  void **args;            /* inputs: batch buffers; outputs: result buffers */
  int64_t *sizes;         /* of the entry */
  neoc_tree_batch *trees; /* null: rows are no trees */
} neoc_feed;

/* Room for steps of `batch` rows; 0: as many as may be. */
neoc_exit neoc_feed_open(neoc_data *d, int32_t entry, int64_t batch, neoc_feed *out);
/* Fills the batch buffers with rows order[0 .. n). */
neoc_exit neoc_feed_fill(neoc_feed *f, const int64_t *order, int64_t n);
/* Begins to read the rows of the next batch, where data are in their files. */
void neoc_feed_prefetch(neoc_feed *f, const int64_t *order, int64_t n);
/* Does the model take just so many rows, and no other number? */
static inline bool neoc_feed_is_exact(const neoc_feed *f) {
  return f->least == f->most;
}
/* The first run-time size that was 0 in the last call; null: none was. */
const char *neoc_feed_empty(const neoc_feed *f);
/* An output of the last call, a scalar. */
double neoc_feed_scalar(const neoc_feed *f, int32_t output);

static inline const neo_rt_tensor *neoc_feed_tensor(const neoc_feed *f, int32_t arg) {
  const neo_rt_model *m = f->data->r->lib.model;
  return &m->tensors[m->entry_args[m->entries[f->entry].args + arg]];
}
