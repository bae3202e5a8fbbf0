// The JSON form of plans. Reading trusts nothing: every field is checked for type and range before it is used.
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plan/layout.h"

namespace lanefold::plan {
namespace {

using nlohmann::json;

constexpr int kSchema = 1;
constexpr std::size_t kMostLayoutBits = 32;
constexpr std::size_t kMostCandidates = 65536;

json layout_json(const Layout& layout) {
  json bits = json::array();
  for (const Owner o : layout.bits) bits.push_back(std::string(owner_name(o)));
  return {{"bits", std::move(bits)}, {"rows_per_simd_group", layout.rows_per_simd_group}};
}

json candidate_json(const Candidate& c) {
  json j = {{"simd_groups_per_row", c.simd_groups_per_row},
            {"rows_per_threadgroup", c.rows_per_threadgroup},
            {"threads", c.threads},
            {"layout", layout_json(c.layout)},
            {"stripe", std::string(stripe_name(c.stripe))},
            {"early_loads", c.early_loads}};
  if (c.rejected) {
    j["rejected"] = {{"code", std::string(code_number(c.rejected->code))},
                     {"name", std::string(code_name(c.rejected->code))},
                     {"message", c.rejected->message},
                     {"hint", c.rejected->hint},
                     {"place", c.rejected->place}};
  } else {
    j["cost"] = c.cost;
  }
  return j;
}

/// Reads the fields of one object, and remembers the first fault.
class Reader {
 public:
  Reader(std::string_view file, std::optional<Diagnostic>& fault) : file_(file), fault_(fault) {}

  const json* field(const json& object, const std::string& path, const char* name) {
    if (fault_) return nullptr;
    const auto found = object.find(name);
    if (found != object.end()) return &*found;
    refuse(Code::plan_field_missing, fmt::format("{} has no field \"{}\"", path, name),
           "let `lanefold plan` write the plan");
    return nullptr;
  }

  void wrong(const std::string& path, std::string_view wanted) {
    refuse(Code::plan_field_invalid, fmt::format("{} is not {}", path, wanted), fmt::format("give {}", wanted));
  }

  void refuse(Code code, std::string message, std::string hint) {
    if (!fault_) fault_ = Diagnostic{code, std::move(message), std::move(hint), std::string(file_)};
  }

  const json* object(const json& parent, const std::string& path, const char* name) {
    const json* j = field(parent, path, name);
    if (j == nullptr || j->is_object()) return j;
    wrong(path + "." + name, "an object");
    return nullptr;
  }

  std::string text(const json& parent, const std::string& path, const char* name) {
    const json* j = field(parent, path, name);
    if (j == nullptr) return {};
    if (const auto* s = j->get_ptr<const std::string*>()) return *s;
    wrong(path + "." + name, "a string");
    return {};
  }

  template <class T>
  void integer(const json& parent, const std::string& path, const char* name, std::uint64_t low, std::uint64_t high,
               T& out) {
    const json* j = field(parent, path, name);
    if (j == nullptr) return;
    // A JSON number without a sign is unsigned here, so that negative ones fail as the wrong type.
    const auto* value = j->get_ptr<const json::number_unsigned_t*>();
    if (value == nullptr || *value < low || *value > high) {
      return wrong(path + "." + name, fmt::format("an integer from {} to {}", low, high));
    }
    out = static_cast<T>(*value);
  }

  template <class T>
  void power_of_two(const json& parent, const std::string& path, const char* name, std::uint64_t low,
                    std::uint64_t high, T& out) {
    integer(parent, path, name, low, high, out);
    if (!fault_ && !std::has_single_bit(static_cast<std::uint64_t>(out))) wrong(path + "." + name, "a power of two");
  }

  void boolean(const json& parent, const std::string& path, const char* name, bool& out) {
    const json* j = field(parent, path, name);
    if (j == nullptr) return;
    if (!j->is_boolean()) return wrong(path + "." + name, "true or false");
    out = j->get<bool>();
  }

  void number(const json& parent, const std::string& path, const char* name, double& out) {
    const json* j = field(parent, path, name);
    if (j == nullptr) return;
    if (!j->is_number() || !std::isfinite(j->get<double>())) return wrong(path + "." + name, "a number");
    out = j->get<double>();
  }

  Layout layout(const json& parent, const std::string& path) {
    Layout out;
    const json* j = object(parent, path, "layout");
    if (j == nullptr) return out;
    const std::string here = path + ".layout";
    power_of_two(*j, here, "rows_per_simd_group", 1, 64, out.rows_per_simd_group);
    const json* bits = field(*j, here, "bits");
    if (bits == nullptr) return out;
    if (!bits->is_array() || bits->size() > kMostLayoutBits) {
      wrong(here + ".bits", fmt::format("a list of at most {} owners", kMostLayoutBits));
      return out;
    }
    for (const json& bit : *bits) {
      const auto* name = bit.get_ptr<const std::string*>();
      const std::optional<Owner> owner = name == nullptr ? std::nullopt : owner_from_name(*name);
      if (!owner) {
        wrong(here + ".bits", "a list of component, reg, lane, simd_group, cluster and pass");
        return out;
      }
      out.bits.push_back(*owner);
    }
    return out;
  }

  Stripe stripe(const json& parent, const std::string& path) {
    const std::string name = text(parent, path, "stripe");
    for (const Stripe s : {Stripe::reload, Stripe::registers, Stripe::threadgroup_memory})
      if (stripe_name(s) == name) return s;
    wrong(path + ".stripe", "reload, registers or threadgroup_memory");
    return Stripe::reload;
  }

  Candidate candidate(const json& j, const std::string& path) {
    Candidate c;
    if (!j.is_object()) {
      wrong(path, "an object");
      return c;
    }
    integer(j, path, "simd_groups_per_row", 1, kMost, c.simd_groups_per_row);
    integer(j, path, "rows_per_threadgroup", 1, kMost, c.rows_per_threadgroup);
    integer(j, path, "threads", 0, kMost, c.threads);
    c.layout = layout(j, path);
    c.stripe = stripe(j, path);
    boolean(j, path, "early_loads", c.early_loads);
    if (!j.contains("rejected")) {
      number(j, path, "cost", c.cost);
      return c;
    }
    const json* why = object(j, path, "rejected");
    if (why == nullptr) return c;
    const std::string here = path + ".rejected";
    const std::string number_text = text(*why, here, "code");
    Diagnostic d{Code::plan_field_invalid, text(*why, here, "message"), text(*why, here, "hint"), ""};
    if (why->contains("place")) d.place = text(*why, here, "place");
    bool known = false;
    for (const Code code : all_codes()) {
      if (code_number(code) != number_text) continue;
      d.code = code;
      known = true;
    }
    if (!known) wrong(here + ".code", "the number of a diagnostic code");
    c.rejected = std::move(d);
    return c;
  }

  static std::optional<Owner> owner_from_name(std::string_view name) {
    for (const Owner o : {Owner::component, Owner::reg, Owner::lane, Owner::simd_group, Owner::cluster, Owner::pass}) {
      if (owner_name(o) == name) return o;
    }
    return std::nullopt;
  }

  static constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();

 private:
  std::string_view file_;
  std::optional<Diagnostic>& fault_;
};

std::optional<std::uint64_t> parse_hash(std::string_view text) {
  if (text.size() != 16) return std::nullopt;
  std::uint64_t hash = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    hash = hash << 4 | static_cast<std::uint64_t>(digit);
  }
  return hash;
}

Plan read_plan(Reader& r, const json& j) {
  const std::string at = "plan";
  constexpr auto kMost = Reader::kMost;
  const auto widest = static_cast<std::uint64_t>(kWidestRow);
  Plan p;
  p.program = r.text(j, at, "program");
  const std::string hash = r.text(j, at, "program_hash");
  if (const auto value = parse_hash(hash))
    p.program_hash = *value;
  else
    r.wrong("plan.program_hash", "16 hexadecimal digits");
  p.target = r.text(j, at, "target");
  const std::string order = r.text(j, at, "order");
  if (const auto value = ir::order_from_name(order))
    p.order = *value;
  else
    r.wrong("plan.order", "serial, canonical or free");
  r.integer(j, at, "rows", 0, std::numeric_limits<std::int64_t>::max(), p.rows);
  r.integer(j, at, "cols", 1, widest, p.cols);
  if (const json* w = r.object(j, at, "width")) {
    r.power_of_two(*w, "plan.width", "virtual_lanes", 1, 1u << 20, p.width.virtual_lanes);
    r.integer(*w, "plan.width", "min_cols", 1, widest, p.width.min_cols);
    r.integer(*w, "plan.width", "max_cols", 1, widest, p.width.max_cols);
    r.boolean(*w, "plan.width", "segmented", p.width.segmented);
    r.power_of_two(*w, "plan.width", "alignment", 1, 16, p.width.alignment);
  }
  p.layout = r.layout(j, at);
  r.power_of_two(j, at, "simd_width", 4, 64, p.simd_width);
  r.integer(j, at, "simd_groups_per_row", 1, kMost, p.simd_groups_per_row);
  r.integer(j, at, "rows_per_threadgroup", 1, kMost, p.rows_per_threadgroup);
  r.integer(j, at, "threads", 1, kMost, p.threads);
  r.power_of_two(j, at, "cluster", 1, 16, p.cluster);
  r.boolean(j, at, "programmatic_launch", p.programmatic_launch);
  p.stripe = r.stripe(j, at);
  r.integer(j, at, "private_stripe", 0, kMost, p.private_stripe);
  r.boolean(j, at, "early_loads", p.early_loads);
  r.integer(j, at, "unroll", 1, 64, p.unroll);
  r.integer(j, at, "threadgroup_bytes", 0, kMost, p.threadgroup_bytes);
  r.integer(j, at, "barriers", 0, kMost, p.barriers);
  r.number(j, at, "cost", p.cost);
  p.cost_basis = r.text(j, at, "cost_basis");
  return p;
}

}  // namespace

std::string to_json(const Plan& plan) {
  json candidates = json::array();
  for (const Candidate& c : plan.candidates) candidates.push_back(candidate_json(c));
  const json fields = {{"program", plan.program},
                       {"program_hash", fmt::format("{:016x}", plan.program_hash)},
                       {"target", plan.target},
                       {"order", std::string(ir::order_name(plan.order))},
                       {"rows", plan.rows},
                       {"cols", plan.cols},
                       {"width",
                        {{"virtual_lanes", plan.width.virtual_lanes},
                         {"min_cols", plan.width.min_cols},
                         {"max_cols", plan.width.max_cols},
                         {"segmented", plan.width.segmented},
                         {"alignment", plan.width.alignment}}},
                       {"layout", layout_json(plan.layout)},
                       {"simd_width", plan.simd_width},
                       {"simd_groups_per_row", plan.simd_groups_per_row},
                       {"rows_per_threadgroup", plan.rows_per_threadgroup},
                       {"threads", plan.threads},
                       {"cluster", plan.cluster},
                       {"programmatic_launch", plan.programmatic_launch},
                       {"stripe", std::string(stripe_name(plan.stripe))},
                       {"private_stripe", plan.private_stripe},
                       {"early_loads", plan.early_loads},
                       {"unroll", plan.unroll},
                       {"threadgroup_bytes", plan.threadgroup_bytes},
                       {"barriers", plan.barriers},
                       {"cost", plan.cost},
                       {"cost_basis", plan.cost_basis}};
  const json whole = {{"schema", kSchema}, {"plan", fields}, {"candidates", std::move(candidates)}};
  return whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Plan> from_json(std::string_view text, std::string_view file) {
  std::optional<Diagnostic> fault;
  Reader r(file, fault);
  const json j = json::parse(text.begin(), text.end(), nullptr, false);
  if (j.is_discarded() || !j.is_object()) {
    r.refuse(Code::plan_not_json, fmt::format("{} is not a JSON object", file),
             "give a file that `lanefold plan --out` wrote");
    return *fault;
  }
  if (const json* schema = r.field(j, "the file", "schema"); schema != nullptr && *schema != kSchema) {
    r.refuse(Code::plan_schema_unknown,
             fmt::format("the plan has schema {}; this program reads {}",
                         schema->dump(-1, ' ', true, json::error_handler_t::replace), kSchema),
             "plan anew with this version");
  }
  Plan p;
  if (const json* fields = r.object(j, "the file", "plan")) p = read_plan(r, *fields);
  if (const json* list = r.field(j, "the file", "candidates")) {
    if (!list->is_array() || list->size() > kMostCandidates) {
      r.wrong("candidates", fmt::format("a list of at most {} candidates", kMostCandidates));
    } else {
      for (std::size_t i = 0; i < list->size() && !fault; ++i) {
        p.candidates.push_back(r.candidate((*list)[i], fmt::format("candidates[{}]", i)));
      }
    }
  }
  if (fault) return *fault;
  return p;
}

}  // namespace lanefold::plan
