/* Normalises the heads of a few tokens inside a packed tensor with the library's rms_norm, from C. */
#include <stdio.h>

#include "lanefold/c.h"

enum { TOKENS = 2, HEADS = 3, OTHERS = 2, WIDTH = 64 };

static int report(lanefold_error* error) {
  fprintf(stderr, "%s\n", error->message);
  lanefold_error_free(error);
  return 1;
}

int main(void) {
  static float packed[TOKENS][HEADS + OTHERS][WIDTH], weight[WIDTH];
  for (int t = 0; t < TOKENS; ++t)
    for (int h = 0; h < HEADS + OTHERS; ++h)
      for (int c = 0; c < WIDTH; ++c) packed[t][h][c] = (float)((t + h + c) % 7) - 3.0f;
  for (int c = 0; c < WIDTH; ++c) weight[c] = 1.0f;

  lanefold_error* error = NULL;
  lanefold_kernel* norm = NULL;
  if (lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_F32, NULL, &norm, &error)) return report(error);

  /* In place: x and y are the first HEADS of the HEADS + OTHERS rows of each token. */
  const int64_t step = (HEADS + OTHERS) * WIDTH;
  const lanefold_named_input inputs[] = {
      {"x", {packed, LANEFOLD_TYPE_F32, 3, {TOKENS, HEADS, WIDTH, 0}, {step, WIDTH, 1, 0}}},
      {"weight", {weight, LANEFOLD_TYPE_F32, 1, {WIDTH, 0, 0, 0}, {1, 0, 0, 0}}}};
  const lanefold_named_output outputs[] = {
      {"y", {packed, LANEFOLD_TYPE_F32, 3, {TOKENS, HEADS, WIDTH, 0}, {step, WIDTH, 1, 0}}}};
  const lanefold_named_parameter eps = {"eps", 1e-6f, 0};
  if (lanefold_run_named(norm, inputs, 2, outputs, 1, &eps, 1, &error)) {
    lanefold_kernel_free(norm);
    return report(error);
  }
  printf("token 0, head 0:");
  for (int c = 0; c < 7; ++c) printf(" %.6f", (double)packed[0][0][c]);
  printf(" ...\ntoken 0, row %d, untouched: %.1f\n", HEADS, (double)packed[0][HEADS][0]);
  lanefold_kernel_free(norm);
  return 0;
}
