// Every operator in every storage type over rows and columns, wherever the buffers lie, on every device of this build:
// against the oracle's FP64 meaning within the operator's tolerance, and byte for byte against its exact meaning.
#include <set>

#include "conformance/operator_table.h"
#include "conformance/trial.h"

namespace lanefold::testing {
namespace {

constexpr std::int64_t kRows[] = {0, 1, 2, 3, 17, 128};
constexpr std::int64_t kCols[] = {1,   2,    31,   32,   33,   127,  257,  384,   511,   512,
                                  769, 1000, 1024, 2560, 4096, 4099, 8192, 33000, 50257, 131072};

struct Shape {
  std::int64_t rows, cols;
};

/// The cross product, thinned: as the rows get wider, fewer of them, and never all counts at each width.
std::vector<Shape> shapes(std::int64_t most_cols, std::int64_t most_elements) {
  std::vector<Shape> chosen;
  for (std::size_t c = 0; c < std::size(kCols); ++c) {
    if (kCols[c] > most_cols) break;
    for (std::size_t r = 0; r < std::size(kRows); ++r) {
      const bool widest_that_fits = kRows[r] * kCols[c] <= most_elements &&
                                    (r + 1 == std::size(kRows) || kRows[r + 1] * kCols[c] > most_elements);
      const bool in_turn = (r + c) % 4 == 0 && kRows[r] * kCols[c] <= most_elements;
      if (widest_that_fits || in_turn || (kRows[r] == 1 && kCols[c] >= 33000)) chosen.push_back({kRows[r], kCols[c]});
    }
  }
  return chosen;
}

/// Each awkward width once, with one number of rows or another.
std::vector<Shape> brief_shapes(const ConformanceRow& row) {
  std::vector<Shape> chosen;
  for (const auto& [rows, cols] : std::initializer_list<Shape>{{128, 1},
                                                               {17, 31},
                                                               {3, 33},
                                                               {2, 127},
                                                               {3, 257},
                                                               {2, 769},
                                                               {1, 1000},
                                                               {2, 1024},
                                                               {1, 2560},
                                                               {1, 4099},
                                                               {1, 33000}})
    chosen.push_back({rows, whole_columns(row, cols)});
  return chosen;
}

/// fp8 and i8 differ from f32, f16 and bf16 in loads and stores only.
bool two_bytes_or_more(ElementType storage) { return is_float(storage) && element_bytes(storage) > 1; }

std::vector<Shape> one_byte_shapes(const ConformanceRow& row) {
  std::vector<Shape> chosen;
  for (const auto& [rows, cols] : std::initializer_list<Shape>{{17, 31}, {3, 33}, {1, 769}, {2, 1024}})
    chosen.push_back({rows, whole_columns(row, cols)});
  return chosen;
}

std::string hint(const ConformanceRow& row, ElementType storage, const Shape& shape, Placement placement) {
  return std::string(row.name) + ' ' + std::string(element_name(storage)) + ' ' + std::to_string(shape.rows) + 'x' +
         std::to_string(shape.cols) + " placement " + std::to_string(static_cast<int>(placement));
}

/// Runs one operator in one storage type on one device over the shapes; placements take turns.
void conforms(const ConformanceRow& row, ElementType storage, const std::string& device_name, ir::Order order,
              const std::vector<Shape>& over) {
  const kernels::Operator& op = *kernels::find(row.name);
  const ir::Program program = operator_program(row.name, storage);
  auto device = verify::open(program, on_device(device_name, order));
  ASSERT_TRUE(device.ok()) << device.error().text();
  const verify::Tolerance tolerance{op.absolute_tolerance, op.relative_tolerance, op.code_tolerance};
  std::uint64_t turn = static_cast<std::uint64_t>(storage);
  for (const Shape& shape : over) {
    if (shape.cols % row.column_multiple != 0) continue;
    // Strided columns make another kernel of each width class: one turn in ten is enough.
    const std::uint64_t t = turn++;
    const Placement placement = kPlacements[t % 5 == 2 && t % 10 != 2 ? 1 : t % 5];
    SCOPED_TRACE(hint(row, storage, shape, placement));
    Trial trial(program, shape.rows, shape.cols, placement);
    trial.fill_random(t, row.low, row.high);
    for (std::size_t p = 0; p < program.parameters.size(); ++p)
      if (program.parameters[p].name == "scale") trial.parameters[p] = 0.01f;  // uses all codes, and saturates
    const Status status = trial.run(**device);
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(difference(program, trial.output_bytes(), trial.exact(order)), "");
    for (const verify::OutputReport& report : trial.compare(tolerance).outputs)
      EXPECT_EQ(report.wrong, 0) << report.name << " at " << report.first_row << ", " << report.first_column << ": "
                                 << report.got << " for " << report.expected;
  }
}

TEST(Conformance, EveryOperatorHasItsRow) {
  std::set<std::string_view> rows;
  for (const ConformanceRow& row : kConformanceTable) {
    EXPECT_TRUE(rows.insert(row.name).second) << row.name << " stands in the table twice";
    EXPECT_TRUE(kernels::find(row.name) != nullptr) << row.name << " is no operator";
  }
  for (const kernels::Operator& op : kernels::operators())
    EXPECT_TRUE(rows.contains(op.name)) << op.name << " has no row in operator_table.h";
}

using Point = std::tuple<std::string_view, ElementType>;

class Conformance : public ::testing::TestWithParam<Point> {
 protected:
  const ConformanceRow& row() const { return *conformance_row(std::get<0>(GetParam())); }
  ElementType storage() const { return std::get<1>(GetParam()); }
  /// Few shapes for an operator whose family has many, or a storage that only loads and stores tell from others.
  bool full() const { return row().depth == Depth::full && two_bytes_or_more(storage()); }

  /// What a device that compiles is given.
  void canonical(const std::string& device) const {
    conforms(row(), storage(), device, ir::Order::canonical,
             full()                         ? shapes(131072, 9000)
             : two_bytes_or_more(storage()) ? brief_shapes(row())
                                            : one_byte_shapes(row()));
  }
  void serial(const std::string& device) const {
    if (!full()) return conforms(row(), storage(), device, ir::Order::serial, {{3, whole_columns(row(), 33)}});
    conforms(row(), storage(), device, ir::Order::serial, {{1, 1}, {3, 32}, {17, 33}, {2, 769}, {128, 32}, {17, 1024}});
  }
};

TEST_P(Conformance, CanonicalOnTheCpu) {
  if (!has_cpu()) GTEST_SKIP() << "this build has no JIT";
  canonical("cpu");
}

TEST_P(Conformance, SerialOnTheCpu) {
  if (!has_cpu()) GTEST_SKIP() << "this build has no JIT";
  serial("cpu");
}

TEST_P(Conformance, CanonicalOnCuda) {
  if (!has_cuda()) GTEST_SKIP() << "there is no CUDA device";
  canonical("cuda");
}

TEST_P(Conformance, SerialOnCuda) {
  if (!has_cuda()) GTEST_SKIP() << "there is no CUDA device";
  serial("cuda");
}

TEST_P(Conformance, CanonicalOnTheLaneMachine) {
  if (!has_device("lane-machine")) GTEST_SKIP() << "another device is asked for";
  if (!full())
    return conforms(row(), storage(), "lane-machine", ir::Order::canonical,
                    {{3, whole_columns(row(), 33)}, {2, whole_columns(row(), 257)}});
  conforms(row(), storage(), "lane-machine", ir::Order::canonical,
           {{0, 1},
            {1, 1},
            {3, 2},
            {17, 31},
            {3, 32},
            {2, 33},
            {1, 127},
            {2, 257},
            {3, 384},
            {1, 769},
            {2, 1024},
            {1, 4096},
            {1, 4099}});
}

TEST_P(Conformance, SerialOnTheLaneMachine) {
  if (!has_device("lane-machine")) GTEST_SKIP() << "another device is asked for";
  if (!full()) return conforms(row(), storage(), "lane-machine", ir::Order::serial, {{2, whole_columns(row(), 33)}});
  conforms(row(), storage(), "lane-machine", ir::Order::serial, {{1, 1}, {3, 32}, {17, 33}, {2, 384}});
}

/// Every operator in every storage that it is offered in.
std::vector<Point> points() {
  std::vector<Point> all;
  for (const ConformanceRow& row : kConformanceTable)
    for (const ElementType storage : kernels::storages(*kernels::find(row.name))) all.emplace_back(row.name, storage);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Library, Conformance, ::testing::ValuesIn(points()), [](const auto& tested) {
  return std::string(std::get<0>(tested.param)) + "_" + std::string(element_name(std::get<1>(tested.param)));
});

}  // namespace
}  // namespace lanefold::testing
