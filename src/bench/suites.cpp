#include "bench/suites.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "verify/model_norms.h"

namespace lanefold::bench {
namespace {

struct Shape {
  std::int64_t rows, cols;
};

/// The shapes of the published report, for sum, softmax and rms_norm.
constexpr Shape kPublished[] = {{1, 127}, {17, 257}, {128, 1024}, {64, 4096}};
constexpr Shape kNorms[] = {{1, 127}, {17, 257}, {128, 1024}, {64, 4096}, {1, 2560}, {8, 2560}};

/// From a head of one token to what no cache holds.
constexpr Shape kLibrary[] = {{1, 127}, {17, 257}, {128, 1024}, {64, 4096}, {1, 2560}, {8, 2560}, {4096, 4096}};

constexpr std::int64_t kGrowthRows = 16;   ///< of rows that grow wider
constexpr std::int64_t kGrowthCols = 256;  ///< of rows that grow in number
constexpr std::int64_t kWidest = 1 << 20, kNarrowest = 32, kMostRows = 1 << 16;

/// The published measurement of the launch floor: so many trivial launches, one after the other.
constexpr std::int64_t kFloorLaunches = 340;

class Maker {
 public:
  Maker(const Suite& suite, const verify::InstanceRequest& like) : suite_(suite), like_(like) {}

  CaseRequest one(const driver::KernelName& kernel, Shape shape) const {
    CaseRequest request;
    request.suite = suite_.name;
    request.subject.kernel = kernel;
    request.subject.instance = like_;
    request.subject.instance.rows = shape.rows;
    request.subject.instance.cols = shape.cols;
    return request;
  }

 private:
  const Suite& suite_;
  const verify::InstanceRequest& like_;
};

driver::KernelName named(const std::string& text) { return driver::parse_kernel_name(text).value(); }

std::vector<driver::KernelName> all_named(std::initializer_list<const char*> texts) {
  std::vector<driver::KernelName> names;
  for (const char* text : texts) names.push_back(named(text));
  return names;
}

std::vector<CaseRequest> floor_cases(const Maker& make) {
  std::vector<CaseRequest> cases;
  for (const bool as_module : {true, false}) {
    CaseRequest request = make.one(named("sum"), {1, 1});
    request.subject.as_module = as_module;
    request.subject.launches = kFloorLaunches;
    cases.push_back(std::move(request));
  }
  return cases;
}

/// Both forms launch their lane modules directly, so that only the form differs.
std::vector<CaseRequest> decode_cases(const Maker& make) {
  std::vector<CaseRequest> cases;
  for (const verify::ModelNorms& model : verify::model_norms())
    for (const verify::ModelNorm& norm : model.norms) {
      CaseRequest request = make.one(named(std::string(norm.op)), {1, norm.cols});
      request.subject.launches = model.layers * norm.per_layer;
      request.subject.as_module = true;
      request.baseline = request.subject;
      request.baseline->kernel = named(std::string(norm.op) + ":per_lane");
      // That form folds every row from left to right, whatever order is asked for.
      request.baseline->instance.options.order = ir::Order::serial;
      cases.push_back(std::move(request));
    }
  return cases;
}

}  // namespace

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      {"published", "the twelve published cases: sum, softmax and rms_norm at four shapes", true},
      {"norms", "every norm at six shapes", true},
      {"library", "softmax and the norms that other frameworks have, at seven shapes", true},
      {"floor", "340 trivial launches, which no kernel can do without", false},
      {"decode-norms", "the norms of a decode step of 34 layers of 2560 columns, planned against per_lane", false},
      {"growth", "rms_norm with columns from 32 to 1 M and with rows from 1 to 64 K, fitted", true},
  };
  return all;
}

Result<const Suite*> find_suite(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Suite& suite : suites()) {
    if (suite.name == name) return &suite;
    names.push_back(suite.name);
  }
  return Diagnostic{Code::unknown_suite, fmt::format("there is no suite \"{}\"", name),
                    fmt::format("the suites are: {}", fmt::join(names, ", ")), "--suite"};
}

Result<std::vector<CaseRequest>> suite_cases(const Suite& suite, const std::vector<driver::KernelName>& kernels,
                                             const verify::InstanceRequest& like) {
  if (!suite.takes_kernels && !kernels.empty())
    return Diagnostic{Code::kernel_not_for_verb, fmt::format("the suite {} has kernels of its own", suite.name),
                      "leave the kernels out", kernels.front().text};
  const Maker make(suite, like);
  if (suite.name == "floor") return floor_cases(make);
  if (suite.name == "decode-norms") return decode_cases(make);

  std::vector<driver::KernelName> own = kernels;
  std::vector<Shape> shapes;
  if (suite.name == "published") {
    shapes.assign(std::begin(kPublished), std::end(kPublished));
    if (own.empty()) own = all_named({"sum", "softmax", "rms_norm"});
  } else if (suite.name == "norms") {
    shapes.assign(std::begin(kNorms), std::end(kNorms));
    if (own.empty()) own = all_named({"rms_norm", "layer_norm", "residual_norm", "rms_norm_q8", "residual_norm_q8"});
  } else if (suite.name == "library") {
    shapes.assign(std::begin(kLibrary), std::end(kLibrary));
    if (own.empty()) own = all_named({"softmax", "layer_norm", "rms_norm", "residual_norm"});
  } else if (suite.name == "growth") {
    for (std::int64_t cols = kNarrowest; cols <= kWidest; cols *= 2) shapes.push_back({kGrowthRows, cols});
    for (std::int64_t rows = 1; rows <= kMostRows; rows *= 2) shapes.push_back({rows, kGrowthCols});
    if (own.empty()) own = all_named({"rms_norm"});
  } else {
    internal_error(fmt::format("bench: the suite {} is listed but has no cases", suite.name));
  }
  std::vector<CaseRequest> cases;
  for (const driver::KernelName& kernel : own)
    for (const Shape& shape : shapes) cases.push_back(make.one(kernel, shape));
  return cases;
}

}  // namespace lanefold::bench
