// WGSL for WebGPU. Buffers are bindings in the launch's order; scalars, then the extent, are 32-bit
// integers of a uniform buffer. Integers below 32 bits are kept in 32-bit registers, always in
// range; in memory they and 16-bit floats are parts of words.
//
// The language evaluates expressions of constants alone when a shader is made, and refuses a
// shader for an overflow, a division by zero or a NaN in one. Such operands are hidden behind a
// zero that only the running kernel knows.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "codegen/source/dialect.h"
#include "codegen/source/literal.h"
#include "codegen/source/wgsl_helpers.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

bool is_letter(char c) { return isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return isdigit(static_cast<unsigned char>(c)); }

// Whether the language evaluates the expression when a shader is made: it has no names besides
// those of the language's types and functions.
bool is_constant(const std::string& text) {
  static constexpr std::array kWords = {
      "i32",     "u32", "f32", "bool",  "vec4", "true",  "false", "select", "extractBits",
      "bitcast", "fma", "abs", "floor", "ceil", "trunc", "sqrt",  "round",  "x"};
  for (size_t i = 0; i < text.size();) {
    if (!is_letter(text[i]) && !is_digit(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]))) ++i;
    if (is_digit(text[begin])) continue;
    const std::string word = text.substr(begin, i - begin);
    if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) return false;
  }
  return true;
}

class Wgsl : public Dialect, public VectorOperations {
 public:
  explicit Wgsl(const target::Description& target) : platform_(target.platform) {}

  std::string prelude(const std::string& functions) const override {
    return wgsl_helpers(functions);
  }

  std::string type_name(DType dtype) const override {
    switch (dtype) {
      case DType::kBool:
        return "bool";
      case DType::kU8:
      case DType::kU16:
      case DType::kU32:
        return "u32";
      case DType::kF16:
      case DType::kBF16:
      case DType::kF32:
        return "f32";
      case DType::kI8:
      case DType::kI16:
      case DType::kI32:
        return "i32";
      case DType::kI64:
      case DType::kU64:
        return "vec2<u32>";
      case DType::kF64:
        refuse("f64: it has no floats of 64 bits");
    }
    throw_internal("a dtype that WGSL does not know");
  }

  std::string int_literal(int64_t value, DType dtype) const override {
    if (dtype == DType::kBool) return value ? "true" : "false";
    if (is_pair(dtype)) {
      const auto bits = static_cast<uint64_t>(value);
      return "vec2<u32>(" + std::to_string(static_cast<uint32_t>(bits)) + "u, " +
             std::to_string(bits >> 32) + "u)";
    }
    if (is_unsigned_integer(dtype)) return std::to_string(static_cast<uint32_t>(value)) + "u";
    if (value == INT32_MIN) return "(-2147483647i - 1i)";
    const std::string text = std::to_string(value) + "i";
    return value < 0 ? "(" + text + ")" : text;
  }

  std::string float_literal(double value, DType dtype) const override {
    type_name(dtype);  // rejects unsupported types
    auto narrow = static_cast<float>(value);
    if (dtype == DType::kBF16) narrow = bf16_to_f32(f32_to_bf16(narrow));
    if (dtype == DType::kF16) narrow = f16_to_f32(f32_to_f16(narrow));
    // The shortest decimal that rounds to the largest float is itself out of range.
    if (std::abs(narrow) == std::numeric_limits<float>::max()) {
      return narrow < 0 ? "(-0x1.fffffep+127f)" : "0x1.fffffep+127f";
    }
    if (std::isfinite(narrow)) return decimal_operand(narrow, dtype, "f");
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    char text[64];
    std::snprintf(text, sizeof text, "tapml_float(0x%08xu)", bits);
    return text;
  }

  std::string begin_kernel(const DeviceFunc& function, const KernelNames& names) const override {
    const auto& [buffers, scalars, item, shared, sized_shared, vectors] = names;
    if (function.index != DType::kI32) refuse("indices of 64 bits");
    std::string text;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const tir::Param& param = function.buffers[i];
      const DType dtype = param.buffer->dtype;
      const bool is_read = param.mode == AccessMode::kIn || param.mode == AccessMode::kPrepared;
      const bool is_packed = memory_bits(dtype) < 32 && vectors[i] == 0;
      const std::string type = vectors[i] == 8        ? eight_type()
                               : vectors[i] != 0      ? vector_memory_type(dtype)
                               : is_packed && is_read ? "u32"
                               : is_packed            ? "atomic<u32>"
                                                      : type_name(dtype);
      text += "@group(0) @binding(" + std::to_string(i) + ") var<storage, read_write> " +
              buffers[i] + ": array<" + type + ">;\n";
      if (is_packed) text += packed_access(buffers[i], dtype, !is_read);
    }
    const std::string words = std::to_string(scalars.size() / 4 + 1);
    text += "@group(0) @binding(" + std::to_string(buffers.size()) +
            ") var<uniform> tapml_scalars: array<vec4<i32>, " + words + ">;\n";
    const std::string extent = scalar(scalars.size());
    text += "fn tapml_zero() -> u32 { return u32(" + extent + ") >> 31u; }\n";
    for (const std::string& declaration : shared) text += declaration + "\n";
    for (const std::string& declaration : sized_shared) text += declaration + "\n";
    const std::string threads = std::to_string(function.workgroup_threads);
    text += "@compute @workgroup_size(" + threads +
            ")\n"
            "fn main(@builtin(workgroup_id) tapml_group: vec3<u32>,\n"
            "        @builtin(num_workgroups) tapml_groups: vec3<u32>,\n"
            "        @builtin(local_invocation_index) tapml_thread: u32) {\n";
    for (size_t i = 0; i < scalars.size(); ++i) {
      text += "  let " + scalars[i] + ": i32 = " + scalar(i) + ";\n";
    }
    const bool groups = static_cast<bool>(function.thread);
    const std::string first =
        groups ? "tapml_group.x" : "tapml_group.x * " + threads + "u + tapml_thread";
    const std::string step = groups ? "tapml_groups.x" : "tapml_groups.x * " + threads + "u";
    // The extent is a number of invocations.
    const std::string end = groups ? "(" + extent + " / " + threads + "i)" : extent;
    const LoopText loop = strided(item, end, first, step);
    return text + "  " + loop.head + " {\n    " + loop.first + "\n";
  }

  LoopText group_loop(const std::string& var, const std::string& end, int dimension,
                      DType) const override {
    const std::string of(1, ".xyz"[dimension + 1]);
    return strided(var, end, "tapml_group." + of, "tapml_groups." + of);
  }

  std::string end_kernel() const override { return "  }\n}\n"; }

  std::string load(const std::string& buffer, const std::string& index,
                   DType dtype) const override {
    if (memory_bits(dtype) >= 32) return buffer + "[" + index + "]";
    return buffer + "_load(" + index + ")";
  }

  std::string store(const std::string& buffer, const std::string& index, DType dtype,
                    const std::string& value) const override {
    if (memory_bits(dtype) >= 32) return buffer + "[" + index + "] = " + value + ";";
    return buffer + "_store(" + index + ", " + bits_of(value, dtype) + ");";
  }

  std::string vector_type(DType dtype) const override {
    return is_float(dtype) ? "vec4<f32>" : dtype == DType::kI32 ? "vec4<i32>" : "vec4<u32>";
  }
  std::string load_vector(const std::string& buffer, const std::string& index,
                          DType dtype) const override {
    std::string words = buffer + "[" + index + "]";
    if (memory_bits(dtype) == 32) return words;
    return std::string("tapml_four_") + dtype_name(dtype) + "(" + words + ")";
  }
  bool has_narrow_vectors() const override { return true; }
  std::string eight_type() const override { return "vec4<u32>"; }
  std::string half_of_eight(const std::string& eight, bool second, DType dtype) const override {
    return std::string("tapml_four_") + dtype_name(dtype) + "(" + eight +
           (second ? ".zw)" : ".xy)");
  }
  std::string store_vector(const std::string& buffer, const std::string& index, DType dtype,
                           const std::string& value) const override {
    const bool is_narrow = memory_bits(dtype) == 16;
    return buffer + "[" + index + "] = " +
           (is_narrow ? "tapml_words_of_" + std::string(dtype_name(dtype)) + "(" + value + ")"
                      : value) +
           ";";
  }
  const VectorOperations* vectors() const override { return this; }
  std::string splat_mask(const std::string& condition) const override {
    return "vec4<bool>(" + condition + ")";
  }
  std::string make_mask(const std::vector<std::string>& conditions) const override {
    return make_vector("vec4<bool>", conditions);
  }
  std::string vector_compare(ExprKind kind, const std::string& a,
                             const std::string& b) const override {
    if (kind == ExprKind::kNe && a == b) return "tapml_are_nan(" + a + ")";
    return VectorOperations::vector_compare(kind, a, b);
  }
  std::string vector_not(const std::string& mask) const override { return "(!" + mask + ")"; }
  std::string vector_hidden(const std::string& text) const override {
    return "tapml_hidden_four(" + text + ")";
  }

  std::string definition(const std::string& type, const std::string& name,
                         const std::string& value) const override {
    return "let " + name + ": " + type + " = " + value + ";";
  }
  std::string variable(const std::string& type, const std::string& name) const override {
    return "var " + name + ": " + type;
  }
  std::string counting(const std::string& type, const std::string& var, const std::string& first,
                       const std::string& end, const std::string& step) const override {
    return "for (var " + var + ": " + type + " = " + first + "; " + var + " < " + end + "; " +
           (step.empty() ? var + "++" : var + " += " + step) + ")";
  }

  std::string local_declaration(const std::string& name, DType dtype,
                                int64_t elements) const override {
    return "var " + name + ": " + array(dtype, std::to_string(elements)) + ";";
  }
  std::string shared_declaration(const std::string& name, DType dtype,
                                 int64_t elements) const override {
    return "var<workgroup> " + name + ": " + array(dtype, std::to_string(elements)) + ";";
  }
  // An array whose size is an overridable constant: the device sets those from number 1000 on.
  std::string sized_shared(const std::string& name, DType dtype, size_t number) const override {
    return "@id(" + std::to_string(1000 + number) + ") override " + name +
           "_size: u32 = 1u;\nvar<workgroup> " + name + ": " + array(dtype, name + "_size") + ";";
  }
  std::string barrier() const override { return "storageBarrier(); workgroupBarrier();"; }
  std::string uniform(const std::string& text, DType dtype) const override {
    if (dtype == DType::kI32) return "tapml_uniform(" + text + ", tapml_thread)";
    if (dtype != DType::kBool) throw_internal("a condition of barriers that is no i32 or bool");
    return "(tapml_uniform(select(0i, 1i, " + text + "), tapml_thread) != 0i)";
  }
  std::string thread_index(int64_t) const override { return "i32(tapml_thread)"; }

  // The sign bit of the extent is 0, which no compiler knows.
  std::string hidden(const std::string& text, DType) const override {
    return "tapml_hidden(" + text + ")";
  }

  bool computes_both() const override { return true; }
  std::string conditional(const std::string& condition, const std::string& a,
                          const std::string& b) const override {
    return "select(" + b + ", " + a + ", (" + condition + "))";
  }
  std::string infix(const std::string& a, const char* op, const std::string& b,
                    DType dtype) const override {
    if (is_pair(dtype)) return pair_infix(a, op, b, dtype);
    const bool is_plain = dtype == DType::kBool || !is_constant(a) || !is_constant(b);
    return "(" + (is_plain ? a : concealed(a, dtype)) + " " + op + " " + b + ")";
  }
  std::string compare(const std::string& a, const char* op, const std::string& b,
                      DType dtype) const override {
    return is_pair(dtype) ? infix(a, op, b, dtype) : a + " " + op + " " + b;
  }
  std::string is_nan(const std::string& name) const override {
    return "tapml_is_nan(" + concealed_constant(name, DType::kF32) + ")";
  }

  std::string convert(const std::string& text, DType from, DType to) const override {
    if (from == to) return text;
    // Narrow floats are held in f32.
    if (to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16)) return text;
    if (to == DType::kBF16 || to == DType::kF16) {
      return round_narrow(is_pair(from) ? convert(text, from, DType::kF32) : "f32(" + text + ")",
                          to);
    }
    if (is_pair(from)) return from_pair(text, from, to);
    if (is_pair(to)) return to_pair(text, from, to);
    if (to == DType::kBool) {
      const std::string zero = is_float(from) ? float_literal(0, from) : int_literal(0, from);
      return "(" + text + " != " + zero + ")";
    }
    if (is_float(from) && is_integer(to)) return saturated(text, to);
    return wrapped(type_name(to) + "(" + text + ")", to);
  }

  std::string reinterpret(const std::string& text, DType from, DType to) const override {
    if (from == to) return text;
    if (from == DType::kF16) {
      return reinterpret("tapml_bits_of_f16(" + text + ")", DType::kU16, to);
    }
    if (from == DType::kBF16) {
      return reinterpret("(bitcast<u32>(" + text + ") >> 16u)", DType::kU16, to);
    }
    if (to == DType::kF16 || to == DType::kBF16) return narrow_float("u32(" + text + ")", to);
    if (to == DType::kF32) return "bitcast<f32>(" + concealed_constant(text, from) + ")";
    if (from == DType::kF32) return "bitcast<" + type_name(to) + ">(" + text + ")";
    return convert(text, from, to);
  }

  // 32-bit integers wrap by definition.
  std::string wrapped(const std::string& text, DType dtype) const override {
    const int bits = dtype_bits(dtype);
    return bits < 32 ? "extractBits(" + text + ", 0u, " + std::to_string(bits) + "u)" : text;
  }

  std::string wrapping(const std::string& a, const char* op, const std::string& b,
                       DType dtype) const override {
    return wrapped(infix(a, op, b, dtype), dtype);
  }

  // Amounts of 32 and more are taken modulo 32, but refused in constants.
  std::string shift(const std::string& a, const std::string& n, DType dtype,
                    bool left) const override {
    if (is_pair(dtype)) {
      const char* name = left ? "tapml_left_" : "tapml_right_";
      return name + std::string(left ? "pair" : dtype_name(dtype)) + "(" + a + ", " + n + ".x)";
    }
    std::string amount = "u32(" + n + ")";
    if (is_constant(n)) {
      const int64_t value = std::strtoll(n.c_str(), nullptr, 10);
      const bool fits = is_digit(n[0]) && value < 32;
      amount = fits ? std::to_string(value) + "u" : "u32(" + concealed(n, dtype) + ")";
    }
    const std::string text =
        "(" + concealed_constant(a, dtype) + (left ? " << " : " >> ") + amount + ")";
    return left ? wrapped(text, dtype) : text;
  }

  std::string shift_fits(const std::string& n, DType dtype) const override {
    if (is_pair(dtype)) return "(" + n + ".y == 0u && " + n + ".x < 64u)";
    return "u32(" + n + ") < " + int_literal(dtype_bits(dtype), DType::kU32);
  }

  std::string multiply_add(const std::string& a, const std::string& b, const std::string& c,
                           DType dtype) const override {
    const bool is_plain = !is_constant(a) || !is_constant(b) || !is_constant(c);
    return "fma(" + (is_plain ? a : concealed(a, dtype)) + ", " + b + ", " + c + ")";
  }

  std::string remainder(const std::string& a, const std::string& b, DType dtype) const override {
    return infix(a, "%", b, dtype);
  }

  std::string intrinsic(const std::string& name, const std::vector<std::string>& args,
                        DType dtype) const override {
    type_name(dtype);  // rejects unsupported types
    if (is_pair(dtype)) return pair_intrinsic(name, args, dtype);
    const std::string first = concealed_constant(args[0], dtype);
    if (name == "rsqrt") return "(1.0f / sqrt(" + first + "))";
    if (name == "fma") return multiply_add(args[0], args[1], args[2], dtype);
    if (name == "abs" && !is_float(dtype)) return wrapped("abs(" + first + ")", dtype);
    if (name == "mul_high") return mul_high(args[0], args[1], dtype);
    if (name == "popcount") return popcount(args[0], dtype);
    if (name == "trunc" || name == "round" || name == "floor" || name == "ceil" || name == "abs" ||
        name == "sqrt") {
      return name + "(" + first + ")";
    }
    throw_internal("intrinsic " + name + " has no WGSL (lower_math replaces it)");
  }

  std::string round_narrow(const std::string& text, DType dtype) const override {
    return (dtype == DType::kF16 ? kRoundF16 : "tapml_round_bf16(") + text + ")";
  }

 private:
  static constexpr const char* kRoundF16 = "tapml_round_f16(";

  [[noreturn]] void refuse(const std::string& what) const {
    throw_platform(PlatformFault::kLimit, platform_ + " cannot run a kernel with " + what);
  }

  // ---- integers of 64 bits: the low word, then the high one

  static bool is_pair(DType dtype) { return dtype == DType::kI64 || dtype == DType::kU64; }

  static std::string pair_infix(const std::string& a, const std::string& op, const std::string& b,
                                DType dtype) {
    const std::string args = "(" + a + ", " + b + ")";
    const std::string own = "_" + std::string(dtype_name(dtype));
    if (op == "+") return "tapml_add_pair" + args;
    if (op == "-") return "tapml_subtract_pair" + args;
    if (op == "*") return "tapml_multiply_pair" + args;
    if (op == "/") return "tapml_divide" + own + args;
    if (op == "%") return "tapml_remainder" + own + args;
    if (op == "==") return "all(" + a + " == " + b + ")";
    if (op == "!=") return "any(" + a + " != " + b + ")";
    if (op == "<") return "tapml_less" + own + args;
    if (op == ">") return "tapml_less" + own + "(" + b + ", " + a + ")";
    if (op == "<=") return "(!tapml_less" + own + "(" + b + ", " + a + "))";
    if (op == "&" || op == "|" || op == "^") return "(" + a + " " + op + " " + b + ")";
    throw_internal("an operator that WGSL does not know", op);
  }

  std::string from_pair(const std::string& text, DType from, DType to) const {
    type_name(to);  // rejects unsupported types
    if (is_pair(to)) return text;
    if (to == DType::kBool) return "any(" + text + " != vec2<u32>(0u, 0u))";
    if (to == DType::kF32) {
      return "tapml_f32_of_" + std::string(dtype_name(from)) + "(" + text + ")";
    }
    return convert("(" + text + ").x", DType::kU32, to);
  }

  static std::string to_pair(const std::string& text, DType from, DType to) {
    if (is_float(from)) return "tapml_to_" + std::string(dtype_name(to)) + "(" + text + ")";
    if (is_signed_integer(from)) return "tapml_pair_of_i32(" + text + ")";
    return "vec2<u32>(u32(" + text + "), 0u)";
  }

  static std::string pair_intrinsic(const std::string& name, const std::vector<std::string>& args,
                                    DType dtype) {
    const std::string own = "_" + std::string(dtype_name(dtype)) + "(";
    if (name == "abs") return "tapml_abs_i64(" + args[0] + ")";
    if (name == "mul_high") return "tapml_mul_high" + own + args[0] + ", " + args[1] + ")";
    if (name == "popcount") return "tapml_popcount_pair(" + args[0] + ")";
    throw_internal("intrinsic " + name + " of 64-bit integers");
  }

  // Unsigned, because the step past the end may exceed i32.
  static LoopText strided(const std::string& var, const std::string& end, const std::string& first,
                          const std::string& step) {
    const std::string at = "at_" + var;
    return {"for (var " + at + ": u32 = " + first + "; " + at + " < u32(" + end + "); " + at +
                " += " + step + ")",
            "let " + var + ": i32 = i32(" + at + ");"};
  }

  static std::string scalar(size_t number) {
    return "tapml_scalars[" + std::to_string(number / 4) + "]." + "xyzw"[number % 4];
  }

  static int memory_bits(DType dtype) { return dtype == DType::kBool ? 8 : dtype_bits(dtype); }

  std::string array(DType dtype, const std::string& elements) const {
    return "array<" + type_name(dtype) + ", " + elements + ">";
  }

  std::string vector_memory_type(DType dtype) const {
    return memory_bits(dtype) == 16 ? "vec2<u32>" : vector_type(dtype);
  }

  // The value of an expression of constants, as one that is not constant.
  std::string concealed(const std::string& text, DType dtype) const {
    if (is_float(dtype)) return hidden(text, dtype);
    return "tapml_hidden_" + type_name(dtype) + "(" + text + ")";
  }
  std::string concealed_constant(const std::string& text, DType dtype) const {
    return dtype != DType::kBool && is_constant(text) ? concealed(text, dtype) : text;
  }

  // The functions that load and store elements that share words. Other invocations may write their
  // bits of the same word concurrently.
  std::string packed_access(const std::string& buffer, DType dtype, bool is_written) const {
    const int bits = memory_bits(dtype);
    const std::string word = buffer + (bits == 8 ? "[i >> 2u]" : "[i >> 1u]");
    const std::string place = (bits == 8 ? "(u32(i & 3i) * 8u)" : "(u32(i & 1i) * 16u)");
    std::string value = is_written ? "atomicLoad(&" + word + ")" : word;
    if (is_signed_integer(dtype)) value = "bitcast<i32>(" + value + ")";
    value = "extractBits(" + value + ", " + place + ", " + std::to_string(bits) + "u)";
    if (dtype == DType::kF16 || dtype == DType::kBF16) value = narrow_float(value, dtype);
    if (dtype == DType::kBool) value = "(" + value + " != 0u)";
    std::string text =
        "fn " + buffer + "_load(i: i32) -> " + type_name(dtype) + " { return " + value + "; }\n";
    if (!is_written) return text;
    const std::string mask = bits == 8 ? "0xffu" : "0xffffu";
    return text + "fn " + buffer + "_store(i: i32, bits: u32) {\n  let place = " + place +
           ";\n  atomicAnd(&" + word + ", ~(" + mask + " << place));\n  atomicOr(&" + word +
           ", (bits & " + mask + ") << place);\n}\n";
  }

  // A narrow float in its low bits.
  std::string narrow_float(const std::string& bits, DType dtype) const {
    const std::string text = concealed_constant(bits, DType::kU32);
    if (dtype == DType::kBF16) return "bitcast<f32>(" + text + " << 16u)";
    return "unpack2x16float(" + text + " & 0xffffu).x";
  }

  // What a store writes for a narrow value.
  std::string bits_of(const std::string& value, DType dtype) const {
    if (dtype == DType::kBool) return "u32(" + value + ")";
    if (dtype == DType::kBF16) return "(bitcast<u32>(" + value + ") >> 16u)";
    if (dtype == DType::kF16) return "tapml_bits_of_f16(" + without_rounding(value) + ")";
    return "u32(" + value + ")";
  }

  // x if the whole text is tapml_round_f16(x).
  static std::string without_rounding(const std::string& text) {
    const size_t begin = std::strlen(kRoundF16);
    if (!text.starts_with(kRoundF16)) return text;
    int depth = 1;
    for (size_t i = begin; i < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0) return i + 1 == text.size() ? text.substr(begin, i - begin) : text;
    }
    return text;
  }

  std::string saturated(const std::string& text, DType to) const {
    type_name(to);  // rejects unsupported types
    const int64_t beyond = int64_t{1} << (dtype_bits(to) - (is_signed_integer(to) ? 1 : 0));
    const std::string limit = float_literal(static_cast<double>(beyond), DType::kF32);
    const std::string most = int_literal(beyond - 1, to);
    if (is_unsigned_integer(to)) return "tapml_to_u32(" + text + ", " + limit + ", " + most + ")";
    return "tapml_to_i32(" + text + ", " +
           float_literal(-static_cast<double>(beyond), DType::kF32) + ", " + limit + ", " +
           int_literal(-beyond, to) + ", " + most + ")";
  }

  std::string mul_high(const std::string& a, const std::string& b, DType dtype) const {
    const int bits = dtype_bits(dtype);
    if (bits < 32) return "(" + infix(a, "*", b, dtype) + " >> " + std::to_string(bits) + "u)";
    return "tapml_mul_high_" + type_name(dtype) + "(" + a + ", " + b + ")";
  }

  std::string popcount(const std::string& text, DType dtype) const {
    std::string value = is_unsigned_integer(dtype) ? text : "u32(" + text + ")";
    if (dtype_bits(dtype) < 32) {
      value = "extractBits(" + value + ", 0u, " + std::to_string(dtype_bits(dtype)) + "u)";
    }
    return type_name(dtype) + "(countOneBits(" + value + "))";
  }

  std::string platform_;
};

}  // namespace

std::unique_ptr<const Dialect> wgsl_dialect(const target::Description& target) {
  return std::make_unique<Wgsl>(target);
}

}  // namespace tapml::codegen
