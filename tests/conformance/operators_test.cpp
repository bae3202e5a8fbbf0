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

const ConformanceRow* row_of(std::string_view name) {
  for (const ConformanceRow& row : kConformanceTable)
    if (row.name == name) return &row;
  return nullptr;
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
  const ConformanceRow& row() const { return *row_of(std::get<0>(GetParam())); }
  ElementType storage() const { return std::get<1>(GetParam()); }
};

TEST_P(Conformance, CanonicalOnTheCpu) {
  if (!has_cpu()) GTEST_SKIP() << "this build has no JIT";
  conforms(row(), storage(), "cpu", ir::Order::canonical, shapes(131072, 9000));
}

TEST_P(Conformance, SerialOnTheCpu) {
  if (!has_cpu()) GTEST_SKIP() << "this build has no JIT";
  conforms(row(), storage(), "cpu", ir::Order::serial, {{1, 1}, {3, 32}, {17, 33}, {2, 769}, {128, 32}, {17, 1024}});
}

TEST_P(Conformance, CanonicalOnTheLaneMachine) {
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
  conforms(row(), storage(), "lane-machine", ir::Order::serial, {{1, 1}, {3, 32}, {17, 33}, {2, 384}});
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const ConformanceRow& row : kConformanceTable) all.push_back(row.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Library, Conformance,
                         ::testing::Combine(::testing::ValuesIn(names()), ::testing::ValuesIn(kernels::storages())),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + "_" +
                                  std::string(element_name(std::get<1>(tested.param)));
                         });

}  // namespace
}  // namespace lanefold::testing
