#include <fmt/format.h>

#include <algorithm>

#include "lane/uniform.h"
#include "lane/verify.h"

namespace lanefold::lane {
namespace {

/// How much of a threadgroup is sure to be at a place together.
enum class Together : std::uint8_t { lanes_apart, group, threadgroup };

Together together(const Variation& v) {
  if (v.uniform) return Together::threadgroup;
  return v.affine && v.stride == 0 ? Together::group : Together::lanes_apart;
}

class ControlChecker {
 public:
  ControlChecker(const Module& module, const Kernel& kernel, std::vector<Diagnostic>& faults)
      : kernel_(kernel), values_(variations(module, kernel)), faults_(faults) {}

  void run() { block(kernel_.body, Together::threadgroup); }

 private:
  void fault(Code code, const Statement& s, std::string message, std::string hint) {
    faults_.push_back(
        {code, fmt::format("{}: {}", op_name(s.op), message), std::move(hint), statement_place(kernel_, s)});
  }

  void block(const std::vector<Statement>& statements, Together control) {
    for (const Statement& s : statements) visit(s, control);
  }

  void visit(const Statement& s, Together control) {
    switch (s.op) {
      case Op::barrier:
      case Op::cluster_barrier:
      case Op::exchange:
        if (control == Together::threadgroup) return;
        return fault(Code::lane_barrier_not_uniform, s, "not all lanes of the threadgroup are sure to reach it",
                     "move it out of the branch, or make the condition uniform");
      case Op::shuffle_xor:
      case Op::shuffle_down:
      case Op::shuffle:
      case Op::permute2:
      case Op::fold_lanes:
      case Op::simd_barrier:
        if (control != Together::lanes_apart) return;
        return fault(Code::lane_simd_not_uniform, s, "not all lanes of the SIMD group are sure to reach it",
                     "move it out of the branch, or make the condition the same in all lanes");
      case Op::branch: {
        const Together inner = std::min(control, together(values_[s.operands[0]]));
        block(s.body, inner);
        return block(s.otherwise, inner);
      }
      case Op::loop:
        for (const ValueId bound : s.operands) {
          if (together(values_[bound]) == Together::threadgroup) continue;
          fault(Code::lane_loop_not_uniform, s, fmt::format("%{} may differ between lanes", bound),
                "loop to a uniform bound and branch inside");
          break;
        }
        return block(s.body, control);
      default: return;
    }
  }

  const Kernel& kernel_;
  std::vector<Variation> values_;
  std::vector<Diagnostic>& faults_;
};

bool find(const std::vector<Statement>& block, const Statement& wanted, const std::string& prefix, std::string& path) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    const std::string here = fmt::format("{}{}", prefix, i + 1);
    if (&block[i] == &wanted) {
      path = here;
      return true;
    }
    if (find(block[i].body, wanted, here + ".", path) || find(block[i].otherwise, wanted, here + ".else.", path))
      return true;
  }
  return false;
}

}  // namespace

std::vector<Diagnostic> verify_control(const Module& module) {
  std::vector<Diagnostic> faults;
  for (const Kernel& kernel : module.kernels) ControlChecker(module, kernel, faults).run();
  return faults;
}

std::string statement_place(std::string_view owner, std::string_view path) { return fmt::format("{}:{}", owner, path); }

std::string statement_place(const Kernel& kernel, const Statement& statement) {
  std::string path;
  find(kernel.body, statement, "", path);
  return statement_place(kernel.name, path);
}

}  // namespace lanefold::lane
