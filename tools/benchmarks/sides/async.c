/* Our side of asynchronous training: trains a model on the instances of a file by its network, in
 * real or in virtual time, or by its synchronous step.
 *
 *   async LIB PREFIX TRAIN TEST [NAME=VALUE ...]
 *
 * TRAIN and TEST are files of batches, each of which is an instance ("-": no tests). A line of JSON
 * for each epoch tells the mean loss, seconds, and sums of the outputs of the entry `test`; with
 * serve=1 it is a side as serve.h says, and a call is an epoch.
 *
 *   keys, every, workers, place    of the network (neo_net.h); keys=0: the synchronous step, with
 *                                  `workers` threads
 *   devices=N                      virtual time with N devices (0: one for each actor); any=1: an
 *                                  idle device takes any work; latency=S, bandwidth=BYTES
 *   calibrate=FILE, prices=FILE    writes prices of work as measured; takes them (prices.h)
 *   flops=F                        the paper's prices (appendix C) of products
 *   replicas=R                     so many networks, each with its devices, take instances in
 *                                  turn; after an epoch they get the mean of parameters and states
 *   epochs, limit, seed            limit: instances of an epoch; seed: initial values and order
 *   spans=FILE                     what each device does, a line each, in virtual time
 *   choose=N                       chooses keys, at most N, and says throughputs; no epochs */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/arrays.h"
#include "tools/benchmarks/sides/batches.h"
#include "tools/benchmarks/sides/prices.h"
#include "tools/benchmarks/sides/serve.h"

enum { MAX_SIZES = 32, MAX_ARGS = 64, MAX_KEYS_LOG2 = 16, MAX_REPLICAS = 16, CALLS = 64 };

typedef struct {
  int64_t sizes[MAX_SIZES];
  const void *input[MAX_ARGS]; /* in the order of the network's inputs */
} instance;

typedef struct {
  instance *at;
  int64_t n, room;
} instances;

typedef struct {
  const neo_rt_model *model;
  const neo_rt_net *net;
  neo_rt_ctx *ctx; /* context of the whole model */
  neo_rt_network *run[MAX_REPLICAS];
  int32_t replicas;
  instances train, test;
  instances *reading;
  int64_t *order, limit;
  uint64_t seed;
  int epoch, epochs;
  neo_rt_net_config config;
  neo_rt_net_devices devices;
  bool virtual_time, synchronous;
  double flops;
  price_table prices;
  const char *calibrate, *priced;
  FILE *spans;
} side;

/* ---- instances */

static instance *last_of(side *s) {
  if (!s->reading->n)
    bench_die("instances", "begin with a size or an array");
  return &s->reading->at[s->reading->n - 1];
}

static void add_instance(void *user) {
  side *s = user;
  instances *x = s->reading;
  if (x->n == x->room) {
    x->room = 2 * x->room + 64;
    x->at = realloc(x->at, (size_t)x->room * sizeof *x->at);
    if (!x->at)
      bench_die("memory", "out of memory");
  }
  memset(&x->at[x->n++], 0, sizeof *x->at);
}

static void set_size(void *user, const char *name, int64_t n) {
  side *s = user;
  for (int k = 0; k < s->model->n_sizes; k++)
    if (!strcmp(s->model->sizes[k].name, name))
      last_of(s)->sizes[k] = n;
}

static void set_array(void *user, const char *name, void *data) {
  side *s = user;
  for (int k = 0; k < s->net->n_inputs; k++)
    if (!strcmp(s->net->inputs[k], name))
      last_of(s)->input[k] = data;
}

static void read_instances(side *s, const char *path, instances *to) {
  batches_reader r = {s, add_instance, set_size, set_array};
  s->reading = to;
  if (strcmp(path, "-"))
    batches_read(path, &r);
}

/* ---- entries of the whole model */

typedef struct {
  int32_t number;
  const neo_rt_entry *e;
  void *arg[MAX_ARGS];
  int64_t sizes[MAX_SIZES];
} call;

static call open_call(const side *s, const char *name) {
  call c = {.number = neo_rt_find_entry(s->model, name)};
  int64_t most[MAX_SIZES];
  if (c.number < 0)
    bench_die(name, "is no entry");
  c.e = &s->model->entries[c.number];
  if (c.e->n_args > MAX_ARGS || s->model->n_sizes > MAX_SIZES)
    bench_die(name, "has too many arguments or sizes");
  for (int k = 0; k < s->model->n_sizes; k++)
    most[k] = s->model->sizes[k].hi;
  for (int k = c.e->n_inputs; k < c.e->n_args; k++)
    c.arg[k] = bench_array(s->model, &s->model->tensors[s->model->entry_args[c.e->args + k]], most,
                           (unsigned)k);
  return c;
}

static const char *name_of(const side *s, const call *c, int arg) {
  return s->model->tensors[s->model->entry_args[c->e->args + arg]].name;
}

static void run_call(side *s, call *c, const instance *x) {
  for (int k = 0; k < c->e->n_inputs; k++)
    for (int j = 0; j < s->net->n_inputs; j++)
      if (!strcmp(s->net->inputs[j], name_of(s, c, k)))
        c->arg[k] = (void *)x->input[j];
  for (int k = 0; k < c->e->n_sizes; k++)
    c->sizes[k] = x->sizes[s->model->entry_sizes[c->e->sizes + k]];
  if (neo_rt_call(s->ctx, c->number, c->sizes, c->arg))
    bench_die(c->e->name, neo_rt_error(s->ctx));
}

/* Sums of the scalar outputs over all test instances. */
static void print_tests(side *s) {
  call c = open_call(s, "test");
  double sum[MAX_ARGS] = {0};
  for (int64_t k = 0; k < s->test.n; k++) {
    run_call(s, &c, &s->test.at[k]);
    for (int j = c.e->n_inputs; j < c.e->n_args; j++)
      sum[j] += (double)*(const float *)c.arg[j];
  }
  for (int j = c.e->n_inputs; j < c.e->n_args; j++) {
    printf(", \"%s\": %.8g", name_of(s, &c, j), sum[j]);
    free(c.arg[j]);
  }
}

/* ---- prices of the paper */

static int64_t extent(const neo_rt_model *m, const neo_rt_tensor *t, int d, const int64_t *sizes) {
  return neo_rt_eval(m, m->extents[t->extent + d], sizes);
}

/* Elements of the matrices that an actor owns. */
static double matrices(const neo_rt_model *m) {
  double sum = 0, one;
  for (int32_t k = 0; k < m->n_tensors; k++) {
    const neo_rt_tensor *t = &m->tensors[k];
    if (t->role != NEO_RT_ROLE_PARAM || t->rank < 2)
      continue;
    one = 1;
    for (int d = 0; d < t->rank; d++)
      one *= (double)extent(m, t, d, NULL);
    sum += one;
  }
  return sum;
}

/* Rows of the messages of floats that come in: of elements over the last extent the most; 0: there
 * are none, and the node looks rows up. */
static double rows_of(const side *s, const neo_rt_net_work *w) {
  const neo_rt_net_node *x = &s->net->nodes[w->node];
  const neo_rt_model *m = s->net->actors[x->actor].model;
  double most = 0;
  for (int32_t k = 0; k < x->n_in; k++) {
    const char *name = s->net->ports[x->in + k].value;
    int32_t found = name ? neo_rt_find(m, name) : -1;
    double rows = 1;
    if (found < 0 || m->tensors[found].type > NEO_RT_BF16)
      continue;
    for (int d = 0; d + 1 < m->tensors[found].rank; d++)
      rows *= (double)extent(m, &m->tensors[found], d, w->sizes);
    most = rows > most ? rows : most;
  }
  return most;
}

/* Forward 2*k*d_in*d_out, the same in backward and in accumulation, d_in*d_out in the update; all
 * else as measured. A loss has all three in its forward pass. */
static double paper_price(const side *s, const neo_rt_net_work *w) {
  const neo_rt_net_node *x = &s->net->nodes[w->node];
  if (!(s->flops > 0) || x->actor < 0)
    return -1;
  double elements = matrices(s->net->actors[x->actor].model);
  double rows = w->sizes ? rows_of(s, w) : 1;
  if (!(elements > 0) || !(rows > 0))
    return -1;
  if (w->part == NEO_RT_NET_UPDATE)
    return elements / s->flops;
  double passes = w->part == NEO_RT_NET_BACKWARD ? 2 : x->n_out ? 1 : 3;
  return 2 * passes * rows * elements / s->flops;
}

static double price(void *user, const neo_rt_net_work *w) {
  const side *s = user;
  double seconds = paper_price(s, w);
  return seconds >= 0 || !s->priced ? seconds : price_of_work(&s->prices, w);
}

static void keep(void *user, const neo_rt_net_work *w) {
  side *s = user;
  if (s->calibrate)
    prices_take(&s->prices, w);
  if (s->spans)
    fprintf(s->spans, "%d %d %d %" PRIu64 " %.9f %.9f %.9f\n", w->device, w->node, w->part,
            w->instance, w->begin_s, w->end_s, w->measured_s);
}

/* ---- options */

static bool set_option(side *s, const char *name, const char *text) {
  double value = atof(text);
  int32_t n = (int32_t)value;
  if (!strcmp(name, "keys"))
    s->config.keys = n;
  else if (!strcmp(name, "every"))
    s->config.every = n;
  else if (!strcmp(name, "workers"))
    s->config.workers = n;
  else if (!strcmp(name, "place"))
    s->config.place = n;
  else if (!strcmp(name, "devices"))
    s->devices.devices = n, s->virtual_time = true;
  else if (!strcmp(name, "replicas"))
    s->replicas = n;
  else if (!strcmp(name, "any"))
    s->devices.any = n;
  else if (!strcmp(name, "latency"))
    s->devices.latency_s = value;
  else if (!strcmp(name, "bandwidth"))
    s->devices.bytes_per_s = value;
  else if (!strcmp(name, "calibrate"))
    s->calibrate = text;
  else if (!strcmp(name, "prices"))
    s->priced = text;
  else if (!strcmp(name, "flops"))
    s->flops = value;
  else if (!strcmp(name, "epochs"))
    s->epochs = n;
  else if (!strcmp(name, "limit"))
    s->limit = (int64_t)value;
  else if (!strcmp(name, "seed"))
    s->seed = (uint64_t)n;
  else if (!strcmp(name, "spans"))
    s->spans = fopen(text, "w");
  else
    return false;
  return true;
}

/* ---- training */

/* The first run-time size that is not the same in all instances; 0: there is none. */
static int32_t first_varying(const side *s) {
  for (int32_t k = 0; k < s->net->n_sizes; k++)
    for (int64_t j = 1; j < s->train.n; j++)
      if (s->train.at[j].sizes[k] != s->train.at[0].sizes[k])
        return k;
  return 0;
}

static void create(side *s) {
  char why[512] = "";
  s->config.seed = s->seed;
  s->devices.user = s;
  s->devices.ran = s->spans || s->calibrate ? keep : NULL;
  s->devices.price = s->flops > 0 || s->priced ? price : NULL;
  s->prices = prices_new(s->net, first_varying(s));
  if (s->priced)
    prices_read(&s->prices, s->priced);
  s->config.devices = s->virtual_time ? &s->devices : NULL;
  if (s->replicas < 1 || s->replicas > MAX_REPLICAS)
    bench_die("replicas", "are 1 to 16");
  for (int32_t k = 0; k < s->replicas; k++)
    if (neo_rt_net_create(s->net, &s->config, &s->run[k], why, sizeof why))
      bench_die("create", why);
}

static neo_rt_net_instance given(const instance *x) {
  return (neo_rt_net_instance){.sizes = x->sizes, .inputs = x->input, .weight = 1};
}

/* The mean of a tensor over the replicas becomes that of each. */
static void average_tensor(side *s, int32_t tensor, neo_rt_ctx *const *whole) {
  const neo_rt_tensor *t = &s->model->tensors[tensor];
  int64_t n = 1;
  for (int d = 0; d < t->rank; d++)
    n *= extent(s->model, t, d, NULL);
  float *one = bench_memory((size_t)n * sizeof *one), *sum = bench_memory((size_t)n * sizeof *sum);
  memset(sum, 0, (size_t)n * sizeof *sum);
  for (int32_t r = 0; r < s->replicas; r++) {
    if (neo_rt_get(whole[r], tensor, one, (size_t)n * sizeof *one))
      bench_die(t->name, neo_rt_error(whole[r]));
    for (int64_t k = 0; k < n; k++)
      sum[k] += one[k] / (float)s->replicas;
  }
  for (int32_t r = 0; r < s->replicas; r++)
    if (neo_rt_set(whole[r], tensor, sum, (size_t)n * sizeof *sum))
      bench_die(t->name, neo_rt_error(whole[r]));
  free(one);
  free(sum);
}

static void average(side *s) {
  neo_rt_ctx *whole[MAX_REPLICAS];
  for (int32_t r = 0; r < s->replicas; r++) {
    neo_rt_config c = {.struct_size = sizeof c, .threads = 1, .seed = s->seed};
    if (neo_rt_create(s->model, &c, &whole[r]) || neo_rt_net_give(s->run[r], whole[r]))
      bench_die("replicas", neo_rt_net_error(s->run[r]));
  }
  for (int32_t k = 0; k < s->model->n_tensors; k++) {
    const neo_rt_tensor *t = &s->model->tensors[k];
    if ((t->role == NEO_RT_ROLE_PARAM || t->role == NEO_RT_ROLE_STATE) && t->type == NEO_RT_F32)
      average_tensor(s, k, whole);
  }
  for (int32_t r = 0; r < s->replicas; r++) {
    if (neo_rt_net_take(s->run[r], whole[r]))
      bench_die("replicas", neo_rt_net_error(s->run[r]));
    neo_rt_destroy(whole[r]);
  }
}

static double train_network(side *s) {
  double loss = NAN, sum = 0;
  for (int64_t k = 0; k < s->limit; k++) {
    neo_rt_net_instance x = given(&s->train.at[s->order[k]]);
    neo_rt_network *n = s->run[k % s->replicas];
    if (neo_rt_net_send(n, &x))
      bench_die("send", neo_rt_net_error(n));
  }
  for (int32_t r = 0; r < s->replicas; r++) {
    if (neo_rt_net_wait(s->run[r], &loss))
      bench_die("wait", neo_rt_net_error(s->run[r]));
    sum += loss / s->replicas;
  }
  if (s->replicas > 1)
    average(s);
  return sum;
}

static double train_whole(side *s) {
  static call step;
  double sum = 0;
  if (!step.e)
    step = open_call(s, s->net->entry);
  for (int64_t k = 0; k < s->limit; k++) {
    run_call(s, &step, &s->train.at[s->order[k]]);
    for (int j = step.e->n_inputs; j < step.e->n_args; j++)
      if (!strcmp(name_of(s, &step, j), "loss"))
        sum += (double)*(const float *)step.arg[j];
  }
  return sum / (double)s->limit;
}

static double train_epoch(side *s) {
  neo_rt_shuffle(s->seed, (uint64_t)s->epoch++, s->train.n, s->order);
  return s->synchronous ? train_whole(s) : train_network(s);
}

static void train_call(void *user) {
  (void)train_epoch(user);
}

/* ---- what is told */

static void print_list(const char *name, const double *x, int n, double scale) {
  printf(", \"%s\": [", name);
  for (int k = 0; k < n; k++)
    printf("%s%.6g", k ? ", " : "", x[k] * scale);
  printf("]");
}

static void print_staleness(side *s) {
  neo_rt_net_node_stats *nodes = bench_memory((size_t)s->net->n_nodes * sizeof *nodes);
  neo_rt_net_stats(s->run[0], NULL, nodes, NULL, 0);
  printf(", \"staleness\": [");
  for (int32_t k = 0; k < s->net->n_nodes; k++)
    printf("%s%.4g", k ? ", " : "", nodes[k].staleness);
  printf("]");
  free(nodes);
}

/* Virtual time of the slowest replica; the others wait for it. */
static double virtual_now(const side *s) {
  double most = 0;
  for (int32_t r = 0; r < s->replicas && s->virtual_time; r++) {
    neo_rt_net_virtual v = {0};
    (void)neo_rt_net_virtual_time(s->run[r], &v);
    most = v.seconds > most ? v.seconds : most;
  }
  return most;
}

static void print_virtual(side *s, double before_s) {
  neo_rt_net_virtual v;
  if (neo_rt_net_virtual_time(s->run[0], &v))
    bench_die("time", "is not virtual");
  printf(", \"virtual_s\": %.9g", virtual_now(s) - before_s);
  print_list("utilisation", v.busy_s, v.devices, 1 / v.seconds);
  print_staleness(s);
}

static void print_nodes(const side *s) {
  printf("{\"instances\": %" PRId64 ", \"tests\": %" PRId64 ", \"nodes\": [", s->limit, s->test.n);
  for (int32_t k = 0; k < s->net->n_nodes; k++)
    printf("%s[\"%s\", %d]", k ? ", " : "", s->net->nodes[k].kind, s->net->nodes[k].actor);
  printf("]}\n");
}

static void train(side *s) {
  print_nodes(s);
  for (int k = 0; k < s->epochs; k++) {
    double before_s = s->synchronous ? 0 : virtual_now(s), start_us = bench_now_us(),
           loss = train_epoch(s);
    printf("{\"epoch\": %d, \"train_loss\": %.8g, \"seconds\": %.6g", s->epoch, loss,
           1e-6 * (bench_now_us() - start_us));
    if (!s->synchronous && s->virtual_time)
      print_virtual(s, before_s);
    if (s->test.n && !s->synchronous && neo_rt_net_give(s->run[0], s->ctx))
      bench_die("tests", neo_rt_net_error(s->run[0]));
    if (s->test.n)
      print_tests(s);
    printf("}\n");
    fflush(stdout);
  }
}

static void choose(side *s, int32_t most) {
  neo_rt_net_instance *x = bench_memory((size_t)s->limit * sizeof *x);
  double per_second[MAX_KEYS_LOG2] = {0};
  char why[512] = "";
  int32_t keys = 0, n = 1;
  for (int64_t k = 0; k < s->limit; k++)
    x[k] = given(&s->train.at[k]);
  if (neo_rt_net_choose_keys(s->net, &s->config, x, s->limit, most, &keys, per_second, why,
                             sizeof why))
    bench_die("choose", why);
  while (n < MAX_KEYS_LOG2 && 1 << n <= most)
    n++;
  printf("{\"keys\": %d", keys);
  print_list("per_second", per_second, n, 1);
  printf("}\n");
}

/* ---- opening */

static void open_side(side *s, char **v) {
  char symbol[256];
  void *lib = dlopen(v[0], RTLD_NOW);
  if (!lib)
    bench_die(v[0], dlerror());
  snprintf(symbol, sizeof symbol, "%s_net", v[1]);
  s->net = (const neo_rt_net *)dlsym(lib, symbol);
  if (!s->net)
    bench_die(symbol, "is not in the library");
  s->model = s->net->model;
  if (s->net->n_inputs > MAX_ARGS || s->net->n_sizes > MAX_SIZES || s->model->n_sizes > MAX_SIZES)
    bench_die(v[0], "has too many inputs or sizes");
  read_instances(s, v[2], &s->train);
  read_instances(s, v[3], &s->test);
}

static void open_whole(side *s) {
  int32_t threads = s->config.workers > 0 ? s->config.workers : 1;
  neo_rt_config c = {.struct_size = sizeof c, .threads = threads, .seed = s->seed};
  if (neo_rt_create(s->model, &c, &s->ctx))
    bench_die("create", s->ctx ? neo_rt_error(s->ctx) : "out of memory");
}

int main(int argc, char **argv) {
  static side s = {.epochs = 1, .seed = 1, .replicas = 1, .config.keys = 1, .devices.calls = CALLS};
  bool serves = false;
  int32_t most = 0;
  if (argc < 5)
    bench_die("usage", "async LIB PREFIX TRAIN TEST [NAME=VALUE ...]");
  open_side(&s, argv + 1);
  s.limit = s.train.n;
  for (int k = 5; k < argc; k++) {
    char *value = strchr(argv[k], '=');
    if (!value)
      bench_die(argv[k], "is not NAME=VALUE");
    *value++ = 0;
    if (!strcmp(argv[k], "serve"))
      serves = atoi(value) != 0;
    else if (!strcmp(argv[k], "choose"))
      most = atoi(value);
    else if (!set_option(&s, argv[k], value))
      bench_die(argv[k], "is no option");
  }
  s.limit = s.limit < s.train.n ? s.limit : s.train.n;
  s.order = bench_memory((size_t)s.train.n * sizeof *s.order + 8);
  s.synchronous = !s.config.keys;
  open_whole(&s);
  if (!s.synchronous)
    create(&s);
  if (most)
    choose(&s, most);
  else if (serves)
    serve(train_call, &s, "{}");
  else
    train(&s);
  if (s.spans)
    fclose(s.spans);
  if (s.calibrate)
    prices_write(&s.prices, s.calibrate);
  for (int32_t r = 0; r < MAX_REPLICAS; r++)
    neo_rt_net_destroy(s.run[r]);
  neo_rt_destroy(s.ctx);
  return 0;
}
