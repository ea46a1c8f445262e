/* Rows of the register tile for forms that read cache lines in another order than they write them.
 *
 * Transpositions: lines are read along one axis and written along another.
 *
 *     P[k, l] = W[l, k]
 *
 * Layouts: whole lines are copied, but neighbours in one tensor are distant in the other.
 *
 *     P[t, k, l] = W[k, 16*t + l]
 *
 * In the order of P's axes each line of W is on another page, which hardware prefetchers do not
 * follow; with t inside of k each line of P is. Blocks of a few t inside of k read and write a few
 * streams. */
#include "schedule/extent.h"
#include "schedule/loops/loops.h"
#include "schedule/model.h"

enum { STREAMS = 8, FAR = 1024, LEAST_BYTES = 32 << 10 };

/* ---- transpositions */

typedef struct {
  neo_module *m;
  const neo_form *f;
  int64_t line; /* bytes of a cache line */
  uint32_t v;   /* the axis of lanes */
  int64_t
      /* the axis along which an access runs that has a line for each lane; -1: there is none */
      rows;
} line_look;

static void look_lines(line_look *l, neo_expr at, uint32_t bytes) {
  int64_t stride, along;
  if (l->rows >= 0 || !neo_flat_stride(l->m, l->f, at, l->v, &stride) || stride * bytes < l->line)
    return;
  for (uint32_t k = 0; k < l->f->axes.n; k++)
    if (k != l->v && neo_flat_stride(l->m, l->f, at, k, &along) && along == 1 &&
        neo_axis_most(l->m, &l->f->axes.at[k]) * bytes >= l->line)
      l->rows = k;
}

static void look_load(void *ctx, neo_expr e) {
  line_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  if (n->op == NEO_OP_LOAD && n->arg.n == 1)
    look_lines(l, neo_flat_at(l->m, e), neo_type_bytes((neo_type)n->type));
}

/* The axis of rows of the register tile with which a tile uses all of each line that it touches.
 * Otherwise the caches would have to hold a line for each lane until the next row, which fails if
 * the distance of lines is a power of two. -1: there is none. */
static int64_t transposed(neo_module *m, const neo_form *f, int64_t line, uint32_t v) {
  line_look l = {m, f, line, v, -1};
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    if (s->accs.n)
      return -1;
    for (size_t i = 0; i < s->outs.n; i++) {
      look_lines(&l, s->outs.at[i].offset, neo_type_bytes(neo_expr_type(m, s->outs.at[i].value)));
      neo_expr_visit(m, s->outs.at[i].value, look_load, &l);
    }
  }
  return l.rows;
}

static void tile_transposed(neo_module *m, const neo_form *f, int64_t line, neo_schedule *s) {
  int64_t n = neo_axis_most(m, &f->axes.at[s->loops.vector_axis]);
  s->loops.tile_m = line / neo_form_widest(m, f);
  s->loops.tile_n = 1;
  s->loops.block_n = 0;
  int64_t rows = NEO_UNIT_WORK / n / s->loops.tile_m * s->loops.tile_m;
  s->loops.block_m = rows < s->loops.tile_m ? s->loops.tile_m : rows;
}

/* ---- layouts */

/* The one read of a form that copies. */
typedef struct {
  neo_module *m;
  neo_expr load;
  uint32_t n;
} read_look;

static void look_read(void *ctx, neo_expr e) {
  read_look *r = ctx;
  if (neo_expr_node(r->m, e)->op == NEO_OP_LOAD) {
    r->load = e;
    r->n++;
  }
}

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t v;
  int64_t line, bytes; /* elements of a line, bytes of an element */
} copied;

/* The axis along which lines follow each other in memory; -1: there is none. */
static int64_t next_line(const copied *c, neo_expr at) {
  int64_t stride;
  for (uint32_t k = 0; k < c->f->axes.n; k++)
    if (k != c->v && neo_flat_stride(c->m, c->f, at, k, &stride) && stride == c->line)
      return k;
  return -1;
}

static bool is_far(const copied *c, neo_expr at, int64_t axis) {
  int64_t stride;
  return neo_flat_stride(c->m, c->f, at, (uint32_t)axis, &stride) && stride * c->bytes >= FAR;
}

/* For a form that copies whole lines: the axis along which lines are contiguous where it reads and
 * distant where it writes, while the opposite is true along another axis. -1: the form does not
 * copy lines, or copies them in the same order, or copies few. */
static int64_t interchanged(neo_module *m, const neo_form *f, int64_t line, uint32_t v) {
  const neo_stage *s = f->stages.at;
  read_look r = {m, {0}, 0};
  if (f->stages.n != 1 || s->accs.n || s->axes.n || s->outs.n != 1)
    return -1;
  neo_expr_visit(m, s->outs.at[0].value, look_read, &r);
  if (r.n != 1)
    return -1;
  copied c = {m, f, v, neo_axis_most(m, &f->axes.at[v]), 0};
  neo_expr to = s->outs.at[0].offset, from = neo_flat_at(m, r.load);
  int64_t in, out, bytes = neo_type_bytes(neo_expr_type(m, r.load));
  c.bytes = neo_type_bytes(neo_expr_type(m, s->outs.at[0].value));
  if (c.line * bytes > 2 * line || !neo_flat_stride(m, f, to, v, &out) || out != 1 ||
      !neo_flat_stride(m, f, from, v, &in) || in != 1)
    return -1;
  int64_t rows = next_line(&c, from), other = next_line(&c, to);
  if (rows < 0 || other < 0 || !is_far(&c, to, rows) || !is_far(&c, from, other))
    return -1;
  double all = (double)(c.line * bytes) * (double)neo_axis_most(m, &f->axes.at[rows]) *
               (double)neo_axis_most(m, &f->axes.at[other]);
  return all >= LEAST_BYTES ? rows : -1;
}

/* A tile's rows are a few lines that are read or written together; blocks of such are outside of
 * all other loops. */
static void tile_interchanged(neo_module *m, const neo_form *f, neo_schedule *s) {
  int64_t n = neo_axis_most(m, &f->axes.at[s->loops.axis_m]);
  int64_t line = neo_axis_most(m, &f->axes.at[s->loops.vector_axis]);
  s->loops.tile_m = n < STREAMS ? n : STREAMS;
  s->loops.tile_n = (line + s->loops.vector_width - 1) / s->loops.vector_width;
  s->loops.block_n = 0;
  s->loops.block_m = s->loops.tile_m;
  s->loops.blocks_first = NEO_ROWS_FIRST;
}

bool neo_loops_tile_lines(neo_module *m, const neo_form *f, const neo_machine *machine,
                          neo_schedule *s) {
  int64_t line = machine->profile.line_bytes;
  uint32_t v = (uint32_t)s->loops.vector_axis;
  int64_t rows = transposed(m, f, line, v), lines = interchanged(m, f, line, v);
  s->loops.axis_m = rows >= 0 ? rows : lines;
  if (rows >= 0)
    tile_transposed(m, f, line, s);
  else if (lines >= 0)
    tile_interchanged(m, f, s);
  return rows >= 0 || lines >= 0;
}
