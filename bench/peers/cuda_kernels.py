"""Kernels of CUDA source in Python: those that `lanefold emit` writes, compiled by NVRTC and launched through the driver."""

import ctypes
import functools
import json
import subprocess
import threading


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint)]


CLUSTER_DIMENSION, PROGRAMMATIC = 4, 6  # launch attributes
MAX_DYNAMIC_SHARED, REGISTERS, LOCAL_BYTES, ANY_CLUSTER_SIZE = 8, 4, 3, 14  # function attributes
PORTABLE_CLUSTER = 8
FREE_SHARED = 48 * 1024


@functools.cache
def driver():
    return ctypes.CDLL("libcuda.so.1")


@functools.cache
def nvrtc():
    """NVRTC where a package or the system has it; PyTorch brings one."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return ctypes.CDLL(load_nvidia_dynamic_lib("nvrtc").abs_path)
    except Exception:  # no such package, or it finds none
        for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
            try:
                return ctypes.CDLL(name)
            except OSError:
                pass
        raise


def checked(outcome, what):
    if outcome != 0:
        raise RuntimeError(f"{what}: error {outcome}")


def compile_source(text, architecture):
    """Machine code of CUDA source. Other threads run meanwhile."""
    lib, program = nvrtc(), ctypes.c_void_p()
    checked(lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None), "nvrtcCreateProgram")
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++17")
    outcome = lib.nvrtcCompileProgram(program, 2, options)
    size = ctypes.c_size_t()
    if outcome != 0:
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode()[:2000])
    checked(lib.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
    code = ctypes.create_string_buffer(size.value)
    checked(lib.nvrtcGetCUBIN(program, code), "nvrtcGetCUBIN")
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return code.raw


class Kernel:
    """A loaded kernel with one launch shape; `launch` is as `lanefold emit --json` describes it."""

    def __init__(self, code, launch):
        self.launch_shape = launch
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        checked(driver().cuModuleLoadData(ctypes.byref(module), code), "cuModuleLoadData")
        checked(driver().cuModuleGetFunction(ctypes.byref(self.function), module, launch["kernel"].encode()),
                f"cuModuleGetFunction {launch['kernel']}")
        shared = launch["shared_bytes"]
        if shared > FREE_SHARED:
            checked(driver().cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, shared), "cuFuncSetAttribute")
        attributes = []
        if launch["cluster"] > PORTABLE_CLUSTER:
            checked(driver().cuFuncSetAttribute(self.function, ANY_CLUSTER_SIZE, 1), "cuFuncSetAttribute")
        if launch["cluster"] > 1:
            attributes.append((CLUSTER_DIMENSION, [launch["cluster"], 1, 1]))
        if launch["programmatic"]:
            attributes.append((PROGRAMMATIC, [1]))
        self.attributes = (LaunchAttribute * max(1, len(attributes)))()
        for attribute, (number, words) in zip(self.attributes, attributes):
            attribute.id = number
            for i, word in enumerate(words):
                attribute.value[i] = word
        self.config = LaunchConfig((launch["threadgroups"], 1, 1), (launch["threads"], 1, 1), shared, None,
                                   self.attributes, len(attributes))

    def attribute(self, number):
        value = ctypes.c_int()
        checked(driver().cuFuncGetAttribute(ctypes.byref(value), number, self.function), "cuFuncGetAttribute")
        return value.value

    def __call__(self, arguments, stream):
        """`arguments`: ctypes values in the kernel's order."""
        pointers = (ctypes.c_void_p * len(arguments))(
            *[ctypes.cast(ctypes.pointer(argument), ctypes.c_void_p) for argument in arguments])
        self.config.stream = stream
        checked(driver().cuLaunchKernelEx(ctypes.byref(self.config), self.function, pointers, None), "cuLaunchKernelEx")


def arguments_of(launch, inputs, outputs, rows, cols, parameters):
    """The argument words of a row program over contiguous tensors."""
    words = []
    for argument in launch["arguments"]:
        role, index = argument["role"], argument["index"]
        tensors = outputs if role.startswith("output") else inputs
        if role in ("input", "output"):
            words.append(ctypes.c_void_p(tensors[index].data_ptr()))
        elif role.endswith("row_stride"):
            words.append(ctypes.c_int64(tensors[index].stride(0)))
        elif role in ("rows", "cols"):
            words.append(ctypes.c_int64(rows if role == "rows" else cols))
        elif role == "parameter":
            words.append(ctypes.c_float(parameters[argument["name"]]))
        else:
            raise RuntimeError(f"an argument of the role {role}")
    return words


class Emitted:
    """What `lanefold emit` says of an operator, and its machine code; made in any thread."""

    def __init__(self, command, op, rows, cols, dtype, order, target):
        told = subprocess.run([command, "emit", op, "--rows", str(rows), "--cols", str(cols), "--dtype", dtype,
                               "--order", order, "--target", target, "--as", "source", "--json"],
                              capture_output=True, text=True)
        if told.returncode != 0:
            try:
                error = json.loads(told.stdout)["error"]
                said = f"{error['code']} ({error['name']}): {error['message']}"
            except (ValueError, KeyError):
                said = told.stderr[-500:]
            raise RuntimeError(f"lanefold emit {op} {rows}x{cols} {dtype} {order}: {said}")
        described = json.loads(told.stdout)
        self.text, self.launch = described["text"], described["launches"][0]
        self.code = compile_source(self.text, target.replace("cuda-sm", "sm_"))


COPY = r"""
__device__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
extern "C" __global__ void __launch_bounds__(512) copy(const float4* from, float4* to, long long count) {
  wait_for_launch_before();
  const long long at = blockIdx.x * 512ll + threadIdx.x;
  if (at < count) __stcs(to + at, from[at]);
}
extern "C" __global__ void __launch_bounds__(512) copy_cached(const float4* from, float4* to, long long count) {
  wait_for_launch_before();
  const long long at = blockIdx.x * 512ll + threadIdx.x;
  if (at < count) to[at] = from[at];
}
"""

_copy_lock = threading.Lock()


@functools.cache
def _copy_code(architecture):
    return compile_source(COPY, architecture)


def copy_kernel(half_bytes, architecture, cached):
    """The ceiling: reads half of the bytes and writes as many, past the cache unless `cached`. Like our kernels, it begins before the
    launch ahead of it has ended where the device can."""
    with _copy_lock:
        code = _copy_code(architecture)
    vectors = max(1, half_bytes // 16)
    return Kernel(code, {"kernel": "copy_cached" if cached else "copy", "threads": 512, "cluster": 1, "shared_bytes": 0,
                         "threadgroups": -(-vectors // 512), "programmatic": int(architecture[3:]) >= 90}), vectors
