/* choose.c: the number of keys. More keys keep more devices busy, until one of them always is; then
 * they only bring staleness (the paper, section 6). So the choice is the fewest keys that are about
 * as fast as any. */
#include "runtime/net/net.h"
#include <stdio.h>

static const double SHARE = 0.97; /* of the best throughput */

static neo_rt_status send_all(neo_rt_network *n, const neo_rt_net_instance *x, int64_t count,
                              double *per_second) {
  neo_rt_net_virtual v = {0};
  neo_rt_status status = NEO_OK;
  for (int64_t k = 0; k < count && !status; k++)
    status = neo_rt_net_send(n, &x[k]);
  status = status ? status : neo_rt_net_wait(n, NULL);
  status = status ? status : neo_rt_net_virtual_time(n, &v);
  *per_second = v.seconds > 0 ? (double)count / v.seconds : 0;
  return status;
}

static neo_rt_status try_keys(const neo_rt_net *net, const neo_rt_net_config *config, int32_t keys,
                              const neo_rt_net_instance *x, int64_t count, double *per_second,
                              char *error, size_t error_bytes) {
  neo_rt_net_devices each = {0};
  neo_rt_net_config c = config ? *config : (neo_rt_net_config){0};
  neo_rt_network *n;
  c.keys = keys;
  c.devices = c.devices ? c.devices : &each;
  neo_rt_status status = neo_rt_net_create(net, &c, &n, error, error_bytes);
  if (status)
    return status;
  status = send_all(n, x, count, per_second);
  if (status && error && error_bytes)
    snprintf(error, error_bytes, "%s", neo_rt_net_error(n));
  neo_rt_net_destroy(n);
  return status;
}

neo_rt_status neo_rt_net_choose_keys(const neo_rt_net *net, const neo_rt_net_config *config,
                                     const neo_rt_net_instance *instances, int64_t n_instances,
                                     int32_t most, int32_t *keys, double *per_second, char *error,
                                     size_t error_bytes) {
  enum { POWERS = 16 };
  double found[POWERS] = {0}, best = 0;
  int32_t n = 0;
  for (; n < POWERS && (n == 0 || 1 << n <= most); n++) {
    neo_rt_status status =
        try_keys(net, config, 1 << n, instances, n_instances, &found[n], error, error_bytes);
    if (status)
      return status;
    if (per_second)
      per_second[n] = found[n];
    best = found[n] > best ? found[n] : best;
  }
  for (n = 0; found[n] < SHARE * best;)
    n++;
  *keys = 1 << n;
  return NEO_OK;
}
