#include "bench/case.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "bench/arms/ceiling.h"
#include "bench/case_checks.h"
#include "driver/tuned_plans.h"
#include "plan/describe.h"
#include "verify/made_for.h"
#if LANEFOLD_JIT
#include "jit/jit.h"
#endif

namespace lanefold::bench {
namespace {

std::string dtype_of(const SubjectRequest& request, const verify::Instance& instance) {
  if (instance.hand_written != nullptr) {
    if (!instance.hand_written->has_weights) return "f32";
    return instance.sizes.weights == kernels::WeightFormat::q8_0 ? "q8_0" : "bf16";
  }
  if (request.kernel.kind == driver::KernelName::Kind::op)
    return std::string(element_name(request.instance.build.storage));
  return instance.buffers.empty() ? "" : std::string(element_name(instance.buffers.front().type));
}

std::string order_of(const verify::Instance& instance) {
  return instance.program ? std::string(ir::order_name(instance.order)) : "";
}

Result<std::vector<SourceRecord>> keep_sources(const std::string& id, const Subject& subject,
                                               const CaseContext& context) {
  std::vector<SourceRecord> sources;
  if (!context.keep_source || subject.module().kernels.empty()) return sources;
  LANEFOLD_TRY(sources.emplace_back(), context.keep_source(id, "lane", lane::print(subject.module())));
  if (!subject.source().empty()) {
    LANEFOLD_TRY(sources.emplace_back(), context.keep_source(id, "cuda", subject.source()));
    return sources;
  }
#if LANEFOLD_JIT
  if (context.capture_sources && subject.instance().plan) {
    LANEFOLD_TRY(const target::Target target, target::find(subject.instance().plan->target));
    LANEFOLD_TRY(const std::string llvm, jit::llvm_text(subject.module(), target));
    LANEFOLD_TRY(sources.emplace_back(), context.keep_source(id, "llvm", llvm));
    LANEFOLD_TRY(const std::string assembly, jit::assembly_text(subject.module(), target));
    LANEFOLD_TRY(sources.emplace_back(), context.keep_source(id, "asm", assembly));
  }
#endif
  return sources;
}

void describe(const Subject& subject, CaseRecord& record) {
  record.threads = subject.threads();
  record.phases = subject.phases();
  if (subject.realised()) {
    record.plan = plan::to_json(*subject.realised());
    record.plan_line = plan::plan_line(*subject.realised());
    if (subject.realised()->cost_basis == driver::kMeasuredBasis) record.plan_line += ", tuned";
  }
  for (const verify::StagePlan& stage : subject.stages())
    record.plan_line +=
        fmt::format("{}{}: {}", record.plan_line.empty() ? "" : "; ", stage.title, plan::plan_line(stage.plan));
  record.resources = subject.resources();
  record.bytes_read = subject.bytes_read();
  record.bytes_written = subject.bytes_written();
}

PeerCase peer_case(const SubjectRequest& request, const Subject& subject) {
  const verify::Instance& instance = subject.instance();
  PeerCase what;
  what.op = request.kernel.name;
  what.rows = instance.rows;
  what.cols = instance.cols;
  what.dtype = dtype_of(request, instance);
  what.threads = subject.threads();
  for (std::size_t i = 0; i < instance.program->parameters.size(); ++i)
    what.parameters[instance.program->parameters[i].name] = instance.parameters[i];
  const verify::ModuleMemory& memory = *subject.memory();
  for (std::size_t b = 0; b < memory.buffers().size(); ++b) {
    const verify::ModuleBuffer& buffer = memory.buffers()[b];
    PeerCase::Buffer shared{buffer.name, buffer.shape, memory.view(b), buffer.type};
    (buffer.role == lane::Role::input ? what.inputs : what.outputs).push_back(std::move(shared));
  }
  return what;
}

/// Hands the case to the peer and checks what it computes. The record says whether it can be timed.
Result<ArmRecord> prepare_peer(Peer& peer, const SubjectRequest& request, Subject& subject) {
  ArmRecord record;
  record.name = peer.name();
  record.role = "peer";
  record.version = peer.version();
  if (!subject.instance().program || request.kernel.kind != driver::KernelName::Kind::op) {
    record.declined = "peers have operators of the library only";
    return record;
  }
  if (request.launches > 1) {
    record.declined = "peers are timed call by call";
    return record;
  }
  if (!request.instance.build.known.options.empty()) {
    record.declined = "peers are not told an operator's options";
    return record;
  }
  LANEFOLD_TRY(const PeerOffer offer, peer.prepare(peer_case(request, subject)));
  record.declined = offer.declined;
  record.output_policy = offer.output_policy;
  if (!offer.declined.empty()) return record;
  record.version += ", " + offer.call;
  LANEFOLD_CHECK(peer.run(1));
  LANEFOLD_TRY(const auto theirs, peer.outputs());
  const std::vector<std::vector<std::byte>> ours = subject.outputs();
  subject.put_outputs(theirs);
  verify::Tolerance tolerance = subject.instance().tolerance;
  if (offer.tolerance) {
    tolerance.absolute = offer.tolerance->absolute;
    tolerance.relative = offer.tolerance->relative;
    record.own_tolerance = offer.tolerance->why;
  }
  const verify::CheckReport report = subject.compare(tolerance);
  subject.put_outputs(ours);
  record.check = check_record(report, tolerance);
  if (const Status right = check_outputs(peer.name(), report); !right)
    record.failure = failure_of("check", right.error());
  return record;
}

/// Makes the kernel; memory that is not there is no fault of ours.
Result<std::unique_ptr<Subject>> make_subject(const SubjectRequest& request, std::shared_ptr<SubjectMemory> memory) {
  try {
    return Subject::make(request, std::move(memory));
  } catch (const std::bad_alloc&) {
    return Diagnostic{Code::out_of_memory, "there is not enough memory for the case", "take fewer rows or columns",
                      request.kernel.text};
  }
}

}  // namespace

std::string case_id(const SubjectRequest& request, const verify::Instance& instance, unsigned threads) {
  std::string id = request.kernel.text;
  id += instance.hand_written != nullptr ? fmt::format(" {}", verify::made_for(instance))
                                         : fmt::format(" {}x{}", instance.rows, instance.cols);
  // A module's weights stand among its sizes.
  const std::string dtype = instance.hand_written != nullptr ? "" : dtype_of(request, instance);
  if (!dtype.empty()) id += " " + dtype;
  if (const std::string order = order_of(instance); !order.empty()) id += " " + order;
  id += verify::built_for(instance.build);
  if (request.as_module) id += ", as a module";
  if (request.launches > 1) id += fmt::format(", {} launches", request.launches);
  if (threads == 0) return id + fmt::format(", {}", request.instance.options.device);
  return id + fmt::format(", {}, {} thread{}", request.instance.options.device, threads, threads == 1 ? "" : "s");
}

Failure failure_of(std::string stage, const Diagnostic& diagnostic) {
  return {std::move(stage), std::string(code_number(diagnostic.code)), std::string(code_name(diagnostic.code)),
          diagnostic.message, diagnostic.hint};
}

Check check_record(const verify::CheckReport& report, const verify::Tolerance& tolerance) {
  Check check{tolerance.absolute, tolerance.relative, tolerance.code, {}};
  for (const verify::OutputReport& output : report.outputs)
    check.outputs.push_back({output.name, output.elements, output.wrong, output.max_error});
  return check;
}

Result<CaseRecord> prepare_case(const CaseRequest& request, const CaseContext& context,
                                std::unique_ptr<Subject>& subject, std::shared_ptr<SubjectMemory> memory) {
  CaseRecord record;
  record.suite = request.suite;
  record.kernel = request.subject.kernel.text;
  record.rows = request.subject.instance.rows;
  record.cols = request.subject.instance.cols;
  record.device = request.subject.instance.options.device;
  record.launches = request.subject.launches;
  record.as_module = request.subject.as_module;
  record.threads = request.subject.instance.options.threads;
  record.id = fmt::format("{} {}x{}, {}", record.kernel, record.rows, record.cols, record.device);
  if (const Status sound = check_lane_file(request.subject); !sound) {
    record.failure = failure_of("check", sound.error());
    return record;
  }
  Result<std::unique_ptr<Subject>> made = make_subject(request.subject, std::move(memory));
  if (!made) {
    record.failure = failure_of("prepare", made.error());
    return record;
  }
  subject = std::move(made).value();
  const verify::Instance& instance = subject->instance();
  record.id = case_id(request.subject, instance, subject->threads());
  record.made_for = verify::made_for(instance);
  record.dtype = dtype_of(request.subject, instance);
  record.order = order_of(instance);
  describe(*subject, record);
  LANEFOLD_TRY(record.sources, keep_sources(record.id, *subject, context));
  // A tuned plan takes the place of the one that the cost basis chose; nobody asked for that one.
  const verify::DeviceOptions& options = request.subject.instance.options;
  const bool is_tuned = !options.plan && request.subject.kernel.plan_path.empty() && subject->realised() &&
                        subject->realised()->cost_basis == driver::kMeasuredBasis;
  if (instance.plan && !is_tuned) {
    const Status realised = check_realised(*instance.plan, *subject->realised());
    if (!realised) {
      record.failure = failure_of("plan", realised.error());
      return record;
    }
  }
  const verify::CheckReport report = subject->compare();
  record.check = check_record(report, instance.tolerance);
  if (const Status right = check_outputs(record.id, report); !right)
    record.failure = failure_of("check", right.error());
  return record;
}

Result<CaseRecord> measure_case(const CaseRequest& request, const CaseContext& context) {
  std::unique_ptr<Subject> subject, baseline;
  LANEFOLD_TRY(CaseRecord record, prepare_case(request, context, subject));
  if (!record.ok()) return record;

  std::vector<Arm*> arms = {subject.get()};
  std::vector<ArmRecord> described(1);
  described[0].name = record.kernel;
  described[0].role = "subject";
  if (request.baseline) {
    CaseRequest other;
    other.suite = request.suite;
    other.subject = *request.baseline;
    LANEFOLD_TRY(const CaseRecord prepared, prepare_case(other, context, baseline));
    ArmRecord arm;
    arm.name = prepared.kernel;
    arm.role = "baseline";
    arm.check = prepared.check;
    arm.failure = prepared.failure;
    if (prepared.ok()) arms.push_back(baseline.get());
    described.push_back(std::move(arm));
  }
  const std::int64_t bytes = (record.bytes_read + record.bytes_written) / record.launches;
  LANEFOLD_TRY(const Ceiling copy, make_ceiling(record.device, bytes, record.threads, record.launches));
  arms.push_back(copy.arm.get());
  ArmRecord ceiling;
  ceiling.name = "copy";
  ceiling.role = "ceiling";
  ceiling.bytes = copy.bytes;
  ceiling.version = copy.streaming ? "streaming stores" : "cached stores";
  described.push_back(std::move(ceiling));
  for (const std::unique_ptr<Peer>& peer : context.peers) {
    Result<ArmRecord> arm = prepare_peer(*peer, request.subject, *subject);
    if (!arm) {
      ArmRecord failed;
      failed.name = peer->name();
      failed.role = "peer";
      failed.version = peer->version();
      failed.failure = failure_of("prepare", arm.error());
      arm = std::move(failed);
    }
    if (arm->declined.empty() && !arm->failure) arms.push_back(peer.get());
    described.push_back(std::move(arm).value());
  }

  const Result<std::vector<double>> singles = single_calls(*subject, context.protocol);
  if (!singles) {
    record.failure = failure_of("sample", singles.error());
    return record;
  }
  record.single_us = *singles;
  Result<std::vector<double>> enqueued = subject->enqueue_us(context.protocol.single_calls);
  if (!enqueued) {
    record.failure = failure_of("sample", enqueued.error());
    return record;
  }
  record.enqueue_us = std::move(enqueued).value();
  const StoredBytes stored(*subject);
  std::optional<StoredBytes> baseline_stored;
  if (baseline) baseline_stored.emplace(*baseline);
  const int all = context.protocol.samples * static_cast<int>(arms.size());
  const Result<std::vector<Sampled>> sampled = sample_rounds(arms, context.protocol, [&](int done) {
    if (context.progress) context.progress(record.id, done, all);
  });
  if (!sampled) {
    record.failure = failure_of("sample", sampled.error());
    record.arms = std::move(described);
    return record;
  }
  std::size_t next = 0;
  for (ArmRecord& arm : described) {
    if (!arm.declined.empty() || arm.failure) continue;
    const Sampled& samples = (*sampled)[next++];
    if (samples.failure) {
      arm.failure = failure_of("sample", *samples.failure);
      continue;
    }
    arm.calls = samples.calls;
    arm.wall_us = samples.wall_us;
    arm.device_us = samples.device_us;
    arm.turns = samples.turns;
    if (arm.output_policy.empty()) arm.output_policy = "preallocated";
  }
  record.arms = std::move(described);
  if (const Status same = stored.check(record.id); !same) record.failure = failure_of("sample", same.error());
  for (ArmRecord& arm : record.arms)
    if (arm.role == "baseline" && baseline_stored && !arm.failure)
      if (const Status same = baseline_stored->check(arm.name); !same) arm.failure = failure_of("sample", same.error());
  return record;
}

}  // namespace lanefold::bench
