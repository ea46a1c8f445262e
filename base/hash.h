/* 64- and 128-bit hashes (xxHash), stable across runs and machines. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The 64-bit hash of size_bytes bytes; different seeds give independent hashes. */
uint64_t neo_hash(const void *p, size_t size_bytes, uint64_t seed);
/* The 128-bit hash of size_bytes bytes: out[0] has its low half. */
void neo_hash128(const void *p, size_t size_bytes, uint64_t out[2]);
/* Mixes one word into a running hash. */
uint64_t neo_hash_mix(uint64_t h, uint64_t x);
