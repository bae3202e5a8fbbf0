"""Kernels of other packages as arms of cuda_peers.py, where they are installed: Liger-Kernel (Triton) and Quack (CuTe).

Quack writes into the given outputs; Liger allocates them. Liger's cross entropy waits for the device, so that no graph can have it,
and its norms and softmax refuse more than 65,536 columns. Quack's layer_norm wants weights of 32 bits, which are made before.
"""

import importlib.util

from cuda_cases import EPS, LAYER_EPS

LIGER_COLUMNS = 65536


def liger_call(case):
    from liger_kernel.ops.fused_add_rms_norm import fused_add_rms_norm_forward
    from liger_kernel.ops.layer_norm import layer_norm_forward
    from liger_kernel.ops.rms_norm import rms_norm_forward
    from liger_kernel.ops.softmax import _softmax_forward

    def residual_norm_store(x, residual, weight):
        y, s = fused_add_rms_norm_forward(x, residual, weight, EPS, 0.0, "llama")[:2]
        return s, y

    call = {"rms_norm": lambda x, weight: (rms_norm_forward(x, weight, EPS, 0.0, "llama", False)[0],),
            "layer_norm": lambda x, weight, bias: (layer_norm_forward(x, weight, bias, LAYER_EPS)[0],),
            "softmax": lambda x: (_softmax_forward(x)[0],),
            "residual_norm_store": residual_norm_store}[case.name]
    return lambda i: call(*case.inputs[i])


def quack_call(case):
    from quack.cross_entropy import cross_entropy_fwd_out
    from quack.rmsnorm import _rmsnorm_fwd
    from quack.softmax import _softmax_fwd

    if case.name == "layer_norm":
        wide = [[tensor.float() for tensor in inputs[1:]] for inputs in case.inputs]

    def call(i):
        inputs, outputs = case.inputs[i], case.outputs[i]
        if case.name == "rms_norm":
            _rmsnorm_fwd(inputs[0], inputs[1], outputs[0], eps=EPS)
        elif case.name == "layer_norm":
            _rmsnorm_fwd(inputs[0], wide[i][0], outputs[0], bias=wide[i][1], eps=LAYER_EPS, is_layernorm=True)
        elif case.name == "residual_norm_store":
            _rmsnorm_fwd(inputs[0], inputs[2], outputs[1], residual=inputs[1], residual_out=outputs[0], eps=EPS)
        elif case.name == "softmax":
            _softmax_fwd(inputs[0], outputs[0])
        else:
            cross_entropy_fwd_out(inputs[0], inputs[1], None, outputs[0], None, None, None)
        return outputs

    return call


PACKAGES = {
    "liger": ("liger_kernel", {"rms_norm", "layer_norm", "softmax", "residual_norm_store"}, LIGER_COLUMNS, liger_call),
    "quack": ("quack", {"rms_norm", "layer_norm", "softmax", "residual_norm_store", "cross_entropy"}, None, quack_call),
}


def calls(case):
    """(name, function that makes call(set) -> outputs) of each installed package that has the operator."""
    return [(name, lambda make=make: make(case)) for name, (module, operators, most, make) in PACKAGES.items()
            if case.name in operators and (most is None or case.cols <= most)
            and importlib.util.find_spec(module) is not None]
