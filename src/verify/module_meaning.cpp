// The FP64 meaning of hand-written modules, from the oracle, with their buffers read as numbers.
#include <string>

#include <fmt/format.h>

#include "base/load_store.h"
#include "oracle/attention_merge.h"
#include "oracle/mixers.h"
#include "verify/module_check.h"

namespace lanefold::verify {
namespace {

using Values = std::vector<double>;
using Meaning = std::map<std::string, Values>;

/// The inputs of one instance as numbers.
class Inputs {
 public:
  Inputs(const Instance& instance, const ModuleMemory& memory) : instance_(instance), memory_(memory) {}

  Values operator()(std::string_view name) const {
    const View view = memory_.view(at(name));
    Values values(static_cast<std::size_t>(view.cols));
    for (std::int64_t i = 0; i < view.cols; ++i)
      values[static_cast<std::size_t>(i)] = load_element_f64(view.at(0, i), view.type);
    return values;
  }
  Values weights(std::string_view name) const {
    if (instance_.sizes.weights != kernels::WeightFormat::q8_0) return (*this)(name);
    const View view = memory_.view(at(name));
    return oracle::q8_0_values({view.data, static_cast<std::size_t>(view.cols)});
  }
  std::int64_t size(std::string_view name) const { return instance_.sizes.at(name); }

 private:
  std::size_t at(std::string_view name) const {
    const std::optional<std::size_t> found = memory_.find(name);
    if (!found) internal_error(fmt::format("verify: {} has no buffer {}", instance_.name, name));
    return *found;
  }

  const Instance& instance_;
  const ModuleMemory& memory_;
};

oracle::MixerSizes mixer_sizes(const Inputs& in, bool ranked) {
  oracle::MixerSizes sizes{in.size("tokens"), in.size("hidden"), in.size("streams"), 1};
  if (ranked) sizes.rank = in.size("rank");
  return sizes;
}

Meaning prepared(std::string name, oracle::Prepared result) {
  return {{std::move(name), std::move(result.values)},
          {"planes", std::move(result.planes)},
          {"sums", std::move(result.sums)}};
}

Meaning norm(const Inputs& in) {
  const bool apply = in.size("apply") != 0;
  oracle::NormedStreams result =
      oracle::gr_norm(mixer_sizes(in, false), in("residual"), apply ? in("branch_out") : Values(),
                      apply ? in("inj_prev") : Values(), in("w_norm"));
  Meaning meaning = {{"xn", std::move(result.xn)}, {"rs", std::move(result.rs)}};
  if (apply) meaning["residual"] = std::move(result.residual);
  return meaning;
}

Meaning down(const Inputs& in) {
  oracle::LowRank result = oracle::gr_down(mixer_sizes(in, true), in("xn"), in.weights("wd"), in.weights("wi"));
  return {{"lo", std::move(result.lo)}, {"inject", std::move(result.inject)}};
}

Meaning up(const Inputs& in) {
  return prepared("mixed",
                  oracle::gr_up(mixer_sizes(in, true), in.size("planes"), in("xn"), in("lo"), in.weights("wu")));
}

Meaning up3(const Inputs& in) {
  return prepared("mixed", oracle::gr_up3(mixer_sizes(in, true), in.size("planes"), in("residual"), in("w_norm"),
                                          in("rs"), in("d"), in.weights("wu")));
}

Meaning merge(const Inputs& in) {
  const oracle::MergeSizes sizes{in.size("tokens"), in.size("kv_heads"), in.size("heads"), in.size("head_size"),
                                 in.size("chunks")};
  return prepared("merged", oracle::qsa_merge(sizes, in.size("planes"), in("acc"), in("m"), in("l"), in("gate")));
}

}  // namespace

std::map<std::string, std::vector<double>> module_meaning(const Instance& instance, const ModuleMemory& inputs) {
  const Inputs in(instance, inputs);
  const std::string_view name = instance.hand_written->name;
  if (name == "gr_norm") return norm(in);
  if (name == "gr_down") return down(in);
  if (name == "gr_up") return up(in);
  if (name == "gr_up3") return up3(in);
  if (name == "qsa_merge") return merge(in);
  internal_error(fmt::format("verify: the hand-written module {} has no meaning in FP64", name));
}

}  // namespace lanefold::verify
