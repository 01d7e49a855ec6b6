// GLSL 4.50 for Vulkan. Buffers are indexed bindings; scalars come as push constants of 32 bits, as
// narrow_index has it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "codegen/source/dialect.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

class Glsl : public Dialect {
 public:
  std::string prelude() const override {
    return "#version 450\n"
           "float tapml_round_bf16(float x) {\n"
           "  uint bits = floatBitsToUint(x);\n"
           "  uint rounded = bits + 0x7fffu + ((bits >> 16) & 1u);\n"
           "  return uintBitsToFloat((x != x ? bits | 0x400000u : rounded) & 0xffff0000u);\n"
           "}\n"
           "uint tapml_mul_high(uint a, uint b) {\n"
           "  uint high, low;\n"
           "  umulExtended(a, b, high, low);\n"
           "  return high;\n"
           "}\n"
           "int tapml_mul_high(int a, int b) {\n"
           "  int high, low;\n"
           "  imulExtended(a, b, high, low);\n"
           "  return high;\n"
           "}\n"
           "int tapml_to_int(float x, float low, float beyond, int most) {\n"
           "  return x != x ? 0 : (x >= beyond ? most : (x <= low ? int(low) : int(x)));\n"
           "}\n"
           "uint tapml_to_uint(float x, float beyond, uint most) {\n"
           "  return x > 0.0 ? (x >= beyond ? most : uint(x)) : 0u;\n"
           "}\n";
  }

  std::string type_name(DType dtype) const override {
    switch (dtype) {
      case DType::kBool:
        return "bool";
      case DType::kU8:
      case DType::kU16:
      case DType::kU32:
        return "uint";
      case DType::kF16:
      case DType::kBF16:
      case DType::kF32:
        return "float";
      case DType::kI8:
      case DType::kI16:
      case DType::kI32:
        return "int";
      default:
        refuse(dtype);
    }
  }

  std::string int_literal(int64_t value, DType dtype) const override {
    if (dtype == DType::kBool) return value ? "true" : "false";
    if (is_unsigned_integer(dtype)) return std::to_string(value) + "u";
    if (dtype == DType::kI64 && value != static_cast<int32_t>(value)) refuse(dtype);
    if (value == INT32_MIN) return "(-2147483647 - 1)";
    return value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value);
  }

  std::string float_literal(double value, DType dtype) const override {
    float narrow = static_cast<float>(value);
    if (dtype == DType::kBF16) narrow = bf16_to_f32(f32_to_bf16(narrow));
    if (dtype == DType::kF16) narrow = f16_to_f32(f32_to_f16(narrow));
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    char text[48];
    if (std::isfinite(narrow)) {
      std::snprintf(text, sizeof text, "(%.9e)", static_cast<double>(narrow));
    } else {
      std::snprintf(text, sizeof text, "uintBitsToFloat(0x%08xu)", bits);
    }
    return text;
  }

  std::string begin_kernel(const DeviceFunc& function, const std::vector<std::string>& buffers,
                           const std::vector<std::string>& scalars, const std::string& item,
                           const std::vector<std::string>& shared) const override {
    if (function.index != DType::kI32) refuse(DType::kI64);
    std::string text =
        "layout(local_size_x = " + std::to_string(function.workgroup_threads) + ") in;\n";
    for (size_t i = 0; i < buffers.size(); ++i) {
      const tir::Param& param = function.buffers[i];
      bool written = param.mode != AccessMode::kIn && param.mode != AccessMode::kPrepared;
      text += "layout(std430, binding = " + std::to_string(i) + ") " +
              (written ? "" : "readonly ") + "buffer Binding" + std::to_string(i) + " { " +
              memory_type(param.buffer->dtype) + " " + buffers[i] + "[]; };\n";
    }
    text += "layout(push_constant) uniform Scalars { int extent;";
    for (const std::string& scalar : scalars) text += " int " + scalar + ";";
    text += " };\n";
    for (const std::string& declaration : shared) text += declaration + "\n";
    bool groups = static_cast<bool>(function.thread);
    std::string first = groups ? "gl_WorkGroupID.x" : "gl_GlobalInvocationID.x";
    std::string step = groups ? "gl_NumWorkGroups.x" : "gl_NumWorkGroups.x * gl_WorkGroupSize.x";
    // Unsigned, because the step past the end is beyond int.
    std::string at = "at_" + item;
    return text + "void main() {\n  for (uint " + at + " = " + first + "; " + at +
           " < uint(extent); " + at + " += " + step + ") {\n    const int " + item + " = int(" +
           at + ");\n";
  }

  std::string end_kernel() const override { return "  }\n}\n"; }

  std::string load(const std::string& buffer, const std::string& index,
                   DType dtype) const override {
    int bits = dtype_bits(dtype);
    if (dtype == DType::kBool) bits = 8;
    if (bits >= 32) return buffer + "[" + index + "]";
    // Several narrow elements a word: no 8- or 16-bit storage extension is needed to read them.
    std::string word = buffer + "[(" + index + ") >> " + (bits == 8 ? "2" : "1") + "]";
    std::string shift =
        "((" + index + ") & " + (bits == 8 ? "3" : "1") + ") * " + std::to_string(bits);
    std::string field = is_signed_integer(dtype) ? "int(" + word + ")" : word;
    std::string value =
        "bitfieldExtract(" + field + ", " + shift + ", " + std::to_string(bits) + ")";
    if (dtype == DType::kBF16) return "uintBitsToFloat(" + value + " << 16)";
    if (dtype == DType::kF16) return "unpackHalf2x16(" + value + ").x";
    return dtype == DType::kBool ? "(" + value + " != 0u)" : value;
  }

  std::string store(const std::string& buffer, const std::string& index, DType dtype,
                    const std::string& value) const override {
    if (dtype_bytes(dtype) != 4) refuse(dtype);  // a whole word an invocation: the schedule's part
    return buffer + "[" + index + "] = " + value + ";";
  }

  std::string shared_declaration(const std::string& name, DType dtype,
                                 int64_t elements) const override {
    return "shared " + type_name(dtype) + " " + name + "[" + std::to_string(elements) + "];";
  }
  std::string barrier() const override { return "barrier();"; }
  std::string thread_index() const override { return "int(gl_LocalInvocationID.x)"; }

  std::string convert(const std::string& text, DType from, DType to) const override {
    if (from == to) return text;
    if (to == DType::kBF16 || to == DType::kF16) return round_narrow("float(" + text + ")", to);
    if (to == DType::kBool) {
      return is_float(from) ? "(" + text + " != 0.0)" : "bool(" + text + ")";
    }
    // Saturates: the language leaves values out of range open.
    if (is_float(from) && is_integer(to)) {
      int bits = std::min(dtype_bits(to), 32);
      int64_t beyond = int64_t{1} << (is_signed_integer(to) ? bits - 1 : bits);
      std::string limit = float_literal(static_cast<double>(beyond), DType::kF32);
      if (is_unsigned_integer(to)) {
        return "tapml_to_uint(" + text + ", " + limit + ", " + int_literal(beyond - 1, to) + ")";
      }
      return "tapml_to_int(" + text + ", " +
             float_literal(-static_cast<double>(beyond), DType::kF32) + ", " + limit + ", " +
             int_literal(beyond - 1, to) + ")";
    }
    return wrapped(type_name(to) + "(" + text + ")", to);
  }

  std::string reinterpret(const std::string& text, DType from, DType to) const override {
    if (from == DType::kF16) {
      return reinterpret("packHalf2x16(vec2(" + text + ", 0.0))", DType::kU16, to);
    }
    if (from == DType::kBF16) {
      return reinterpret("(floatBitsToUint(" + text + ") >> 16)", DType::kU16, to);
    }
    if (to == DType::kF16) return "unpackHalf2x16(uint(" + text + ") & 0xffffu).x";
    if (to == DType::kBF16) return "uintBitsToFloat(uint(" + text + ") << 16)";
    if (is_float(from) && is_float(to)) return text;
    if (is_float(from)) {
      return (to == DType::kU32 ? "floatBitsToUint(" : "floatBitsToInt(") + text + ")";
    }
    if (is_float(to)) {
      return (from == DType::kU32 ? "uintBitsToFloat(" : "intBitsToFloat(") + text + ")";
    }
    return convert(text, from, to);
  }

  // Integers of 32 bits wrap by definition; narrower ones are computed in them.
  std::string wrapped(const std::string& text, DType dtype) const override {
    int bits = dtype_bits(dtype);
    return bits < 32 ? "bitfieldExtract(" + text + ", 0, " + std::to_string(bits) + ")" : text;
  }

  std::string wrapping(const std::string& a, const char* op, const std::string& b,
                       DType dtype) const override {
    return wrapped("(" + a + " " + op + " " + b + ")", dtype);
  }

  std::string shift(const std::string& a, const std::string& n, DType dtype,
                    bool left) const override {
    std::string text = "(" + a + (left ? " << " : " >> ") + n + ")";
    return left ? wrapped(text, dtype) : text;
  }

  std::string shift_fits(const std::string& n, DType dtype) const override {
    return "uint(" + n + ") < " + std::to_string(std::min(dtype_bits(dtype), 32)) + "u";
  }

  // The language's % is undefined for negative operands.
  std::string remainder(const std::string& a, const std::string& b, DType dtype) const override {
    if (is_unsigned_integer(dtype)) return "(" + a + " % " + b + ")";
    return "(" + a + " - " + a + " / " + b + " * " + b + ")";
  }

  std::string intrinsic(const std::string& name, const std::vector<std::string>& args,
                        DType dtype) const override {
    if (name == "rsqrt") return "(" + float_literal(1, dtype) + " / sqrt(" + args[0] + "))";
    if (name == "fma") return "fma(" + args[0] + ", " + args[1] + ", " + args[2] + ")";
    if (name == "round") return "roundEven(" + args[0] + ")";
    if (name == "abs" && !is_float(dtype)) return wrapped("abs(" + args[0] + ")", dtype);
    if (name == "mul_high" && dtype_bytes(dtype) == 4) {
      return "tapml_mul_high(" + args[0] + ", " + args[1] + ")";
    }
    if (name == "popcount") {
      int bits = dtype_bits(dtype);
      std::string value = is_unsigned_integer(dtype) ? args[0] : "uint(" + args[0] + ")";
      if (bits < 32) value = "bitfieldExtract(" + value + ", 0, " + std::to_string(bits) + ")";
      return type_name(dtype) + "(bitCount(" + value + "))";
    }
    if (name == "sqrt" || name == "floor" || name == "ceil" || name == "trunc" || name == "abs") {
      return name + "(" + args[0] + ")";
    }
    throw_internal("intrinsic " + name + " has no GLSL (lower_math replaces it)");
  }

  std::string round_narrow(const std::string& text, DType dtype) const override {
    if (dtype == DType::kF16) return "unpackHalf2x16(packHalf2x16(vec2(" + text + ", 0.0))).x";
    return "tapml_round_bf16(" + text + ")";
  }

 private:
  [[noreturn]] static void refuse(DType dtype) {
    throw_platform(PlatformFault::kLimit,
                   std::string("this GLSL cannot handle ") + dtype_name(dtype) + " here");
  }

  std::string memory_type(DType dtype) const {
    if (dtype_bytes(dtype) < 4) return "uint";
    if (dtype_bytes(dtype) != 4) refuse(dtype);
    return type_name(dtype);
  }
};

}  // namespace

const Dialect& glsl_dialect() {
  static const Glsl kDialect;
  return kDialect;
}

}  // namespace tapml::codegen
