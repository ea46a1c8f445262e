/* toy_net.c: see toy_net.h. Kernels know the numbers of their values by sizes that no call
 * gives. */
#include "tests/runtime/toy_net.h"
#include "base/hash.h"
#include "base/random.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------ kernels */

#define AT(T, k) ((T *)a->buf[k])

static float noise(const uint64_t *key, uint64_t element) {
  return (float)neo_rand_uniform(key[0], key[1], 7, (uint32_t)key[2], element);
}

/* The sum of values from buffer `first` on, at an element. */
static float sum(const neo_rt_args *a, int64_t first, int64_t n, int64_t element) {
  float s = 0;
  for (int64_t k = 0; k < n; k++)
    s += (float)(k + 1) * AT(const float, first + k)[element];
  return s;
}

static bool has(const neo_rt_args *a, int64_t first, int64_t n, float number) {
  bool found = false;
  for (int64_t k = 0; k < n && a->size[0] > 0; k++)
    found = found || AT(const float, first + k)[0] == number;
  return found;
}

static bool fails(const neo_rt_args *a, int64_t first, int64_t n) {
  if (has(a, first, n, SLOW_INPUT)) {
    struct timespec t = {0, 5000000};
    nanosleep(&t, NULL);
  }
  return has(a, first, n, FAILING_INPUT);
}

static int32_t init(const neo_rt_args *a) { /* W acc n */
  for (uint64_t i = 0; i < NET_COLUMNS; i++) {
    AT(float, 0)[i] = noise(a->key, i) - 0.5f;
    AT(float, 1)[i] = 0;
  }
  *AT(float, 2) = 0;
  return 0;
}

static int32_t forward(const neo_rt_args *a, int64_t n_in, int64_t n_out) { /* outs ins W */
  const float *w = AT(const float, n_out + n_in);
  for (int64_t i = 0; i < a->size[0] * NET_COLUMNS; i++) {
    float s = sum(a, n_out, n_in, i), y = w[i % NET_COLUMNS] * (s + 0.1f);
    for (int64_t k = 0; k < n_out; k++)
      AT(float, k)[i] = y / (1 + fabsf(y)) + (float)(k + 1) * noise(a->key, (uint64_t)i);
  }
  return fails(a, n_out, n_in);
}

static void add_gradient(const neo_rt_args *a, int64_t at, int64_t i, float g) { /* acc n weight */
  AT(float, at)[i % NET_COLUMNS] += g * *AT(const float, at + 2) + 1e-3f * noise(a->key, 99);
  *AT(float, at + 1) += *AT(const float, at + 2);
}

static int32_t backward(const neo_rt_args *a, int64_t n_in, int64_t n_out) {
  int64_t in = n_in + n_out, w = in + n_in; /* backs ds ins W acc n weight */
  for (int64_t i = 0; i < a->size[0] * NET_COLUMNS; i++) {
    float d = sum(a, n_in, n_out, i);
    for (int64_t k = 0; k < n_in; k++)
      AT(float, k)[i] = (float)(k + 1) * AT(const float, w)[i % NET_COLUMNS] * d;
    add_gradient(a, w + 1, i, d * sum(a, in, n_in, i));
  }
  return 0;
}

static int32_t lose(const neo_rt_args *a, int64_t n_in) { /* loss backs ins W acc n weight */
  int64_t in = 1 + n_in, w = in + n_in;
  float total = 0;
  for (int64_t i = 0; i < a->size[0] * NET_COLUMNS; i++) {
    float x = AT(const float, w)[i % NET_COLUMNS], s = sum(a, in, n_in, i);
    total += x * s;
    for (int64_t k = 0; k < n_in; k++)
      AT(float, 1 + k)[i] = (float)(k + 1) * x;
    add_gradient(a, w + 1, i, s);
  }
  *AT(float, 0) = has(a, in, n_in, NAN_INPUT) ? NAN : total / NET_ROWS;
  return fails(a, in, n_in);
}

/* Sizes 1 + 2k and 2 + 2k: the numbers of values in and out of the actor's node k. */
static int32_t forward_0(const neo_rt_args *a) {
  return forward(a, a->size[1], a->size[2]);
}
static int32_t forward_1(const neo_rt_args *a) {
  return forward(a, a->size[3], a->size[4]);
}
static int32_t backward_0(const neo_rt_args *a) {
  return backward(a, a->size[1], a->size[2]);
}
static int32_t backward_1(const neo_rt_args *a) {
  return backward(a, a->size[3], a->size[4]);
}
static int32_t lose_0(const neo_rt_args *a) {
  return lose(a, a->size[1]);
}

static int32_t update(const neo_rt_args *a) { /* W acc n */
  float n = *AT(const float, 2);
  for (uint64_t i = 0; i < NET_COLUMNS; i++) {
    float g = n > 0 ? AT(const float, 1)[i] / n : 0;
    AT(float, 0)[i] += 1e-3f * noise(a->key, i) - 0.1f * g / (1 + fabsf(g));
    AT(float, 1)[i] = 0;
  }
  *AT(float, 2) = 0;
  return 0;
}

/* ------------------------------------------------------------ records */

enum { MOST = 64, MOST_NODES = 40, MOST_VALUES = 4 * MOST_NODES, MOST_IN = 8, TENSOR_BYTES = 128 };
enum { P_ONE, P_COLUMNS = 3, P_ROWS = 6 };
enum { X_PAYLOAD, X_ROW = 1, X_SCALAR = 0 };
static const int64_t programs[] = {NEO_RT_OP_CONST, 1,           NEO_RT_OP_END,
                                   NEO_RT_OP_CONST, NET_COLUMNS, NEO_RT_OP_END,
                                   NEO_RT_OP_SIZE,  0,           NEO_RT_OP_END};
static const int32_t extents[] = {P_ROWS, P_COLUMNS};
static const int32_t entry_sizes[] = {0};

typedef struct {
  neo_rt_model model;
  char name[MOST][16];
  int n_names, n_nodes;
  neo_rt_size sizes[5];
  neo_rt_tensor tensors[MOST];
  neo_rt_buf bufs[MOST];
  neo_rt_kernel kernels[8];
  neo_rt_step steps[8];
  neo_rt_entry entries[8];
  int32_t args[4 * MOST], entry_args[4 * MOST], entry_writes[8];
  int32_t n_args, n_entry_args;
} toy_actor;

typedef struct {      /* of the network: a message that readers wait for */
  int32_t node, port; /* -1: nobody makes it */
  int readers;
  bool empty, gradient;
  const char *name;
} value;

struct toy_net {
  neo_rt_net net;
  toy_actor actors[MOST_NODES];
  neo_rt_net_node nodes[MOST_VALUES];
  neo_rt_net_edge edges[MOST_VALUES];
  neo_rt_net_actor actor_rows[MOST_NODES];
  neo_rt_net_port ports[4 * MOST_VALUES];
  const char *inputs[NET_INPUTS];
  char names[MOST_VALUES][16];
  int n_names;
  uint64_t state;
  value values[MOST_VALUES];
  int n_values;
};

enum { W, ACC, N, WEIGHT, FIRST };

static const char *name_of(toy_actor *x, const char *form, int k) {
  char *name = x->name[x->n_names++];
  snprintf(name, sizeof x->name[0], form, k);
  return name;
}

static int32_t add_tensor(toy_actor *x, const char *name, uint8_t role, uint8_t rank) {
  int32_t t = x->model.n_tensors++;
  x->model.n_bufs = x->model.n_tensors;
  bool kept = role == NEO_RT_ROLE_PARAM || role == NEO_RT_ROLE_STATE;
  uint8_t mem = role == NEO_RT_ROLE_PARAM   ? NEO_RT_MEM_PARAM
                : role == NEO_RT_ROLE_STATE ? NEO_RT_MEM_STATE
                                            : NEO_RT_MEM_CALLER;
  assert(t < MOST);
  x->tensors[t] = (neo_rt_tensor){.name = name,
                                  .place = "toy.expr:1:1",
                                  .role = role,
                                  .type = NEO_RT_F32,
                                  .rank = rank,
                                  .in_safetensors = kept,
                                  .extent = rank == 1 ? X_ROW : X_PAYLOAD,
                                  .bound = -1,
                                  .buf = t};
  x->bufs[t] = (neo_rt_buf){.mem = mem,
                            .type = NEO_RT_F32,
                            .offset = mem == NEO_RT_MEM_CALLER ? t
                                      : t == N                 ? 64
                                                               : 0,
                            .size_bytes = rank == 2   ? TENSOR_BYTES
                                          : rank == 1 ? sizeof(float) * NET_COLUMNS
                                                      : sizeof(float)};
  return t;
}

static void begin_actor(toy_actor *x, int number) {
  x->model = (neo_rt_model){.abi = NEO_RT_ABI,
                            .prefix = "toy",
                            .source_hash = "0",
                            .target = "test",
                            .features = "",
                            .n_sizes = 5,
                            .sizes = x->sizes,
                            .tensors = x->tensors,
                            .bufs = x->bufs,
                            .kernels = x->kernels,
                            .steps = x->steps,
                            .entries = x->entries,
                            .extents = extents,
                            .args = x->args,
                            .entry_args = x->entry_args,
                            .entry_sizes = entry_sizes,
                            .entry_writes = x->entry_writes,
                            .programs = programs,
                            .param_bytes = 16,
                            .state_bytes = 128};
  x->model.name = name_of(x, "actor%d", number);
  x->sizes[0] = (neo_rt_size){"B", 0, NET_ROWS};
  for (int k = 1; k < 5; k++)
    x->sizes[k] = (neo_rt_size){"n", 0, 0};
  x->entry_writes[0] = W;
  x->entry_writes[1] = ACC;
  x->entry_writes[2] = N;
  (void)add_tensor(x, "W", NEO_RT_ROLE_PARAM, 1);
  (void)add_tensor(x, "acc", NEO_RT_ROLE_STATE, 1);
  (void)add_tensor(x, "n", NEO_RT_ROLE_STATE, 0);
  (void)add_tensor(x, "weight", NEO_RT_ROLE_INPUT, 0);
}

/* An entry of one kernel: inputs and outputs of the entry, then the kernel's buffers. */
static const char *add_entry(toy_actor *x, uint8_t kind, const char *name, neo_rt_fn *fn,
                             const int32_t *io, int n_inputs, int n_io, const int32_t *bufs,
                             int n_bufs, int writes) {
  int32_t e = x->model.n_entries++;
  x->entries[e] = (neo_rt_entry){.name = name,
                                 .kind = kind,
                                 .first_step = e,
                                 .n_steps = 1,
                                 .args = x->n_entry_args,
                                 .n_args = n_io,
                                 .n_inputs = n_inputs,
                                 .n_sizes = kind == NEO_RT_ENTRY_INIT ? 0 : 1,
                                 .writes = 0,
                                 .n_writes = writes};
  x->kernels[e] = (neo_rt_kernel){.name = name, .fn = fn, .units = P_ONE};
  x->steps[e] = (neo_rt_step){.op = NEO_RT_STEP_RUN, .arg = e, .first = x->n_args, .n = n_bufs};
  if (n_io)
    memcpy(x->entry_args + x->n_entry_args, io, (size_t)n_io * sizeof *io);
  memcpy(x->args + x->n_args, bufs, (size_t)n_bufs * sizeof *bufs);
  x->n_entry_args += n_io;
  x->n_args += n_bufs;
  x->model.n_kernels = x->model.n_steps = x->model.n_entries;
  return name;
}

/* ------------------------------------------------------------ networks */

static int draw(toy_net *t, int n) {
  return (int)(neo_splitmix(&t->state) % (uint64_t)n);
}

static const char *new_name(toy_net *t) {
  char *name = t->names[t->n_names++];
  snprintf(name, sizeof t->names[0], "v%d", t->n_names);
  return name;
}

static int add_value(toy_net *t, int32_t node, int32_t port, bool empty, bool gradient) {
  assert(t->n_values < MOST_VALUES);
  t->values[t->n_values] = (value){.node = node,
                                   .port = port,
                                   .empty = empty,
                                   .gradient = gradient,
                                   .name = empty ? NULL : new_name(t)};
  return t->n_values++;
}

/* An edge from the value to a port of a node; out ports are numbered by their nodes. */
static int32_t add_edge(toy_net *t, const value *v, int32_t to, int32_t port) {
  t->edges[t->net.n_edges] = (neo_rt_net_edge){v->node, v->port, to, port};
  return t->net.n_edges++;
}

/* Ports are laid out when all nodes are known: until then, those of a node are here. */
typedef struct {
  neo_rt_net_port in[MOST_IN], out[4];
  int n_in, n_out;
} drafts;

typedef struct {
  toy_net *t;
  drafts at[MOST_VALUES];
} drafting;

static void add_in(drafting *d, int32_t node, const value *v, const char *own, const char *back) {
  drafts *x = &d->at[node];
  int32_t edge = add_edge(d->t, v, node, x->n_in);
  x->in[x->n_in++] = (neo_rt_net_port){.name = v->name,
                                       .value = own,
                                       .back = v->gradient ? back : NULL,
                                       .edge = edge,
                                       .gradient = v->gradient};
  d->at[v->node].out[v->port].edge = edge;
}

static int add_out(drafting *d, int32_t node, bool empty, bool gradient, const char *own,
                   const char *back) {
  drafts *x = &d->at[node];
  int v = add_value(d->t, node, x->n_out, empty, gradient);
  x->out[x->n_out++] = (neo_rt_net_port){
      .name = d->t->values[v].name, .value = own, .back = back, .gradient = gradient};
  return v;
}

static int32_t add_node(drafting *d, const char *kind, int32_t actor) {
  int32_t node = d->t->net.n_nodes++;
  d->t->nodes[node] = (neo_rt_net_node){.kind = kind, .actor = actor};
  return node;
}

/* A node of the actor that takes n_in of the values. */
static void add_work(drafting *d, int32_t actor, const int *in, int n_in, int n_out) {
  toy_net *t = d->t;
  toy_actor *x = &t->actors[actor];
  int which = x->n_nodes++;
  bool loss = n_out == 0;
  int32_t node = add_node(d, loss ? "Loss" : "PPT", actor);
  int32_t ins[MOST_IN], backs[MOST_IN], outs[4], ds[4];
  int n_data = 0;
  for (int k = 0; k < n_in; k++) {
    const value *v = &t->values[in[k]];
    if (v->empty) {
      add_in(d, node, v, NULL, NULL);
      continue;
    }
    const char *own = name_of(x, "x%d", x->n_names), *back = name_of(x, "b%d", x->n_names);
    ins[n_data] = add_tensor(x, own, NEO_RT_ROLE_INPUT, 2);
    backs[n_data++] = add_tensor(x, back, NEO_RT_ROLE_OUTPUT, 2);
    add_in(d, node, v, own, back);
  }
  for (int k = 0; k < n_out; k++) {
    const char *own = name_of(x, "y%d", x->n_names), *back = name_of(x, "d%d", x->n_names);
    outs[k] = add_tensor(x, own, NEO_RT_ROLE_OUTPUT, 2);
    ds[k] = add_tensor(x, back, NEO_RT_ROLE_INPUT, 2);
    (void)add_out(d, node, false, true, own, back);
  }
  x->sizes[1 + 2 * which].lo = x->sizes[1 + 2 * which].hi = n_data;
  x->sizes[2 + 2 * which].lo = x->sizes[2 + 2 * which].hi = n_out;
  int32_t io[3 * MOST_IN], bufs[3 * MOST_IN];
  int n = 0, m = 0;
  neo_rt_net_node *row = &t->nodes[node];
#define ADD(list, count, table, many) \
  for (int q = 0; q < (many); q++)    \
  list[count++] = (table)[q]
  const int32_t tail[] = {W, ACC, N, WEIGHT};
  if (loss) {
    const char *name = name_of(x, "loss", 0);
    const int32_t l = add_tensor(x, name, NEO_RT_ROLE_OUTPUT, 0), weight = WEIGHT;
    row->loss = name;
    ADD(io, n, ins, n_data);
    ADD(io, n, &weight, 1);
    int n_inputs = n;
    ADD(io, n, backs, n_data);
    ADD(io, n, &l, 1);
    ADD(bufs, m, &l, 1);
    ADD(bufs, m, backs, n_data);
    ADD(bufs, m, ins, n_data);
    ADD(bufs, m, tail, 4);
    row->forward = add_entry(x, NEO_RT_ENTRY_GRAD, "lose", lose_0, io, n_inputs, n, bufs, m, 3);
    return;
  }
  ADD(io, n, ins, n_data);
  ADD(io, n, outs, n_out);
  ADD(bufs, m, outs, n_out);
  ADD(bufs, m, ins, n_data);
  ADD(bufs, m, tail, 1);
  row->forward = add_entry(x, NEO_RT_ENTRY_FORWARD, which ? "forward1" : "forward0",
                           which ? forward_1 : forward_0, io, n_data, n, bufs, m, 0);
  n = m = 0;
  const int32_t weight = WEIGHT;
  ADD(io, n, ins, n_data);
  ADD(io, n, ds, n_out);
  ADD(io, n, &weight, 1);
  int n_inputs = n;
  ADD(io, n, backs, n_data);
  ADD(bufs, m, backs, n_data);
  ADD(bufs, m, ds, n_out);
  ADD(bufs, m, ins, n_data);
  ADD(bufs, m, tail, 4);
  row->backward = add_entry(x, NEO_RT_ENTRY_GRAD, which ? "backward1" : "backward0",
                            which ? backward_1 : backward_0, io, n_inputs, n, bufs, m, 3);
}

/* Gives a value that several nodes will read a Bcast, whose copies are new values. */
static void copy_value(drafting *d, int v) {
  value of = d->t->values[v];
  int32_t node = add_node(d, "Bcast", -1);
  add_in(d, node, &of, NULL, NULL);
  d->t->values[v].readers = 1;
  for (int k = 2 + draw(d->t, 2); k > 0; k--)
    (void)add_out(d, node, of.empty, of.gradient, NULL, NULL);
}

/* An unread value, rather an early one; -1: there is none. */
static int unread(toy_net *t) {
  int found = -1;
  for (int k = t->n_values; k-- > 0;)
    if (!t->values[k].readers && (found < 0 || draw(t, 2)))
      found = k;
  return found;
}

static int take_unread(toy_net *t) {
  int v = unread(t);
  if (v >= 0)
    t->values[v].readers = 1;
  return v;
}

static int count_unread(const toy_net *t) {
  int n = 0;
  for (int k = 0; k < t->n_values; k++)
    n += !t->values[k].readers;
  return n;
}

static int32_t new_actor(toy_net *t) {
  int32_t k = t->net.n_actors++;
  assert(k < MOST_NODES);
  begin_actor(&t->actors[k], k);
  return k;
}

/* The actor of a new node: one that has a node already, if weights are tied. */
static int32_t any_actor(toy_net *t, const toy_net_shape *s) {
  int32_t k = t->net.n_actors ? draw(t, t->net.n_actors) : -1;
  bool tied = s->tied && k >= 0 && t->actors[k].n_nodes == 1 && draw(t, 3) == 0;
  return tied ? k : new_actor(t);
}

static void finish_actor(toy_actor *x) {
  const int32_t kept[] = {W, ACC, N};
  (void)add_entry(x, NEO_RT_ENTRY_TRAIN, "update", update, NULL, 0, 0, kept, 3, 3);
  (void)add_entry(x, NEO_RT_ENTRY_INIT, "init", init, NULL, 0, 0, kept, 3, 0);
}

static void lay_out_ports(drafting *d) {
  toy_net *t = d->t;
  for (int32_t k = 0; k < t->net.n_nodes; k++) {
    neo_rt_net_node *x = &t->nodes[k];
    x->in = t->net.n_ports;
    x->n_in = d->at[k].n_in;
    x->out = x->in + x->n_in;
    x->n_out = d->at[k].n_out;
    memcpy(t->ports + x->in, d->at[k].in, (size_t)x->n_in * sizeof *t->ports);
    memcpy(t->ports + x->out, d->at[k].out, (size_t)x->n_out * sizeof *t->ports);
    t->net.n_ports = x->out + x->n_out;
  }
}

static void draft(drafting *d, const toy_net_shape *s) {
  toy_net *t = d->t;
  (void)add_node(d, "controller", -1);
  for (int k = 0; k < NET_INPUTS; k++)
    t->inputs[k] = t->values[add_out(d, 0, false, false, NULL, NULL)].name;
  (void)add_out(d, 0, true, false, NULL, NULL);
  for (int left = s->nodes - 1; left > 0; left--) {
    int in[2], n_in = 1;
    if (s->wide && draw(t, 3) == 0 && count_unread(t) < 5)
      copy_value(d, unread(t));
    in[0] = take_unread(t);
    if (count_unread(t) > 2 || (count_unread(t) && draw(t, 3) == 0))
      in[n_in++] = take_unread(t);
    add_work(d, any_actor(t, s), in, n_in, count_unread(t) > 4 ? 1 : 1 + draw(t, 2));
  }
  int in[MOST_IN], n_in = 0;
  for (int v; (v = take_unread(t)) >= 0;) {
    assert(n_in < MOST_IN);
    in[n_in++] = v;
  }
  add_work(d, new_actor(t), in, n_in, 0);
}

toy_net *toy_net_make(uint64_t seed, const toy_net_shape *shape) {
  toy_net *t = calloc(1, sizeof *t);
  drafting *d = calloc(1, sizeof *d);
  assert(t && d);
  t->state = seed;
  d->t = t;
  draft(d, shape);
  lay_out_ports(d);
  free(d);
  for (int32_t k = 0; k < t->net.n_actors; k++) {
    finish_actor(&t->actors[k]);
    t->actor_rows[k] =
        (neo_rt_net_actor){.model = &t->actors[k].model, .update = "update", .weight = "weight"};
  }
  t->net.abi = NEO_RT_NET_ABI;
  t->net.entry = "step";
  t->net.n_sizes = 1;
  t->net.n_inputs = NET_INPUTS;
  t->net.nodes = t->nodes;
  t->net.edges = t->edges;
  t->net.actors = t->actor_rows;
  t->net.ports = t->ports;
  t->net.inputs = t->inputs;
  return t;
}

void toy_net_free(toy_net *t) {
  free(t);
}

neo_rt_net *toy_net_record(toy_net *t) {
  return &t->net;
}

/* ------------------------------------------------------------ use */

neo_rt_network *toy_net_open(toy_net *t, const neo_rt_net_config *config) {
  neo_rt_network *n;
  char why[1024] = "";
  if (neo_rt_net_create(&t->net, config, &n, why, sizeof why)) {
    fprintf(stderr, "%s\n", why);
    abort();
  }
  return n;
}

void toy_net_data(uint64_t number, float *x) {
  uint64_t state = number + 1;
  for (int k = 0; k < NET_INPUTS * NET_ROWS * NET_COLUMNS; k++)
    x[k] = (float)(neo_splitmix(&state) >> 40) * 0x1p-24f - 0.5f;
}

neo_rt_status toy_net_send(neo_rt_network *n, int64_t rows, const float *x) {
  const void *inputs[NET_INPUTS];
  for (int k = 0; k < NET_INPUTS; k++)
    inputs[k] = x + k * NET_ROWS * NET_COLUMNS;
  neo_rt_net_instance i = {
      .sizes = &rows, .inputs = inputs, .weight = 1 + (double)(rows % 3), .rows = rows};
  return neo_rt_net_send(n, &i);
}

neo_rt_status toy_net_train(neo_rt_network *n, uint64_t from, int count, double *loss) {
  float x[NET_INPUTS * NET_ROWS * NET_COLUMNS];
  neo_rt_status status = NEO_RT_OK;
  for (uint64_t k = from; k < from + (uint64_t)count && !status; k++) {
    toy_net_data(k, x);
    status = toy_net_send(n, (int64_t)(k * 5 % (NET_ROWS + 1)), x);
  }
  return status ? status : neo_rt_net_wait(n, loss);
}

uint64_t toy_net_digest(const toy_net *t, neo_rt_network *n) {
  uint64_t h = 0;
  for (int32_t k = 0; k < t->net.n_actors; k++) {
    float w[NET_COLUMNS];
    neo_rt_status status = neo_rt_get(neo_rt_net_context(n, k), W, w, sizeof w);
    assert(status == 0);
    (void)status;
    h = neo_hash(w, sizeof w, h);
  }
  return h;
}
