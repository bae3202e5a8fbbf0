#include "tensor/npy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "tensor/test_files.h"

namespace lanefold::tensor {
namespace {

using NpyTest = FileTest;

constexpr const char* kSix = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

std::string six_floats() { return float_bytes({0, 1, 2, 3, 4, 5}); }

TEST_F(NpyTest, EveryTypeRoundTrips) {
  for (const ElementType type :
       {ElementType::boolean, ElementType::i8, ElementType::i32, ElementType::i64, ElementType::f32, ElementType::f16,
        ElementType::bf16, ElementType::e4m3, ElementType::e5m2}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {5}, {3, 4}, {2, 1, 3}, {0, 4}, {4, 0}}) {
      const Tensor tensor = counting_tensor(shape, type);
      ASSERT_TRUE(write_npy(path("a.npy"), tensor).ok());
      const Result<Tensor> back = read_npy(path("a.npy"), type);
      ASSERT_TRUE(back.ok()) << back.error().text();
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->type, type);
      EXPECT_EQ(row_major(*back), row_major(tensor)) << element_name(type);
    }
  }
  EXPECT_EQ(names(), std::vector<std::string>{"a.npy"});
}

TEST_F(NpyTest, WritesWhatNumpyWrites) {
  ASSERT_TRUE(write_npy(path("a.npy"), counting_tensor({2, 3}, ElementType::bf16)).ok());
  std::string header = "{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  EXPECT_EQ(content("a.npy"), npy_file(header + "\n", "\1\2\3\4\5\6\7\10\11\12\13\14"));
  EXPECT_NE(npy_header_text(ElementType::f32, std::vector<std::int64_t>{3})->find("'shape': (3,), }"),
            std::string::npos);
  EXPECT_NE(npy_header_text(ElementType::f32, std::vector<std::int64_t>{})->find("'shape': (), }"), std::string::npos);
  EXPECT_EQ(npy_header_text(ElementType::f32, std::vector<std::int64_t>(32, 1000000000))->size() % 64, 0u);
}

TEST_F(NpyTest, WritesStridedTensorsInRowOrder) {
  Tensor tensor = counting_tensor({2, 3}, ElementType::i8);
  tensor.strides = {1, 2};
  ASSERT_TRUE(write_npy(path("a.npy"), tensor).ok());
  EXPECT_EQ(row_major(*read_npy(path("a.npy"))), "\1\3\5\2\4\6");
}

TEST_F(NpyTest, ReadsVersionsOneToThree) {
  for (const char major : {1, 2, 3}) {
    const Result<Tensor> tensor = read_npy(write("a.npy", npy_file(kSix, six_floats(), major)));
    ASSERT_TRUE(tensor.ok()) << tensor.error().text();
    EXPECT_EQ(tensor->shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(row_major(*tensor), six_floats());
  }
}

TEST_F(NpyTest, ReadsUnusualButLegalHeaders) {
  for (const char* dictionary : {"{\"shape\": (2,3,),'fortran_order':False,'descr':'<f4'}",
                                 "{'descr':'=f4','fortran_order':False,'shape':(2L,3L)}",
                                 " { 'shape' : ( 6 , ) , 'descr' : '<f4' , 'fortran_order' : False , } \n"}) {
    const Result<Tensor> tensor = read_npy(write("a.npy", npy_file(dictionary, six_floats() + "trailing bytes")));
    ASSERT_TRUE(tensor.ok()) << tensor.error().text();
    EXPECT_EQ(row_major(*tensor), six_floats());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data) % 4, 0u);
  }
}

TEST_F(NpyTest, ColumnMajorBecomesStrides) {
  const std::string dictionary = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }     ";  // data aligned
  const Result<Tensor> tensor = read_npy(write("a.npy", npy_file(dictionary + "   ", six_floats())));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(row_major(*tensor), float_bytes({0, 2, 4, 1, 3, 5}));
  const View view = *matrix_view(*tensor);
  EXPECT_EQ(view.rows, 2);
  EXPECT_EQ(view.cols, 3);
  float value = 0;
  std::memcpy(&value, view.at(1, 2), sizeof value);
  EXPECT_EQ(value, 5.0f);
}

TEST_F(NpyTest, ReadsNamesOfSmallFloats) {
  EXPECT_EQ(*npy_element_type("bfloat16", std::nullopt), ElementType::bf16);
  EXPECT_EQ(*npy_element_type("float8_e4m3fn", std::nullopt), ElementType::e4m3);
  EXPECT_EQ(*npy_element_type("<f1", std::nullopt), ElementType::e5m2);  // as ml_dtypes saves it
  EXPECT_EQ(*npy_element_type("|V2", ElementType::bf16), ElementType::bf16);
  EXPECT_EQ(*npy_element_type("<V1", ElementType::e5m2), ElementType::e5m2);
}

TEST_F(NpyTest, RefusesTypes) {
  expect_code(npy_element_type("<f8", std::nullopt), Code::dtype_unsupported);
  EXPECT_NE(npy_element_type("<f8", std::nullopt).error().hint.find("float32"), std::string::npos);
  for (const char* descr : {"<c8", "|u1", "<i2", "|S3", "<U4", "|O", "<V4", "", "<", "nonsense\n"}) {
    expect_code(npy_element_type(descr, std::nullopt), Code::dtype_unsupported);
  }
  expect_code(npy_element_type(">f4", std::nullopt), Code::byte_order_unsupported);
  expect_code(npy_element_type("<V2", std::nullopt), Code::dtype_needed);
  expect_code(npy_element_type("|V1", std::nullopt), Code::dtype_needed);
  expect_code(npy_element_type("<V2", ElementType::f32), Code::dtype_mismatch);
  expect_code(npy_element_type("<V2", ElementType::f16), Code::dtype_mismatch);
  expect_code(npy_element_type("<f4", ElementType::f16), Code::dtype_mismatch);
  expect_code(parse_npy_header(bytes_of(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}"))),
              Code::dtype_unsupported);
  expect_code(write_npy(path("d.npy"), make_tensor({1}, ElementType::f64)), Code::dtype_unsupported);
  EXPECT_TRUE(names().empty());
}

TEST_F(NpyTest, RefusesMalformedDictionaries) {
  for (const char* dictionary : {"",
                                 "{",
                                 "[]",
                                 "{}",
                                 "{'descr': '<f4'}",
                                 "{'descr': '<f4', 'fortran_order': False}",
                                 "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
                                 "{'descr': 4, 'fortran_order': False, 'shape': (1,)}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
                                 "{'descr': '<f4",
                                 "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
                                 "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
                                 "{'extra\x01': 1}",
                                 "{'descr': '<\\x66', 'fortran_order': False, 'shape': (1,)}"}) {
    expect_code(parse_npy_header(bytes_of(npy_file(dictionary))), Code::npy_header_malformed);
  }
}

TEST_F(NpyTest, RefusesOtherFilesAndVersions) {
  expect_code(read_npy(write("a.npy", "")), Code::file_not_npy);
  expect_code(read_npy(write("a.npy", "PK\3\4 an archive of arrays")), Code::file_not_npy);
  expect_code(parse_npy_header(bytes_of(npy_file(kSix, "", 4))), Code::npy_version_unsupported);
  expect_code(parse_npy_header(bytes_of(npy_file(kSix, "", 0))), Code::npy_version_unsupported);
}

TEST_F(NpyTest, RefusesHugeShapes) {
  const auto shaped = [](const std::string& shape) {
    return npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}");
  };
  expect_code(parse_npy_header(bytes_of(shaped("(9223372036854775808,)"))), Code::shape_overflow);
  expect_code(read_npy(write("a.npy", shaped("(9223372036854775807,)"))), Code::shape_overflow);
  expect_code(read_npy(write("a.npy", shaped("(4294967296, 4294967296)"))), Code::shape_overflow);
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1,";
  expect_code(parse_npy_header(bytes_of(shaped(many + ")"))), Code::shape_overflow);
}

TEST_F(NpyTest, EveryTruncationIsRefused) {
  const std::string whole = npy_file(kSix, six_floats());
  ASSERT_TRUE(read_npy(write("a.npy", whole)).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Result<Tensor> tensor = read_npy(write("a.npy", whole.substr(0, size)));
    expect_code(tensor, size < 6 ? Code::file_not_npy : Code::file_truncated);
    EXPECT_EQ(tensor.error().place, path("a.npy"));
  }
}

TEST_F(NpyTest, RefusesWhatIsNoReadableFile) {
  expect_code(read_npy(path("absent.npy")), Code::file_missing);
  expect_code(read_npy(write("plain", "x") + "/a.npy"), Code::file_missing);
  expect_code(read_npy(directory_.string()), Code::file_unreadable);
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  expect_code(read_npy(path("pipe.npy")), Code::file_unreadable);
}

TEST_F(NpyTest, MappedTensorOutlivesItsFile) {
  const Tensor tensor = *read_npy(write("a.npy", npy_file(kSix, six_floats())));
  std::filesystem::remove(path("a.npy"));
  EXPECT_EQ(row_major(tensor), six_floats());
}

TEST_F(NpyTest, DamagedHeadersNeverCrash) {
  std::mt19937 random(7);
  const std::string whole = npy_file(kSix, six_floats());
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (unsigned n = random() % 4 + 1; n > 0; --n) damaged[random() % 80] = static_cast<char>(random());
    const Result<NpyHeader> header = parse_npy_header(bytes_of(damaged));
    if (header.ok()) {
      EXPECT_LE(header->data_offset, damaged.size());
    } else {
      ++refused;
      EXPECT_FALSE(header.error().text().empty());
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace lanefold::tensor
