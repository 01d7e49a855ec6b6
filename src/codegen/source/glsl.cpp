// GLSL 4.50 for Vulkan. Buffers are indexed bindings; scalars come as push constants and are
// narrowed to int by the launcher, checked.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "codegen/source/dialect.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

class Glsl : public Dialect {
 public:
  std::string prelude() const override { return "#version 450\n"; }

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
      case DType::kI64:  // indices; the launcher has checked that they fit
        return "int";
      default:
        refuse(dtype);
    }
  }

  std::string int_literal(int64_t value, DType dtype) const override {
    if (dtype == DType::kBool) return value ? "true" : "false";
    if (is_unsigned_integer(dtype)) return std::to_string(value) + "u";
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
    std::string first = groups ? "int(gl_WorkGroupID.x)" : "int(gl_GlobalInvocationID.x)";
    std::string step =
        groups ? "int(gl_NumWorkGroups.x)" : "int(gl_NumWorkGroups.x * gl_WorkGroupSize.x)";
    return text + "void main() {\n  for (int " + item + " = " + first + "; " + item +
           " < extent; " + item + " += " + step + ") {\n";
  }

  std::string end_kernel() const override { return "  }\n}\n"; }

  std::string load(const std::string& buffer, const std::string& index,
                   DType dtype) const override {
    std::string element = buffer + "[" + index + "]";
    // Two narrow floats a word: no 16-bit storage extension is needed to read them.
    if (dtype == DType::kBF16 || dtype == DType::kF16) {
      std::string word = buffer + "[(" + index + ") >> 1]";
      std::string bits = "((" + word + " >> (((" + index + ") & 1) * 16)) & 0xffffu)";
      return dtype == DType::kBF16 ? "uintBitsToFloat(" + bits + " << 16)"
                                   : "unpackHalf2x16(" + bits + ").x";
    }
    return dtype == DType::kBool ? "(" + element + " != 0u)" : element;
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
    return type_name(to) + "(" + text + ")";
  }

  std::string reinterpret(const std::string& text, DType from, DType to) const override {
    if (is_float(from))
      return (to == DType::kU32 ? "floatBitsToUint(" : "floatBitsToInt(") + text + ")";
    if (is_float(to))
      return (from == DType::kU32 ? "uintBitsToFloat(" : "intBitsToFloat(") + text + ")";
    return type_name(to) + "(" + text + ")";
  }

  std::string intrinsic(const std::string& name, const std::vector<std::string>& args,
                        DType dtype) const override {
    if (name == "rsqrt") return "(" + float_literal(1, dtype) + " / sqrt(" + args[0] + "))";
    if (name == "fma") return "fma(" + args[0] + ", " + args[1] + ", " + args[2] + ")";
    if (name == "round") return "roundEven(" + args[0] + ")";
    if (name == "sqrt" || name == "floor" || name == "trunc" || name == "abs") {
      return name + "(" + args[0] + ")";
    }
    throw_internal("intrinsic " + name + " has no GLSL (lower_math replaces it)");
  }

  std::string round_narrow(const std::string& text, DType dtype) const override {
    if (dtype == DType::kF16) return "unpackHalf2x16(packHalf2x16(vec2(" + text + ", 0.0))).x";
    refuse(dtype);
  }

 private:
  [[noreturn]] static void refuse(DType dtype) {
    throw_platform(PlatformFault::kLimit,
                   std::string("this GLSL cannot handle ") + dtype_name(dtype) + " here");
  }

  std::string memory_type(DType dtype) const {
    if (dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kBool) return "uint";
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
