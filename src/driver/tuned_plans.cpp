#include "driver/tuned_plans.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "driver/pipeline.h"
#include "driver/source_text.h"

namespace lanefold::driver {
namespace {

using nlohmann::json;

constexpr int kSchema = 1;

/// Everything that a measurement holds for, as text.
std::string key_text(const TunedCall& call) {
  const CallClass c = call_class(call.order, call.rows, call.cols);
  return fmt::format(
      "tuned plan {}\ndevice {}\ncompiler {}\ntarget {}\nprogram {:016x}\norder {}\nrows {} to {}\ncolumns {} to {}\n"
      "alignment {}\n",
      kSchema, call.on.device, call.on.compiler, call.target.name, plan::program_hash(call.program),
      ir::order_name(call.order), c.least_rows, c.most_rows, c.least_cols, c.most_cols, call.alignment);
}

/// A hash of the code that the plan becomes for matrices without gaps; none where it does not serve the call.
std::optional<std::string> code_hash(const TunedCall& call, const plan::Plan& plan) {
  plan::Request request;
  request.rows = call.rows;
  request.cols = call.cols;
  const Result<Lowered> lowered = lower_program(call.program, call.target, request, plan);
  if (!lowered) return std::nullopt;
  std::string text = lane::print(lowered->module);
  if (call.target.family == target::Family::cuda) {
    Result<std::string> source = source_text(lowered->module, call.target, plan.order);
    if (!source) return std::nullopt;
    text = std::move(source).value();
  }
  return fmt::format("{:016x}", hash_text(text));
}

json measured_json(const TunedMeasurement& m) {
  return {{"default_us", m.default_us}, {"tuned_us", m.tuned_us},
          {"ratio", m.ratio},           {"ratio_low", m.ratio_low},
          {"ratio_high", m.ratio_high}, {"null_low", m.null_low},
          {"null_high", m.null_high},   {"probability", m.probability},
          {"pairs", m.pairs},           {"seed", m.seed},
          {"finished", m.finished}};
}

/// A finite number of the object, else nothing is read.
void read_number(const json& object, const char* name, double& out, bool& right) {
  const auto found = object.find(name);
  right = right && found != object.end() && found->is_number() && std::isfinite(found->get<double>());
  if (right) out = found->get<double>();
}

template <class T>
void read_count(const json& object, const char* name, T& out, bool& right) {
  const auto found = object.find(name);
  right = right && found != object.end() && found->is_number_unsigned();
  if (right) out = found->get<T>();
}

std::optional<TunedMeasurement> read_measured(const json& j) {
  if (!j.is_object()) return std::nullopt;
  TunedMeasurement m;
  bool right = j.contains("finished") && j["finished"].is_string();
  read_number(j, "default_us", m.default_us, right);
  read_number(j, "tuned_us", m.tuned_us, right);
  read_number(j, "ratio", m.ratio, right);
  read_number(j, "ratio_low", m.ratio_low, right);
  read_number(j, "ratio_high", m.ratio_high, right);
  read_number(j, "null_low", m.null_low, right);
  read_number(j, "null_high", m.null_high, right);
  read_number(j, "probability", m.probability, right);
  read_count(j, "pairs", m.pairs, right);
  read_count(j, "seed", m.seed, right);
  if (!right) return std::nullopt;
  m.finished = j["finished"].get<std::string>();
  return m;
}

/// The entry's plan where the entry is for this key and this code.
std::optional<TunedPlan> read_entry(const runtime::BinaryStore::Bytes& bytes, const std::string& key,
                                    const TunedCall& call) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const json entry = json::parse(text.begin(), text.end(), nullptr, false);
  if (!entry.is_object()) return std::nullopt;
  for (const char* field : {"key", "code", "plan", "measured"})
    if (!entry.contains(field)) return std::nullopt;
  // Two keys may have one hash.
  if (entry["key"] != key) return std::nullopt;
  Result<plan::Plan> plan = plan::from_json(entry["plan"].dump(-1, ' ', true, json::error_handler_t::replace));
  std::optional<TunedMeasurement> measured = read_measured(entry["measured"]);
  if (!plan || !measured) return std::nullopt;
  if (plan->order != call.order || plan->width.alignment > call.alignment || plan->cost_basis != kMeasuredBasis)
    return std::nullopt;
  // Legality and the widths that the plan serves are part of lowering it.
  const std::optional<std::string> code = code_hash(call, *plan);
  if (!code || entry["code"] != *code) return std::nullopt;
  return TunedPlan{std::move(plan).value(), *std::move(measured)};
}

}  // namespace

TunedPlans TunedPlans::user() {
  const char* wish = std::getenv("LANEFOLD_TUNED");
  const bool without = wish != nullptr && std::string_view(wish) == "0";
  return TunedPlans(without ? std::nullopt : runtime::BinaryStore::user_folder());
}

std::optional<TunedPlan> TunedPlans::find(const TunedCall& call) const {
  if (!folder()) return std::nullopt;
  const std::string key = key_text(call);
  const std::optional<runtime::BinaryStore::Bytes> bytes = store_.find(runtime::BinaryStore::key(key));
  if (!bytes) return std::nullopt;
  return read_entry(*bytes, key, call);
}

bool TunedPlans::store(const TunedCall& call, const TunedPlan& tuned) const {
  plan::Plan bare = tuned.plan;
  bare.candidates.clear();
  bare.cost = tuned.measured.tuned_us;
  bare.cost_basis = kMeasuredBasis;
  const std::optional<std::string> code = code_hash(call, bare);
  if (!code) return false;
  const std::string key = key_text(call);
  const json entry = {{"schema", kSchema},
                      {"key", key},
                      {"code", *code},
                      {"plan", json::parse(plan::to_json(bare))},
                      {"measured", measured_json(tuned.measured)}};
  const std::string text = entry.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
  runtime::BinaryStore::Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  store_.store(runtime::BinaryStore::key(key), bytes);
  const std::optional<TunedPlan> found = find(call);
  return found && plan::to_json(found->plan) == plan::to_json(bare);
}

void TunedPlans::remove(const TunedCall& call) const { store_.remove(runtime::BinaryStore::key(key_text(call))); }

}  // namespace lanefold::driver
