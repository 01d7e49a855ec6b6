// Values other than tensors through the C interface, and functions that the application defines.
#include <gtest/gtest.h>
#include <tapml/tapml.h>

#include <cstring>

#include "exec/executable_file.h"
#include "io/host/files.h"
#include "support/temp_folder.h"

namespace tapml {
namespace {

using Op = Opcode;

// main(k, s, x) = ((next(k), s), x, f) with f(y) = (k, y); other(v) = v.
Executable program() {
  VmFunction main, pair, other;
  main.name = "main";
  main.params = {"k", "s", "x"};
  main.registers = 7;
  main.code = {{Op::kCallPacked, 3, 0, 0, {0}},
               {Op::kMakeTuple, 4, 0, 0, {3, 1}},
               {Op::kMakeClosure, 5, 1, 0, {0}},
               {Op::kMakeTuple, 6, 0, 0, {4, 2, 5}},
               {Op::kReturn, 6}};
  pair.name = "main.f";
  pair.params = {"k", "y"};
  pair.registers = 3;
  pair.code = {{Op::kMakeTuple, 2, 0, 0, {0, 1}}, {Op::kReturn, 2}};
  other.name = "other";
  other.params = {"v"};
  other.registers = 1;
  other.code = {{Op::kReturn, 0}};
  Executable program;
  program.target = "cpu";
  program.packed = {"app.next"};
  program.functions = {main, pair, other};
  return program;
}

// The application's function returns its scalar argument plus one.
tapml_status next(void* user, tapml_session*, tapml_value* const* arguments, int32_t count,
                  tapml_value** result) {
  ++*static_cast<int*>(user);
  int64_t number = 0;
  if (count != 1) return TAPML_DEFECT;
  if (tapml_status status = tapml_value_read_scalar(arguments[0], nullptr, &number)) return status;
  if (number == 7) {
    tapml_set_error("seven is the last one");
    return TAPML_BAD_INPUT;
  }
  if (number == 8) return TAPML_OK;  // and no result
  return tapml_value_scalar(TAPML_I64, number + 1, result);
}

class CValues : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = folder_ / "program.tapml";
    ExecutableFile file;
    file.executable = program();
    auto bytes = write_executable(file);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    ASSERT_TRUE(write_file_atomic(path, *bytes));
    ASSERT_EQ(tapml_session_open("cpu", 1, &session_), TAPML_OK) << tapml_last_error();
    EXPECT_EQ(tapml_program_load(session_, path.c_str(), &program_), TAPML_BAD_INPUT);
    EXPECT_NE(std::strstr(tapml_last_error(), "app.next"), nullptr) << tapml_last_error();
    ASSERT_EQ(tapml_session_register(session_, "app.next", next, &calls_), TAPML_OK);
    ASSERT_EQ(tapml_program_load(session_, path.c_str(), &program_), TAPML_OK)
        << tapml_last_error();
    ASSERT_EQ(tapml_program_load(session_, path.c_str(), &again_), TAPML_OK);
  }
  void TearDown() override {
    for (tapml_value* value : made_) tapml_value_free(value);
    tapml_program_free(again_);
    tapml_program_free(program_);
    tapml_session_close(session_);
  }
  tapml_value* keep(tapml_value* value) {
    made_.push_back(value);
    return value;
  }
  tapml_value* scalar(int64_t number, tapml_dtype dtype = TAPML_I64) {
    tapml_value* value = nullptr;
    EXPECT_EQ(tapml_value_scalar(dtype, number, &value), TAPML_OK) << tapml_last_error();
    return keep(value);
  }
  tapml_value* shape(std::vector<int64_t> dims) {
    tapml_value* value = nullptr;
    EXPECT_EQ(tapml_value_shape(dims.data(), static_cast<int32_t>(dims.size()), &value), TAPML_OK);
    return keep(value);
  }
  tapml_value* vector(std::vector<float> numbers) {
    const int64_t dims[] = {static_cast<int64_t>(numbers.size())};
    const tapml_tensor tensor = {TAPML_F32, 1, dims, numbers.data()};
    tapml_value* value = nullptr;
    EXPECT_EQ(tapml_value_tensor(session_, &tensor, &value), TAPML_OK) << tapml_last_error();
    return keep(value);
  }
  tapml_status invoke(const char* function, std::vector<tapml_value*> arguments,
                      tapml_value** result, tapml_program* program = nullptr) {
    tapml_status status =
        tapml_program_invoke(program ? program : program_, function, arguments.data(),
                             static_cast<int32_t>(arguments.size()), result);
    if (status == TAPML_OK) keep(*result);
    return status;
  }
  static int64_t number(const tapml_value* value) {
    int64_t found = -1;
    EXPECT_EQ(tapml_value_read_scalar(value, nullptr, &found), TAPML_OK) << tapml_last_error();
    return found;
  }

  testing::TempFolder folder_;
  tapml_session* session_ = nullptr;
  tapml_program *program_ = nullptr, *again_ = nullptr;
  std::vector<tapml_value*> made_;
  int calls_ = 0;
};

TEST_F(CValues, GoThroughACall) {
  tapml_value* result = nullptr;
  ASSERT_EQ(invoke("main", {scalar(4), shape({2, 3}), vector({1, 2})}, &result), TAPML_OK)
      << tapml_last_error();
  EXPECT_EQ(calls_, 1);
  ASSERT_EQ(tapml_value_kind(result), TAPML_TUPLE);
  ASSERT_EQ(tapml_value_size(result), 3);
  tapml_value* inner = tapml_value_field(result, 0);
  ASSERT_EQ(tapml_value_kind(inner), TAPML_TUPLE);
  EXPECT_EQ(number(tapml_value_field(inner, 0)), 5);
  tapml_value* dims = tapml_value_field(inner, 1);
  ASSERT_EQ(tapml_value_kind(dims), TAPML_SHAPE);
  ASSERT_EQ(tapml_value_size(dims), 2);
  EXPECT_EQ(tapml_value_dims(dims)[0], 2);
  EXPECT_EQ(tapml_value_dims(dims)[1], 3);
  const tapml_tensor* tensor = nullptr;
  ASSERT_EQ(tapml_value_read_tensor(tapml_value_field(result, 1), &tensor), TAPML_OK);
  ASSERT_EQ(tensor->ndim, 1);
  EXPECT_EQ(static_cast<const float*>(tensor->data)[1], 2);
  EXPECT_EQ(tapml_value_field(result, 3), nullptr);
  EXPECT_EQ(tapml_value_field(result, -1), nullptr);

  // Calls a function value that has captured k.
  tapml_value* function = tapml_value_field(result, 2);
  ASSERT_EQ(tapml_value_kind(function), TAPML_FUNCTION);
  tapml_value *argument = scalar(1, TAPML_BOOL), *made = nullptr;
  ASSERT_EQ(tapml_program_invoke_value(program_, function, &argument, 1, &made), TAPML_OK)
      << tapml_last_error();
  keep(made);
  ASSERT_EQ(tapml_value_size(made), 2);
  EXPECT_EQ(number(tapml_value_field(made, 0)), 4);
  tapml_dtype dtype = TAPML_F32;
  int64_t truth = 0;
  ASSERT_EQ(tapml_value_read_scalar(tapml_value_field(made, 1), &dtype, &truth), TAPML_OK);
  EXPECT_EQ(dtype, TAPML_BOOL);
  EXPECT_EQ(truth, 1);
}

TEST_F(CValues, TuplesAreMadeOfValues) {
  tapml_value *two[] = {scalar(1), shape({})}, *tuple = nullptr;
  ASSERT_EQ(tapml_value_tuple(two, 2, &tuple), TAPML_OK);
  keep(tuple);
  tapml_value *outer[] = {tuple, tuple}, *nested = nullptr;
  ASSERT_EQ(tapml_value_tuple(outer, 2, &nested), TAPML_OK);
  keep(nested);
  tapml_value* result = nullptr;
  ASSERT_EQ(invoke("other", {nested}, &result), TAPML_OK) << tapml_last_error();
  EXPECT_EQ(number(tapml_value_field(tapml_value_field(result, 1), 0)), 1);
  tapml_value* empty = nullptr;
  ASSERT_EQ(tapml_value_tuple(nullptr, 0, &empty), TAPML_OK);
  EXPECT_EQ(tapml_value_size(keep(empty)), 0);
  EXPECT_EQ(tapml_value_kind(empty), TAPML_TUPLE);
  EXPECT_EQ(tapml_value_kind(nullptr), TAPML_NOTHING);
}

TEST_F(CValues, FailuresOfTheApplicationsFunction) {
  tapml_value* result = nullptr;
  EXPECT_EQ(invoke("main", {scalar(7), shape({}), vector({1})}, &result), TAPML_BAD_INPUT);
  EXPECT_NE(std::strstr(tapml_last_error(), "seven is the last one"), nullptr)
      << tapml_last_error();
  EXPECT_NE(std::strstr(tapml_last_error(), "app.next"), nullptr) << tapml_last_error();
  EXPECT_EQ(invoke("main", {scalar(8), shape({}), vector({1})}, &result), TAPML_BAD_INPUT);
  EXPECT_NE(std::strstr(tapml_last_error(), "returned no value"), nullptr) << tapml_last_error();
  EXPECT_EQ(invoke("main", {shape({}), shape({}), vector({1})}, &result), TAPML_BAD_INPUT);
  EXPECT_NE(std::strstr(tapml_last_error(), "not a host scalar"), nullptr) << tapml_last_error();
}

TEST_F(CValues, RefusesInvalidValues) {
  tapml_value* value = nullptr;
  const int64_t negative[] = {2, -1};
  EXPECT_EQ(tapml_value_shape(negative, 2, &value), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_value_shape(negative, 65, &value), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_value_shape(nullptr, 1, &value), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_value_scalar(TAPML_F32, 1, &value), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_value_scalar(TAPML_BOOL, 2, &value), TAPML_BAD_INPUT);
  tapml_value* holes[] = {nullptr};
  EXPECT_EQ(tapml_value_tuple(holes, 1, &value), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_program_invoke(program_, "other", holes, 1, &value), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_program_invoke(program_, "other", holes, 0, &value), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_program_invoke(program_, "nobody", nullptr, 0, &value), TAPML_BAD_INPUT);
  const tapml_tensor* tensor = nullptr;
  EXPECT_EQ(tapml_value_read_tensor(scalar(1), &tensor), TAPML_BAD_INPUT);
  int64_t number = 0;
  EXPECT_EQ(tapml_value_read_scalar(shape({1}), nullptr, &number), TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_value_dims(scalar(1)), nullptr);

  // A function value belongs to its program.
  tapml_value* result = nullptr;
  ASSERT_EQ(invoke("main", {scalar(1), shape({}), vector({1})}, &result), TAPML_OK);
  EXPECT_EQ(invoke("other", {result}, &value), TAPML_OK);
  EXPECT_EQ(invoke("other", {result}, &value, again_), TAPML_BAD_INPUT);
  EXPECT_NE(std::strstr(tapml_last_error(), "another program"), nullptr) << tapml_last_error();
  EXPECT_EQ(tapml_program_invoke_value(again_, tapml_value_field(result, 2), holes, 0, &value),
            TAPML_BAD_INPUT);
  EXPECT_EQ(tapml_program_invoke_value(program_, result, holes, 0, &value), TAPML_BAD_INPUT);
}

}  // namespace
}  // namespace tapml
