/* The part of a library's header that declares its networks (neo/neo_net.h), with a program that
 * runs one. */
#include "codegen/plan/internal.h"

typedef struct {
  const neo_plan *p;
  const neo_plan_network *net;
  const char *upper;          /* its symbol in capitals */
  const char **input, **size; /* identifiers */
  neo_str *out;
} writer;

static const neo_rt_tensor *tensor_of(const writer *w, const char *name) {
  for (size_t k = 0; k < w->p->tensors.n; k++)
    if (neo_streq(w->p->tensors.at[k].name, name))
      return &w->p->tensors.at[k];
  return NULL;
}

static void put_numbers(const writer *w) {
  neo_str_addf(w->out, "/* Inputs and run-time sizes of an instance of %s. */\nenum {\n",
               w->net->symbol);
  for (size_t k = 0; k < w->net->n_inputs; k++) {
    const neo_rt_tensor *t = tensor_of(w, w->net->inputs[k]);
    neo_str_addf(w->out, "  %s_T_%s = %zu,", w->upper, w->input[k], k);
    if (t) {
      neo_str_add(w->out, " /* ");
      neo_plan_put_shape(w->p, t, w->out);
      neo_str_add(w->out, " */");
    }
    neo_str_addc(w->out, '\n');
  }
  for (size_t k = 0; k < w->net->n_sizes; k++)
    neo_str_addf(w->out, "  %s_S_%s = %zu, /* %lld to %lld */\n", w->upper, w->size[k], k,
                 (long long)w->p->sizes.at[k].lo, (long long)w->p->sizes.at[k].hi);
  neo_str_addf(w->out, "  %s_N_INPUTS = %zu,\n  %s_N_SIZES = %zu\n};\n\n", w->upper,
               w->net->n_inputs, w->upper, w->net->n_sizes);
}

static void put_arrays(const writer *w) {
  neo_str_addf(w->out, " *   const void *inputs[%s_N_INPUTS + 1] = {", w->upper);
  for (size_t k = 0; k < w->net->n_inputs; k++)
    neo_str_addf(w->out, "%s[%s_T_%s] = %s", k ? ", " : "", w->upper, w->input[k], w->input[k]);
  neo_str_addf(w->out, "};\n *   const int64_t sizes[%s_N_SIZES + 1] = {", w->upper);
  for (size_t k = 0; k < w->net->n_sizes; k++)
    neo_str_addf(w->out, "%s[%s_S_%s] = %s", k ? ", " : "", w->upper, w->size[k], w->size[k]);
  neo_str_add(w->out, "};\n");
}

static void put_program(const writer *w) {
  neo_str_addf(w->out,
               "/* The network of the entry %s: the same training step, as nodes that exchange "
               "messages about several\n * instances at a time. In C:\n *\n",
               w->net->entry);
  put_arrays(w);
  neo_str_addf(
      w->out,
      " *   neo_rt_net_config config = {.keys = 4, .seed = 1};\n"
      " *   neo_rt_net_instance instance = {.sizes = sizes, .inputs = inputs, .weight = 1};\n"
      " *   neo_rt_network *network;\n"
      " *   double loss;\n"
      " *   neo_rt_status status = neo_rt_net_create(&%s, &config, &network, NULL, 0);\n"
      " *   if (!status)\n"
      " *     status = neo_rt_net_send(network, &instance);  // once for each instance\n"
      " *   if (!status)\n"
      " *     status = neo_rt_net_wait(network, &loss);      // all are back\n"
      " *   neo_rt_net_destroy(network);\n"
      " */\nextern const neo_rt_net %s;\n\n",
      w->net->symbol, w->net->symbol);
}

static const char **size_names(const neo_plan *p, size_t n) {
  const char **names = NEO_NEW_ARRAY(p->arena, const char *, n + 1);
  for (size_t k = 0; k < n; k++)
    names[k] = p->sizes.at[k].name;
  return names;
}

void neo_plan_put_network(const neo_plan *p, const neo_plan_network *net, neo_str *out) {
  writer w = {.p = p, .net = net, .upper = neo_plan_capitals(p->arena, net->symbol), .out = out};
  w.input = neo_plan_idents(p, net->inputs, net->n_inputs);
  w.size = neo_plan_idents(p, size_names(p, net->n_sizes), net->n_sizes);
  put_numbers(&w);
  put_program(&w);
}
