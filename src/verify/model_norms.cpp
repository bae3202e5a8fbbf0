#include "verify/model_norms.h"

#include <string>

namespace lanefold::verify {
namespace {

Result<machine::Counts> count(const std::string& name, std::int64_t cols, const target::Target& target) {
  LANEFOLD_TRY(const driver::KernelName kernel, driver::parse_kernel_name(name));
  InstanceRequest request;
  request.cols = cols;
  request.options.target = target;
  LANEFOLD_TRY(const Instance instance, make_instance(kernel, request));
  ModuleMemory memory(instance.buffers);
  fill_inputs(memory, instance, Pattern::plain, 1);
  LANEFOLD_TRY(const machine::Report report, run_on_machine(instance, memory));
  if (!report.findings.empty()) return report.findings.front();
  return report.counts;
}

}  // namespace

const std::vector<ModelNorms>& model_norms() {
  // Hidden size and layers as published for the model. The published count takes every norm as one fold over one array; a
  // residual norm's second array, which the old form reads as often, is not in it. An engine has 2 or 3 norms a layer.
  static const std::vector<ModelNorms> models = {
      {"gemma-3-4b-norms", "34 layers of 2560 columns with 3 norms a layer", 34, {{"rms_norm", 2560, 3}}},
      {"gemma-3-4b-norms-2", "the same with 2 norms a layer", 34, {{"rms_norm", 2560, 2}}},
  };
  return models;
}

std::uint64_t ModelCount::redundant_reads() const {
  std::uint64_t all = 0;
  for (const ModelNormCount& n : norms)
    all += static_cast<std::uint64_t>(n.launches) * (n.fold_reads_per_lane - n.fold_reads_planned);
  return all;
}

Result<ModelCount> count_model(const ModelNorms& model, const target::Target& target) {
  ModelCount all;
  for (const ModelNorm& norm : model.norms) {
    ModelNormCount counted;
    counted.norm = norm;
    counted.launches = model.layers * norm.per_layer;
    LANEFOLD_TRY(counted.per_lane, count(std::string(norm.op) + ":per_lane", norm.cols, target));
    LANEFOLD_TRY(counted.planned, count(std::string(norm.op), norm.cols, target));
    counted.fold_reads_per_lane = fold_reads(counted.per_lane);
    counted.fold_reads_planned = fold_reads(counted.planned);
    all.norms.push_back(std::move(counted));
  }
  return all;
}

std::uint64_t fold_reads(const machine::Counts& counts) {
  std::uint64_t all = 0;
  for (const machine::SiteCount& site : counts.sites)
    if (!site.store && (site.comment.starts_with("fold") || site.comment == "load the row")) all += site.elements;
  return all;
}

}  // namespace lanefold::verify
