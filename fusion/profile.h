/* A target's prices for fusion: traffic, arithmetic, launches. Shipped ones are rows of
 * profile.def; the same profile always makes the same groups. */
#ifndef NEO_FUSION_PROFILE_H
#define NEO_FUSION_PROFILE_H
#include <stdint.h>

enum { NEO_PROFILE_LEVELS = 3 };

typedef struct neo_profile {
  const char *name;
  uint32_t vector_bytes; /* of the targets it stands for */
  uint32_t workers;      /* threads that a kernel of several units is divided among */
  double launch_s;
  double work_per_s;
  double products_per_s; /* multiplications, by FMA, of sums of products that may be nested (nested.h);
                            0: there are no kernels for that */
  double room_s;         /* what a byte less of memory is worth there */
  struct {
    int64_t bytes; /* tensors of up to so many; the last level takes all */
    double bytes_per_s;
  } level[NEO_PROFILE_LEVELS];
} neo_profile;

/* The shipped profile of targets with such vectors: the widest that fits. */
const neo_profile *neo_profile_of(uint32_t vector_bytes);
/* That of GPUs. */
const neo_profile *neo_profile_gpu(void);
/* Seconds to read or write so many bytes of a tensor of `whole` bytes. */
double neo_profile_traffic(const neo_profile *p, double bytes, double whole);

#endif
