/* A module of an emulated device, other than a shared library: kernels that this process has. */
#ifndef NEO_TESTS_GPU_EMULATOR_H
#define NEO_TESTS_GPU_EMULATOR_H

#define NEO_EMULATOR_MAGIC "neo-code"

typedef struct {
  const char *symbol;
  void *address;
} neo_emulator_kernel;

typedef struct {
  char magic[16]; /* NEO_EMULATOR_MAGIC */
  int n;
  const neo_emulator_kernel *at;
} neo_emulator_code;

/* The number of calls of each kind to the driver; the function neo_emulator_count gives it. */
typedef struct {
  unsigned launches, graphs, graph_launches, changes; /* changes: of nodes */
  unsigned copies, waits;                             /* waits: for streams */
  unsigned functions;                                 /* that were looked up */
  unsigned early;                                     /* programmatic edges */
  unsigned cooperative; /* nodes of such launches, of graphs that were made */
  unsigned blocks;      /* that ran, of all launches */
  unsigned resident;    /* cooperative launches that are no nodes */
} neo_emulator_counts;

#endif
