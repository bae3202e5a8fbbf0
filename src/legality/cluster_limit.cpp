#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> cluster_limit(const Question& question) {
  if (question.cluster <= question.target.max_cluster) return std::nullopt;
  return Diagnostic{Code::cluster_too_large,
                    fmt::format("{} threadgroups would share a row; a cluster of {} has at most {}", question.cluster,
                                question.target.name, question.target.max_cluster),
                    "ask for a smaller cluster, or for stripe reload", question.program.name};
}

}  // namespace lanefold::legality
