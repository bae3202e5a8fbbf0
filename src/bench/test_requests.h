// Requests for tests: kernels by name, measured as briefly as possible.
#pragma once

#include <string>

#include "bench/case.h"

namespace lanefold::bench {

inline SubjectRequest request_for(const std::string& kernel, std::int64_t rows, std::int64_t cols,
                                  unsigned threads = 1) {
  SubjectRequest request;
  request.kernel = driver::parse_kernel_name(kernel).value();
  request.instance.rows = rows;
  request.instance.cols = cols;
  request.instance.options.threads = threads;
  request.instance.options.target = target::host();
  return request;
}

inline CaseRequest case_for(const std::string& kernel, std::int64_t rows, std::int64_t cols) {
  CaseRequest request;
  request.subject = request_for(kernel, rows, cols);
  return request;
}

/// Two samples of a few calls.
inline Protocol brief_protocol() {
  Protocol protocol;
  protocol.samples = 2;
  protocol.sample_ms = 0.05;
  protocol.warmup_ms = 0;
  protocol.settle_ms = 0;
  protocol.single_calls = 3;
  return protocol;
}

}  // namespace lanefold::bench
