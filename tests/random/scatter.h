/* Gradients by scattering: an oracle for those that gather.
 *
 *   neo_interp_eval(p, &y, 1, true, &why);                  // values of all that y needs
 *   double **adjoint = neo_scatter(arena, m, p, sizes, y);  // seeded with ones
 *
 * The definitions that y needs are walked backwards. At every point of a definition's loops, each
 * read takes its share by the chain rule and adds it to the element that it read: the text of the
 * definition says everything, no index is solved. */
#ifndef NEO_TESTS_RANDOM_SCATTER_H
#define NEO_TESTS_RANDOM_SCATTER_H
#include "ir/interp/interp.h"

/* By tensor id; null: nothing arrived there. `seed` is the adjoint of y, null: ones. Sums are in
 * f64, so they are exact where the data are small integers. Reducers but logsumexp, and the
 * functions that are exact. */
double **neo_scatter(neo_arena *a, neo_module *m, neo_interp *p, const int64_t *sizes, neo_tensor y,
                     const double *seed);

/* Points that a loop nest goes through for a definition, those that `where` excludes too. */
int64_t neo_scatter_points(neo_arena *a, neo_module *m, neo_interp *p, const int64_t *sizes,
                           neo_def d);

#endif
