/* Random models of a few layers, in which values have several readers, weights are tied, and layers
 * hold states, masks, loops, lookups and functions with their own gradient. In f64, one instance at
 * a time, each network is the synchronous step, whatever merges; so is its text, read again. With
 * several instances on their way in any order, all come back. */
#include "tests/network/world.h"
#include "tests/oracle/expected.h"
#include "tests/random/seeds.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 60, WIDTH = 4, STEPS = 3, MOST_LAYERS = 8, KEYS = 4 };

typedef struct {
  neo_str text;
  uint64_t state;
  int n, n_tied; /* values so far; square weights that layers may share */
} drawing;

static int draw(drawing *d, int n) {
  d->state = expected_hash(d->state, 1);
  return (int)(d->state % (uint64_t)n);
}

/* A value that was made before, rather a late one. */
static int any(drawing *d) {
  int a = draw(d, d->n), b = draw(d, d->n);
  return a > b ? a : b;
}

static void add_linear(drawing *d) {
  neo_str_addf(&d->text, "v%d = nn.linear(v%d, out = %d)\n", d->n, any(d), WIDTH);
}

static void add_tied(drawing *d) {
  bool is_new = !d->n_tied || draw(d, 2);
  if (is_new)
    neo_str_addf(&d->text, "param T%d[%d, %d] = normal(0, 0.5)\n", d->n_tied++, WIDTH, WIDTH);
  neo_str_addf(&d->text, "v%d[b, j] = tanh(sum[i] v%d[b, i]*T%d[%s])\n", d->n, any(d),
               draw(d, d->n_tied), draw(d, 2) ? "i, j" : "j, i");
}

static void add_pair(drawing *d) {
  static const char *const forms[] = {"v%d[b, j] = v%d[b, j] + 0.5*v%d[b, j]\n",
                                      "v%d[b, j] = v%d[b, j]*tanh(v%d[b, j])\n",
                                      "v%d[b, j] = select(v%d[b, j] > 0, v%d[b, j], 0.1)\n",
                                      "v%d[b, j < 4] = sum[i] v%d[b, i]*v%d[b, (i + j) %% 4]\n"};
  neo_str_addf(&d->text, forms[draw(d, 4)], d->n, any(d), any(d));
}

static void add_state(drawing *d) {
  int x = any(d);
  neo_str_addf(&d->text,
               "state s%d[%d] = 0\nm%d[j] = mean[b] v%d[b, j]\n"
               "update s%d[j] = 0.9*s%d[j] + 0.1*m%d[j]\nv%d[b, j] = v%d[b, j] - %s[j]\n",
               d->n, WIDTH, d->n, x, d->n, d->n, d->n, d->n, any(d),
               neo_arena_printf(d->text.arena, draw(d, 2) ? "s%d" : "m%d", d->n));
}

/* Iterations with parameters of their own, and perhaps tied ones. */
static void add_repeat(drawing *d) {
  static const char *const forms[] = {"tanh(a[b, j])", "h[b, j] + relu(a[b, j])",
                                      "tanh(a[b, j])*(1 + 0.1*g[j])"};
  int form = draw(d, 3);
  neo_str_addf(&d->text, "v%d = repeat l < %d from h[b < B, j < %d] = v%d[b, j] {\n", d->n,
               1 + draw(d, 4), WIDTH, any(d));
  neo_str_addf(&d->text, " a = nn.linear(h, out = %d)\n", WIDTH);
  if (form == 2)
    neo_str_addf(&d->text, " param g[%d] = normal(0, 1)\n", WIDTH);
  neo_str_addf(&d->text, " next h[b, j] = %s }\n", forms[form]);
}

static void add_layer(drawing *d) {
  static const char *const one[] = {
      "v%d[b, j] = relu(v%d[b, j])\n",
      "v%d = nn.dropout(v%d, p = 0.3)\n",
      "v%d = nn.batch_norm(v%d)\n",
      "v%d = ste(v%d)\n",
      "v%d[b, j] = stop(v%d[b, j])*0.5 + 0.1\n",
      "v%d[b < B, j] = v%d[(b + 1) %% B, j]\n",
      "v%d = nn.layer_norm(v%d)\n",
  };
  switch (draw(d, 10)) {
  case 7:
    add_repeat(d);
    break;
  case 0:
  case 1:
    add_linear(d);
    break;
  case 2:
    add_tied(d);
    break;
  case 3:
    add_pair(d);
    break;
  case 4:
    add_state(d);
    break;
  case 5: {
    int x = any(d);
    neo_str_addf(
        &d->text,
        "param R%d[%d, %d] = normal(0, 0.4)\nv%d = scan t < 3 from h[b < B, j < %d] = 0 {\n"
        " next h[b, j] = tanh(v%d[b, j] + sum[i] h[b, i]*R%d[i, j]) }\n",
        d->n, WIDTH, WIDTH, d->n, WIDTH, x, d->n);
    break;
  }
  case 6:
    neo_str_addf(&d->text,
                 "param E%d[7, %d] = normal(0, 1)\nv%d[b, j] = E%d[k[b], j] + v%d[b, j]\n", d->n,
                 WIDTH, d->n, d->n, any(d));
    break;
  default:
    neo_str_addf(&d->text, one[draw(d, 7)], d->n, any(d));
  }
  d->n++;
}

static const char *program(neo_arena *a, uint64_t seed) {
  static const char *const optimizers[] = {"sgd(lr = 0.1)", "momentum(lr = 0.05)",
                                           "adam(lr = 0.02)", "sgd(lr = 0.1, clip = 0.5)",
                                           "adamw(lr = 0.02, decay = 0.1)"};
  drawing d = {.text = neo_str_in(a), .state = seed, .n = 1};
  neo_str_addf(&d.text,
               "import nn, optim\nfn ste(x[..]) -> y { y[..] = round(3*x[..]) } grad(dy) -> dx { "
               "s[..] = dy[..]*tanh(x[..])\n dx[..] = 3*s[..] }\n"
               "dim 2 <= B <= 5\ninput v0[B, %d]\ninput k[B] : i32 < 7\ninput Y[B] : i32 < %d\n",
               WIDTH, WIDTH);
  for (int left = 2 + draw(&d, MOST_LAYERS); left > 0; left--)
    add_layer(&d);
  neo_str_addf(&d.text, "L = nn.linear(v%d, out = %d)\nloss = nn.cross_entropy(L, Y)%s\n", d.n - 1,
               WIDTH, draw(&d, 2) ? " + 0.01*sum[b, j] v1[b, j]^2" : "");
  neo_str_addf(&d.text, "output L\noutput test: loss\ntrain loss using optim.%s\n",
               optimizers[draw(&d, 5)]);
  return neo_str_text(&d.text);
}

static void read_again(world *w) {
  neo_str text = neo_str_in(&w->c.arena), again = neo_str_in(&w->c.arena);
  neo_network_print(w->n, &text);
  neo_network *n = neo_network_parse(&w->c.arena, w->c.names, w->c.diags, "random.net",
                                     neo_str_text(&text), text.n);
  assert_non_null(n);
  neo_network_print(n, &again);
  assert_string_equal(neo_str_text(&text), neo_str_text(&again));
  w->n = n;
}

static void open_drawn(world *w, neo_arena *a, uint64_t seed, uint32_t nodes, bool again) {
  world_model x = {.path = neo_arena_printf(a, "seed %llu", (unsigned long long)seed)};
  x.text = program(a, seed);
  x.wide = true;
  x.nodes = nodes;
  world_open(w, NEO_TEST_SOURCE_DIR, &x);
  if (again)
    read_again(w);
  world_derive(w);
  if (again)
    read_again(w);
  world_begin(w, seed);
}

static void random_networks_are_the_step(void **state) {
  neo_seeds s = neo_seeds_of(1, N);
  (void)state;
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_seeds_tell(&s, seed);
    for (uint32_t nodes = 0; nodes < 4; nodes++) {
      world w;
      open_drawn(&w, &a, seed, nodes, nodes == 0);
      for (uint64_t k = 0; k < STEPS; k++) {
        world_size(&w, "B", 2 + (int64_t)(seed + k) % 4);
        world_fill(&w, k);
        neo_net_interp_separate(w.net, seed % 3 == 0);
        world_step(&w, 1e-9);
        world_test(&w, 1e-9);
      }
      world_close(&w);
    }
    neo_arena_free(&a);
  }
}

static void random_orders_of_messages_end(void **state) {
  neo_seeds s = neo_seeds_of(1, N);
  (void)state;
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_arena a;
    world w;
    neo_arena_init(&a, neo_alloc_default, NULL);
    open_drawn(&w, &a, seed, 0, false);
    neo_str why = neo_str_in(&a);
    world_fill(&w, 1);
    for (uint64_t order = 1; order < 8; order++) {
      neo_net_interp_order(w.net, order);
      neo_net_interp_every(w.net, (uint32_t)(order % 3) + 1);
      for (int k = 0; k < KEYS; k++) {
        neo_net_instance x = world_instance(&w, 1);
        x.test = (order + (uint64_t)k) % 4 == 3; /* between those that train */
        neo_net_interp_send(w.net, &x);
      }
      world_check(&w, neo_net_interp_drain(w.net, &why), &why);
    }
    for (uint64_t k = 0; k < w.steps; k++)
      assert_non_null(neo_net_interp_loss(w.net, k));
    for (uint64_t k = 0; k < KEYS; k++) /* later ones may diverge, as the synchronous step does */
      if (!isfinite(neo_net_interp_loss(w.net, k)->at[0].f))
        fail_msg("seed %llu: the loss of instance %llu is not finite", (unsigned long long)seed,
                 (unsigned long long)k);
    world_close(&w);
    neo_arena_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_networks_are_the_step),
      cmocka_unit_test(random_orders_of_messages_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
