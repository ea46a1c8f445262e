/* Launches of one kernel as one graph of the driver. A single launch takes the host about 2.5 us,
 * which would hide the time of a shorter kernel; a graph launches them all at once. */
#include "tools/measure/series.h"

void measure_series_end(const cuda_api *api, measure_series *s) {
  if (s->exec)
    (void)api->graph_end(s->exec);
  if (s->graph)
    (void)api->graph_destroy(s->graph);
  *s = (measure_series){0};
}

static cuda_result add_all(const cuda_api *api, const cuda_kernel_node *kernel, int n,
                           measure_series *s) {
  cuda_node node, before = NULL;
  cuda_result r = api->graph_create(&s->graph, 0);
  for (int k = 0; !r && k < n; k++) {
    r = api->graph_kernel(&node, s->graph, k ? &before : NULL, k ? 1 : 0, kernel);
    before = node;
  }
  return r ? r : api->graph_make(&s->exec, s->graph, 0);
}

bool measure_series_make(const cuda_api *api, const cuda_kernel_node *kernel, int n,
                         measure_series *s) {
  *s = (measure_series){0};
  if (!api->graph_create || !api->graph_kernel || !api->graph_make || !api->graph_launch ||
      !api->graph_end || !api->graph_destroy)
    return false;
  if (!add_all(api, kernel, n, s))
    return true;
  measure_series_end(api, s);
  return false;
}
