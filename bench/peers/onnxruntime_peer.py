"""ONNX Runtime's CPU provider: a model of one node, with inputs and outputs bound to memory once."""

import functools

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from peer_protocol import PREALLOCATED, Declined, Prepared, serve

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}


class Node:
    """The one node of a model."""

    def __init__(self, name, inputs, weights=(), domain="", opset=18, output=None, **attributes):
        self.name, self.inputs, self.weights, self.domain = name, inputs, weights, domain
        self.opset, self.output, self.attributes = opset, output, attributes


def node_of(case):
    """The node that computes the operator; the formula's parameters become attributes."""
    if case.op == "softmax":
        return Node("Softmax", ["x"], axis=-1)
    if case.op == "layer_norm":
        return Node("LayerNormalization", ["x"], ["weight", "bias"], axis=-1, epsilon=case.parameter("eps", 1e-5))
    if case.op == "rms_norm":
        return Node("SimplifiedLayerNormalization", ["x"], ["weight"], axis=-1, epsilon=case.parameter("eps", 1e-6))
    if case.op == "residual_norm":
        if case.parameter("x_scale", 1) != 1:
            raise Declined("SkipSimplifiedLayerNormalization has no x_scale")
        return Node("SkipSimplifiedLayerNormalization", ["x", "residual"], ["weight"], domain="com.microsoft",
                    epsilon=case.parameter("eps", 1e-6))
    if case.op == "sum":
        if case.dtype != "f32":
            raise Declined(f"ReduceSum of {case.dtype} gives {case.dtype}, not f32")
        return Node("ReduceSum", ["x"], ["axes"], keepdims=0)
    if case.op == "max":
        return Node("ReduceMax", ["x"], ["axes"], keepdims=0)
    if case.op == "argmax":
        return Node("ArgMax", ["x"], output=TensorProto.INT64, axis=-1, keepdims=0)
    raise Declined(f"ONNX Runtime has no {case.op}")


def weight_tensor(case, name):
    if name == "axes":
        return helper.make_tensor(name, TensorProto.INT64, [1], [1])
    values = case.weights_f32(name, 1.0 if name == "weight" else -0.0)
    return helper.make_tensor(name, TYPES[case.dtype], [case.cols], values)


def model_of(case, node):
    kind = TYPES[case.dtype]
    made = helper.make_node(node.name, [*node.inputs, *node.weights], ["y"], domain=node.domain, **node.attributes)
    graph = helper.make_graph(
        [made],
        case.op,
        [helper.make_tensor_value_info(name, kind, case.inputs[name].shape) for name in node.inputs],
        [helper.make_tensor_value_info("y", node.output or kind, case.outputs["y"].shape)],
        [weight_tensor(case, name) for name in node.weights],
    )
    opsets = [helper.make_opsetid("", node.opset)]
    if node.domain:
        opsets.append(helper.make_opsetid(node.domain, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def bound(array, kind):
    """An array as ONNX Runtime takes it; it stays the owner of the memory, bf16 as its bits."""
    if kind == TensorProto.BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, kind)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def prepare(case):
    if case.dtype not in TYPES:
        raise Declined(f"no model of {case.dtype}")
    node = node_of(case)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = case.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    try:
        session = onnxruntime.InferenceSession(model_of(case, node), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the exceptions of the binding have no class in common
        raise Declined(" ".join(str(error).split())[:400]) from error

    kind = TYPES[case.dtype]
    y = case.outputs["y"].poisoned() if node.output is None else np.full(case.outputs["y"].shape, -1, dtype=np.int64)
    inputs = {name: case.inputs[name].read() for name in node.inputs}
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, bound(array, kind))
    result = bound(y, node.output or kind)
    binding.bind_ortvalue_output("y", result)

    def outputs(keep=(inputs, result)):  # what is bound has to live as long as this
        return [y if node.output is None else y.astype(np.int32)]

    return Prepared(functools.partial(session.run_with_iobinding, binding), outputs,
                    f"InferenceSession.run_with_iobinding, {node.name}", PREALLOCATED)


if __name__ == "__main__":
    serve("onnxruntime", onnxruntime.__version__, prepare)
