/* A program that uses an installed Lanefold from C and computes for itself what must come out. */
#include <lanefold/c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, HEADS = 2, COLS = 64 };

static void fail(const char* what, lanefold_error* error) {
  fprintf(stderr, "consumer.c: %s: %s\n", what, error ? error->message : "");
  lanefold_error_free(error);
  exit(1);
}

/* softmax of one row, in double */
static void expect_softmax(const float* x, const float* y) {
  double highest = -INFINITY, sum = 0;
  for (int c = 0; c < COLS; ++c) highest = fmax(highest, (double)x[c]);
  for (int c = 0; c < COLS; ++c) sum += exp((double)x[c] - highest);
  for (int c = 0; c < COLS; ++c)
    if (fabs((double)y[c] - exp((double)x[c] - highest) / sum) > 1e-6) fail("softmax is wrong", NULL);
}

int main(void) {
  if (lanefold_abi_version() != LANEFOLD_ABI_VERSION) fail("the library has another ABI than its header", NULL);
  lanefold_error* error = NULL;
  lanefold_pool* pool = NULL;
  if (lanefold_pool_create(2, &pool, &error)) fail("no pool", error);
  lanefold_options options = LANEFOLD_OPTIONS_INIT;
  options.pool = pool;
  lanefold_kernel* softmax = NULL;
  if (lanefold_compile_operator("softmax", LANEFOLD_TYPE_F32, &options, &softmax, &error)) fail("no softmax", error);
  lanefold_pool_free(pool); /* the kernel keeps what it needs */
  if (lanefold_input_count(softmax) != 1 || strcmp(lanefold_input(softmax, 0)->name, "x") != 0)
    fail("softmax has other inputs", NULL);

  /* x has a gap behind each token, y has none. */
  static float x[ROWS][HEADS + 1][COLS], y[ROWS][HEADS][COLS];
  for (int r = 0; r < ROWS; ++r)
    for (int h = 0; h < HEADS; ++h)
      for (int c = 0; c < COLS; ++c) x[r][h][c] = (float)((r * 31 + h * 17 + c * 7) % 23) / 4.0f;
  const lanefold_const_view in = {
      x, LANEFOLD_TYPE_F32, 3, {ROWS, HEADS, COLS, 0}, {(HEADS + 1) * COLS, COLS, 1, 0}};
  const lanefold_view out = {y, LANEFOLD_TYPE_F32, 3, {ROWS, HEADS, COLS, 0}, {HEADS * COLS, COLS, 1, 0}};
  if (lanefold_prepare(softmax, &in, 1, &out, 1, &error)) fail("not prepared", error);
  if (lanefold_run(softmax, &in, 1, &out, 1, NULL, 0, &error)) fail("did not run", error);
  for (int r = 0; r < ROWS; ++r)
    for (int h = 0; h < HEADS; ++h) expect_softmax(x[r][h], y[r][h]);

  lanefold_report* report = NULL;
  if (lanefold_check(softmax, &in, 1, &out, 1, NULL, 0, &report, &error)) fail("not checked", error);
  if (!report->ok || report->outputs[0]->elements != ROWS * HEADS * COLS) fail("the check finds a fault", NULL);
  lanefold_report_free(report);

  char* plan = NULL;
  if (lanefold_plan_line(softmax, ROWS, COLS, &plan, &error)) fail("no plan", error);
  lanefold_string_free(plan);
  lanefold_kernel_free(softmax);

  lanefold_kernel* none = NULL;
  if (lanefold_compile_program("program p(", NULL, &none, &error) != LANEFOLD_USER_ERROR || none != NULL)
    fail("a faulty program was compiled", error);
  if (strncmp(error->code, "LF01", 4) != 0 || error->place[0] == '\0') fail("the error is another one", error);
  lanefold_error_free(error);
  puts("consumer.c: all right");
  return 0;
}
