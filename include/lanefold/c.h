/* Lanefold from C, and from every language that calls C: the same kernels as lanefold/lanefold.h.
 *
 *   lanefold_kernel* norm = NULL;
 *   lanefold_error* error = NULL;
 *   if (lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_F32, NULL, &norm, &error)) { ... error->message ... }
 *   lanefold_run(norm, inputs, 2, outputs, 1, NULL, 0, &error);
 *   lanefold_kernel_free(norm);
 *
 * Statuses. Functions that can fail return one of the statuses below, and no C++ exception leaves any function. Where a
 * function fails, what it would have given is null or zero, and outputs in memory are not written, except where memory
 * runs out in the middle of a call over leading dimensions.
 *
 * Errors. `error` may be null. Otherwise a function sets *error to null where it succeeds, and to an error that the caller
 * frees where it fails. An older error that *error still points to is not freed.
 *
 * Ownership. What a function gives through a pointer to a pointer to something that is not const is the caller's, who frees
 * it with the function that its comment names, once; freeing null does nothing. Pointers to const data that a function gives
 * (ports, names) belong to the kernel, and live as long as it does; names of operators and versions live for ever.
 * Matrices stay the caller's, and only need to live during a call. Strings are UTF-8 and end with a zero byte.
 *
 * Threads. Functions may be called from several threads at once, also with the same kernel and the same pool; only the
 * outputs of concurrent calls must not overlap. A kernel or pool is freed when no call uses it any longer; kernels keep
 * what they need of their pool.
 *
 * Growth. LANEFOLD_ABI_VERSION changes when something here changes its meaning or layout. Additions do not change it:
 * structs that a caller makes and that may grow begin with their size; structs that the library makes may grow at the end,
 * so a caller never copies them by size or makes arrays of them; all other structs are fixed.
 */
#ifndef LANEFOLD_C_H
#define LANEFOLD_C_H

#include <stdint.h>

#include "lanefold/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LANEFOLD_ABI_VERSION 1

/* The LANEFOLD_ABI_VERSION of the library that the program has loaded. */
LANEFOLD_API int32_t lanefold_abi_version(void);
/* The version of that library, such as "0.1.0". */
LANEFOLD_API const char* lanefold_version(void);

/* Statuses. All functions that return int32_t return one of these, but for lanefold_abi_version. */
enum {
  LANEFOLD_OK = 0,
  LANEFOLD_USER_ERROR = 2,     /* the caller's mistake: the error has its code, its place and a hint */
  LANEFOLD_OUT_OF_MEMORY = 12, /* nothing is wrong with the call */
  LANEFOLD_INTERNAL_ERROR = 70 /* a fault of Lanefold's own; please report it */
};

/* How one element is stored: lanefold::Type. */
enum {
  LANEFOLD_TYPE_BOOLEAN = 0, /* a byte, 0 or 1 */
  LANEFOLD_TYPE_I8 = 1,
  LANEFOLD_TYPE_I32 = 2,
  LANEFOLD_TYPE_I64 = 3,
  LANEFOLD_TYPE_F32 = 4,
  LANEFOLD_TYPE_F16 = 5,
  LANEFOLD_TYPE_BF16 = 6,
  LANEFOLD_TYPE_E4M3 = 7,
  LANEFOLD_TYPE_E5M2 = 8,
  LANEFOLD_TYPE_F64 = 9,
  /* Blocks of 34 bytes for 32 columns, which shapes and strides count: an f16 scale, then 32 i8 codes. */
  LANEFOLD_TYPE_Q8_0 = 10
};

/* In which order the elements of a row are folded: lanefold::Order. */
enum {
  LANEFOLD_ORDER_CANONICAL = 0, /* a row has the same bits in every batch, layout and number of threads */
  LANEFOLD_ORDER_SERIAL = 1,    /* from the first column to the last */
  LANEFOLD_ORDER_FREE = 2       /* whatever is fastest; bits may differ between shapes and machines */
};

/* What runs a kernel: lanefold::Device. */
enum {
  LANEFOLD_DEVICE_AUTOMATIC = 0, /* the cpu; the lane machine in a build without the JIT */
  LANEFOLD_DEVICE_CPU = 1,
  LANEFOLD_DEVICE_LANE_MACHINE = 2, /* the same bits, thousands of times slower: for checking */
  LANEFOLD_DEVICE_CUDA = 3          /* a CUDA device, over its memory and in streams of the caller's */
};

/* How an input or output varies: lanefold::Kind. */
enum {
  LANEFOLD_KIND_ELEMENT = 0, /* [.., cols] */
  LANEFOLD_KIND_ROW = 1,     /* [..]: one per row */
  LANEFOLD_KIND_COLUMN = 2,  /* [cols]: one per column; inputs are the same for every row */
  LANEFOLD_KIND_BLOCK = 3    /* [.., cols/block]: one per `block` consecutive columns */
};

/* As which text lanefold_emit() gives a kernel: lanefold::Emission. */
enum { LANEFOLD_EMIT_LANE = 0, LANEFOLD_EMIT_LLVM = 1, LANEFOLD_EMIT_ASSEMBLY = 2, LANEFOLD_EMIT_CUDA = 3 };

/* What went wrong. lanefold_error_free() frees it with all its strings, none of which is null. */
typedef struct lanefold_error {
  int32_t status;      /* what the function returned */
  int32_t reserved;    /* 0 */
  const char* code;    /* the stable code of a user's error, such as "LF0712"; else empty */
  const char* name;    /* its name, such as "call_shape_mismatch"; "internal_error"; "out_of_memory" */
  const char* message; /* the whole message, with place, code and hint */
  const char* hint;    /* what would help; may be empty */
  const char* place;   /* "program:3:7" in a text, or the input, output or option at fault; may be empty */
} lanefold_error;

LANEFOLD_API void lanefold_error_free(lanefold_error* error);
/* Frees a string that a function gave as char**. */
LANEFOLD_API void lanefold_string_free(char* text);

/* Elements to read: an array of `rank` dimensions, at most 4. The first `rank` numbers of shape and strides count, the
 * others are ignored. Element (i, j, ..) lies i * strides[0] + j * strides[1] + .. elements (not bytes) behind `data`, which
 * points to an element of `type` and is aligned as one. Strides may be 0 or negative. */
typedef struct lanefold_const_view {
  const void* data;
  int32_t type; /* LANEFOLD_TYPE_.. */
  int32_t rank; /* 0 to 4 */
  int64_t shape[4];
  int64_t strides[4];
} lanefold_const_view;

/* Elements to write; the same layout, but no two elements may share an address. */
typedef struct lanefold_view {
  void* data;
  int32_t type;
  int32_t rank;
  int64_t shape[4];
  int64_t strides[4];
} lanefold_view;

/* Arguments of lanefold_run_named(). */
typedef struct lanefold_named_input {
  const char* name;
  lanefold_const_view view;
} lanefold_named_input;
typedef struct lanefold_named_output {
  const char* name;
  lanefold_view view;
} lanefold_named_output;
typedef struct lanefold_named_parameter {
  const char* name;
  float value;
  int32_t reserved; /* 0 */
} lanefold_named_parameter;

/* Worker threads that kernels share. Calls that come while another call has the threads run on their own thread. */
typedef struct lanefold_pool lanefold_pool;

/* A pool for calls that use `threads` threads, the calling one included: 1 to 1024; 0: one per processor. The caller frees
 * *pool with lanefold_pool_free(). User's errors: number_invalid, bad_arguments. */
LANEFOLD_API int32_t lanefold_pool_create(uint32_t threads, lanefold_pool** pool, lanefold_error** error);
LANEFOLD_API void lanefold_pool_free(lanefold_pool* pool);

/* How a kernel is compiled and run. Begin with LANEFOLD_OPTIONS_INIT, then change what should be different. */
typedef struct lanefold_options {
  uint64_t struct_size; /* sizeof(lanefold_options) */
  int32_t order;        /* LANEFOLD_ORDER_.. */
  int32_t device;       /* LANEFOLD_DEVICE_.. */
  uint32_t
      threads; /* of the cpu, that a call may use, its own included: 1 to 1024; 0: one per processor, or the pool's */
  int32_t disk_cache;        /* not 0: keep machine code in $LANEFOLD_CACHE_DIR, else in the user's cache folder */
  const lanefold_pool* pool; /* null: threads of the kernel's own; where there is a pool, threads is 0 */
  const char* const* absent; /* names of inputs that calls leave out: an absent weight is 1, an absent bias 0 */
  uint64_t absent_count;
  /* Options of the operator or program, such as soft_cap of softmax (others keep their defaults), and parameters that have
   * this value in every call. What a program reads as a whole number alone, such as ignore_index, must be one. */
  const lanefold_named_parameter* fixed;
  uint64_t fixed_count;
  /* Of operators such as matvec: LANEFOLD_TYPE_F32, _F16, _BF16, _E4M3, _E5M2 or _Q8_0; -1: as the storage. */
  int32_t weights;
  uint32_t tokens; /* of such operators: 1 to 8 tokens for one load of the weights */
  /* Of LANEFOLD_DEVICE_CUDA: the device's number; -1: the device of the calling thread's current CUDA context, else 0. */
  int32_t cuda_device;
  int32_t reserved; /* 0 */
} lanefold_options;

#define LANEFOLD_OPTIONS_INIT \
  {sizeof(lanefold_options), LANEFOLD_ORDER_CANONICAL, LANEFOLD_DEVICE_AUTOMATIC, 0, 1, 0, 0, 0, 0, 0, -1, 1, -1, 0}

/* A compiled row program. */
typedef struct lanefold_kernel lanefold_kernel;

/* Compiles an operator of the library, such as "rms_norm". `type` is the element type of x and of what is stored like it:
 * f32, f16, bf16, e4m3 or e5m2, and of some operators i8. `options` may be null for the defaults. The caller frees *kernel
 * with lanefold_kernel_free().
 * User's errors: unknown_operator, operator_storage, call_type_mismatch (what is no type at all), input_required, unknown_name
 * (an absent input), unknown_parameter and assignment_repeated (a fixed one), option_not_for_kernel (weights or tokens of an
 * operator without), number_invalid, unknown_order, unknown_device, device_missing, bad_arguments (null pointers, sizes of
 * structs). */
LANEFOLD_API int32_t lanefold_compile_operator(const char* name, int32_t type, const lanefold_options* options,
                                               lanefold_kernel** kernel, lanefold_error** error);
/* Compiles a row program from its text. User's errors: any fault of the text (LF01xx, the place is "program:line:column"),
 * and those above but for the operator's. */
LANEFOLD_API int32_t lanefold_compile_program(const char* text, const lanefold_options* options,
                                              lanefold_kernel** kernel, lanefold_error** error);
LANEFOLD_API void lanefold_kernel_free(lanefold_kernel* kernel);

/* The names that lanefold_compile_operator() takes: *count of them at *names, which live for ever. */
LANEFOLD_API int32_t lanefold_operator_names(const char* const** names, uint64_t* count, lanefold_error** error);

/* An input or output of a kernel. */
typedef struct lanefold_port {
  const char* name;
  int32_t type;  /* LANEFOLD_TYPE_.. */
  int32_t kind;  /* LANEFOLD_KIND_.. */
  int64_t block; /* columns per element where the kind is block, else 0 */
  int64_t inner; /* places of an inner axis, such as tokens: one more dimension in front; 1 where there is none */
} lanefold_port;

/* A number that a kernel takes besides its matrices. */
typedef struct lanefold_parameter {
  const char* name;
  float value; /* the default */
  int32_t reserved;
} lanefold_parameter;

/* How many inputs, outputs and parameters a kernel has; 0 for a null kernel. Absent inputs are not among them. */
LANEFOLD_API uint64_t lanefold_input_count(const lanefold_kernel* kernel);
LANEFOLD_API uint64_t lanefold_output_count(const lanefold_kernel* kernel);
LANEFOLD_API uint64_t lanefold_parameter_count(const lanefold_kernel* kernel);
/* Number `index` of them, in the order of positional calls; null where there is none. It lives as long as the kernel. */
LANEFOLD_API const lanefold_port* lanefold_input(const lanefold_kernel* kernel, uint64_t index);
LANEFOLD_API const lanefold_port* lanefold_output(const lanefold_kernel* kernel, uint64_t index);
LANEFOLD_API const lanefold_parameter* lanefold_parameter_at(const lanefold_kernel* kernel, uint64_t index);
/* The program's name, which lives as long as the kernel; null for a null kernel. */
LANEFOLD_API const char* lanefold_kernel_name(const lanefold_kernel* kernel);
/* LANEFOLD_DEVICE_CPU, LANEFOLD_DEVICE_LANE_MACHINE or LANEFOLD_DEVICE_CUDA; LANEFOLD_DEVICE_AUTOMATIC for a null kernel. */
LANEFOLD_API int32_t lanefold_kernel_device(const lanefold_kernel* kernel);
/* The number of the CUDA device that a kernel is for; -1 for every other kernel, and for a null one. */
LANEFOLD_API int32_t lanefold_kernel_cuda_device(const lanefold_kernel* kernel);

/* Runs a kernel. Views stand in the order of lanefold_input() and lanefold_output(), parameters in that of
 * lanefold_parameter_at(); no parameters at all: the defaults. The first view of kind element or block gives the leading
 * dimensions (none to three), whose elements are the rows; every view has the shape that its kind says. A view of kind row
 * may have one more dimension of size 1 at its end, one of kind column at its front. Rows lie where strides say, nothing is
 * copied, and the bytes are those of the call on the same rows without gaps. No rows: nothing happens, except that a program
 * which folds along rows or has an output [cols] has nothing to fold then (no_columns). An output may be one
 * of the inputs, element for element, where the program reads that element only in the column that it writes.
 * A class of widths is compiled when its first call comes; see lanefold_prepare(). On the cpu, later calls allocate nothing, but
 * for programs that fold along rows or have an output [cols].
 * User's errors: call_count_mismatch, call_type_mismatch, call_shape_mismatch, call_data_missing, number_invalid (a parameter
 * that must be whole), shape_unknown (no view tells the columns), overlaps (LF0213 to LF0216), no_columns, too_many_columns, columns_not_whole_blocks, refusals of the
 * planner (LF02xx, LF03xx) and of code generation, bad_arguments. */
LANEFOLD_API int32_t lanefold_run(const lanefold_kernel* kernel, const lanefold_const_view* inputs,
                                  uint64_t input_count, const lanefold_view* outputs, uint64_t output_count,
                                  const float* parameters, uint64_t parameter_count, lanefold_error** error);

/* The same by name, in any order. Every input and output is needed; parameters that are not named have their defaults.
 * User's errors: those of lanefold_run(), unknown_input, unknown_output, unknown_parameter, assignment_repeated,
 * input_missing. */
LANEFOLD_API int32_t lanefold_run_named(const lanefold_kernel* kernel, const lanefold_named_input* inputs,
                                        uint64_t input_count, const lanefold_named_output* outputs,
                                        uint64_t output_count, const lanefold_named_parameter* parameters,
                                        uint64_t parameter_count, lanefold_error** error);

/* lanefold_run() on a CUDA device, in a stream: a cudaStream_t or CUstream, null for the default stream. lanefold_run() itself uses
 * the default stream. Both return once the launches are in the stream; data of all views must be memory that the device reaches, and
 * stay until the stream has come so far. Nothing waits, and once the class of the call is compiled nothing is allocated, but
 * that programs in stages (folds along rows, outputs [cols]) take memory from the stream's pool (cuMemAllocAsync) and give it
 * back. The stream may be being captured into a graph; a call whose class is not compiled yet is refused then: prepare it
 * before the capture begins. The kernel must outlive its launches, and the graphs that have recorded some.
 * User's errors: those of lanefold_run(), call_not_on_device, capture_not_prepared, device_failed, out_of_memory;
 * call_has_no_stream of kernels for other devices. */
LANEFOLD_API int32_t lanefold_run_on_stream(const lanefold_kernel* kernel, const lanefold_const_view* inputs,
                                            uint64_t input_count, const lanefold_view* outputs, uint64_t output_count,
                                            const float* parameters, uint64_t parameter_count, void* stream,
                                            lanefold_error** error);

/* Compiles now what such a call would run; reads and writes no element. On a CUDA device the alignment of the views counts, too.
 * User's errors: those of lanefold_run(), and call_not_on_device. */
LANEFOLD_API int32_t lanefold_prepare(const lanefold_kernel* kernel, const lanefold_const_view* inputs,
                                      uint64_t input_count, const lanefold_view* outputs, uint64_t output_count,
                                      lanefold_error** error);

/* What lanefold_check() found for one output. */
typedef struct lanefold_output_check {
  const char* name;
  int64_t elements;     /* compared: all of them */
  int64_t wrong;        /* outside of the tolerance */
  double max_error;     /* the greatest |got - expected| of finite elements */
  int64_t first_row;    /* of the first wrong element, counted over all leading dimensions; -1 where there is none */
  int64_t first_column; /* likewise */
  double got;           /* the first wrong element */
  double expected;      /* what it should be */
  int64_t first_place;  /* of the first wrong element on the output's inner axis; -1 where there is none */
} lanefold_output_check;

typedef struct lanefold_report {
  int32_t ok;       /* 1 where no element is wrong, else 0 */
  int32_t reserved; /* 0 */
  uint64_t count;   /* of outputs */
  const lanefold_output_check* const* outputs;
} lanefold_report;

/* Compares every element of the outputs, as an earlier call wrote them, with the FP64 meaning of the program on the inputs,
 * which must still hold what they held then. An inner axis or q8_0 blocks are one output, as the text declares them. Slow. That elements are wrong is no error: the status is LANEFOLD_OK, and the
 * report says so. On a CUDA device it waits for all work of the device's context and copies all that the views reach. The caller frees *report with lanefold_report_free(). User's errors: those of lanefold_run(). */
LANEFOLD_API int32_t lanefold_check(const lanefold_kernel* kernel, const lanefold_const_view* inputs,
                                    uint64_t input_count, const lanefold_view* outputs, uint64_t output_count,
                                    const float* parameters, uint64_t parameter_count, lanefold_report** report,
                                    lanefold_error** error);
LANEFOLD_API void lanefold_report_free(lanefold_report* report);

/* The plan that the first call of rows x cols of its class of widths gets on this machine (on a CUDA device: of matrices without
 * gaps from an aligned address), in one line, and as JSON with all
 * candidates, their costs and why some were rejected; the lane module of that plan as text; the kernel as text of a language
 * (LANEFOLD_EMIT_..), under a comment that says for what it was made. The caller frees *text with lanefold_string_free().
 * A program that folds along rows or has an output [cols] runs in stages: it has a line, and a plan in the JSON, for each, and
 * no lane module of its own (unsupported_axis).
 * User's errors: no_columns and other refusals of the planner, bad_arguments; of lanefold_emit() also unknown_emission,
 * no_source_language (CUDA source of a kernel for another device), no_machine_code (LLVM IR and assembly of one for a CUDA device),
 * and device_missing for what a build without the JIT cannot emit. */
LANEFOLD_API int32_t lanefold_plan_line(const lanefold_kernel* kernel, int64_t rows, int64_t cols, char** text,
                                        lanefold_error** error);
LANEFOLD_API int32_t lanefold_plan_json(const lanefold_kernel* kernel, int64_t rows, int64_t cols, char** text,
                                        lanefold_error** error);
LANEFOLD_API int32_t lanefold_lane_text(const lanefold_kernel* kernel, int64_t rows, int64_t cols, char** text,
                                        lanefold_error** error);
LANEFOLD_API int32_t lanefold_emit(const lanefold_kernel* kernel, int64_t rows, int64_t cols, int32_t emission,
                                   char** text, lanefold_error** error);

#ifdef __cplusplus
}
#endif

#endif
