// Cases of the graph language as text: tests/language/cases/*.tapml. The interpreter and the
// virtual machine run the same files.
//
// The examples of docs/relax.md are cases too.
//
// A file holds sections, each a module with a header of comments; a line of "# ----" begins the
// next one. The header states what must be true:
//
//   # case: a name
//   # annotation: lv0 = Tensor((4*n,), f32)       what is deduced for the value of binding lv0
//   # call: main(shape(3, 4), iota(shape(2, 3)) {dtype: f32})
//   # gives: const(f32, (2,), [1.0, 2.0])         the result of the preceding call
//   # fails: dimension 0 of parameter s of main   a part of the call's error; may be repeated
//   # call: main(prim(1))
//   # endless: yes                                only a limit of iterations ends it
//   # refused: another number of arguments        a part of the error of parsing and checking
//   # kind: add = Broadcast                       the pattern kind of the kernel of this operator
//   # kernel: add_relu(n)                         a kernel that is compiled, with all its scalars
//   # storages: 32, 48                            bytes of the storages allocated at load, or none
//
// Values are expressions of the text format: const, shape, prim, tuples, @f, and
// iota(shape(2, 3)) {dtype: f32} for 0, 1, 2, ..., full(shape(2, 3)) {dtype: f32, value: 1.0}.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interp/interpreter.h"

namespace tapml::testing {

struct Expected {
  interp::Value value;
  std::vector<Expected> fields;  // of a tuple
};

struct LanguageCall {
  std::string text;  // as written
  std::string function;
  std::vector<interp::Value> args;
  bool gives = false;  // otherwise the call fails
  Expected result;
  std::vector<std::string> fails;
  bool endless = false;
};

struct DeducedAnnotation {
  std::string binding, annotation;
};

struct LanguageCase {
  std::string name;  // "01_signatures: through a Callable"
  std::string source;
  std::vector<DeducedAnnotation> annotations;
  std::vector<std::pair<std::string, std::string>> kinds;  // kernel, pattern kind
  std::vector<std::string> kernels;                        // "add_relu(n)"
  std::string storages;                                    // "32, 48"
  std::vector<LanguageCall> calls;
  std::vector<std::string> refused;
};

// All sections of all files, in the order of their names, then the examples of docs/relax.md.
// UserError for an invalid header.
std::vector<LanguageCase> load_language_cases();
// The same for tests/language/storage: writes and views.
std::vector<LanguageCase> load_storage_cases();

// Sections of all .tapml files of a folder, in the order of their names.
std::vector<LanguageCase> load_case_folder(const std::string& folder);

// The host's packed functions for the cases: "test.double" (a tensor times 2), "test.count" (an i64
// scalar, incremented at each call of the process's table).
interp::HostFunctions language_functions();

// A difference as text; empty if `found` is as expected (floats to 1e-5 of their magnitude).
std::string difference(const Expected& expected, const interp::Value& found);

}  // namespace tapml::testing
