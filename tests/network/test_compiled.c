/* Compiled networks, run by libneort, beside the synchronous step and the network's interpreter. */
#include "include/neo/neo_net.h"
#include "runtime/model.h"
#include "tests/network/world.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 10, SEED = 3, MOST_INPUTS = 8, MOST_BYTES = 1 << 14 };

typedef struct {
  world w;
  neo_compilation c;
  neo_library lib;
  const neo_rt_net *net;
  neo_rt_network *run;
  unsigned char bytes[MOST_INPUTS][MOST_BYTES];
  const void *inputs[MOST_INPUTS];
} job;

static void check_compiled(job *j, neo_status s) {
  neo_str text = neo_str_in(&j->c.arena);
  if (!s)
    return;
  neo_diags_print(j->c.diags, &text, false);
  fail_msg("%s %s", neo_str_text(&text), j->c.why ? j->c.why : "");
}

static void open_network(job *j, int32_t keys, int32_t every) {
  neo_rt_net_config c = {.keys = keys, .every = every, .seed = SEED};
  char why[256] = "";
  if (neo_rt_net_create(j->net, &c, &j->run, why, sizeof why))
    fail_msg("%s", why);
}

static void open_job(job *j, const char *text, uint32_t nodes, int32_t keys, int32_t every) {
  char library[4096];
  world_model x = {.text = text, .nodes = nodes};
  snprintf(library, sizeof library, "%s/models/std", NEO_TEST_SOURCE_DIR);
  const char *const imports[] = {library, NULL};
  neo_compile_options o = {.path = "model.expr",
                           .text = text,
                           .text_bytes = strlen(text),
                           .import_paths = imports,
                           .unseen = true,
                           .network = true,
                           .network_nodes = nodes,
                           .passes = {.verify = true}};
  *j = (job){0};
  world_open(&j->w, NEO_TEST_SOURCE_DIR, &x);
  world_begin(&j->w, SEED);
  neo_compilation_init(&j->c, &o);
  check_compiled(j, neo_compile_plan(&j->c));
  check_compiled(j, neo_compile_networks(&j->c));
  check_compiled(j, neo_library_make(&j->c, &j->lib));
  j->net = dlsym(j->lib.handle, "model_net");
  assert_non_null(j->net);
  open_network(j, keys, every);
}

static void close_job(job *j) {
  neo_rt_net_destroy(j->run);
  neo_library_close(&j->lib);
  neo_compilation_free(&j->c);
  world_close(&j->w);
}

/* The world's inputs as the network takes them. */
static void take_inputs(job *j) {
  assert_true(j->net->n_inputs <= MOST_INPUTS);
  for (int32_t k = 0; k < j->net->n_inputs; k++) {
    neo_tensor t = neo_tensor_find(j->w.m, j->net->inputs[k]);
    neo_type type = neo_tensor_type(j->w.m, t);
    const neo_values *v = j->w.inputs[t.i];
    assert_true((size_t)v->n * neo_type_bytes(type) <= MOST_BYTES);
    for (int64_t i = 0; i < v->n; i++)
      neo_value_write(type, v->at[i], j->bytes[k] + (size_t)i * neo_type_bytes(type));
    j->inputs[k] = j->bytes[k];
  }
}

static void send(job *j, double weight) {
  neo_rt_net_instance x = {.sizes = j->w.sizes + 1, .inputs = j->inputs, .weight = weight};
  take_inputs(j);
  if (neo_rt_net_send(j->run, &x))
    fail_msg("%s", neo_rt_net_error(j->run));
}

static double wait_for(job *j) {
  double loss = NAN;
  if (neo_rt_net_wait(j->run, &loss))
    fail_msg("%s", neo_rt_net_error(j->run));
  return loss;
}

/* The elements of a tensor, from an actor that has it; returns the number of bytes. */
static size_t read_kept(job *j, const char *name, unsigned char *to, size_t most) {
  size_t bytes = 0;
  for (int32_t k = 0; k < j->net->n_actors; k++) {
    const neo_rt_model *m = j->net->actors[k].model;
    int32_t t = neo_rt_find(m, name);
    if (t < 0)
      continue;
    int64_t extent[16];
    bytes = (size_t)neo_rti_extents(m, &m->tensors[t], NULL, extent) *
            neo_rti_type_bytes(m->tensors[t].type);
    assert_true(bytes <= most);
    assert_int_equal(neo_rt_get(neo_rt_net_context(j->run, k), t, to, bytes), 0);
  }
  return bytes;
}

static size_t read_model(job *j, const char *name, unsigned char *to, size_t most) {
  size_t bytes = read_kept(j, name, to, most);
  for (int32_t k = 0; k < j->net->n_slices; k++)
    if (strcmp(j->net->slices[k].of, name) == 0)
      bytes += read_kept(j, j->net->slices[k].name, to + bytes, most - bytes);
  return bytes;
}

static void compare(job *j, neo_tensor t, const neo_values *want, double tolerance) {
  static unsigned char got[MOST_BYTES];
  const char *name = neo_tensor_name(j->w.m, t);
  neo_type type = neo_tensor_type(j->w.m, t);
  double size = 1e-3, off = 0;
  assert_int_equal(read_model(j, name, got, sizeof got), (size_t)want->n * neo_type_bytes(type));
  for (int64_t k = 0; k < want->n; k++) {
    double x = neo_value_read(type, got + (size_t)k * neo_type_bytes(type)).f;
    size = fmax(size, fabs(want->at[k].f));
    off = fmax(off, fabs(x - want->at[k].f));
  }
  if (!(off <= tolerance * size))
    fail_msg("%s differs by %.3g of %.3g", name, off, size);
}

/* Parameters, beside those of the synchronous step (or of the interpreted network). */
static void compare_params(job *j, bool network, double tolerance) {
  for (uint32_t t = 1; t < j->w.m->tensors.n; t++)
    if (j->w.m->tensors.at[t].role == NEO_ROLE_PARAM)
      compare(j, (neo_tensor){t},
              network ? neo_net_interp_kept(j->w.net, neo_tensor_name(j->w.m, (neo_tensor){t}))
                      : neo_interp_tensor(j->w.whole, (neo_tensor){t}),
              tolerance);
}

/* Parameters, beside those of a context of the whole model. */
static void compare_contexts(job *j, neo_rt_ctx *whole, double tolerance) {
  static float a[MOST_BYTES / sizeof(float)], b[MOST_BYTES / sizeof(float)];
  neo_rt_ctx *got;
  assert_int_equal(neo_rt_create(j->net->model, NULL, &got), 0);
  assert_int_equal(neo_rt_net_give(j->run, got), 0);
  for (int32_t t = 0; t < j->net->model->n_tensors; t++) {
    const neo_rt_tensor *x = &j->net->model->tensors[t];
    size_t n = 1;
    if (x->role != NEO_RT_ROLE_PARAM || x->type != NEO_RT_F32)
      continue;
    for (int d = 0; d < x->rank; d++)
      n *=
          (size_t)neo_rt_eval(j->net->model, j->net->model->extents[x->extent + d], j->w.sizes + 1);
    assert_true(n <= sizeof a / sizeof *a);
    assert_int_equal(neo_rt_get(got, t, a, n * sizeof *a), 0);
    assert_int_equal(neo_rt_get(whole, t, b, n * sizeof *b), 0);
    for (size_t k = 0; k < n; k++)
      if (!(fabsf(a[k] - b[k]) <= (float)tolerance * fmaxf(1, fabsf(b[k]))))
        fail_msg("%s differs: %g, %g", x->name, (double)a[k], (double)b[k]);
  }
  neo_rt_destroy(got);
}

static const char *const models[] = {
    /* a chain */
    "import nn, optim\ndim B <= 6\ninput X[B, 5]\ninput Y[B] : i32 < 4\n"
    "a = nn.linear(X, out = 7)\nb[n, j] = relu(a[n, j])\nh = nn.linear(b, out = 6)\n"
    "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y)\noutput L\noutput test: loss\n"
    "train loss using optim.sgd(lr = 0.1)\n",
    /* copies, tied weights, masks, counts of updates */
    "import nn, optim\ndim B <= 6\ninput X[B, 5]\ninput Y[B] : i32 < 4\n"
    "param W[5, 5] = normal(0, 0.5)\na[n, j] = tanh(sum[i] X[n, i]*W[i, j])\n"
    "b[n, j] = tanh(sum[i] a[n, i]*W[j, i])\nc = nn.linear(a, out = 5)\n"
    "d = nn.dropout(c, p = 0.3)\nh[n, j] = b[n, j]*d[n, j] + a[n, j]\n"
    "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y)\noutput L\noutput test: loss\n"
    "train loss using optim.adam(lr = 0.01)\n",
    /* batch statistics, a loop, lookups, values that the optimizer reads */
    "import nn, optim\ndim B <= 6\ninput k[B] : i32 < 9\ninput Y[B] : i32 < 4\n"
    "param T[9, 5] = normal(0, 1)\nx[b, j] = T[k[b], j]\n"
    "touched[n < 9] = any[b] k[b] == n\na = nn.linear(x, out = 6)\nb = nn.batch_norm(a)\n"
    "param R[6, 6] = normal(0, 0.3)\nh = scan t < 4 from h[n < B, j < 6] = 0 {\n"
    " next h[n, j] = tanh(b[n, j] + sum[i] h[n, i]*R[i, j]) }\n"
    "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y)\noutput L\noutput test: loss\n"
    "train loss over T using optim.adam_rows(touched, lr = 0.01)\n"
    "train loss except T using optim.momentum(lr = 0.01)\n",
    /* stacks of parameters */
    "import nn, optim\ndim B <= 6\ninput X[B, 5]\ninput Y[B] : i32 < 4\n"
    "h = repeat l < 3 from h = X {\n a = nn.linear(h, out = 5)\n n = nn.layer_norm(a)\n"
    " next h[b, j] = h[b, j] + tanh(n[b, j]) }\n"
    "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y)\noutput L\noutput test: loss\n"
    "train loss using optim.adam(lr = 0.01)\n",
};

/* An instance that is evaluated gives the loss of the model's entry, and changes nothing. */
static void evaluate(job *j) {
  neo_rt_net_instance x = {.sizes = j->w.sizes + 1, .inputs = j->inputs, .weight = 1, .test = 1};
  take_inputs(j);
  if (neo_rt_net_send(j->run, &x))
    fail_msg("%s", neo_rt_net_error(j->run));
  double loss = wait_for(j), want;
  world_test(&j->w, 1e-5);
  want = neo_net_interp_loss(j->w.net, j->w.steps + j->w.tests - 1)->at[0].f;
  assert_true(fabs(loss - want) < 1e-5 * fmax(1, fabs(want)));
}

/* The whole model's context, given the values of the actors, and the reverse. */
static void compare_whole(job *j, double tolerance) {
  static unsigned char mine[MOST_BYTES], again[MOST_BYTES];
  neo_rt_ctx *ctx;
  assert_int_equal(neo_rt_create(j->net->model, NULL, &ctx), 0);
  assert_int_equal(neo_rt_net_give(j->run, ctx), 0);
  for (uint32_t t = 1; t < j->w.m->tensors.n; t++) {
    neo_tensor id = {t};
    const char *name = neo_tensor_name(j->w.m, id);
    if (neo_tensor_at(j->w.m, id)->role != NEO_ROLE_PARAM)
      continue;
    const neo_values *want = neo_interp_tensor(j->w.whole, id);
    size_t bytes = (size_t)want->n * neo_type_bytes(neo_tensor_type(j->w.m, id));
    int32_t own = neo_rt_find(j->net->model, name);
    assert_int_equal(neo_rt_get(ctx, own, mine, bytes), 0);
    for (int64_t k = 0; k < want->n; k++)
      assert_true(fabs(((float *)mine)[k] - want->at[k].f) <
                  tolerance * fmax(1, fabs(want->at[k].f)));
    for (int64_t k = 0; k < want->n; k++)
      ((float *)again)[k] = (float)k;
    assert_int_equal(neo_rt_set(ctx, own, again, bytes), 0);
    assert_int_equal(neo_rt_net_take(j->run, ctx), 0);
    assert_int_equal(read_model(j, name, mine, sizeof mine), bytes);
    assert_memory_equal(mine, again, bytes);
  }
  neo_rt_destroy(ctx);
}

static void one_key_is_the_synchronous_step(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++)
    for (uint32_t nodes = 0; nodes < 3; nodes++) {
      job *j = test_malloc(sizeof *j);
      open_job(j, models[m], nodes, 1, 1);
      for (uint64_t k = 0; k < STEPS; k++) {
        world_size(&j->w, "B", 2 + (int64_t)k % 4);
        world_fill(&j->w, k);
        send(j, 1);
        world_step(&j->w, 1e-5);
        double loss = wait_for(j), want = neo_interp_output(j->w.whole, 0)->at[0].f;
        assert_true(fabs(loss - want) < 1e-5 * fmax(1, fabs(want)));
        if (k % 3 == 1)
          evaluate(j);
      }
      compare_params(j, false, 1e-4);
      compare_whole(j, 1e-4);
      close_job(j);
      test_free(j);
    }
}

/* Messages go in the order of the interpreter's. */
static void several_keys_are_the_interpreted_network(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    job *j = test_malloc(sizeof *j);
    open_job(j, models[m], 0, 3, 2);
    neo_str why = neo_str_in(&j->w.c.arena);
    neo_net_interp_every(j->w.net, 2);
    world_fill(&j->w, 5);
    for (uint64_t round = 0; round < 4; round++) {
      for (int k = 0; k < 2; k++) {
        neo_net_instance x = world_instance(&j->w, k ? 0.5 : 1);
        neo_net_interp_send(j->w.net, &x);
        send(j, x.weight);
      }
      world_check(&j->w, neo_net_interp_drain(j->w.net, &why), &why);
      (void)wait_for(j);
    }
    compare_params(j, true, 1e-5);
    close_job(j);
    test_free(j);
  }
}

static void more_instances_than_keys_wait_for_a_slot(void **state) {
  (void)state;
  for (int32_t keys = 1; keys < 5; keys++) {
    job *j = test_malloc(sizeof *j);
    open_job(j, models[1], 0, keys, 1);
    world_fill(&j->w, 5);
    for (int k = 0; k < 20; k++)
      send(j, 1);
    assert_true(isfinite(wait_for(j)));
    close_job(j);
    test_free(j);
  }
}

/* Threads: with one key the bits are those of the calling thread. */
static void workers_with_one_key_have_the_bits_of_one_thread(void **state) {
  (void)state;
  for (size_t m = 0; m < 2; m++) {
    job *j = test_malloc(sizeof *j);
    double loss[3];
    open_job(j, models[m], 0, 1, 1);
    for (int32_t workers = 0; workers < 3; workers++) {
      neo_rt_net_config c = {.workers = workers, .seed = SEED};
      neo_rt_net_destroy(j->run);
      assert_int_equal(neo_rt_net_create(j->net, &c, &j->run, NULL, 0), 0);
      for (uint64_t k = 0; k < 6; k++) {
        world_fill(&j->w, k);
        send(j, 1);
      }
      loss[workers] = wait_for(j);
      assert_memory_equal(&loss[workers], &loss[0], sizeof loss[0]);
    }
    close_job(j);
    test_free(j);
  }
}

/* The whole model's step, on the world's inputs. */
static void step_whole(job *j, neo_rt_ctx *whole) {
  const neo_rt_model *m = j->net->model;
  int32_t entry = neo_rt_find_entry(m, j->net->entry);
  void *args[MOST_INPUTS] = {NULL};
  assert_true(entry >= 0);
  const neo_rt_entry *e = &m->entries[entry];
  assert_true(e->n_args <= MOST_INPUTS);
  for (int32_t k = 0; k < e->n_inputs; k++)
    for (int32_t i = 0; i < j->net->n_inputs; i++)
      if (strcmp(m->tensors[m->entry_args[e->args + k]].name, j->net->inputs[i]) == 0)
        args[k] = (void *)(uintptr_t)j->inputs[i];
  if (neo_rt_call(whole, entry, j->w.sizes + 1, args))
    fail_msg("%s", neo_rt_error(whole));
}

static void assert_same_file(const char *a, const char *b) {
  static unsigned char x[1 << 16], y[1 << 16];
  FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
  assert_non_null(f);
  assert_non_null(g);
  size_t n = fread(x, 1, sizeof x, f), m = fread(y, 1, sizeof y, g);
  fclose(f);
  fclose(g);
  assert_int_equal(n, m);
  assert_memory_equal(x, y, n);
}

static void sends(job *j, uint64_t from, uint64_t to) {
  for (uint64_t k = from; k < to; k++) {
    world_fill(&j->w, k);
    send(j, 1);
  }
  (void)wait_for(j);
}

static void a_file_continues_asynchronous_and_synchronous_training(void **state) {
  const char *half = "/tmp/neo_net_half.safetensors", *end = "/tmp/neo_net_end.safetensors";
  const char *again = "/tmp/neo_net_again.safetensors";
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    job *j = test_malloc(sizeof *j);
    open_job(j, models[m], 0, 1, 1);
    sends(j, 0, 4);
    assert_int_equal(neo_rt_net_save(j->run, half, NULL, 0), 0);
    sends(j, 4, 8);
    assert_int_equal(neo_rt_net_save(j->run, end, NULL, 0), 0);
    neo_rt_net_destroy(j->run); /* another network goes on, to the same bits */
    open_network(j, 1, 1);
    if (neo_rt_net_load(j->run, half))
      fail_msg("%s", neo_rt_net_error(j->run));
    sends(j, 4, 8);
    assert_int_equal(neo_rt_net_save(j->run, again, NULL, 0), 0);
    assert_same_file(end, again);
    neo_rt_ctx *whole; /* the synchronous step goes on */
    neo_rt_config c = {.threads = 1, .seed = SEED};
    assert_int_equal(neo_rt_create(j->net->model, &c, &whole), 0);
    if (neo_rt_load(whole, half))
      fail_msg("%s", neo_rt_error(whole));
    assert_int_equal(neo_rt_step_count(whole), 4);
    for (uint64_t k = 4; k < 8; k++) {
      world_fill(&j->w, k);
      take_inputs(j);
      step_whole(j, whole);
    }
    compare_contexts(j, whole, 1e-5);
    neo_rt_destroy(whole);
    close_job(j);
    test_free(j);
    remove(half);
    remove(end);
    remove(again);
  }
}

static void wrong_instances_are_refused(void **state) {
  int64_t sizes[] = {7};
  job *j = test_malloc(sizeof *j);
  (void)state;
  open_job(j, models[0], 0, 1, 1);
  world_fill(&j->w, 1);
  take_inputs(j);
  neo_rt_net_instance x = {.sizes = sizes, .inputs = j->inputs, .weight = 1};
  assert_int_equal(neo_rt_net_send(j->run, &x), NEO_RT_E_SHAPE);
  assert_string_equal(neo_rt_net_error(j->run), "B: 7 is not in [1, 6]");
  assert_int_equal(neo_rt_net_send(j->run, &x), NEO_RT_E_STATE);
  neo_rt_net_destroy(j->run);
  open_network(j, 1, 1);
  sizes[0] = 2;
  memset(j->bytes[1], 9, 8); /* classes */
  assert_int_equal(neo_rt_net_send(j->run, &x), NEO_RT_E_RANGE);
  assert_non_null(strstr(neo_rt_net_error(j->run), "Y"));
  close_job(j);
  test_free(j);
}

/* Creating the network with node k of another kind. */
static neo_rt_status create_with_kind(const job *j, int32_t k, const char *kind, char why[256]) {
  enum { MOST_NODES = 64 };
  neo_rt_net_node nodes[MOST_NODES];
  neo_rt_net net = *j->net;
  neo_rt_network *run;
  assert_true(net.n_nodes <= MOST_NODES);
  memcpy(nodes, net.nodes, (size_t)net.n_nodes * sizeof *nodes);
  nodes[k].kind = kind;
  net.nodes = nodes;
  neo_rt_status status = neo_rt_net_create(&net, NULL, &run, why, 256);
  assert_true((run == NULL) == (status != NEO_OK));
  neo_rt_net_destroy(run);
  return status;
}

static void nodes_of_kinds_that_the_runtime_does_not_have_are_refused(void **state) {
  job *j = test_malloc(sizeof *j);
  char why[256], want[256];
  (void)state;
  open_job(j, models[0], 0, 1, 1);
  for (int32_t k = 0; k < j->net->n_nodes; k++) {
    const neo_rt_net_node *x = &j->net->nodes[k];
    assert_int_equal(create_with_kind(j, k, x->kind, why), NEO_OK);
    assert_int_equal(create_with_kind(j, k, "Group", why), NEO_RT_E_UNSUPPORTED);
    snprintf(want, sizeof want, "node %d: this runtime has no kind Group", (int)k);
    assert_string_equal(why, want);
    const char *other = x->actor < 0 ? "PPT" : "Bcast";
    assert_int_equal(create_with_kind(j, k, other, why), NEO_RT_E_ABI);
    snprintf(want, sizeof want, "node %d may not be of the kind %s", (int)k, other);
    assert_string_equal(why, want);
  }
  close_job(j);
  test_free(j);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_key_is_the_synchronous_step),
      cmocka_unit_test(several_keys_are_the_interpreted_network),
      cmocka_unit_test(more_instances_than_keys_wait_for_a_slot),
      cmocka_unit_test(workers_with_one_key_have_the_bits_of_one_thread),
      cmocka_unit_test(a_file_continues_asynchronous_and_synchronous_training),
      cmocka_unit_test(wrong_instances_are_refused),
      cmocka_unit_test(nodes_of_kinds_that_the_runtime_does_not_have_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
