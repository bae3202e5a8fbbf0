// One case of a benchmark: prepared, checked on every element, and only then timed beside a copy and the peers.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/arms/peer.h"
#include "bench/arms/sampler.h"
#include "bench/arms/subject.h"
#include "bench/results/results.h"

namespace lanefold::bench {

struct CaseRequest {
  std::string suite;  ///< empty: named by the user
  SubjectRequest subject;
  std::optional<SubjectRequest> baseline;  ///< timed in the same rounds
};

/// What reaches beyond one case.
struct CaseContext {
  Protocol protocol;
  std::span<const std::unique_ptr<Peer>> peers;
  /// Keeps a source text of a case and says what to record: stage, text.
  std::function<Result<SourceRecord>(const std::string& id, const std::string& stage, const std::string& text)>
      keep_source;
  bool capture_sources = false;                                            ///< the LLVM IR and the assembly too
  std::function<void(const std::string& id, int done, int all)> progress;  ///< samples taken
};

/// The names by which two runs know the same case.
std::string case_id(const SubjectRequest& request, const verify::Instance& instance, unsigned threads);

/// A diagnostic as a failure in that stage.
Failure failure_of(std::string stage, const Diagnostic& diagnostic);
/// A check's report as a record.
Check check_record(const verify::CheckReport& report, const verify::Tolerance& tolerance);

/// The case as far as it goes without a clock: made, its plan compared with the one asked for, every output element checked. `subject` holds the
/// kernel where the record has no failure. Errors of the folder of sources are diagnostics; whatever the kernel does is a failure of the case.
/// `memory`: as for Subject::make.
Result<CaseRecord> prepare_case(const CaseRequest& request, const CaseContext& context,
                                std::unique_ptr<Subject>& subject, std::shared_ptr<SubjectMemory> memory = nullptr);

/// Prepares, and takes all samples: the subject, its baseline, a copy of as many bytes, and every peer that has the operator, in rotated turns.
Result<CaseRecord> measure_case(const CaseRequest& request, const CaseContext& context);

}  // namespace lanefold::bench
