/* Data files of `neoc train`: rows for the inputs of entries.
 *
 *   X=images.npy          a row of the file is a row of a batch
 *   X=iris.csv:1..4       columns of a table (tools/neoc/csv)
 *   X=text.txt:crop+1     a row of a batch is a window of the file's sequence; all such inputs have
 *                         their windows at one position, shifted by the number after crop
 *   V=mol.npz:start       a row is a graph, with its own number of elements of inputs X[V, ..]
 *                         (graphs.h)
 *   G=trees.txt           a row of a batch is a tree of the file (trees.h)
 *
 * A batch is filled from a list of rows, or of positions of windows. */
#pragma once
#include "tools/neoc/run/runner.h"

typedef enum {             /* the data that an input gets */
               NEOC_ROWS,  /* rows of its own file, or windows */
               NEOC_CHILD, /* children of a batch of trees: see trees.h */
               NEOC_WORD,
               NEOC_LABEL,
               NEOC_ROOT,
               NEOC_BEGIN,  /* the first edge of each vertex, for trees or compressed rows */
               NEOC_RAGGED, /* for a batch of graphs: see graphs.h; NEOC_VERTEX: the vertex of an
                               edge */
               NEOC_GRAPH,
               NEOC_VERTEX
} neoc_member;

typedef struct neoc_stream neoc_stream;

typedef struct {
  const char *path; /* null: no entry in use reads this input */
  neo_rt_array array;
  neoc_stream
      *stream; /* the values are in the file (stream.h): `array` has no data; null: others */
  int64_t shift,
      window; /* crops: elements of the sequence. Graphs: `shift` is the number of the size that the
                 values count, or -1 */
  neoc_member member;
  bool minus_one;     /* for words: -1 is within the bound */
  neoc_texts classes; /* for a table's column of names: the name of each integer */
} neoc_source;

typedef struct {
  int64_t n;  /* -1: no file determines it */
  int32_t by; /* the input whose file does */
} neoc_told;

typedef struct neoc_treebank neoc_treebank;
typedef struct neoc_tree_batch neoc_tree_batch;

typedef struct neoc_data {
  neoc_runner *r;
  neoc_option option;  /* DATA or TEST */
  neoc_source *source; /* by tensor of the runtime's model */
  neoc_told *told;     /* by run-time size: the length that all rows have (told.c) */
  int64_t rows;        /* in an epoch */
  int64_t places;      /* number of positions at which windows may begin; 0: rows are those of the
                          file */
  int64_t crop_step;   /* distance of the first elements of two windows, which do not overlap */
  int16_t vocab[256];  /* class of each byte of texts */
  neoc_treebank *bank; /* null: there are no trees */
  int64_t memory;      /* bytes of a file beyond which its rows are read on demand */
  struct neoc_prefetch *prefetch; /* reader of streams; null: no batch has been read */
  struct neoc_graphs *graphs;     /* null: all rows have one length */
  const struct neoc_data *before; /* the training's data; null: these are */
} neoc_data;

/* Opens the files of `option` for the inputs of n entries. `before` is the training's data, which
 * has the classes of texts and tables and the ids of words, or null. Values are converted and
 * checked against their bounds. Errors are reported. */
neoc_exit neoc_data_open(neoc_runner *r, neoc_option option, const int32_t *entries, size_t n,
                         const neoc_data *before, neoc_data *out);
/* Frees arrays, streams and the treebank, and ends the thread that reads ahead. */
void neoc_data_close(neoc_data *d);
/* ---- files (load.c) */
/* Loads the rows of an input's file. */
neoc_exit neoc_data_load_rows(neoc_data *d, int32_t tensor);
/* Loads one array of a file; columns of a table as floats or integers. */
neoc_exit neoc_data_load(neoc_data *d, const char *name, const char *path, bool floats,
                         neo_rt_array *out);
/* ---- sizes (told.c) */
/* Begins with sizes that no file determines. */
void neoc_told_init(neoc_data *d);
/* Checks that all dimensions of the input's rows are known, or run-time sizes that a file can
 * determine. */
neoc_exit neoc_told_can(const neoc_data *d, const neo_rt_tensor *t, bool crop);
/* Takes sizes from the shape of the input's array. */
neoc_exit neoc_told_take(neoc_data *d, int32_t tensor);
/* The input's extents, by the sizes from files; dimension 0 is not set. */
void neoc_told_extents(const neoc_data *d, const neo_rt_tensor *t, int64_t *extent);

/* Gives the rest of a row the shape of the input, if it has as many elements. */
neoc_exit neoc_data_fit(const neoc_data *d, int32_t tensor);
/* Whether the tensor has rows from a file. */
bool neoc_data_has_rows(const neoc_data *d, int32_t tensor);
/* The order of an epoch's rows, determined by seed and epoch. */
void neoc_data_shuffle(const neoc_data *d, uint64_t seed, int64_t epoch, int64_t *order);
/* The order of the file; windows are consecutive. */
void neoc_data_in_order(const neoc_data *d, int64_t *order);
/* Copies rows order[0 .. n) of an input to `out`. */
neoc_exit neoc_data_gather(neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                           void *out);
/* "row 17 of x.npy": the origin of an element of such a row, for messages. In the arena of the
 * command line. */
const char *neoc_data_place(const neoc_data *d, int32_t tensor, int64_t row, int64_t element);

/* Converts an input's values to its type, and checks each against its bound: errors name the row
 * (values.c). */
neoc_exit neoc_data_convert(neoc_data *d, int32_t tensor);
/* The same for a part of them that begins at element `base` of the first dimension. */
neoc_exit neoc_data_convert_part(const neoc_data *d, int32_t tensor, int64_t base, neo_rt_array *x);
/* The exclusive upper bound of the input's elements in all calls; -1: none. A bound that depends on
 * the batch is checked in each call. */
int64_t neoc_data_bound(const neoc_data *d, const neo_rt_tensor *t);

/* ---- batches (feed.c) */

typedef struct {
  neoc_data *data;
  int32_t entry;          /* number in the runtime's model */
  int32_t batch_size;     /* number of the run-time size that counts rows; -1: there is none */
  int64_t batch;          /* rows in a step */
  int64_t least, most;    /* numbers of rows that a step can take */
  void **args;            /* inputs: batch buffers; outputs: result buffers */
  int64_t *sizes;         /* sizes of the entry */
  neoc_tree_batch *trees; /* null: rows are not trees */
} neoc_feed;

/* Makes room for steps of `batch` rows; 0: as many as possible. */
neoc_exit neoc_feed_open(neoc_data *d, int32_t entry, int64_t batch, neoc_feed *out);
/* Fills the batch buffers with rows order[0 .. n). */
neoc_exit neoc_feed_fill(neoc_feed *f, const int64_t *order, int64_t n);
/* Starts reading the rows of the next batch, if data are read on demand. */
void neoc_feed_prefetch(neoc_feed *f, const int64_t *order, int64_t n);
/* Whether the model takes exactly one number of rows. */
static inline bool neoc_feed_is_exact(const neoc_feed *f) {
  return f->least == f->most;
}
/* The name of the first run-time size that was 0 in the last call; null: none. */
const char *neoc_feed_empty(const neoc_feed *f);
/* An output of the last call, a scalar. */
double neoc_feed_scalar(const neoc_feed *f, int32_t output);

static inline const neo_rt_tensor *neoc_feed_tensor(const neoc_feed *f, int32_t arg) {
  const neo_rt_model *m = f->data->r->lib.model;
  return &m->tensors[m->entry_args[m->entries[f->entry].args + arg]];
}
