#include "bench/tune/record_json.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plan/analysis.h"
#include "plan/layout.h"

namespace lanefold::bench {
namespace {

using nlohmann::json;

/// What a cost basis asks of a program.
json features(const ir::Program& program, bool is_free) {
  const plan::Analysis a = plan::analyse(program);
  double work = 0, accumulators = 0;
  for (const plan::Sweep& sweep : a.sweeps) {
    work += sweep.work;
    accumulators += sweep.accumulators;
  }
  std::size_t loaded = 0, narrowest = 4;
  for (const ir::Input& input : program.inputs) {
    loaded += input.kind.tag == ir::Kind::Tag::element || input.kind.tag == ir::Kind::Tag::column;
    if (input.kind.tag == ir::Kind::Tag::element) narrowest = std::min(narrowest, element_bytes(input.storage));
  }
  // Under free, a maximum and the sum shifted by it merge together.
  const std::size_t folds = a.row_folds.size() - (is_free ? a.shifted_sums.size() : 0);
  return {{"work", work},
          {"accumulators", accumulators},
          {"folds", folds},
          {"partials", a.partials},
          {"later", a.later_inputs.size()},
          {"loaded", loaded},
          {"narrowest", narrowest},
          {"stores", a.element_stores},
          {"kept_values", a.kept_values},
          {"kept_registers", a.kept_registers},
          {"later_registers", a.later_registers}};
}

json plan_json(const ScreenedPlan& screened) {
  const plan::Plan& p = screened.plan;
  json j = {{"layout", layout_name(p)},
            {"predicted", p.cost},
            {"threads", p.threads},
            {"rows_per_threadgroup", p.rows_per_threadgroup},
            {"groups", p.simd_groups_per_row},
            {"stripe", std::string(plan::stripe_name(p.stripe))},
            {"private", p.private_stripe},
            {"early", p.early_loads},
            {"us", nullptr},
            {"samples_us", screened.samples_us}};
  if (const std::optional<double> us = screened.us()) j["us"] = *us;
  for (const ResourceRecord& kernel : screened.resources) {
    j["registers"] = kernel.registers;
    j["spills"] = kernel.spill_bytes;
  }
  if (screened.left_out) j["left_out"] = screened.left_out->message;
  return j;
}

json trial_json(const Trial& trial) {
  const PairedVerdict& v = trial.verdict;
  return {{"plan", trial.plan},
          {"seed", trial.seed},
          {"confirms", trial.confirms},
          {"pairs", trial.pairs},
          {"default_us", trial.default_us},
          {"plan_us", trial.plan_us},
          {"claim", std::string(claim_name(v.claim))},
          {"ratio", v.ratio},
          {"ratio_low", v.ratio_low},
          {"ratio_high", v.ratio_high},
          {"null_low", v.null_low},
          {"null_high", v.null_high},
          {"probability", v.probability}};
}

}  // namespace

std::string layout_name(const plan::Plan& p) {
  const auto bits = [&](plan::Owner owner) { return plan::count_bits(p.layout, owner); };
  return fmt::format("c{}l{}r{}p{}g{}k{} x{} {}{}", bits(plan::Owner::component), bits(plan::Owner::lane),
                     bits(plan::Owner::reg), bits(plan::Owner::pass), bits(plan::Owner::simd_group),
                     bits(plan::Owner::cluster), p.rows_per_threadgroup, plan::stripe_name(p.stripe),
                     p.early_loads ? " early" : "");
}

json record_json(const TuneRecord& record, bool kept) {
  json j = {{"case", record.id},      {"operator", record.kernel}, {"dtype", record.dtype},
            {"order", record.order},  {"device", record.device},   {"rows", record.rows},
            {"cols", record.cols},    {"bytes", record.bytes},     {"copy", record.copy_us},
            {"plans", json::array()}, {"trials", json::array()},   {"winner", nullptr},
            {"kept", kept},           {"failure", nullptr}};
  if (record.program) j["features"] = features(*record.program, record.order == "free");
  for (const ScreenedPlan& screened : record.plans) j["plans"].push_back(plan_json(screened));
  for (const Trial& trial : record.decision.trials) j["trials"].push_back(trial_json(trial));
  if (record.decision.winner) j["winner"] = *record.decision.winner;
  if (record.failure)
    j["failure"] = {{"stage", record.failure->stage},
                    {"code", record.failure->code},
                    {"name", record.failure->name},
                    {"message", record.failure->message},
                    {"hint", record.failure->hint}};
  return j;
}

}  // namespace lanefold::bench
