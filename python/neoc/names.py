"""Names that `neoc` takes from neoc.trace.api when they are asked for first."""

# what makes and differentiates traced functions
TRACING = """function Function CacheInfo grad value_and_grad vjp jvp stop checkpoint scan repeat
while_ case vertex expr train_step TrainStep eager array tree Tensor TraceError""".split()

# numpy's functions, of tensors
NUMPY = """abs absolute add all amax amin any arange argmax argmin argsort around astype
atleast_1d atleast_2d average bitwise_and bitwise_or bitwise_xor broadcast_arrays broadcast_to
ceil clip concat concatenate cos cosh count_nonzero cumprod cumsum diag diagonal diff divide dot
einsum equal exp exp2 expand_dims expm1 eye fabs fix flip float_power floor floor_divide fmod full
full_like greater greater_equal hstack hypot identity inner invert isfinite isinf isnan kron less
less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor
matmul matrix_transpose max maximum mean min minimum mod moveaxis multiply nan_to_num negative
not_equal ones ones_like outer pad permute_dims positive power prod ptp ravel reciprocal remainder
reshape rint roll round sign sin sinh sort split sqrt square squeeze stack std subtract sum
swapaxes take take_along_axis tan tanh tensordot tile transpose tri tril triu true_divide trunc
unstack var vdot vstack where zeros zeros_like""".split()

# functions of elements that numpy has not, random numbers
MORE = "elu erf gelu logsumexp normal random relu rsqrt sigmoid silu softplus".split()

NAMES = TRACING + NUMPY + MORE
MODULES = ["linalg", "nn", "optim", "schedule", "vision"]
