#include "ir/prove_scope.h"
neo_proof neo_isl_prove(neo_scope *s, neo_expr e, bool value, neo_trial *t, neo_witness *w) {
  (void)s, (void)e, (void)value, (void)t, (void)w;
  return NEO_UNKNOWN;
}
void neo_isl_free(neo_isl *isl) { (void)isl; }
