#include "tensor/safetensors.h"

#include <gtest/gtest.h>

#include <random>

#include "tensor/test_files.h"

namespace lanefold::tensor {
namespace {

using SafetensorsTest = FileTest;

constexpr const char* kTwo = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}})";

std::string two_tensors() { return safetensors_file(kTwo, float_bytes({1, 2, 3})); }

void expect_refused(const std::string& header, Code code, std::size_t data_size = 8) {
  SCOPED_TRACE(header);
  expect_code(parse_safetensors_header(bytes_of(safetensors_file(header, std::string(data_size, '\0')))), code);
}

TEST_F(SafetensorsTest, EveryTypeRoundTripsInOneFile) {
  std::vector<NamedTensor> tensors;
  for (const ElementType type :
       {ElementType::boolean, ElementType::i8, ElementType::i32, ElementType::i64, ElementType::f32, ElementType::f16,
        ElementType::bf16, ElementType::e4m3, ElementType::e5m2}) {
    tensors.push_back({std::string(element_name(type)), counting_tensor({3, 1}, type)});
  }
  tensors.push_back({"a \"quoted\" name \n \xc3\xa9", counting_tensor({}, ElementType::f32)});
  tensors.push_back({"empty", counting_tensor({0, 3}, ElementType::f32)});
  ASSERT_TRUE(write_safetensors(path("a.safetensors"), tensors).ok());
  EXPECT_EQ(names(), std::vector<std::string>{"a.safetensors"});
  for (const NamedTensor& named : tensors) {
    const Result<Tensor> back = read_safetensors(path("a.safetensors"), named.name, named.tensor.type);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->shape, named.tensor.shape);
    EXPECT_EQ(row_major(*back), row_major(named.tensor)) << named.name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(back->data) % element_bytes(back->type), 0u);
  }
  EXPECT_EQ(list_safetensors(path("a.safetensors"))->size(), tensors.size());
}

TEST_F(SafetensorsTest, ReadsAFileByHand) {
  write("a.safetensors", two_tensors());
  const std::vector<NamedTensor> tensors = *list_safetensors(path("a.safetensors"));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(row_major(tensors[0].tensor), float_bytes({1, 2}));
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].tensor.type, ElementType::bf16);
  EXPECT_EQ(tensors[1].tensor.shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(row_major(tensors[1].tensor), float_bytes({3}));
}

TEST_F(SafetensorsTest, CopiesMisalignedElements) {
  const std::string header = R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const Result<Tensor> b =
      read_safetensors(write("a.safetensors", safetensors_file(header, "\1" + float_bytes({7}))), "b");
  ASSERT_TRUE(b.ok()) << b.error().text();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b->data) % 4, 0u);
  EXPECT_EQ(row_major(*b), float_bytes({7}));
}

TEST_F(SafetensorsTest, RefusesMissingTensorsAndOtherTypes) {
  write("a.safetensors", two_tensors());
  const Result<Tensor> missing = read_safetensors(path("a.safetensors"), "c");
  expect_code(missing, Code::tensor_missing);
  EXPECT_NE(missing.error().hint.find("\"a\", \"b\""), std::string::npos) << missing.error().hint;
  EXPECT_EQ(missing.error().place, path("a.safetensors"));
  expect_code(read_safetensors(path("a.safetensors"), "__metadata__"), Code::tensor_missing);
  expect_code(read_safetensors(path("a.safetensors"), "a", ElementType::bf16), Code::dtype_mismatch);
  expect_code(read_safetensors(path("absent.safetensors"), "a"), Code::file_missing);
}

TEST_F(SafetensorsTest, UnsupportedTypesSpoilOnlyTheirTensor) {
  const std::string header = R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  write("a.safetensors", safetensors_file(header, std::string(12, '\0')));
  expect_code(read_safetensors(path("a.safetensors"), "a"), Code::dtype_unsupported);
  EXPECT_TRUE(read_safetensors(path("a.safetensors"), "b").ok());
  expect_code(list_safetensors(path("a.safetensors")), Code::dtype_unsupported);
}

TEST_F(SafetensorsTest, RefusesMalformedHeaders) {
  for (
      const char* header :
      {"",
       " {}",
       "[]",
       "{",
       "{}}",
       "{\"a\":1}",
       "{\"a\":null}",
       "{\"a\":{}}",
       "{\"a\":[]}",
       "{\"\xff\":{}}",
       R"({"__metadata__":"x"})",
       R"({"__metadata__":{"a":1}})",
       R"({"__metadata__":{"a":{}}})",
       R"({"a":{"dtype":"F32","shape":[2]}})",
       R"({"a":{"dtype":1,"shape":[2],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[true],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})",
       R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} x)",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"}) {
    expect_refused(header, Code::safetensors_malformed);
  }
  expect_refused(std::string(100000, '['), Code::safetensors_malformed);
  expect_refused("{\"a\":" + std::string(100000, '{'), Code::safetensors_malformed);
}

TEST_F(SafetensorsTest, RefusesOverlapsHolesAndLeftovers) {
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)") + first +
           R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}";
  };
  EXPECT_TRUE(parse_safetensors_header(bytes_of(safetensors_file(two("[4,8]", "[0,4]"), std::string(8, '\0')))).ok());
  expect_refused(two("[0,4]", "[0,4]"), Code::safetensors_malformed);
  expect_refused(two("[0,4]", "[2,6]"), Code::safetensors_malformed);
  expect_refused(two("[0,4]", "[8,12]"), Code::safetensors_malformed, 12);
  expect_refused(two("[4,8]", "[8,12]"), Code::safetensors_malformed, 12);
  expect_refused(two("[0,4]", "[4,8]"), Code::safetensors_malformed, 9);
  expect_refused("{}", Code::safetensors_malformed, 1);
  expect_refused(two("[0,4]", "[18446744073709551611,18446744073709551615]"), Code::file_truncated);
}

TEST_F(SafetensorsTest, RefusesHugeShapes) {
  expect_refused(R"({"a":{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,8]}})", Code::shape_overflow);
  expect_refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", Code::shape_overflow);
  std::string many = "1";
  for (int i = 0; i < 32; ++i) many += ",1";
  expect_refused(R"({"a":{"dtype":"F32","shape":[)" + many + R"(],"data_offsets":[0,4]}})", Code::shape_overflow);
}

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  const std::string whole = two_tensors();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_code(read_safetensors(write("a.safetensors", whole.substr(0, size)), "a"), Code::file_truncated);
  }
  expect_code(parse_safetensors_header(bytes_of(std::string(8, '\xff') + "{}")), Code::safetensors_malformed);
}

TEST_F(SafetensorsTest, RefusesNamesThatCannotBeWritten) {
  const Tensor tensor = counting_tensor({1}, ElementType::f32);
  const auto write_names = [&](const std::vector<std::string>& tensor_names) {
    std::vector<NamedTensor> tensors;
    for (const std::string& name : tensor_names) tensors.push_back({name, tensor});
    return write_safetensors(path("a.safetensors"), tensors);
  };
  expect_code(write_names({"__metadata__"}), Code::tensor_name_invalid);
  expect_code(write_names({"\xff"}), Code::tensor_name_invalid);
  expect_code(write_names({"a", "a"}), Code::output_repeated);
  expect_code(
      write_safetensors(path("a.safetensors"), std::vector<NamedTensor>{{"a", make_tensor({1}, ElementType::f64)}}),
      Code::dtype_unsupported);
  EXPECT_TRUE(names().empty());
  EXPECT_TRUE(write_names({}).ok());
  EXPECT_TRUE(list_safetensors(path("a.safetensors"))->empty());
}

TEST_F(SafetensorsTest, DamagedHeadersNeverCrash) {
  std::mt19937 random(11);
  const std::string whole = two_tensors();
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (unsigned n = random() % 4 + 1; n > 0; --n) damaged[random() % damaged.size()] = static_cast<char>(random());
    const Result<std::vector<SafetensorsEntry>> entries = parse_safetensors_header(bytes_of(damaged));
    if (!entries.ok()) {
      ++refused;
      EXPECT_FALSE(entries.error().text().empty());
      continue;
    }
    for (const SafetensorsEntry& entry : *entries) {
      EXPECT_LE(entry.begin, entry.end);
      EXPECT_LE(entry.end, damaged.size());
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace lanefold::tensor
