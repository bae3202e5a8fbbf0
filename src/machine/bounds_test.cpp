// Accesses outside of their buffer or array, and at addresses that break their statement's promise.
#include "machine/test_checks.h"
#include "machine/test_machine.h"

namespace lanefold::machine {
namespace {

const std::string kCopy = "buffer x: i32[$T] role input\nbuffer y: i32[$T] role output\n";

/// An access outside of its buffer, found at the place.
Expected outside(std::vector<std::string> says, std::string place = "k:17") {
  return {Code::machine_out_of_bounds, {std::move(place)}, std::move(says)};
}

TEST(MachineBounds, OnePastTheEnd) {
  expect_caught({.body = "%20 = constant i64 1\n%21 = add %5, %20\n%22 = load "
                         "x[%21]\nstore y[%5] = %0\n",
                 .declarations = kCopy},
                outside({"load of x[$T] in lane "}));
  expect_caught({.body = "%20 = constant i64 1\n%21 = add %5, %20\nstore y[%21] = %0\n"},
                outside({"store to y[$T] in lane ", "SIMD group 1"}));
  expect_clean({.body = "%22 = load x[%5]\nstore y[%5] = %22\n", .declarations = kCopy});
}

TEST(MachineBounds, BeforeTheBeginning) {
  expect_caught({.body = "%20 = constant i64 1\n%21 = sub %5, %20\n%22 = load "
                         "x[%21]\nstore y[%5] = %0\n",
                 .declarations = kCopy},
                outside({"load of x[-1] in lane 0 "}));
  expect_caught({.body = "%20 = constant i64 1\n%21 = sub %5, %20\nstore y[%21] = %0\n"},
                outside({"store to y[-1] in lane 0 "}));
}

TEST(MachineBounds, SoFarOutThatBytesWrapAround) {
  // 2^62 elements of 4 bytes are 2^64 bytes: not element 0.
  for (const char* far : {"4611686018427387904", "-4611686018427387904", "9223372036854775807", "-9223372036854775808",
                          "2305843009213693952", "6917529027641081856"}) {
    SCOPED_TRACE(far);
    const std::string address = "%20 = constant i64 " + std::string(far) + "\n";
    expect_caught({.body = address + "%22 = load x[%20]\nstore y[%5] = %0\n", .declarations = kCopy},
                  outside({"load of x[" + std::string(far) + "] in lane 0 "}, "k:16"));
    expect_caught({.body = address + "if %9\nstore y[%20] = %0\nend\n"},
                  outside({"store to y[" + std::string(far) + "] in lane 0 "}, "k:16.1"));
  }
  expect_caught({.body = "%20 = constant i64 9223372036854775807\n%22..%23 = "
                         "load x[%20]\nstore y[%5] = %0\n",
                 .declarations = kCopy},
                outside({"x[9223372036854775807] in lane 0 "}, "k:16"));
}

TEST(MachineBounds, LastElementOfAVector) {
  // The vector of the last thread begins inside of x and ends one element behind it.
  const std::string x = "buffer x: i32[4, $T] role input\nbuffer y: i32[$T] role output\n";
  const std::string four = "%20 = constant i64 4\n%21 = mul %5, %20\n";
  expect_caught({.body = four + "%22 = constant i64 1\n%23 = add %21, %22\n%24..%27 = "
                                "load x[%23]\nstore y[%5] = %24\n",
                 .declarations = x,
                 .groups = 3},
                {Code::machine_out_of_bounds, {"k:19"}, {"in lane ", "SIMD group 2"}});
  expect_clean({.body = four + "%24..%27 = load x[%21] align 4\nstore y[%5] = %27\n", .declarations = x, .groups = 3});
}

TEST(MachineBounds, FaultsOfOneStatementAreOneFinding) {
  const KernelText kernel{.body = R"(
    store y[%10] = %0
    %20 = constant i64 10
    %21 = constant i64 1
    for %22 = %11 to %20 step %21
    %23 = load y[%20]
    end
)",
                          .declarations = "buffer y: i32[3] role inout\n",
                          .groups = 1,
                          .launch = "threadgroups 3"};
  for (const std::uint32_t width : kWidths) {
    const std::vector<Diagnostic> findings = Bench(whole_text(kernel, width)).run().findings;
    // All lanes store to one element, and load outside: each statement once, however many lanes, turns and
    // threadgroups.
    ASSERT_EQ(findings.size(), 2u) << findings_text(findings);
    EXPECT_EQ(findings[0].code, Code::machine_global_race);
    EXPECT_EQ(findings[0].place, "k:15");
    EXPECT_EQ(findings[1].code, Code::machine_out_of_bounds);
    EXPECT_EQ(findings[1].place, "k:18.1");
  }
}

/// Loads x[base + lane · step] and stores it to y[lane].
std::vector<Diagnostic> strided(View x, std::int64_t base, std::int64_t step) {
  const std::string text = whole_text(
      {.body = "%20 = constant i64 " + std::to_string(base) + "\n%21 = constant i64 " + std::to_string(step) +
               "\n%22 = mul %13, %21\n%23 = add %20, %22\n%24 = load "
               "x[%23]\nstore y[%13] = %24\n",
       .declarations = "buffer x: i32 role input\nbuffer y: i32[$W] role output\n",
       .groups = 1},
      4);
  const lane::Module module = lane::parse(text).value();
  std::vector<std::int32_t> y(4);
  const std::vector<Buffer> buffers = {
      {"x", lane::Role::input, x},
      {"y", lane::Role::output, View{reinterpret_cast<std::byte*>(y.data()), ElementType::i32, 1, 4, 4, 1}}};
  GlobalMemory memory(module, buffers);
  const lane::ArgumentWord words[] = {{.pointer = x.data}, {.pointer = y.data()}};
  return run(module, module.kernels[0], words, 0, 0, memory).findings;
}

TEST(MachineBounds, GapsBetweenRowsAreOutside) {
  std::vector<std::int32_t> memory(64);
  std::byte* bytes = reinterpret_cast<std::byte*>(memory.data());
  const View rows{bytes, ElementType::i32, 4, 3, 5, 1};  // 4 rows of 3 at distances of 5
  EXPECT_TRUE(strided(rows, 0, 5).empty());
  EXPECT_TRUE(strided(rows, 2, 5).empty());
  for (const std::int64_t gap : {3, 4}) {
    const auto findings = strided(rows, gap, 5);
    ASSERT_EQ(findings.size(), 2u) << findings_text(findings);  // what came from there is then stored
    EXPECT_EQ(findings[1].code, Code::machine_poison_stored);
    EXPECT_EQ(findings[0].code, Code::machine_out_of_bounds);
    EXPECT_EQ(findings[0].place, "k:19");
    EXPECT_NE(findings[0].message.find("x[" + std::to_string(gap) + "] in lane 0 "), std::string::npos);
  }
}

TEST(MachineBounds, GapsBetweenColumnsAndRowsUpwards) {
  std::vector<std::int32_t> memory(64);
  std::byte* bytes = reinterpret_cast<std::byte*>(memory.data());
  const View second{bytes, ElementType::i32, 1, 4, 8, 2};  // every second column
  EXPECT_TRUE(strided(second, 0, 2).empty());
  EXPECT_EQ(strided(second, 1, 2).at(0).code, Code::machine_out_of_bounds);
  EXPECT_EQ(strided(second, 0, 1).at(0).code, Code::machine_out_of_bounds);
  const View upwards{bytes + 60 * 4, ElementType::i32, 4, 3, -5, 1};  // addresses −15 … 2
  EXPECT_TRUE(strided(upwards, 0, -5).empty());
  EXPECT_TRUE(strided(upwards, 2, -5).empty());
  EXPECT_EQ(strided(upwards, 3, -5).at(0).code, Code::machine_out_of_bounds);
  EXPECT_EQ(strided(upwards, -1, -5).at(0).code, Code::machine_out_of_bounds);
  const View one_row{bytes, ElementType::i32, 7, 3, 0, 1};  // seven rows in the memory of one
  EXPECT_TRUE(strided(one_row, 2, 0).empty());
  EXPECT_EQ(strided(one_row, 3, 0).at(0).code, Code::machine_out_of_bounds);
  EXPECT_EQ(strided(View{bytes, ElementType::i32, 0, 3, 3, 1}, 0, 0).at(0).code, Code::machine_out_of_bounds);
}

TEST(MachineBounds, PartialArrayWithFewerSlotsThanGroups) {
  // larql: the array was sized for four SIMD groups and the kernel launched with more.
  const std::string body = R"(
    if %8
    shared_store partial[%1] = %1
    end
    barrier
    %20 = shared_load partial[%6]
    store y[%5] = %20
)";
  const std::string slots = "buffer y: i32[$T] role output\nshared partial: i32[4]\n";
  for (const std::uint32_t groups : {5u, 8u, 15u})
    expect_caught({.body = body, .declarations = slots, .groups = groups},
                  {Code::machine_shared_bounds, {"k:15.1"}, {"partial[", "in lane 0: the array ends at 4"}});
  expect_clean({.body = body, .declarations = slots, .groups = 4});
  expect_clean({.body = body, .declarations = replaced(slots, "[4]", "[$G]"), .groups = 15});
}

TEST(MachineBounds, ArraysHaveTwoEnds) {
  const std::string s = "buffer y: i32[$T] role output\nshared s: i32[$T]\n";
  expect_caught({.body = "%20 = sub %4, %7\nshared_store s[%20] = %0\nstore y[%5] = %0\n", .declarations = s},
                {Code::machine_shared_bounds, {"k:16"}, {"shared_store of s[-1] in lane 0: the array ends at $T"}});
  expect_caught({.body = "shared_store s[%4] = %0\nbarrier\n%20 = add %4, "
                         "%7\n%21 = shared_load s[%20]\nstore y[%5] = %0\n",
                 .declarations = s},
                {Code::machine_shared_bounds, {"k:18"}, {"shared_load of s[$T] in lane ", "the array ends at $T"}});
}

TEST(MachineBounds, MisalignedVectors) {
  const std::string x = "buffer x: i32[$T, 4] role input\nbuffer y: i32[$T] role output\n";
  expect_caught({.body = "%20..%21 = load x[%5] align 2\nstore y[%5] = %21\n", .declarations = x},
                {Code::machine_misaligned, {"k:15"}, {"x[", "in lane 1 is not at a multiple of 2 elements"}});
  expect_clean({.body = "%22 = add %5, %5\n%20..%21 = load x[%22] align "
                        "2\nstore y[%5] = %21\n",
                .declarations = x});
  expect_clean({.body = "%20..%21 = load x[%5]\nstore y[%5] = %21\n", .declarations = x});
  // Vectors of 4 elements that begin one element early.
  expect_caught({.body = "%20 = constant i64 4\n%21 = constant i64 1\n%22 = "
                         "mul %5, %20\n%23 = sub %22, %21\n%24 = max %23, %11\n"
                         "%26..%29 = load x[%24] align 4\nstore y[%5] = %26\n",
                 .declarations = x},
                {Code::machine_misaligned, {"k:20"}, {"x[", "in lane ", " is not at a multiple of 4 elements"}});
  expect_caught({.body = "%20 = add %5, %5\n%21 = constant i64 1\n%22 = add "
                         "%20, %21\nstore z[%22] = %0, %0 align 2\n",
                 .declarations = "buffer z: i32[$T, 4] role inout\n"},
                {Code::machine_misaligned, {"k:18"}, {"z[", "in lane 0 is not at a multiple of 2 elements"}});
}

}  // namespace
}  // namespace lanefold::machine
