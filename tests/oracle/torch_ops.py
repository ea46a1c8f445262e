"""The operators of networks.py in PyTorch."""
import torch
import torch.nn.functional as F

relu, gelu, elu, mse = F.relu, F.gelu, F.elu, F.mse_loss
sigmoid, tanh, sqrt, softmax = torch.sigmoid, torch.tanh, torch.sqrt, torch.softmax
stack, cat, einsum = torch.stack, torch.cat, torch.einsum
cross_entropy, channel_shuffle = F.cross_entropy, F.channel_shuffle
attention = F.scaled_dot_product_attention
max_pool, avg_pool = F.max_pool2d, F.avg_pool2d


def zeros(shape, dtype):
    return torch.zeros(shape, dtype=dtype)


def one_hot(y, n, dtype):
    return F.one_hot(y, n).to(dtype)


def conv2d(x, f, b=None, stride=1, pad=0, groups=1):
    return F.conv2d(x, f, b, stride, pad, groups=groups)


def layer_norm(x, g, b, eps):
    return F.layer_norm(x, x.shape[-1:], g, b, eps)


def batch_norm(x, g, b, mu, va, eps, rate, training):
    """Changes running means mu and variances va, where they are not None; no new values of them."""
    return F.batch_norm(x, mu, va, g, b, training, rate, eps), ()
