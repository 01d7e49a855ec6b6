// GLSL 4.50 for Vulkan. Buffers are indexed bindings; scalars are 32-bit push constants, as
// narrow_index ensures. Integers below 32 bits are kept in 32-bit registers, always in range.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "codegen/source/dialect.h"
#include "codegen/source/glsl_helpers.h"
#include "codegen/source/literal.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

// Push constants that every Vulkan device supports, in words; the first one is the extent.
constexpr size_t kPushConstantWords = 32;

class Glsl : public Dialect, public VectorOperations {
 public:
  explicit Glsl(const target::Description& target)
      : platform_(target.platform),
        narrow_storage_(target.features.narrow_stores),
        int64_(target.features.compute_dtypes.contains(DType::kI64)),
        float64_(target.features.compute_dtypes.contains(DType::kF64)),
        float16_(target.features.compute_dtypes.contains(DType::kF16)),
        fused_fma_(target.fused_fma),
        wide_words_(target.cpu_like_subgroups && int64_),
        exact_sqrt_(target.cpu_like_groups || target.cpu_like_subgroups),
        subgroup_width_(target.features.subgroups ? target.subgroup_width : 0) {}

  bool keeps_words_of_glsl() const override { return true; }

  std::string prelude(const std::string& functions) const override {
    const std::string helpers = glsl_helpers(functions, float16_);
    std::string text = "#version 450\n";
    auto mentions = [&](const char* word) {
      return functions.find(word) != std::string::npos || helpers.find(word) != std::string::npos;
    };
    auto extension = [&](bool is_needed, const char* name) {
      if (is_needed) text += std::string("#extension GL_EXT_shader_") + name + " : require\n";
    };
    extension(mentions("int8_t "), "8bit_storage");
    extension(mentions("int16_t "), "16bit_storage");
    extension(mentions("float16_t(") || mentions("Float2x16("),
              "explicit_arithmetic_types_float16");
    extension(mentions("int64_t") || mentions("u64vec2"), "explicit_arithmetic_types_int64");
    if (functions.find("gl_SubgroupID") == std::string::npos) return text + helpers;
    for (const char* name : {"basic", "vote", "arithmetic", "shuffle"}) {
      text += std::string("#extension GL_KHR_shader_subgroup_") + name + " : require\n";
    }
    // Read by the device (device/vulkan/vulkan_spirv.h).
    text += std::string("layout(constant_id = 0) const uint ") + kSubgroupWidth + " = " +
            std::to_string(subgroup_width_) + "u;\n";
    return text + helpers;
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
      case DType::kI64:
      case DType::kU64:
        if (!int64_) refuse(std::string(dtype_name(dtype)) + ": it has no integers of 64 bits");
        return dtype == DType::kI64 ? "int64_t" : "uint64_t";
      case DType::kF64:
        if (!float64_) refuse("f64: it has no floats of 64 bits");
        return "double";
    }
    throw_internal("a dtype that GLSL does not know");
  }

  std::string int_literal(int64_t value, DType dtype) const override {
    if (dtype == DType::kBool) return value ? "true" : "false";
    if (dtype == DType::kU64) {
      return type_name(dtype) + "(" + std::to_string(static_cast<uint64_t>(value)) + "UL)";
    }
    if (dtype == DType::kI64) {
      // The minimum value has no literal of its own.
      if (value == INT64_MIN) return "(" + type_name(dtype) + "(1) << 63)";
      return type_name(dtype) + "(" + std::to_string(value) + "L)";
    }
    if (is_unsigned_integer(dtype)) return std::to_string(static_cast<uint32_t>(value)) + "u";
    if (value == INT32_MIN) return "(-2147483647 - 1)";
    return value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value);
  }

  std::string float_literal(double value, DType dtype) const override {
    char text[64];
    if (dtype == DType::kF64) {
      uint64_t bits;
      std::memcpy(&bits, &value, 8);
      if (std::isfinite(value)) return decimal_operand(value, dtype, "lf");
      std::snprintf(text, sizeof text, "packDouble2x32(uvec2(%uu, %uu))",
                    static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32));
      return text;
    }
    float narrow = static_cast<float>(value);
    if (dtype == DType::kBF16) narrow = bf16_to_f32(f32_to_bf16(narrow));
    if (dtype == DType::kF16) narrow = f16_to_f32(f32_to_f16(narrow));
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    if (std::isfinite(narrow)) return decimal_operand(narrow, dtype, "");
    std::snprintf(text, sizeof text, "uintBitsToFloat(0x%08xu)", bits);
    return text;
  }

  std::string begin_kernel(const DeviceFunc& function, const KernelNames& names) const override {
    const auto& [buffers, scalars, item, shared, sized_shared, vectors] = names;
    if (function.index != DType::kI32) refuse("indices of 64 bits");
    if (scalars.size() + 1 > kPushConstantWords) {
      refuse(std::to_string(scalars.size()) + " scalars: push constants take " +
             std::to_string(kPushConstantWords - 1));
    }
    std::string text =
        "layout(local_size_x = " + std::to_string(function.workgroup_threads) + ") in;\n";
    for (size_t i = 0; i < buffers.size(); ++i) {
      const tir::Param& param = function.buffers[i];
      bool written = param.mode != AccessMode::kIn && param.mode != AccessMode::kPrepared;
      text += "layout(std430, binding = " + std::to_string(i) + ") " +
              (function.may_alias ? "" : "restrict ") +
              (!written          ? "readonly "
               : function.thread ? "coherent "
                                 : "") +
              "buffer Binding" + std::to_string(i) + " { " +
              (vectors[i] == 0   ? memory_type(param.buffer->dtype)
               : vectors[i] == 8 ? eight_type()
               : wide_words_ && function.thread && !written && is_float(param.buffer->dtype)
                   ? wide_memory_type(param.buffer->dtype)
                   : vector_memory_type(param.buffer->dtype)) +
              " " + buffers[i] + "[]; };\n";
    }
    text += "layout(push_constant) uniform Scalars { int extent;";
    for (const std::string& scalar : scalars) text += " int " + scalar + ";";
    text += " };\n";
    for (const std::string& declaration : shared) text += declaration + "\n";
    for (const std::string& declaration : sized_shared) text += declaration + "\n";
    bool groups = static_cast<bool>(function.thread);
    std::string first = groups ? "gl_WorkGroupID.x" : "gl_GlobalInvocationID.x";
    std::string step = groups ? "gl_NumWorkGroups.x" : "gl_NumWorkGroups.x * gl_WorkGroupSize.x";
    // The extent is a number of invocations.
    std::string end = groups ? "extent / " + std::to_string(function.workgroup_threads) : "extent";
    const LoopText loop = strided(item, end, first, step);
    return text + "void main() {\n  " + loop.head + " {\n    " + loop.first + "\n";
  }

  LoopText group_loop(const std::string& var, const std::string& end, int dimension,
                      DType) const override {
    const std::string of(1, ".xyz"[dimension + 1]);
    return strided(var, end, "gl_WorkGroupID." + of, "gl_NumWorkGroups." + of);
  }

  std::string end_kernel() const override { return "  }\n}\n"; }

  std::string load(const std::string& buffer, const std::string& index,
                   DType dtype) const override {
    const int bits = memory_bits(dtype);
    std::string element = buffer + "[" + index + "]";
    if (bits >= 32) return element;
    std::string value;
    if (narrow_storage_) {
      value = (is_signed_integer(dtype) ? "int(" : "uint(") + element + ")";
    } else {
      // A word contains several elements.
      std::string word = buffer + "[(" + index + ") >> " + (bits == 8 ? "2" : "1") + "]";
      value = "bitfieldExtract(" + (is_signed_integer(dtype) ? "int(" + word + ")" : word) + ", " +
              place_in_word(index, bits) + ", " + std::to_string(bits) + ")";
    }
    if (dtype == DType::kBF16) return "uintBitsToFloat(" + value + " << 16)";
    if (dtype == DType::kF16) return value_of_f16(value);
    return dtype == DType::kBool ? "(" + value + " != 0u)" : value;
  }

  std::string store(const std::string& buffer, const std::string& index, DType dtype,
                    const std::string& value) const override {
    const int bits = memory_bits(dtype);
    if (bits >= 32) return buffer + "[" + index + "] = " + value + ";";
    std::string text = value;
    if (dtype == DType::kBool) text = "(" + value + " ? 1u : 0u)";
    if (dtype == DType::kBF16) text = "(floatBitsToUint(" + value + ") >> 16)";
    if (dtype == DType::kF16) text = "tapml_bits_of_f16(" + without_rounding(value) + ")";
    if (narrow_storage_) {
      return buffer + "[" + index + "] = " + memory_type(dtype) + "(" + text + ");";
    }
    // Other invocations may write their bits of the same word concurrently.
    const std::string mask = bits == 8 ? "0xffu" : "0xffffu";
    const std::string word = buffer + "[at >> " + (bits == 8 ? "2" : "1") + "]";
    return "{ const int at = " + index + "; const uint bits = uint(" + text + ") & " + mask +
           "; const int place = " + place_in_word("at", bits) + "; atomicAnd(" + word + ", ~(" +
           mask + " << place)); atomicOr(" + word + ", bits << place); }";
  }

  std::string vector_type(DType dtype) const override {
    return is_float(dtype) ? "vec4" : dtype == DType::kI32 ? "ivec4" : "uvec4";
  }
  std::string load_vector(const std::string& buffer, const std::string& index,
                          DType dtype) const override {
    std::string words = buffer + "[" + index + "]";
    if (!is_float(dtype) || (dtype == DType::kF32 && !wide_words_)) return words;
    return std::string(wide_words_ ? "tapml_wide_" : "tapml_four_") + dtype_name(dtype) + "(" +
           words + ")";
  }
  bool has_narrow_vectors() const override { return true; }
  std::string eight_type() const override { return wide_words_ ? "u64vec2" : "uvec4"; }
  std::string half_of_eight(const std::string& eight, bool second, DType dtype) const override {
    const char* half = wide_words_ ? (second ? ".y" : ".x") : second ? ".zw" : ".xy";
    return std::string(wide_words_ ? "tapml_wide_" : "tapml_four_") + dtype_name(dtype) + "(" +
           eight + half + ")";
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
    return "bvec4(" + condition + ")";
  }
  std::string make_mask(const std::vector<std::string>& conditions) const override {
    return make_vector("bvec4", conditions);
  }
  std::string vector_compare(ExprKind kind, const std::string& a,
                             const std::string& b) const override {
    const char* function = kind == ExprKind::kEq   ? "equal("
                           : kind == ExprKind::kNe ? "notEqual("
                           : kind == ExprKind::kLt ? "lessThan("
                                                   : "lessThanEqual(";
    return function + a + ", " + b + ")";
  }
  std::string vector_logic(ExprKind kind, const std::string& a,
                           const std::string& b) const override {
    return "bvec4(uvec4(" + a + (kind == ExprKind::kAnd ? ") & uvec4(" : ") | uvec4(") + b + "))";
  }
  std::string vector_not(const std::string& mask) const override { return "not(" + mask + ")"; }
  std::string vector_select(const std::string& mask, const std::string& a,
                            const std::string& b) const override {
    return "mix(" + b + ", " + a + ", " + mask + ")";
  }
  std::string vector_hidden(const std::string& text) const override {
    return hidden(text, DType::kF32);
  }

  std::string shared_declaration(const std::string& name, DType dtype,
                                 int64_t elements) const override {
    return "shared " + type_name(dtype) + " " + name + "[" + std::to_string(elements) + "];";
  }
  // An array whose size is a specialization constant: the device sets those from number 1000 on.
  std::string sized_shared(const std::string& name, DType dtype, size_t number) const override {
    return "layout(constant_id = " + std::to_string(1000 + number) + ") const int " + name +
           "_size = 1;\nshared " + type_name(dtype) + " " + name + "[" + name + "_size];";
  }
  std::string barrier() const override {
    return "memoryBarrierBuffer(); memoryBarrierShared(); barrier();";
  }
  // GLSL does not relate lanes to local indices, but subgroup and lane numbers enumerate all
  // threads if all subgroups are full, which the device requests.
  std::string thread_index(int64_t subgroup_width) const override {
    if (subgroups(subgroup_width) == Subgroups::kNone) return "int(gl_LocalInvocationID.x)";
    return std::string("int(gl_SubgroupID * ") + kSubgroupWidth + " + gl_SubgroupInvocationID)";
  }

  Subgroups subgroups(int64_t width) const override {
    return width > 1 && width == subgroup_width_ ? Subgroups::kThere : Subgroups::kNone;
  }

  // GLSL may return either for the maximum of NaN and a number.
  std::string subgroup(const tir::SubgroupCall& call, const std::string& value) const override {
    const bool is_floating = is_float(call.value.dtype());
    switch (call.op) {
      case tir::SubgroupOp::kSum:
        return "subgroupAdd(" + value + ")";
      case tir::SubgroupOp::kMax:
        return (is_floating ? "tapml_subgroup_max(" : "subgroupMax(") + value + ")";
      case tir::SubgroupOp::kMin:
        return (is_floating ? "tapml_subgroup_min(" : "subgroupMin(") + value + ")";
      case tir::SubgroupOp::kShuffleXor:
        return "subgroupShuffleXor(" + value + ", " + std::to_string(call.mask) + "u)";
    }
    throw_internal("a subgroup operation that GLSL does not know");
  }

  // lavapipe treats x / 0 as undefined, folds 0 / x, x * 0 and 0 * x to 0, and x + 0 and 0 + x to
  // x. The sign bit of the extent is 0, which no compiler knows.
  std::string hidden(const std::string& text, DType dtype) const override {
    const char* helper = dtype == DType::kF64 ? "tapml_hidden_wide(" : "tapml_hidden(";
    return helper + text + ", uint(extent) >> 31)";
  }

  std::string convert(const std::string& text, DType from, DType to) const override {
    if (from == to) return text;
    // Narrow floats are held in f32.
    if (to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16)) return text;
    if (to == DType::kBF16 || to == DType::kF16) return round_narrow("float(" + text + ")", to);
    if (to == DType::kBool) {
      std::string zero = is_float(from) ? float_literal(0, from) : int_literal(0, from);
      return "(" + text + " != " + zero + ")";
    }
    if (is_float(from) && is_integer(to)) return saturated(text, from, to);
    return wrapped(type_name(to) + "(" + text + ")", to);
  }

  std::string reinterpret(const std::string& text, DType from, DType to) const override {
    if (from == to) return text;
    if (from == DType::kF16) {
      return reinterpret("tapml_bits_of_f16(" + text + ")", DType::kU16, to);
    }
    if (from == DType::kBF16) {
      return reinterpret("(floatBitsToUint(" + text + ") >> 16)", DType::kU16, to);
    }
    if (to == DType::kF16) return value_of_f16("uint(" + text + ") & 0xffffu");
    if (to == DType::kBF16) return "uintBitsToFloat(uint(" + text + ") << 16)";
    switch (from) {
      case DType::kF32:
        return (to == DType::kU32 ? "floatBitsToUint(" : "floatBitsToInt(") + text + ")";
      case DType::kF64:
        return (to == DType::kU64 ? "doubleBitsToUint64(" : "doubleBitsToInt64(") + text + ")";
      default:
        break;
    }
    if (to == DType::kF32) {
      return (from == DType::kU32 ? "uintBitsToFloat(" : "intBitsToFloat(") + text + ")";
    }
    if (to == DType::kF64) {
      return (from == DType::kU64 ? "uint64BitsToDouble(" : "int64BitsToDouble(") + text + ")";
    }
    return convert(text, from, to);
  }

  // 32-bit and 64-bit integers wrap by definition.
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
    std::string amount = dtype_bits(dtype) == 64 ? "int(" + n + ")" : n;
    std::string text = "(" + a + (left ? " << " : " >> ") + amount + ")";
    return left ? wrapped(text, dtype) : text;
  }

  std::string shift_fits(const std::string& n, DType dtype) const override {
    DType wide = dtype_bits(dtype) == 64 ? DType::kU64 : DType::kU32;
    return type_name(wide) + "(" + n + ") < " + int_literal(dtype_bits(dtype), wide);
  }

  // GLSL's % is undefined for negative operands.
  std::string remainder(const std::string& a, const std::string& b, DType dtype) const override {
    if (is_unsigned_integer(dtype)) return "(" + a + " % " + b + ")";
    return "(" + a + " - " + a + " / " + b + " * " + b + ")";
  }

  std::string multiply_add(const std::string& a, const std::string& b, const std::string& c,
                           DType) const override {
    return "fma(" + a + ", " + b + ", " + c + ")";
  }

  std::string intrinsic(const std::string& name, const std::vector<std::string>& args,
                        DType dtype) const override {
    if (name == "rsqrt") {
      return "(" + float_literal(1, dtype) + " / " + square_root(args[0], dtype) + ")";
    }
    if (name == "sqrt") return square_root(args[0], dtype);
    if (name == "fma") return fused(args, dtype);
    if (name == "abs" && !is_float(dtype)) return wrapped("abs(" + args[0] + ")", dtype);
    if (name == "mul_high") return mul_high(args[0], args[1], dtype);
    if (name == "popcount") return popcount(args[0], dtype);
    if (name == "trunc" || name == "round") {
      const bool wide = dtype == DType::kF64;
      const std::string own = name == "round" ? "tapml_round_even(" : "tapml_trunc(";
      return (wide ? own : name == "round" ? "roundEven(" : "trunc(") + args[0] + ")";
    }
    if (name == "floor" || name == "ceil" || name == "abs") {
      return name + "(" + args[0] + ")";
    }
    if (dtype == DType::kF64) refuse(name + " of f64: the language has no such function");
    throw_internal("intrinsic " + name + " has no GLSL (lower_math replaces it)");
  }

  std::string round_narrow(const std::string& text, DType dtype) const override {
    return (dtype == DType::kF16 ? kRoundF16 : "tapml_round_bf16(") + text + ")";
  }

  bool computes_f16() const override { return float16_; }
  // GLSL allows quotients in f16 to be off by 2.5 ULP.
  std::string narrow_infix(const std::string& a, const char* op, const std::string& b,
                           DType dtype) const override {
    if (!float16_ || dtype != DType::kF16 || *op == '/') {
      return Dialect::narrow_infix(a, op, b, dtype);
    }
    return "float" + infix("float16_t(" + a + ")", op, "float16_t(" + b + ")", dtype);
  }

 private:
  // Unsigned, because the step past the end may exceed int.
  static LoopText strided(const std::string& var, const std::string& end, const std::string& first,
                          const std::string& step) {
    const std::string at = "at_" + var;
    return {"for (uint " + at + " = " + first + "; " + at + " < uint(" + end + "); " + at +
                " += " + step + ")",
            "const int " + var + " = int(" + at + ");"};
  }

  // The f16 in the low half of a word.
  std::string value_of_f16(const std::string& word) const {
    return float16_ ? "float(unpackFloat2x16(" + word + ").x)" : "unpackHalf2x16(" + word + ").x";
  }

  static constexpr const char* kRoundF16 = "tapml_round_f16(";
  static constexpr const char* kSubgroupWidth = "tapml_subgroup_width";

  [[noreturn]] void refuse(const std::string& what) const {
    throw_platform(PlatformFault::kLimit, platform_ + " cannot run a kernel with " + what);
  }

  static int memory_bits(DType dtype) { return dtype == DType::kBool ? 8 : dtype_bits(dtype); }

  std::string memory_type(DType dtype) const {
    const int bits = memory_bits(dtype);
    if (bits >= 32) return type_name(dtype);
    if (!narrow_storage_) return "uint";
    return (is_signed_integer(dtype) ? "int" : "uint") + std::to_string(bits) + "_t";
  }

  std::string vector_memory_type(DType dtype) const {
    return memory_bits(dtype) == 16 ? "uvec2" : vector_type(dtype);
  }

  // If reads cost the same at any width, groups read 64-bit words.
  static std::string wide_memory_type(DType dtype) {
    return memory_bits(dtype) == 16 ? "uint64_t" : "u64vec2";
  }

  // Bit offset of an element in its word.
  static std::string place_in_word(const std::string& index, int bits) {
    return "((" + index + ") & " + (bits == 8 ? "3" : "1") + ") * " + std::to_string(bits);
  }

  // Extracts x if the whole text is tapml_round_f16(x). GLSL allows a GPU's square root to be off
  // by a bit or two.
  std::string square_root(const std::string& text, DType dtype) const {
    const bool exact = exact_sqrt_ || !float64_ || dtype == DType::kF64;
    return (exact ? "sqrt(" : "tapml_sqrt(") + text + ")";
  }

  static std::string without_rounding(const std::string& text) {
    const size_t begin = std::strlen(kRoundF16);
    if (!text.starts_with(kRoundF16)) return text;
    int depth = 1;
    for (size_t i = begin; i < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0) {
        return i + 1 == text.size() ? text.substr(begin, i - begin) : text;
      }
    }
    return text;
  }

  // GLSL leaves the conversion of out-of-range values undefined.
  std::string saturated(const std::string& text, DType from, DType to) const {
    const std::string helper = from == DType::kF64 ? "tapml_wide_to_" : "tapml_to_";
    if (dtype_bits(to) == 64) {
      type_name(to);  // rejects unsupported types
      return helper + dtype_name(to) + "(" + text + ")";
    }
    const DType source = from == DType::kF64 ? DType::kF64 : DType::kF32;
    const int64_t beyond = int64_t{1} << (dtype_bits(to) - (is_signed_integer(to) ? 1 : 0));
    const std::string limit = float_literal(static_cast<double>(beyond), source);
    const std::string most = int_literal(beyond - 1, to);
    if (is_unsigned_integer(to)) return helper + "uint(" + text + ", " + limit + ", " + most + ")";
    return helper + "int(" + text + ", " + float_literal(-static_cast<double>(beyond), source) +
           ", " + limit + ", " + int_literal(-beyond, to) + ", " + most + ")";
  }

  // Portable math writes sums and products that must be rounded separately as an fma with 1 or -0.
  std::string fused(const std::vector<std::string>& args, DType dtype) const {
    if (args[1] == float_literal(1, dtype)) return "(" + args[0] + " + " + args[2] + ")";
    if (args[1] == float_literal(-1, dtype)) return "(" + args[2] + " - " + args[0] + ")";
    if (args[2] == float_literal(-0.0, dtype)) return "(" + args[0] + " * " + args[1] + ")";
    const char* helper = "fma(";
    if (!fused_fma_ && float64_) helper = dtype == DType::kF64 ? "tapml_wide_fma(" : "tapml_fma(";
    return helper + args[0] + ", " + args[1] + ", " + args[2] + ")";
  }

  std::string mul_high(const std::string& a, const std::string& b, DType dtype) const {
    const int bits = dtype_bits(dtype);
    if (bits < 32) return "((" + a + " * " + b + ") >> " + std::to_string(bits) + ")";
    const std::string helper =
        bits == 64 ? std::string("tapml_mul_high_") + dtype_name(dtype) : "tapml_mul_high";
    return helper + "(" + a + ", " + b + ")";
  }

  std::string popcount(const std::string& text, DType dtype) const {
    const int bits = dtype_bits(dtype);
    if (bits == 64) return type_name(dtype) + "(tapml_popcount_64(uint64_t(" + text + ")))";
    std::string value = is_unsigned_integer(dtype) ? text : "uint(" + text + ")";
    if (bits < 32) value = "bitfieldExtract(" + value + ", 0, " + std::to_string(bits) + ")";
    return type_name(dtype) + "(bitCount(" + value + "))";
  }

  std::string platform_;
  bool narrow_storage_, int64_, float64_, float16_, fused_fma_, wide_words_;
  bool exact_sqrt_;         // processors round square roots to nearest
  int64_t subgroup_width_;  // 0: no subgroups
};

}  // namespace

std::unique_ptr<const Dialect> glsl_dialect(const target::Description& target) {
  return std::make_unique<Glsl>(target);
}

}  // namespace tapml::codegen
