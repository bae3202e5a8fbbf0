"""Liger-Kernel's Triton kernels as arms of cuda_peers.py, where that package is installed.

Its cross entropy waits for the device, so that no graph can have it. A row of more than 65,536 columns it refuses.
"""

import importlib.util

from cuda_cases import EPS, LAYER_EPS


def is_installed():
    return importlib.util.find_spec("liger_kernel") is not None


def rms_norm(x, weight):
    from liger_kernel.ops.rms_norm import rms_norm_forward

    return (rms_norm_forward(x, weight, EPS, 0.0, "llama", False)[0],)


def layer_norm(x, weight, bias):
    from liger_kernel.ops.layer_norm import layer_norm_forward

    return (layer_norm_forward(x, weight, bias, LAYER_EPS)[0],)


def softmax(x):
    from liger_kernel.ops.softmax import _softmax_forward

    return (_softmax_forward(x)[0],)


def residual_norm_store(x, residual, weight):
    from liger_kernel.ops.fused_add_rms_norm import fused_add_rms_norm_forward

    y, s = fused_add_rms_norm_forward(x, residual, weight, EPS, 0.0, "llama")[:2]
    return s, y


CALLS = {"rms_norm": rms_norm, "layer_norm": layer_norm, "softmax": softmax, "residual_norm_store": residual_norm_store}
