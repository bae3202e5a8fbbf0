#include "emit/common/guarded_loads.h"

#include <set>

namespace lanefold::emit {

using lane::Op;
using lane::Statement;

namespace {

struct Accesses {
  std::uint32_t zeroed = 0;  ///< elements set to zero in the outermost block, in order
  const Statement* load = nullptr;
  std::uint32_t loaded = 0;  ///< elements set to the load's results, in order
  bool other = false;        ///< accesses that do not fit
};

class Finder {
 public:
  explicit Finder(const lane::Kernel& kernel) : kernel_(kernel), accesses_(kernel.registers.size()) {}

  std::map<std::uint32_t, const Statement*> run(const std::vector<Statement>& body) {
    for (const Statement& s : body) visit(s, 0);
    std::map<std::uint32_t, const Statement*> found;
    for (std::uint32_t i = 0; i < accesses_.size(); ++i) {
      const Accesses& a = accesses_[i];
      if (!a.other && a.load != nullptr && a.loaded == kernel_.registers[i].size) found[i] = a.load;
    }
    return found;
  }

 private:
  void visit(const Statement& s, std::uint32_t depth) {
    if (s.op == Op::constant && s.bits == 0) zeros_.insert(s.result);
    if (s.op == Op::set) set(s, depth);
    if (s.op == Op::get) {
      Accesses& a = accesses_[s.a];
      a.other = a.other || a.loaded != kernel_.registers[s.a].size;
    }
    if (s.op == Op::load && depth == 1) last_load_ = &s;
    if (depth == 0) {
      last_load_ = nullptr;
      in_branch_ = s.op == Op::branch && s.otherwise.empty();
    }
    for (const Statement& inner : s.body) visit(inner, depth + 1);
    for (const Statement& inner : s.otherwise) visit(inner, depth + 1);
  }

  void set(const Statement& s, std::uint32_t depth) {
    Accesses& a = accesses_[s.a];
    if (depth == 0) {
      a.other = a.other || a.loaded > 0 || s.b != a.zeroed++ || !zeros_.contains(s.operands[0]);
      return;
    }
    const std::uint32_t size = kernel_.registers[s.a].size;
    const bool fits = depth == 1 && in_branch_ && last_load_ != nullptr && last_load_->count == size &&
                      a.zeroed == size && s.b == a.loaded && s.operands[0] == last_load_->result + s.b &&
                      (a.load == nullptr || a.load == last_load_);
    a.other = a.other || !fits;
    a.load = last_load_;
    ++a.loaded;
  }

  const lane::Kernel& kernel_;
  std::vector<Accesses> accesses_;
  std::set<lane::ValueId> zeros_;
  const Statement* last_load_ = nullptr;
  bool in_branch_ = false;  ///< of the outermost block, without an else
};

}  // namespace

std::map<std::uint32_t, const Statement*> guarded_loads(const std::vector<Statement>& body,
                                                        const lane::Kernel& kernel) {
  return Finder(kernel).run(body);
}

}  // namespace lanefold::emit
