"""Kernels for GPUs: measured where the GPU is, and read without one."""
