/* Storage folding along loops in the outermost one. Of a tensor whose elements an inner loop makes, and reads a constant
 * number of iterations later, or after its end only the last ones of, some slices are enough:
 *
 *   for t                                      u[t % 1, r % 2]: two slices, however many iterations there are
 *     for r  u[t, r] = f(u[t, r - 1], x)
 *     h[t] = u[t, R - 1]
 *
 * Reads in the inner loop are of the same outer iteration. All others are of one that has ended, of its last positions:
 * these stay until the next outer iteration that has the same slice, and such reads need one of their own
 * (ring.c). Who makes an element is at one position of each loop. */
#include "fusion/recurrence/internal.h"

typedef struct {
  const outliner *o;
  neo_tensor tensor;
  neo_def maker;
  const neo_order_step *loop[OUTLINE_FOLDS]; /* around the maker, the outermost first */
  uint32_t n_loops, level;                   /* level: of the loop that is asked about */
  const outline_instance *x;                 /* at hand */
  bool good;
  int64_t n; /* slices that are needed */
} fold_look;

/* The loops of the order that make d. */
static uint32_t loops_of(const neo_order_step *order, neo_def d, const neo_order_step **loop) {
  uint32_t n = 0;
  for (const neo_order_step *in = order; in && n < OUTLINE_FOLDS;) {
    loop[n++] = in;
    const neo_order_step *next = NULL;
    for (uint32_t k = 0; k < in->n_steps; k++)
      if (!in->step[k].def.i && outline_member(&in->step[k], d))
        next = &in->step[k];
    in = next;
  }
  return n;
}

/* ---- positions */

/* Is the instance at one position of the axis? A range of one position is no loop (place.c). */
static bool has_one_position(const outliner *o, const outline_instance *x, uint32_t axis) {
  int64_t n;
  return x->fixed[axis] ||
         (x->extent[axis].i && neo_expr_is_int(o->m, x->extent[axis], &n) && n == 1);
}

bool outline_iteration_of(const outliner *o, const neo_order_step *loop, const outline_instance *x,
                          neo_expr *at) {
  const neo_order_member *own = outline_member(loop, x->def);
  if (!own || !has_one_position(o, x, own->axis))
    return false;
  *at = outline_number(o, own->delay);
  if (x->base[own->axis].i)
    *at = neo_op2(o->m, NEO_OP_ADD, x->base[own->axis], *at);
  return true;
}

/* Where along its axis the element lies that is read. */
static neo_expr position_of(const fold_look *l, neo_expr read, uint32_t axis) {
  const outline_instance *x = l->x;
  neo_expr by[OUTLINE_AXES] = {{0}};
  for (uint32_t k = 0; k < x->rec.n_out; k++)
    if (!x->fixed[k] && has_one_position(l->o, x, k))
      by[k] = outline_number(l->o, 0);
  return neo_expr_subst_axes(l->o->m, neo_expr_arg(l->o->m, read, axis), by, x->rec.n_out);
}

/* How many iterations of loop `level` after that of the element that is read the reader runs. */
static bool distance_of(const fold_look *l, uint32_t level, neo_expr read, int64_t *d) {
  const outliner *o = l->o;
  const neo_order_member *own = outline_member(l->loop[level], l->maker);
  neo_expr here, made = position_of(l, read, own->axis);
  made = neo_op2(o->m, NEO_OP_ADD, made, outline_number(o, own->delay));
  if (!outline_iteration_of(o, l->loop[level], l->x, &here))
    return false;
  return l->loop[level]->down ? outline_distance(o, made, here, d)
                              : outline_distance(o, here, made, d);
}

/* Is the read of an element of the same iterations of all loops around that of `level`, and does the reader run in that? */
static bool is_in_loop(const fold_look *l, neo_expr read) {
  int64_t d = 0;
  neo_expr at;
  bool is = outline_iteration_of(l->o, l->loop[l->level], l->x, &at);
  for (uint32_t k = 0; k < l->level && is; k++)
    is = distance_of(l, k, read, &d) && d == 0;
  return is;
}

/* How many iterations before the loop's last one the element was made, which is that of the extent's end. */
static bool distance_from_end(const fold_look *l, neo_expr read, int64_t *d) {
  const outliner *o = l->o;
  const neo_order_step *loop = l->loop[l->level];
  uint32_t axis = outline_member(loop, l->maker)->axis;
  neo_expr at = position_of(l, read, axis);
  neo_expr last =
      neo_op2(o->m, NEO_OP_SUB, neo_tensor_extent(o->m, l->tensor, axis), outline_number(o, 1));
  return loop->down ? outline_distance(o, at, outline_number(o, 0), d)
                    : outline_distance(o, last, at, d);
}

static void look(void *ctx, neo_expr read, uint32_t n_axes) {
  fold_look *l = ctx;
  int64_t d = 0;
  (void)n_axes;
  if (neo_expr_node(l->o->m, read)->attr != l->tensor.i || !l->good)
    return;
  bool constant =
      is_in_loop(l, read) ? distance_of(l, l->level, read, &d) : distance_from_end(l, read, &d);
  l->good = constant && d >= 0 && (l->x->rounds == 1 || l->x->rounds == 0);
  l->n = d + 1 > l->n ? d + 1 : l->n;
}

static void look_tree(fold_look *l, const neo_tree *t) {
  neo_expr at;
  for (size_t k = 0; k < t->children.n && l->good; k++)
    look_tree(l, t->children.at[k]);
  if (t->kind != NEO_TREE_LEAF)
    return;
  l->x = outline_at(l->o, t);
  for (uint32_t k = 0; k <= l->level && outline_makes(l->o, l->x, l->tensor.i); k++)
    l->good = l->good && outline_iteration_of(l->o, l->loop[k], l->x, &at);
  outline_reads(l->o, l->x, look, l);
}

/* ---- folds */

static bool is_longer(const fold_look *l, uint32_t axis) {
  neo_facts none = {0};
  int64_t lo, hi;
  neo_expr extent = neo_tensor_extent(l->o->m, l->tensor, axis);
  return neo_interval(l->o->p, &none, extent, &lo, &hi) && hi > l->n;
}

void outline_fold_inner(const outliner *o, const neo_tree *tree, const neo_order_step *order,
                        neo_tensor t, outline_ring *ring) {
  fold_look l = {.o = o, .tensor = t};
  l.maker.i = neo_list_at(o->m, neo_tensor_at(o->m, t)->pieces, 0);
  l.n_loops = loops_of(order, l.maker, l.loop);
  for (l.level = 1; l.level < l.n_loops && ring->n_folds < OUTLINE_FOLDS; l.level++) {
    uint32_t axis = outline_member(l.loop[l.level], l.maker)->axis;
    l.good = true;
    l.n = 1;
    look_tree(&l, tree);
    if (l.good && is_longer(&l, axis))
      ring->fold[ring->n_folds++] = (outline_fold){axis, l.n, l.loop[l.level]};
  }
}

/* ---- what is overwritten */

typedef struct {
  const neo_module *m;
  uint32_t tensor;
  bool is;
} read_look;

static void look_read(void *ctx, neo_expr read, uint32_t n_axes) {
  read_look *l = ctx;
  (void)n_axes;
  l->is = l->is || neo_expr_node(l->m, read)->attr == l->tensor;
}

bool outline_overwrites_inner(const outliner *o, const outline_ring *r, uint32_t tensor,
                              const outline_instance *x, const outline_instance *p) {
  bool together = true;
  read_look l = {o->m, tensor, outline_makes(o, p, tensor)};
  for (uint32_t k = 0; k < r->n_folds && together; k++) {
    const neo_order_step *loop = r->fold[k].order;
    neo_expr of_x, of_p;
    int64_t d;
    if (loop != r->order)
      together = outline_iteration_of(o, loop, x, &of_x) &&
                 outline_iteration_of(o, loop, p, &of_p) && outline_distance(o, of_x, of_p, &d) &&
                 d == 0;
  }
  outline_reads(o, p, look_read, &l);
  return !together && l.is;
}
