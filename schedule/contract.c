/* Contractions. */
#include "schedule/model.h"

bool neo_contraction_legal(neo_module *m, const neo_group *g, const neo_machine *machine,
                           const neo_schedule *s, neo_str *why) {
  (void)m;
  (void)g;
  (void)machine;
  (void)s;
  (void)why;
  return true;
}
