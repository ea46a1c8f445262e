/* Reductions over a domain that grows with an output axis, matched by their shape:
 *
 *   P[x, u] = sum[k where k < u] X[x, k]          (and k <= u, k < 2*u + 3, u <= k, k < N - u ...)
 *
 * Evaluated literally this costs U*K. A scan along u, with the running sum in a register, costs U +
 * K. Only one end of one range may depend on u. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  uint32_t axis;   /* shared axis u */
  uint32_t own;    /* own axis k of the first stage */
  bool suffix;     /* the domain is edge <= k, else k < edge */
  bool down;       /* the domain grows as u falls */
  int64_t step;    /* how far the edge moves when u moves by one; above 0 */
  neo_expr edge;   /* linear in u; otherwise over shared axes and sizes */
  neo_expr lo, hi; /* range of k without u; over shared axes and sizes */
  neo_expr where;  /* the rest of the condition; 0: none */
} neo_scan;

/* Whether the group is a scan; *out is then its parts. The first stage must be the only one that
 * reduces. Payloads are possible only in a prefix over the first own axis. Results share no memory
 * with operands. */
bool neo_scan_of(neo_module *m, const neo_group *g, neo_scan *out);
/* Bit k: bounds depend on shared axis k, which therefore cannot be that of lanes. */
uint64_t neo_scan_fixed(const neo_module *m, const neo_form *f, const neo_scan *x);
