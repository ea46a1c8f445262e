/* choose.c: the number of keys. More keys keep more devices busy, until one of them always is; then
 * they only bring staleness (the paper, section 6). So the choice is the fewest keys that are about
 * as fast as any. */
#include "runtime/net/devices.h"
#include <stdio.h>

static const double SHARE = 0.97; /* share of the best throughput that is enough */

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

typedef struct {
  const neo_rt_net *net;
  neo_rt_net_config config;
  const neo_rt_net_instance *instance;
  int64_t n_instances;
  neo_rt_network *first; /* with one key: its prices are those of all */
  char *error;
  size_t error_bytes;
} trial;

static neo_rt_status try_keys(trial *t, int32_t keys, double *per_second) {
  neo_rt_network *n;
  t->config.keys = keys;
  neo_rt_status status = neo_rt_net_create(t->net, &t->config, &n, t->error, t->error_bytes);
  if (status)
    return status;
  if (t->first)
    neo_rti_devices_take_prices(n, t->first);
  status = send_all(n, t->instance, t->n_instances, per_second);
  if (status && t->error && t->error_bytes)
    snprintf(t->error, t->error_bytes, "%s", neo_rt_net_error(n));
  if (t->first)
    neo_rt_net_destroy(n);
  else
    t->first = n;
  return status;
}

neo_rt_status neo_rt_net_choose_keys(const neo_rt_net *net, const neo_rt_net_config *config,
                                     const neo_rt_net_instance *instances, int64_t n_instances,
                                     int32_t most, int32_t *keys, double *per_second, char *error,
                                     size_t error_bytes) {
  enum { POWERS = 16, CALLS = 32 };
  static const neo_rt_net_devices each = {.calls = CALLS};
  trial t = {.net = net,
             .config = config ? *config : (neo_rt_net_config){0},
             .instance = instances,
             .n_instances = n_instances,
             .error = error,
             .error_bytes = error_bytes};
  double found[POWERS] = {0}, best = 0;
  neo_rt_status status = NEO_OK;
  int32_t n = 0;
  t.config.devices = t.config.devices ? t.config.devices : &each;
  for (; n < POWERS && (n == 0 || 1 << n <= most) && !status; n++) {
    status = try_keys(&t, 1 << n, &found[n]);
    best = found[n] > best ? found[n] : best;
    if (per_second)
      per_second[n] = found[n];
  }
  neo_rt_net_destroy(t.first);
  for (n = 0; !status && found[n] < SHARE * best;)
    n++;
  *keys = 1 << n;
  return status;
}
