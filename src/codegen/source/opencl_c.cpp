// OpenCL C 1.2. Buffers are pointers, each passed as a memory object and a byte offset.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "codegen/source/dialect.h"
#include "codegen/source/literal.h"
#include "ir/exceptions.h"
#include "ir/intrinsics.h"

namespace tapml::codegen {

namespace {

std::string float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  char text[32];
  std::snprintf(text, sizeof text, "as_float(0x%08xu)", bits);
  return text;
}

class OpenClC : public Dialect, public VectorOperations {
 public:
  // `float16`: the device computes f16 as docs/semantics.md defines it.
  explicit OpenClC(bool float16) : float16_(float16) {}

  // Only the helpers that the functions call.
  std::string prelude(const std::string& functions) const override {
    // Drivers reject empty source; a module whose kernels compute nothing has no functions.
    if (functions.empty()) return "// No kernels.\n";
    const bool subgroups = functions.find("tapml_in_subgroups(") != std::string::npos;
    std::string text = subgroups ? kSubgroups : "";
    if (functions.contains("(half)(") || functions.contains(kRoundHalf)) {
      text += "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
    }
    auto calls = [&](const std::string& name) {
      return functions.find(name + "(") != std::string::npos;
    };
    for (const auto& [name, helper] : kHelpers) {
      if (calls(name)) text += helper;
    }
    for (const auto& [from, name] : {std::pair{"float", "f32"}, std::pair{"double", "f64"}}) {
      for (const char* to : {"char", "short", "int", "long", "uchar", "ushort", "uint", "ulong"}) {
        const std::string conversion = std::string("tapml_") + name + "_to_" + to;
        if (!calls(conversion)) continue;
        text += std::string(to) + " " + conversion + "(" + from + " x) { return x != x ? (" + to +
                ")0 : convert_" + to + "_sat_rtz(x); }\n";
      }
    }
    return text;
  }

  std::string type_name(DType dtype) const override {
    switch (dtype) {
      case DType::kBool:
        return "bool";
      case DType::kI8:
        return "char";
      case DType::kI16:
        return "short";
      case DType::kI32:
        return "int";
      case DType::kI64:
        return "long";
      case DType::kU8:
        return "uchar";
      case DType::kU16:
        return "ushort";
      case DType::kU32:
        return "uint";
      case DType::kU64:
        return "ulong";
      case DType::kF64:
        return "double";
      default:
        return "float";
    }
  }

  std::string int_literal(int64_t value, DType dtype) const override {
    if (dtype == DType::kBool) return value ? "true" : "false";
    if (dtype == DType::kI64) {
      // The minimum value has no literal of its own.
      if (value == INT64_MIN) return "(-9223372036854775807L - 1L)";
      return value < 0 ? "(" + std::to_string(value) + "L)" : std::to_string(value) + "L";
    }
    if (dtype == DType::kU64) return std::to_string(static_cast<uint64_t>(value)) + "UL";
    std::string text = "(" + type_name(dtype) + ")(" + std::to_string(value) + ")";
    return dtype == DType::kI32 && value >= 0 ? std::to_string(value) : "(" + text + ")";
  }

  std::string float_literal(double value, DType dtype) const override {
    if (dtype == DType::kF64) {
      if (!std::isfinite(value)) {
        char text[64];
        uint64_t bits;
        std::memcpy(&bits, &value, 8);
        std::snprintf(text, sizeof text, "as_double(0x%016lxul)", static_cast<unsigned long>(bits));
        return text;
      }
      return decimal_operand(value, dtype, "");
    }
    float narrow = static_cast<float>(value);
    if (dtype == DType::kBF16) narrow = bf16_to_f32(f32_to_bf16(narrow));
    if (dtype == DType::kF16) narrow = f16_to_f32(f32_to_f16(narrow));
    if (std::isinf(narrow)) return narrow < 0 ? "(-INFINITY)" : "INFINITY";
    return std::isnan(narrow) ? float_bits(narrow) : decimal_operand(narrow, dtype, "f");
  }

  std::string begin_kernel(const DeviceFunc& function, const KernelNames& names) const override {
    const auto& [buffers, scalars, item, shared, sized_shared, vectors] = names;
    std::string text = "__kernel void " + function.entry + "(";
    const std::string alone = function.may_alias ? "" : "restrict ";
    for (const std::string& buffer : buffers) {
      text += "__global uchar* " + alone + "base_" + buffer + ", ";
    }
    for (const std::string& buffer : buffers) text += "long offset_" + buffer + ", ";
    // The host's scalars have 64 bits; it has checked those that are narrowed.
    const bool narrow = function.index == DType::kI32;
    for (const std::string& scalar : scalars) {
      text += std::string("long ") + (narrow ? "wide_" : "") + scalar + ", ";
    }
    text += "long extent";
    for (const std::string& parameter : sized_shared) text += ", " + parameter;
    text += ") {\n";
    for (const std::string& scalar : scalars) {
      if (narrow) text += "  const int " + scalar + " = (int)wide_" + scalar + ";\n";
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      const tir::Param& param = function.buffers[i];
      bool written = param.mode != AccessMode::kIn && param.mode != AccessMode::kPrepared;
      std::string type = std::string("__global ") + (written ? "" : "const ") +
                         memory_type(param.buffer->dtype) + "*";
      text += "  " + type + " " + buffers[i] + " = (" + type + ")(base_" + buffers[i] +
              " + offset_" + buffers[i] + ");\n";
    }
    for (const std::string& declaration : shared) text += "  " + declaration + "\n";
    bool groups = static_cast<bool>(function.thread);
    // The extent is a number of invocations.
    std::string threads = std::to_string(function.workgroup_threads);
    const LoopText loop =
        groups ? strided(item, "(extent / " + threads + ")", "get_group_id(0)", "get_num_groups(0)",
                         function.index)
               : strided(item, "extent", "get_global_id(0)", "get_global_size(0)", function.index);
    text += "  " + loop.head + " {\n";
    return loop.first.empty() ? text : text + "    " + loop.first + "\n";
  }

  LoopText group_loop(const std::string& var, const std::string& end, int dimension,
                      DType index) const override {
    const std::string of = "(" + std::to_string(dimension) + ")";
    return strided(var, "(" + end + ")", "get_group_id" + of, "get_num_groups" + of, index);
  }

  std::string end_kernel() const override { return "  }\n}\n"; }

  std::string load(const std::string& buffer, const std::string& index,
                   DType dtype) const override {
    if (dtype == DType::kF16) return "vload_half(" + index + ", " + buffer + ")";
    std::string element = buffer + "[" + index + "]";
    if (dtype == DType::kBF16) return "as_float((uint)" + element + " << 16)";
    return dtype == DType::kBool ? "(" + element + " != 0)" : element;
  }

  std::string store(const std::string& buffer, const std::string& index, DType dtype,
                    const std::string& value) const override {
    if (dtype == DType::kF16)
      return "vstore_half_rte(" + value + ", " + index + ", " + buffer + ");";
    std::string element = buffer + "[" + index + "] = ";
    if (dtype == DType::kBF16) return element + "(ushort)(as_uint((float)" + value + ") >> 16);";
    if (dtype == DType::kBool) return element + "(uchar)(" + value + " ? 1 : 0);";
    return element + value + ";";
  }

  std::string vector_type(DType dtype) const override { return type_name(dtype) + "4"; }
  std::string load_vector(const std::string& buffer, const std::string& index,
                          DType) const override {
    return "vload4(" + index + ", " + buffer + ")";
  }
  std::string store_vector(const std::string& buffer, const std::string& index, DType,
                           const std::string& value) const override {
    return "vstore4(" + value + ", " + index + ", " + buffer + ");";
  }
  std::string make_vector(const std::string& type,
                          const std::vector<std::string>& parts) const override {
    return "(" + type + ")(" + parts[0] + ", " + parts[1] + ", " + parts[2] + ", " + parts[3] + ")";
  }
  const VectorOperations* vectors() const override { return this; }
  std::string splat(const std::string& type, const std::string& value) const override {
    return "(" + type + ")(" + value + ")";
  }
  // Vector comparisons yield -1 for true, and select() tests the highest bit.
  std::string splat_mask(const std::string& condition) const override {
    return "(int4)(" + condition + " ? -1 : 0)";
  }
  std::string make_mask(const std::vector<std::string>& conditions) const override {
    std::vector<std::string> lanes;
    for (const std::string& condition : conditions) lanes.push_back(condition + " ? -1 : 0");
    return make_vector("int4", lanes);
  }
  std::string vector_not(const std::string& mask) const override { return "(~" + mask + ")"; }

  // Volatile: compilers that vectorize work-items assume that loops over them have no such
  // conflicts (PoCL 3.1 reorders the stores).
  std::string ordered_store(const std::string& buffer, const std::string& index, DType dtype,
                            const std::string& value) const override {
    std::string type = type_name(dtype), bits = value;
    if (dtype == DType::kF16) {
      type = "ushort";
      bits = "tapml_bits_of_f16(" + value + ")";
    } else if (dtype == DType::kBF16) {
      type = "ushort";
      bits = "(ushort)(as_uint((float)" + value + ") >> 16)";
    } else if (dtype == DType::kBool) {
      type = "uchar";
      bits = "(uchar)(" + value + " ? 1 : 0)";
    }
    return "((volatile __global " + type + "*)" + buffer + ")[" + index + "] = " + bits + ";";
  }

  // Clang's loop vectorizer requires the permission. Other compilers do not know the pragma, and
  // Clang before 12 (NVIDIA's) rejects it.
  std::string free_order(const std::string& statement) const override {
    return "{\n#if __clang_major__ >= 12\n#pragma clang fp reassociate(on)\n#endif\n" + statement +
           "\n}";
  }

  std::string shared_declaration(const std::string& name, DType dtype,
                                 int64_t elements) const override {
    return "__local " + type_name(dtype) + " " + name + "[" + std::to_string(elements) + "];";
  }
  std::string sized_shared(const std::string& name, DType dtype, size_t) const override {
    return "__local " + type_name(dtype) + "* restrict " + name;
  }
  std::string barrier() const override {
    return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  }
  std::string thread_index(int64_t subgroup_width) const override {
    if (subgroup_width == 0) return "get_local_id(0)";
    return "tapml_thread(" + std::to_string(subgroup_width) + ")";
  }

  // Devices report subgroup widths only after compilation.
  Subgroups subgroups(int64_t width) const override {
    return width > 1 ? Subgroups::kPerhaps : Subgroups::kNone;
  }
  std::string in_subgroups(int64_t width) const override {
    return "tapml_in_subgroups(" + std::to_string(width) + ")";
  }

  // The maximum of NaN and a number may be either.
  std::string subgroup(const tir::SubgroupCall& call, const std::string& value) const override {
    auto extremum = [&](const char* name) {
      std::string all = std::string("sub_group_reduce_") + name + "(" + value + ")";
      if (!is_float(call.value.dtype())) return all;
      return "(sub_group_any(" + value + " != " + value + ") ? as_float(0x7fc00000u) : " + all +
             ")";
    };
    switch (call.op) {
      case tir::SubgroupOp::kSum:
        return "sub_group_reduce_add(" + value + ")";
      case tir::SubgroupOp::kMax:
        return extremum("max");
      case tir::SubgroupOp::kMin:
        return extremum("min");
      case tir::SubgroupOp::kShuffleXor:
        return "tapml_shuffle_xor(" + value + ", " + std::to_string(call.mask) + "u)";
    }
    throw_internal("a subgroup operation that OpenCL C does not know");
  }
  // PoCL 3.1 unswitches loops over barriers, so that threads would meet at different ones. The
  // extent is never negative, which no compiler knows.
  std::string thread_in_turn(const std::string& thread, const std::string& turn) const override {
    return thread + " + (" + turn + " & (extent >> 63))";
  }

  std::string convert(const std::string& text, DType from, DType to) const override {
    if (from == to) return text;
    // Narrow floats are held in f32.
    if (to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16)) return text;
    if (to == DType::kBF16 || to == DType::kF16) {
      return round_narrow("(float)(" + text + ")", to);
    }
    if (is_float(from) && is_integer(to)) {
      // OpenCL C does not guarantee the result of a saturating conversion of NaN.
      return "tapml_" + std::string(from == DType::kF64 ? "f64" : "f32") + "_to_" + type_name(to) +
             "(" + text + ")";
    }
    if (to == DType::kBool) return "((" + text + ") != 0)";
    return "((" + type_name(to) + ")(" + text + "))";
  }

  std::string reinterpret(const std::string& text, DType from, DType to) const override {
    // Narrow floats are held in f32 registers, and narrow integers may be in wider expressions.
    if (from == DType::kF16) return reinterpret("tapml_bits_of_f16(" + text + ")", DType::kU16, to);
    if (from == DType::kBF16) {
      return reinterpret("(ushort)(as_uint(" + text + ") >> 16)", DType::kU16, to);
    }
    std::string exact = "(" + type_name(from) + ")(" + text + ")";
    if (to == DType::kF16) return "tapml_f16_of_bits(as_ushort(" + exact + "))";
    if (to == DType::kBF16) return "as_float((uint)as_ushort(" + exact + ") << 16)";
    if (from == to || from == DType::kBool || to == DType::kBool) return convert(text, from, to);
    return "as_" + type_name(to) + "(" + exact + ")";
  }

  std::string wrapped(const std::string& text, DType dtype) const override {
    return dtype_bytes(dtype) < 4 ? "((" + type_name(dtype) + ")" + text + ")" : text;
  }

  // Signed overflow is undefined, so use the unsigned type of the same width.
  std::string wrapping(const std::string& a, const char* op, const std::string& b,
                       DType dtype) const override {
    if (dtype == DType::kU32 || dtype == DType::kU64) return "(" + a + " " + op + " " + b + ")";
    std::string wide = dtype_bytes(dtype) == 8 ? "(ulong)" : "(uint)";
    return "((" + type_name(dtype) + ")(" + wide + a + " " + op + " " + wide + b + "))";
  }

  std::string shift(const std::string& a, const std::string& n, DType dtype,
                    bool left) const override {
    if (!left) return "(" + a + " >> " + n + ")";
    std::string wide = dtype_bytes(dtype) == 8 ? "(ulong)" : "(uint)";
    return "((" + type_name(dtype) + ")(" + wide + a + " << " + n + "))";
  }

  std::string shift_fits(const std::string& n, DType dtype) const override {
    std::string wide = dtype_bytes(dtype) == 8 ? "(ulong)" : "(uint)";
    return wide + n + " < " + std::to_string(dtype_bits(dtype)) + "u";
  }

  std::string remainder(const std::string& a, const std::string& b, DType) const override {
    return "(" + a + " % " + b + ")";
  }

  std::string intrinsic(const std::string& name, const std::vector<std::string>& args,
                        DType dtype) const override {
    if (name == "rsqrt") return "(" + float_literal(1, dtype) + " / sqrt(" + args[0] + "))";
    if (name == "fma") return "fma(" + args[0] + ", " + args[1] + ", " + args[2] + ")";
    if (name == "round") return "rint(" + args[0] + ")";
    if (name == "abs") {
      if (is_float(dtype)) return "fabs(" + args[0] + ")";
      std::string type = "((" + type_name(dtype) + ")";
      return type + "abs(" + type + args[0] + ")))";
    }
    if (name == "mul_high" && dtype == DType::kU32) {
      return "((uint)(((ulong)" + args[0] + " * " + args[1] + ") >> 32))";
    }
    if (name == "mul_high") {
      std::string type = "((" + type_name(dtype) + ")";
      return type + "mul_hi(" + type + args[0] + "), " + type + args[1] + ")))";
    }
    if (name == "popcount") {
      std::string type = "((" + type_name(dtype) + ")";
      return type + "popcount(" + type + args[0] + ")))";
    }
    if (name == "sqrt" || name == "floor" || name == "ceil" || name == "trunc") {
      return name + "(" + args[0] + ")";
    }
    const IntrinsicInfo* info = find_intrinsic(name);
    if (dtype == DType::kF64 && info && info->needs_math) {
      return name + "(" + args[0] + (args.size() > 1 ? ", " + args[1] : "") + ")";
    }
    throw_internal("intrinsic " + name + " has no OpenCL C (lower_math replaces it)");
  }

  std::string round_narrow(const std::string& text, DType dtype) const override {
    if (float16_ && dtype == DType::kF16) return std::string("((float)") + kRoundHalf + text + "))";
    return (dtype == DType::kBF16 ? "tapml_round_bf16(" : "tapml_round_f16(") + text + ")";
  }

  bool computes_f16() const override { return float16_; }
  // OpenCL C allows quotients in f16 to be off by 1 ULP.
  std::string narrow_infix(const std::string& a, const char* op, const std::string& b,
                           DType dtype) const override {
    if (!float16_ || dtype != DType::kF16 || *op == '/') {
      return Dialect::narrow_infix(a, op, b, dtype);
    }
    return "((float)" + infix("(half)(" + a + ")", op, "(half)(" + b + ")", dtype) + ")";
  }

 private:
  // Unsigned where indices have 32 bits, because the step past the end may exceed int.
  static LoopText strided(const std::string& var, const std::string& end, const std::string& first,
                          const std::string& step, DType index) {
    const bool narrow = index == DType::kI32;
    const std::string at = narrow ? "at_" + var : var;
    return {std::string("for (") + (narrow ? "uint " : "long ") + at + " = " + first + "; " + at +
                " < " + (narrow ? "(uint)" : "") + end + "; " + at + " += " + step + ")",
            narrow ? "const int " + var + " = (int)" + at + ";" : ""};
  }

  // Several extensions provide subgroups; missing ones are not used. They are used if each has the
  // width that the kernel is compiled for and all are full, which a running group checks.
  static constexpr const char* kSubgroups =
      "#ifdef cl_khr_subgroups\n"
      "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
      "#endif\n"
      "#ifdef cl_khr_subgroup_shuffle\n"
      "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n"
      "#endif\n"
      "#if defined(cl_khr_subgroup_shuffle) && \\\n"
      "    (defined(cl_khr_subgroups) || defined(__opencl_c_subgroups))\n"
      "#define TAPML_SUBGROUPS\n"
      "#define tapml_shuffle_xor(x, mask) sub_group_shuffle_xor(x, mask)\n"
      "#elif defined(cl_intel_subgroups)\n"
      "#define TAPML_SUBGROUPS\n"
      "#define tapml_shuffle_xor(x, mask) intel_sub_group_shuffle_xor(x, mask)\n"
      "#endif\n"
      "#ifdef TAPML_SUBGROUPS\n"
      "#define tapml_in_subgroups(width) \\\n"
      "  (get_max_sub_group_size() == (width) && get_num_sub_groups() * (width) == "
      "get_local_size(0))\n"
      "#define tapml_thread(width) \\\n"
      "  (tapml_in_subgroups(width) ? get_sub_group_id() * (width) + get_sub_group_local_id() \\\n"
      "                             : get_local_id(0))\n"
      "#else\n"
      "#define tapml_thread(width) get_local_id(0)\n"
      "#endif\n";

  struct Helper {
    const char* name;
    const char* text;
  };
  static constexpr Helper kHelpers[] = {
      {"tapml_round_bf16",
       "float tapml_round_bf16(float x) {\n"
       "  uint bits = as_uint(x);\n"
       "  uint rounded = bits + 0x7fffu + ((bits >> 16) & 1u);\n"
       "  return as_float((x != x ? bits | 0x400000u : rounded) & 0xffff0000u);\n"
       "}\n"},
      {"tapml_round_f16",
       "float tapml_round_f16(float x) {\n"
       "  ushort h;\n"
       "  vstore_half_rte(x, 0, (half*)&h);\n"
       "  return vload_half(0, (const half*)&h);\n"
       "}\n"},
      {"tapml_bits_of_f16",
       "ushort tapml_bits_of_f16(float x) {\n"
       "  ushort h;\n"
       "  vstore_half_rte(x, 0, (half*)&h);\n"
       "  return h;\n"
       "}\n"},
      {"tapml_f16_of_bits",
       "float tapml_f16_of_bits(ushort h) { return vload_half(0, (const half*)&h); }\n"},
  };

  std::string memory_type(DType dtype) const {
    if (dtype == DType::kF16) return "half";
    if (dtype == DType::kBF16) return "ushort";
    return dtype == DType::kBool ? "uchar" : type_name(dtype);
  }

  static constexpr const char* kRoundHalf = "convert_half_rte(";

  bool float16_;
};

}  // namespace

const Dialect& opencl_c_dialect() {
  static const OpenClC kDialect(false);
  return kDialect;
}

const Dialect& opencl_c_dialect(const target::Description& target) {
  static const OpenClC kFloat16(true);
  return target.features.compute_dtypes.contains(DType::kF16) ? kFloat16 : opencl_c_dialect();
}

}  // namespace tapml::codegen
