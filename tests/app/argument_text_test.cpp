#include "app/argument_text.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "text/parser.h"

namespace tapml::app {
namespace {

using testing::expect_user_error;
using Texts = std::vector<std::string>;

constexpr const char* kProgram = R"(
def main(x: Tensor((n, 2), f32), k: Prim(i64), s: Shape((n,)), p: Tuple(Tensor((n,), i32), Prim(bool))) -> Tensor((n, 2), f32) {
  return x
}
)";

class ArgumentTextTest : public ::testing::Test {
 protected:
  std::vector<HostValue> read(const Texts& texts) const {
    return ArgumentReader(*relax::as_relax_function(module_.find("main")), "main", {{"n", 3}})
        .read(texts);
  }
  // The first argument only; the others are valid.
  HostTensor tensor(const std::string& text) const {
    return read({text, "1", "shape(3)", "(zeros, true)"})[0].tensor;
  }

  Module module_ = text::parse(kProgram, "test");
};

std::vector<double> values_of(const HostTensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at_f64(i));
  return values;
}

TEST_F(ArgumentTextTest, ValuesOfEveryKind) {
  const std::vector<HostValue> values =
      read({"[[1, 2], [3, 4], [5, 6]]", "p=([7, 8, 9], false)", " prim( 5 ) ", "shape(3)"});
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values_of(values[0].tensor), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values[0].tensor.shape(), (Shape{3, 2}));
  EXPECT_EQ(values[1].integer, 5);
  EXPECT_EQ(values[2].shape, (Shape{3}));
  ASSERT_EQ(values[3].fields.size(), 2u);
  EXPECT_EQ(values[3].fields[0].tensor.dtype(), DType::kI32);
  EXPECT_EQ(values_of(values[3].fields[0].tensor), (std::vector<double>{7, 8, 9}));
  EXPECT_EQ(values[3].fields[1].dtype, DType::kBool);
  EXPECT_EQ(values[3].fields[1].integer, 0);
}

TEST_F(ArgumentTextTest, FormsOfElements) {
  EXPECT_EQ(values_of(tensor("ones")), (std::vector<double>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(values_of(tensor("full(-2.5)")),
            (std::vector<double>{-2.5, -2.5, -2.5, -2.5, -2.5, -2.5}));
  EXPECT_EQ(values_of(tensor("arange(2)")), (std::vector<double>{2, 3, 4, 5, 6, 7}));
  // A flat list fills any shape, and a shape may name a variable.
  EXPECT_EQ(values_of(tensor("[+1, 2e1, 3, 4, 5, 6]")), (std::vector<double>{1, 20, 3, 4, 5, 6}));
  EXPECT_EQ(tensor("f32[n, 2]:zeros").shape(), (Shape{3, 2}));
  for (double value : values_of(tensor("random(1, 4, 5)"))) {
    EXPECT_GE(value, 4);
    EXPECT_LT(value, 5);
  }
  EXPECT_EQ(values_of(tensor("random(1)")), values_of(tensor("random(1)")));
  EXPECT_NE(values_of(tensor("random(1)")), values_of(tensor("random(2)")));
}

TEST_F(ArgumentTextTest, RefusesWhatDoesNotFit) {
  const auto refuses = [&](const std::string& text, const std::vector<std::string>& parts) {
    SCOPED_TRACE(text);
    expect_user_error([&] { tensor(text); }, parts);
  };
  refuses("[1, 2]", {"the elements do not fit the shape [3, 2]", "2 elements", "argument x"});
  refuses("[[1, 2], [3], [5, 6]]", {"elements are nested unevenly"});
  refuses("[1, 2, 3, 4, 5, 6] 7", {"the argument has extra text after its value", "7"});
  refuses("i32[3, 2]:ones", {"argument x does not fit its annotation", "i32"});
  refuses("f32[m]:ones", {"a dimension is neither a number nor a variable with a value"});
  refuses("full(x)", {"full takes a number"});
  refuses("missing.npy", {"the argument is neither a value nor an existing file"});
}

TEST_F(ArgumentTextTest, RefusesWrongNamesAndNumbersOfArguments) {
  expect_user_error([&] { read({"y=ones"}); }, {"the function has no such parameter", "y=ones"});
  expect_user_error([&] { read({"ones", "x=ones"}); }, {"an argument is given twice"});
  expect_user_error([&] { read({"ones"}); }, {"argument k is missing",
                                              "main(x: Tensor((n, 2), f32), "
                                              "k: Prim(i64)"});
  expect_user_error([&] { read({"ones", "1", "shape(3)", "(ones, true)", "5"}); },
                    {"the function has fewer parameters"});
}

}  // namespace
}  // namespace tapml::app
