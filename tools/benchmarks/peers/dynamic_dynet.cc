/* DyNet's side of rows/dynamic.py: trees and sentences as graphs that are built anew for each batch and
 * batched by DyNet (autobatch), one training step for each batch.
 *
 *   dynamic_dynet MODEL BATCHES PARAMETERS LR
 *
 * MODEL is a name of `networks` below, BATCHES a file of batches.py, PARAMETERS a file of safetensors
 * with the weights that our side starts with, f32. A tensor [from, to] of ours is the matrix (to, from)
 * of DyNet, which keeps columns, with the same memory. The answer `ready` has the mean loss of the
 * first two passes. Gradients are not clipped, as ours are not. */
#include "tools/benchmarks/sides/serve.h"
#include <cstdint>
#include <cstring>
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <dynet/param-init.h>
#include <dynet/tensor.h>
#include <dynet/training.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using dynet::Expression;
using std::string;
using std::vector;

/* ---- files */

static string content_of(const char *path) {
  std::ifstream f(path, std::ios::binary);
  if (!f)
    throw std::runtime_error(string(path) + " cannot be read");
  return string(std::istreambuf_iterator<char>(f), std::istreambuf_iterator<char>());
}

struct Batch {
  std::map<string, const char *> data;
  std::map<string, size_t> length; /* the extent of the first axis */
  const int32_t *ints(const string &name) const {
    return reinterpret_cast<const int32_t *>(data.at(name));
  }
  const float *floats(const string &name) const {
    return reinterpret_cast<const float *>(data.at(name));
  }
};

/* `text` is the file and outlives the batches. */
static vector<Batch> batches_in(const string &text) {
  const size_t align = 64, end = text.find("\nend\n") + strlen("\nend\n");
  const char *first = text.data() + (end + align - 1) / align * align;
  vector<Batch> found;
  std::istringstream lines(text.substr(0, end));
  for (string line, word, name, type; std::getline(lines, line);) {
    std::istringstream words(line);
    size_t offset, n;
    words >> word;
    if (word == "batch")
      found.emplace_back();
    else if (word == "array" && words >> name >> type >> offset >> n) {
      found.back().data[name] = first + offset;
      found.back().length[name] = n;
    }
  }
  return found;
}

class Weights {
public:
  explicit Weights(const char *path) : text(content_of(path)) {
    uint64_t n;
    memcpy(&n, text.data(), sizeof n);
    data = sizeof n + n;
  }
  vector<float> operator[](const string &name) const {
    const string key = "\"data_offsets\":[";
    size_t at = text.find("\"" + name + "\":");
    at = at < data ? text.find(key, at) : at;
    if (at >= data)
      throw std::runtime_error("there are no weights " + name);
    char *next;
    const char *from = text.data() + at + key.size();
    const size_t lo = strtoull(from, &next, 10), hi = strtoull(next + 1, NULL, 10);
    vector<float> v((hi - lo) / sizeof(float));
    memcpy(v.data(), text.data() + data + lo, hi - lo);
    return v;
  }

private:
  string text;
  size_t data;
};

/* [from, gate, to] with gates in this order; a gate may occur twice. */
static vector<float> gates(const vector<float> &w, size_t n_gates, size_t to,
                           const vector<size_t> &order) {
  vector<float> v;
  for (size_t from = 0; from < w.size() / (n_gates * to); from++)
    for (size_t g : order)
      v.insert(v.end(), &w[(from * n_gates + g) * to], &w[(from * n_gates + g) * to] + to);
  return v;
}

/* ---- networks */

class Network {
public:
  explicit Network(const Weights &w)
      : weights(w), label(add(w["L.W"], w["L.b"].size())), bias(add(w["L.b"])) {}
  virtual ~Network() {}
  virtual Expression loss(dynet::ComputationGraph &, const Batch &) = 0;
  dynet::ParameterCollection parameters;

protected:
  /* A vector, or with rows a matrix. */
  dynet::Parameter add(const vector<float> &v, size_t rows = 0) {
    const unsigned n = (unsigned)v.size(), r = (unsigned)rows;
    auto p = parameters.add_parameters(rows ? dynet::Dim({r, n / r}) : dynet::Dim({n}),
                                       dynet::ParameterInitFromVector(v));
    return p;
  }
  dynet::LookupParameter add_table(const vector<float> &v, size_t width) {
    auto p = parameters.add_lookup_parameters((unsigned)(v.size() / width), {(unsigned)width});
    for (size_t k = 0; k < v.size() / width; k++)
      p.initialize((unsigned)k, vector<float>(&v[k * width], &v[k * width] + width));
    return p;
  }
  Expression mean_loss(dynet::ComputationGraph &g, const vector<Expression> &h,
                       const int32_t *labels) {
    Expression w = dynet::parameter(g, label), b = dynet::parameter(g, bias);
    vector<Expression> losses;
    for (size_t k = 0; k < h.size(); k++)
      losses.push_back(
          dynet::pickneglogsoftmax(dynet::affine_transform({b, w, h[k]}), (unsigned)labels[k]));
    return dynet::sum(losses) / (float)losses.size();
  }
  const Weights &weights;

private:
  dynet::Parameter label, bias;
};

struct State {
  Expression h, c;
  bool made = false;
};

static Expression part(const Expression &z, unsigned k, unsigned size) {
  return dynet::pick_range(z, k * size, (k + 1) * size);
}

/* Vertices with children: states of children are made before those of their parents. */
class Vertices : public Network {
public:
  Vertices(const Weights &w, unsigned children) : Network(w), children(children) {}

protected:
  virtual State leaf(size_t v) = 0;
  virtual State branch(const State *const *below, size_t v) = 0;
  vector<State> states(const Batch &b) {
    vector<State> s(b.length.at("G.child"));
    for (size_t v = 0; v < s.size(); v++)
      make(s, b.ints("G.child"), v);
    return s;
  }
  static vector<Expression> outputs(const vector<State> &s) {
    vector<Expression> h;
    for (const State &x : s)
      h.push_back(x.h);
    return h;
  }

private:
  void make(vector<State> &s, const int32_t *child, size_t v) {
    if (s[v].made)
      return;
    const State *below[2];
    const int32_t *of = child + v * children;
    for (unsigned k = 0; of[0] >= 0 && k < children; k++) {
      make(s, child, (size_t)of[k]);
      below[k] = &s[(size_t)of[k]];
    }
    s[v] = of[0] < 0 ? leaf(v) : branch(below, v);
    s[v].made = true;
  }
  unsigned children;
};

class TreeFc : public Vertices {
public:
  explicit TreeFc(const Weights &w)
      : Vertices(w, 2), size((unsigned)w["H.b"].size()), W(add(w["H.W"], size)), b(add(w["H.b"])) {}
  Expression loss(dynet::ComputationGraph &g, const Batch &batch) override {
    graph = &g;
    at = &batch;
    matrix = dynet::parameter(g, W);
    offset = dynet::parameter(g, b);
    const vector<State> s = states(batch);
    vector<Expression> roots;
    for (size_t t = 0; t < batch.length.at("root"); t++)
      roots.push_back(s[(size_t)batch.ints("root")[t]].h);
    return mean_loss(g, roots, batch.ints("label"));
  }

protected:
  State leaf(size_t v) override {
    const float *x = at->floats("X") + (size_t)at->ints("leaf")[v] * size;
    return {dynet::input(*graph, {size}, vector<float>(x, x + size)), Expression()};
  }
  State branch(const State *const *below, size_t) override {
    Expression h = dynet::concatenate({below[0]->h, below[1]->h});
    return {dynet::rectify(dynet::affine_transform({offset, matrix, h})), Expression()};
  }

private:
  unsigned size;
  dynet::Parameter W, b;
  dynet::ComputationGraph *graph;
  const Batch *at;
  Expression matrix, offset;
};

/* Words at leaves, a label at each vertex. */
class Words : public Vertices {
public:
  Words(const Weights &w, unsigned children, size_t embedded, const char *labels)
      : Vertices(w, children), T(add_table(w["T"], embedded)), labels(labels) {}
  Expression loss(dynet::ComputationGraph &g, const Batch &batch) override {
    graph = &g;
    at = &batch;
    begin(g);
    return mean_loss(g, outputs(states(batch)), batch.ints(labels));
  }

protected:
  virtual void begin(dynet::ComputationGraph &g) = 0;
  Expression word(size_t v) {
    return dynet::lookup(*graph, T, (unsigned)at->ints("word")[v]);
  }

private:
  dynet::LookupParameter T;
  const char *labels;
  dynet::ComputationGraph *graph;
  const Batch *at;
};

/* Gates i, o, f of either child, then u: one logistic for all but the last. */
class TreeLstm : public Words {
public:
  explicit TreeLstm(const Weights &w)
      : Words(w, 2, w["h.W"].size() / (3 * w["h.b"].size() / 4), "label"),
        size((unsigned)w["h.b"].size() / 4), W(add(w["h.W"], 3 * size)),
        U(add(gates(w["h.U"], 5, size, {0, 1, 3, 4, 2}), 5 * size)), b(add(w["h.b"])) {}

protected:
  void begin(dynet::ComputationGraph &g) override {
    Expression all = dynet::parameter(g, b), f = part(all, 3, size);
    of_leaf = dynet::pick_range(all, 0, 3 * size);
    of_branch = dynet::concatenate({dynet::pick_range(all, 0, 2 * size), f, f, part(all, 2, size)});
    w = dynet::parameter(g, W);
    u = dynet::parameter(g, U);
  }
  State leaf(size_t v) override {
    Expression z = dynet::affine_transform({of_leaf, w, word(v)});
    Expression s = dynet::logistic(dynet::pick_range(z, 0, 2 * size));
    Expression c = dynet::cmult(part(s, 0, size), dynet::tanh(part(z, 2, size)));
    return {dynet::cmult(part(s, 1, size), dynet::tanh(c)), c};
  }
  State branch(const State *const *below, size_t) override {
    Expression h = dynet::concatenate({below[0]->h, below[1]->h});
    Expression z = dynet::affine_transform({of_branch, u, h});
    Expression s = dynet::logistic(dynet::pick_range(z, 0, 4 * size));
    Expression c = dynet::cmult(part(s, 0, size), dynet::tanh(part(z, 4, size))) +
                   dynet::cmult(part(s, 2, size), below[0]->c) +
                   dynet::cmult(part(s, 3, size), below[1]->c);
    return {dynet::cmult(part(s, 1, size), dynet::tanh(c)), c};
  }

private:
  unsigned size;
  dynet::Parameter W, U, b;
  Expression of_leaf, of_branch, w, u;
};

class ChildSum : public Words {
public:
  explicit ChildSum(const Weights &w)
      : Words(w, 2, w["h.W"].size() / w["h.b"].size(), "label"), size((unsigned)w["h.bf"].size()),
        W(add(w["h.W"], 3 * size)), U(add(w["h.U"], 3 * size)), b(add(w["h.b"])),
        F(add(w["h.Uf"], size)), of_f(add(w["h.bf"])) {}

protected:
  void begin(dynet::ComputationGraph &g) override {
    offset = dynet::parameter(g, b);
    w = dynet::parameter(g, W);
    u = dynet::parameter(g, U);
    forget = dynet::parameter(g, F);
    forget_offset = dynet::parameter(g, of_f);
  }
  State leaf(size_t v) override {
    return state(dynet::affine_transform({offset, w, word(v)}), vector<Expression>());
  }
  State branch(const State *const *below, size_t) override {
    vector<Expression> kept;
    for (unsigned k = 0; k < 2; k++) {
      Expression f = dynet::affine_transform({forget_offset, forget, below[k]->h});
      kept.push_back(dynet::cmult(dynet::logistic(f), below[k]->c));
    }
    return state(dynet::affine_transform({offset, u, below[0]->h + below[1]->h}), kept);
  }

private:
  State state(const Expression &z, vector<Expression> kept) {
    Expression s = dynet::logistic(dynet::pick_range(z, 0, 2 * size));
    kept.push_back(dynet::cmult(part(s, 0, size), dynet::tanh(part(z, 2, size))));
    Expression c = dynet::sum(kept);
    return {dynet::cmult(part(s, 1, size), dynet::tanh(c)), c};
  }
  unsigned size;
  dynet::Parameter W, U, b, F, of_f;
  Expression offset, w, u, forget, forget_offset;
};

/* Gates i, f, o, then the new value. */
class ChainLstm : public Words {
public:
  explicit ChainLstm(const Weights &w)
      : Words(w, 1, w["h.W"].size() / w["h.b"].size(), "after"),
        size((unsigned)w["h.b"].size() / 4), W(matrix(w["h.W"])), U(matrix(w["h.U"])),
        b(add(gates(w["h.b"], 4, size, order()))) {}

protected:
  void begin(dynet::ComputationGraph &g) override {
    offset = dynet::parameter(g, b);
    w = dynet::parameter(g, W);
    u = dynet::parameter(g, U);
  }
  State leaf(size_t v) override {
    Expression z = dynet::affine_transform({offset, w, word(v)});
    Expression s = dynet::logistic(dynet::pick_range(z, 0, 3 * size));
    return state(s, dynet::cmult(part(s, 0, size), dynet::tanh(part(z, 3, size))));
  }
  State branch(const State *const *below, size_t v) override {
    Expression z = dynet::affine_transform({offset, w, word(v), u, below[0]->h});
    Expression s = dynet::logistic(dynet::pick_range(z, 0, 3 * size));
    return state(s, dynet::cmult(part(s, 0, size), dynet::tanh(part(z, 3, size))) +
                        dynet::cmult(part(s, 1, size), below[0]->c));
  }

private:
  static vector<size_t> order() {
    return {0, 1, 3, 2};
  }
  dynet::Parameter matrix(const vector<float> &v) {
    return add(gates(v, 4, size, order()), 4 * size);
  }
  State state(const Expression &s, const Expression &c) {
    return {dynet::cmult(part(s, 2, size), dynet::tanh(c)), c};
  }
  unsigned size;
  dynet::Parameter W, U, b;
  Expression offset, w, u;
};

template <class N> static std::unique_ptr<Network> make(const Weights &w) {
  return std::unique_ptr<Network>(new N(w));
}

static const std::map<string, std::unique_ptr<Network> (*)(const Weights &)> networks = {
    {"tree_fc", make<TreeFc>},
    {"tree_lstm", make<TreeLstm>},
    {"tree_lstm_sum", make<ChildSum>},
    {"chain_lstm", make<ChainLstm>},
};

/* ---- the side */

struct DynetSide {
  std::unique_ptr<Network> network;
  std::unique_ptr<dynet::Trainer> trainer;
  string text;
  vector<Batch> batches;
  double loss;
};

static void run(void *ctx) {
  DynetSide *s = static_cast<DynetSide *>(ctx);
  s->loss = 0;
  for (const Batch &b : s->batches) {
    dynet::ComputationGraph g;
    Expression loss = s->network->loss(g, b);
    s->loss += dynet::as_scalar(g.forward(loss)) / (double)s->batches.size();
    g.backward(loss);
    s->trainer->update();
  }
}

static void begin_dynet() {
  dynet::DynetParams p;
  p.autobatch = 1;
  p.mem_descriptor = "2048";
  p.random_seed = 1;
  dynet::initialize(p);
}

int main(int argc, char **argv) {
  if (argc != 5)
    bench_die("usage", "dynamic_dynet MODEL BATCHES PARAMETERS LR");
  try {
    begin_dynet();
    const Weights weights(argv[3]);
    DynetSide s;
    s.network = networks.at(argv[1])(weights);
    const float lr = (float)atof(argv[4]);
    if (string(argv[1]) == "tree_fc")
      s.trainer.reset(new dynet::SimpleSGDTrainer(s.network->parameters, lr));
    else
      s.trainer.reset(new dynet::AdamTrainer(s.network->parameters, lr));
    s.trainer->clipping_enabled = false;
    s.text = content_of(argv[2]);
    s.batches = batches_in(s.text);
    char about[256];
    run(&s);
    const double first = s.loss;
    run(&s);
    snprintf(about, sizeof about, "{\"losses\": [%.8g, %.8g], \"version\": \"DyNet\"}", first,
             s.loss);
    serve(run, &s, about);
  } catch (const std::exception &e) {
    bench_die(argv[1], e.what());
  }
  return 0;
}
