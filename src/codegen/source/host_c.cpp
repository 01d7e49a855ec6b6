// Kernels are functions over a range of work items.
#include "codegen/source/host_c.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "codegen/source/literal.h"
#include "ir/exceptions.h"
#include "ir/intrinsics.h"

namespace tapml::codegen {

namespace {

using namespace std::string_literals;

struct CHelper {
  const char* name;
  const char* text;
};
constexpr CHelper kCHelpers[] = {
    {"tapml_f32_of_bits",
     "static inline float tapml_f32_of_bits(uint32_t bits) {\n"
     "  union { uint32_t bits; float value; } both = {bits};\n"
     "  return both.value;\n"
     "}\n"},
    {"tapml_bits_of_f32",
     "static inline uint32_t tapml_bits_of_f32(float value) {\n"
     "  union { float value; uint32_t bits; } both = {value};\n"
     "  return both.bits;\n"
     "}\n"},
    {"tapml_f64_of_bits",
     "static inline double tapml_f64_of_bits(uint64_t bits) {\n"
     "  union { uint64_t bits; double value; } both = {bits};\n"
     "  return both.value;\n"
     "}\n"},
    {"tapml_bits_of_f64",
     "static inline uint64_t tapml_bits_of_f64(double value) {\n"
     "  union { double value; uint64_t bits; } both = {value};\n"
     "  return both.bits;\n"
     "}\n"},
    {"tapml_f16_of_bits",
     "static inline float tapml_f16_of_bits(uint16_t bits) {\n"
     "  union { uint16_t bits; _Float16 value; } both = {bits};\n"
     "  return both.value;\n"
     "}\n"},
    {"tapml_bits_of_f16",
     "static inline uint16_t tapml_bits_of_f16(float value) {\n"
     "  union { _Float16 value; uint16_t bits; } both = {(_Float16)value};\n"
     "  return both.bits;\n"
     "}\n"},
    {"tapml_round_bf16",
     "static inline float tapml_round_bf16(float value) {\n"
     "  const uint32_t bits = tapml_bits_of_f32(value);\n"
     "  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);\n"
     "  return tapml_f32_of_bits((value != value ? bits | 0x400000u : rounded) & 0xffff0000u);\n"
     "}\n"},
};

}  // namespace

// Only the helpers that the functions call.
std::string HostC::prelude(const std::string& functions) const {
  std::string helpers;
  // In reverse, since a helper calls those before it.
  for (auto helper = std::rbegin(kCHelpers); helper != std::rend(kCHelpers); ++helper) {
    const std::string call = std::string(helper->name) + "(";
    if ((functions + helpers).find(call) == std::string::npos) continue;
    helpers = helper->text + helpers;
  }
  for (DType from : {DType::kF32, DType::kF64}) {
    for (DType to : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                     DType::kU32, DType::kU64}) {
      if (functions.find(conversion(from, to) + "(") != std::string::npos) {
        helpers += conversion_text(from, to);
      }
    }
  }
  for (DType dtype : {DType::kF32, DType::kI32, DType::kU32}) {
    if (functions.find(vector_type(dtype)) == std::string::npos) continue;
    helpers +=
        "typedef struct { " + type_name(dtype) + " x, y, z, w; } " + vector_type(dtype) + ";\n";
  }
  const std::string all = functions + helpers;
  auto mentions = [&](const std::string& word) { return all.find(word) != std::string::npos; };
  std::string headers;
  const bool calls = std::ranges::any_of(
      intrinsic_table(), [&](const IntrinsicInfo& info) { return mentions(info.name + "("s); });
  if (calls || mentions("rint(") || mentions("fmaf(") || mentions("INFINITY") || mentions("NAN"))
    headers += "#include <math.h>\n";
  if (mentions("bool ") || mentions("true") || mentions("false"))
    headers += "#include <stdbool.h>\n";
  return headers + "#include <stdint.h>\n" + helpers;
}

std::string HostC::type_name(DType dtype) const {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kI8:
      return "int8_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI64:
      return "int64_t";
    case DType::kU8:
      return "uint8_t";
    case DType::kU16:
      return "uint16_t";
    case DType::kU32:
      return "uint32_t";
    case DType::kU64:
      return "uint64_t";
    case DType::kF64:
      return "double";
    default:
      return "float";
  }
}

std::string HostC::int_literal(int64_t value, DType dtype) const {
  if (dtype == DType::kBool) return value ? "true" : "false";
  if (dtype == DType::kU64) return "UINT64_C(" + std::to_string(static_cast<uint64_t>(value)) + ")";
  // The minimum value has no literal of its own.
  if (value == INT64_MIN) return "INT64_MIN";
  const std::string text = std::to_string(value);
  if (dtype == DType::kI64) return value < 0 ? "(" + text + ")" : text;
  return dtype == DType::kI32 && value >= 0 ? text : "((" + type_name(dtype) + ")(" + text + "))";
}

std::string HostC::float_literal(double value, DType dtype) const {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "(-INFINITY)" : "INFINITY";
  return decimal_operand(value, dtype, dtype == DType::kF64 ? "" : "f");
}

std::string HostC::begin_kernel(const DeviceFunc& function, const KernelNames& names) const {
  const auto& [buffers, scalars, item, shared, sized_shared, vectors] = names;
  if (function.thread) throw_internal("work groups in C", function.entry);
  std::string text = "void " + function.entry +
                     "(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end) "
                     "{\n";
  for (size_t i = 0; i < buffers.size(); ++i) {
    const tir::Param& param = function.buffers[i];
    const bool written = param.mode != AccessMode::kIn && param.mode != AccessMode::kPrepared;
    text +=
        std::string("  ") + (written ? "" : "const ") +
        (vectors[i] != 0 ? vector_type(param.buffer->dtype) : memory_type(param.buffer->dtype)) +
        "* " + buffers[i] + " = buffers[" + std::to_string(i) + "];\n";
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    text += "  const int64_t " + scalars[i] + " = scalars[" + std::to_string(i) + "];\n";
  }
  return text + "  for (int64_t " + item + " = begin; " + item + " < end; ++" + item + ") {\n";
}

std::string HostC::end_kernel() const { return "  }\n}\n"; }

std::string HostC::load(const std::string& buffer, const std::string& index, DType dtype) const {
  const std::string element = buffer + "[" + index + "]";
  if (dtype == DType::kF16) return "((float)" + element + ")";
  if (dtype == DType::kBF16) return "tapml_f32_of_bits((uint32_t)" + element + " << 16)";
  return dtype == DType::kBool ? "(" + element + " != 0)" : element;
}

std::string HostC::store(const std::string& buffer, const std::string& index, DType dtype,
                         const std::string& value) const {
  const std::string element = buffer + "[" + index + "] = ";
  if (dtype == DType::kF16) return element + "(_Float16)(" + value + ");";
  if (dtype == DType::kBF16) return element + "(uint16_t)(tapml_bits_of_f32(" + value + ") >> 16);";
  if (dtype == DType::kBool) return element + "(uint8_t)(" + value + " ? 1 : 0);";
  return element + value + ";";
}

std::string HostC::vector_type(DType dtype) const { return type_name(dtype) + "_x4"; }

std::string HostC::load_vector(const std::string& buffer, const std::string& index, DType) const {
  return buffer + "[" + index + "]";
}

std::string HostC::store_vector(const std::string& buffer, const std::string& index, DType,
                                const std::string& value) const {
  return buffer + "[" + index + "] = " + value + ";";
}

std::string HostC::make_vector(const std::string& type,
                               const std::vector<std::string>& parts) const {
  return "(" + type + "){" + parts[0] + ", " + parts[1] + ", " + parts[2] + ", " + parts[3] + "}";
}

std::string HostC::shared_declaration(const std::string& name, DType, int64_t) const {
  throw_internal("memory of a work group in C", name);
}

std::string HostC::sized_shared(const std::string& name, DType, size_t) const {
  throw_internal("memory of a work group in C", name);
}

LoopText HostC::group_loop(const std::string&, const std::string&, int, DType) const {
  throw_internal("work groups in C");
}

std::string HostC::barrier() const { throw_internal("a barrier in C"); }

std::string HostC::thread_index(int64_t) const { throw_internal("a work group's thread in C"); }

std::string HostC::wrapped(const std::string& text, DType dtype) const {
  return dtype_bytes(dtype) < 4 ? "((" + type_name(dtype) + ")" + text + ")" : text;
}

// Signed overflow is undefined, so use the unsigned type.
std::string HostC::wrapping(const std::string& a, const char* op, const std::string& b,
                            DType dtype) const {
  const std::string wide = dtype_bytes(dtype) == 8 ? "(uint64_t)" : "(uint32_t)";
  return "((" + type_name(dtype) + ")(" + wide + a + " " + op + " " + wide + b + "))";
}

std::string HostC::shift(const std::string& a, const std::string& n, DType dtype, bool left) const {
  if (!left) return "((" + type_name(dtype) + ")(" + a + " >> " + n + "))";
  const std::string wide = dtype_bytes(dtype) == 8 ? "(uint64_t)" : "(uint32_t)";
  return "((" + type_name(dtype) + ")(" + wide + a + " << " + n + "))";
}

std::string HostC::shift_fits(const std::string& n, DType dtype) const {
  return "(uint64_t)" + n + " < " + std::to_string(dtype_bits(dtype)) + "u";
}

std::string HostC::remainder(const std::string& a, const std::string& b, DType) const {
  return "(" + a + " % " + b + ")";
}

std::string HostC::convert(const std::string& text, DType from, DType to) const {
  if (from == to) return text;
  // Narrow floats are held in f32.
  if (to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16)) return text;
  if (to == DType::kBF16 || to == DType::kF16) return round_narrow("(float)(" + text + ")", to);
  if (is_float(from) && is_integer(to)) {
    return conversion(from == DType::kF64 ? DType::kF64 : DType::kF32, to) + "(" + text + ")";
  }
  if (to == DType::kBool) return "((" + text + ") != 0)";
  return "((" + type_name(to) + ")(" + text + "))";
}

std::string HostC::reinterpret(const std::string& text, DType from, DType to) const {
  if (from == to) return text;
  if (from == DType::kBool || to == DType::kBool) return convert(text, from, to);
  // Narrow floats are held in f32 registers. Convert through the integer of the same width.
  std::string bits = "(" + text + ")";
  if (from == DType::kF16) bits = "tapml_bits_of_f16(" + text + ")";
  if (from == DType::kBF16) bits = "(tapml_bits_of_f32(" + text + ") >> 16)";
  if (from == DType::kF32) bits = "tapml_bits_of_f32(" + text + ")";
  if (from == DType::kF64) bits = "tapml_bits_of_f64(" + text + ")";
  if (to == DType::kF16) return "tapml_f16_of_bits((uint16_t)" + bits + ")";
  if (to == DType::kBF16) return "tapml_f32_of_bits((uint32_t)(uint16_t)" + bits + " << 16)";
  if (to == DType::kF32) return "tapml_f32_of_bits((uint32_t)" + bits + ")";
  if (to == DType::kF64) return "tapml_f64_of_bits((uint64_t)" + bits + ")";
  return "((" + type_name(to) + ")" + bits + ")";
}

// f32 functions are computed in double and rounded once.
std::string HostC::intrinsic(const std::string& name, const std::vector<std::string>& args,
                             DType dtype) const {
  const std::string type = "((" + type_name(dtype) + ")";
  if (name == "abs" && !is_float(dtype)) {
    return type + "(" + args[0] + " < 0 ? " + wrapping("0", "-", args[0], dtype) + " : " + args[0] +
           "))";
  }
  if (name == "popcount") {
    const std::string mask =
        dtype_bytes(dtype) < 8 ? " & " + std::to_string((int64_t{1} << dtype_bits(dtype)) - 1) : "";
    return type + "__builtin_popcountll((uint64_t)" + args[0] + mask + "))";
  }
  if (name == "mul_high") {
    const char* wide = is_signed_integer(dtype) ? "(__int128)" : "(unsigned __int128)";
    return type + "((" + wide + args[0] + " * " + wide + args[1] + ") >> " +
           std::to_string(dtype_bits(dtype)) + "))";
  }
  std::string function = name;
  if (name == "rsqrt")
    return "(" + float_literal(1, dtype) + " / " + "(" + type_name(dtype) + ")sqrt(" + args[0] +
           "))";
  if (name == "abs") function = "fabs";
  if (name == "round") function = "rint";
  if (name == "fma" && dtype != DType::kF64) function = "fmaf";
  std::string call = function + "(";
  for (size_t i = 0; i < args.size(); ++i) call += (i > 0 ? ", " : "") + args[i];
  return type + call + "))";
}

std::string HostC::round_narrow(const std::string& text, DType dtype) const {
  if (dtype == DType::kBF16) return "tapml_round_bf16(" + text + ")";
  return "((float)(_Float16)(" + text + "))";
}

std::string HostC::conversion(DType from, DType to) {
  return std::string("tapml_") + dtype_name(from) + "_to_" + dtype_name(to);
}

// Rounds toward zero; NaN gives 0, out-of-range values saturate.
std::string HostC::conversion_text(DType from, DType to) const {
  const int bits = dtype_bits(to) - (is_signed_integer(to) ? 1 : 0);
  const std::string beyond = float_literal(std::ldexp(1.0, bits), from);
  const std::string prefix = is_signed_integer(to) ? "INT" : "UINT";
  const std::string width = std::to_string(dtype_bits(to));
  const std::string least = is_signed_integer(to) ? prefix + width + "_MIN" : "0";
  return "static inline " + type_name(to) + " " + conversion(from, to) + "(" + type_name(from) +
         " x) {\n  if (x != x) return 0;\n  if (x >= " + beyond + ") return " + prefix + width +
         "_MAX;\n  if (x <= " + (is_signed_integer(to) ? "-" + beyond : "0") + ") return " + least +
         ";\n  return (" + type_name(to) + ")x;\n}\n";
}

std::string HostC::memory_type(DType dtype) const {
  if (dtype == DType::kF16) return "_Float16";
  if (dtype == DType::kBF16) return "uint16_t";
  return dtype == DType::kBool ? "uint8_t" : type_name(dtype);
}

const Dialect& host_c_dialect() {
  static const HostC kDialect;
  return kDialect;
}

}  // namespace tapml::codegen
