// lanefold prove: whether two kernels store equal bytes for all inputs.
#include <chrono>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/instance_options.h"
#include "cli/report.h"
#include "cli/values.h"
#include "verify/prove.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;
using verify::Proof;
using verify::Verdict;

struct Settings {
  std::string a, b, seed;
  bool all = false;
  InstanceFlags instance;
};

std::string difference_text(const Proof& proof, const std::string& a, const std::string& b, int tries) {
  std::string text = fmt::format("output      {}[{}]\n", proof.output, proof.element);
  text += fmt::format("{}\n  {}\n{}\n  {}\n", a, proof.a, b, proof.b);
  if (!proof.a_inner.empty()) text += fmt::format("they first differ here\n  {}\n  {}\n", proof.a_inner, proof.b_inner);
  if (!proof.witness) return text + fmt::format("no input was found on which the bytes differ ({} tried)\n", tries);
  const verify::Witness& w = *proof.witness;
  return text + fmt::format("on the inputs {} with seed {}, {}[{}] is\n  {}\n  {}\n", verify::pattern_name(w.pattern),
                            w.seed, w.output, w.element, w.a, w.b);
}

json proof_json(const Proof& proof, int tries) {
  static constexpr const char* kNames[] = {"equal", "different", "not_provable"};
  json result = {{"verdict", kNames[static_cast<std::size_t>(proof.verdict)]},
                 {"parts", proof.parts},
                 {"all_parts", proof.all_parts},
                 {"outputs", proof.outputs},
                 {"expressions", proof.expressions}};
  if (proof.verdict == Verdict::not_provable) result["reason"] = proof.reason;
  if (proof.verdict != Verdict::different) return result;
  result["output"] = proof.output;
  result["element"] = proof.element;
  result["a_expression"] = proof.a;
  result["b_expression"] = proof.b;
  result["a_first_difference"] = proof.a_inner;
  result["b_first_difference"] = proof.b_inner;
  if (proof.witness) {
    const verify::Witness& w = *proof.witness;
    result["witness"] = {{"pattern", verify::pattern_name(w.pattern)},
                         {"seed", w.seed},
                         {"output", w.output},
                         {"element", w.element},
                         {"a", w.a},
                         {"b", w.b}};
  } else {
    result["witness"] = nullptr;
    result["inputs_tried"] = tries;
  }
  return result;
}

Result<verify::Instance> made(const driver::KernelName& name, const InstanceFlags& flags) {
  LANEFOLD_TRY(const verify::InstanceRequest request, instance_request(name, flags, standard_target()));
  return make_kernel(name, request);
}

Result<int> prove(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(driver::KernelName a, driver::parse_kernel_name(settings.a));
  LANEFOLD_TRY(driver::KernelName b, driver::parse_kernel_name(settings.b));
  const auto is_canonical = [](const driver::KernelName& name) {
    return name.kind == driver::KernelName::Kind::canonical;
  };
  if (is_canonical(a)) std::swap(a, b);
  if (is_canonical(a))
    return Diagnostic{Code::kernel_not_for_verb, "canonical is what a kernel is compared with, and no kernel is named",
                      "name a row program beside it", "canonical"};
  std::vector<driver::KernelName> names = {a};
  if (!is_canonical(b)) names.push_back(b);
  LANEFOLD_CHECK(check_meaning(names, settings.instance));
  verify::ProveOptions options;
  options.all = settings.all;
  if (!settings.seed.empty()) {
    LANEFOLD_TRY(const std::int64_t seed, parse_count("--seed", settings.seed, 0, kMostSize));
    options.seed = static_cast<std::uint64_t>(seed);
  }
  LANEFOLD_TRY(const verify::Instance left, made(a, settings.instance));
  const auto begin = std::chrono::steady_clock::now();
  Result<Proof> proof = Proof{};
  if (is_canonical(b)) {
    proof = verify::prove_canonical(left, options);
  } else {
    LANEFOLD_TRY(const verify::Instance right, made(b, settings.instance));
    proof = verify::prove(left, right, options);
  }
  if (!proof) return proof.error();
  const double microseconds =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  const int status = proof->verdict == Verdict::equal       ? kSuccess
                     : proof->verdict == Verdict::different ? kFailedCheck
                                                            : kNotProvable;
  if (context.json) {
    json result = proof_json(*proof, options.witness_tries);
    result["a"] = a.text;
    result["b"] = b.text;
    result["made_for"] = made_for(left);
    result["time_us"] = microseconds;
    print_json(result);
    return status;
  }
  std::string text = fmt::format("{}\n", verify::verdict_name(proof->verdict));
  text += fmt::format("kernels     {} and {}: {}\n", a.text, b.text, made_for(left));
  if (!proof->parts.empty())
    text += fmt::format("compared    {}, {}, {} expressions, in {}\n", verify::parts_text(*proof),
                        counted(static_cast<std::int64_t>(proof->outputs), "output element"), proof->expressions,
                        time_text(microseconds));
  if (proof->verdict == Verdict::not_provable) text += fmt::format("because     {}\n", proof->reason);
  if (proof->verdict == Verdict::different) text += difference_text(*proof, a.text, b.text, options.witness_tries);
  print(text);
  return status;
}

}  // namespace

Action declare_prove(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positional("A", settings->a, "a kernel");
  options.positional("B", settings->b, "another one, or canonical: the meaning of the row program A in its fold order");
  options.flag("--all", settings->all, "compare all rows or threadgroups, not the first, the last and one between");
  options.text("--seed", settings->seed, "N", "chooses the one between, the turns of SIMD groups and the inputs tried");
  declare_instance(options, settings->instance);
  return [settings](const Context& context) { return prove(*settings, context); };
}

}  // namespace lanefold::cli
