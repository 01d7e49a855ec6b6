#include "codegen/source/emitter.h"

#include <map>
#include <set>

#include "ir/exceptions.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

std::string Dialect::local_declaration(const std::string& name, DType dtype,
                                       int64_t elements) const {
  return type_name(dtype) + " " + name + "[" + std::to_string(elements) + "];";
}

namespace {

class FunctionEmitter {
 public:
  FunctionEmitter(const DeviceFunc& function, const Dialect& dialect)
      : function_(function), dialect_(dialect) {}

  std::string run() {
    std::vector<std::string> buffers, scalars, shared;
    for (const Param& param : function_.buffers) {
      buffers.push_back(unique(param.buffer->name));
      names_[param.buffer.get()] = buffers.back();
    }
    for (const Var& scalar : function_.scalars) {
      scalars.push_back(unique(scalar->name));
      vars_[scalar.get()] = scalars.back();
    }
    std::string item = unique(function_.item->name);
    vars_[function_.item.get()] = item;
    visit(function_.body, [&](const Stmt& s) {
      if (s->kind != StmtKind::kAlloc) return;
      const Buffer& buffer = as<AllocNode>(s).buffer;
      if (buffer->scope != Scope::kShared) return;
      names_[buffer.get()] = unique(buffer->name);
      shared.push_back(
          dialect_.shared_declaration(names_[buffer.get()], buffer->dtype, constant_size(buffer)));
    });
    depth_ = 2;
    stmt(function_.body);
    // A group takes several items: none may write shared memory that another still reads.
    if (!shared.empty()) line(dialect_.barrier());
    std::string body = std::move(out_);
    return dialect_.begin_kernel(function_, buffers, scalars, item, shared) + body +
           dialect_.end_kernel();
  }

 private:
  // ---- names and lines

  std::string unique(const std::string& hint) {
    std::string base;
    for (char c : hint) {
      base += (isalnum(static_cast<unsigned char>(c)) || c == '_') ? c : '_';
    }
    // A suffix always: no clash with the language's own words.
    std::string name = base + "_" + std::to_string(counters_[base]++);
    return name;
  }

  void line(const std::string& text) { out_ += std::string(2 * depth_, ' ') + text + "\n"; }

  static int64_t constant_size(const Buffer& buffer) {
    int64_t elements = 1;
    for (const PrimExpr& dim : buffer->shape) {
      if (!dim.is_int()) throw_internal("local buffer of symbolic size", buffer->name);
      elements *= dim->int_value;
    }
    return elements;
  }

  // ---- statements

  template <class F>
  void block(const std::string& head, F&& body) {
    line(head + " {");
    ++depth_;
    body();
    --depth_;
    line("}");
  }

  void stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor:
        return loop(as<ForNode>(s));
      case StmtKind::kSeq:
        for (const Stmt& part : as<SeqNode>(s).stmts) stmt(part);
        return;
      case StmtKind::kStore: {
        const auto& node = as<StoreNode>(s);
        std::string value = expr(node.value);
        std::string index = expr(linear_index(node.buffer, node.indices));
        if (node.buffer->scope == Scope::kGlobal) {
          line(dialect_.store(name(node.buffer), index, node.buffer->dtype, value));
        } else {
          line(name(node.buffer) + "[" + index + "] = " + value + ";");
        }
        return;
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        block("if (" + expr(node.condition) + ")", [&] { stmt(node.then_body); });
        if (node.else_body) block("else", [&] { stmt(node.else_body); });
        return;
      }
      case StmtKind::kAlloc: {
        const Buffer& buffer = as<AllocNode>(s).buffer;
        if (buffer->scope == Scope::kLocal) {
          names_[buffer.get()] = unique(buffer->name);
          line(dialect_.local_declaration(names_[buffer.get()], buffer->dtype,
                                          constant_size(buffer)));
        }
        stmt(as<AllocNode>(s).body);
        return;
      }
      case StmtKind::kBarrier:
        return line(dialect_.barrier());
      case StmtKind::kBlock:
        throw_internal("a block reached code generation", function_.entry);
    }
  }

  void loop(const ForNode& node) {
    if (node.for_kind == ForKind::kUnrolled && node.extent.is_int()) {
      for (int64_t i = 0; i < node.extent->int_value; ++i) {
        vars_[node.var.get()] = dialect_.int_literal(i, DType::kI64);
        stmt(node.body);
      }
      return;
    }
    std::string type = dialect_.type_name(DType::kI64);
    std::string var = unique(node.var->name);
    std::string extent = expr(node.extent);
    vars_[node.var.get()] = var;
    if (node.for_kind == ForKind::kThread) {
      return block("for (" + type + " " + var + " = " + dialect_.thread_index() + "; " + var +
                       " < " + extent + "; " + var + " += " +
                       dialect_.int_literal(function_.workgroup_threads, DType::kI64) + ")",
                   [&] { stmt(node.body); });
    }
    block("for (" + type + " " + var + " = 0; " + var + " < " + extent + "; ++" + var + ")",
          [&] { stmt(node.body); });
  }

  const std::string& name(const Buffer& buffer) {
    auto it = names_.find(buffer.get());
    if (it == names_.end()) throw_internal("unknown buffer " + buffer->name, function_.entry);
    return it->second;
  }

  // ---- expressions

  static bool narrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

  std::string rounded(const std::string& text, DType dtype) {
    return narrow(dtype) ? dialect_.round_narrow(text, dtype) : text;
  }

  std::string expr(const PrimExpr& e) {
    switch (e.kind()) {
      case ExprKind::kInt:
        return dialect_.int_literal(e->int_value, e.dtype());
      case ExprKind::kFloat:
        return dialect_.float_literal(e->float_value, e.dtype());
      case ExprKind::kVar: {
        auto it = vars_.find(e.get());
        if (it == vars_.end()) throw_internal("unbound variable " + e->name, function_.entry);
        return it->second;
      }
      case ExprKind::kLet: {
        const PrimExpr& var = e.operand(0);
        std::string value = expr(e.operand(1));
        std::string temporary = unique(var->name);
        line("const " + dialect_.type_name(var.dtype()) + " " + temporary + " = " + value + ";");
        vars_[var.get()] = temporary;
        return expr(e.operand(2));
      }
      case ExprKind::kLoad: {
        Buffer buffer = load_buffer(e);
        std::string index = expr(linear_index(buffer, e->operands));
        return buffer->scope == Scope::kGlobal ? dialect_.load(name(buffer), index, buffer->dtype)
                                               : name(buffer) + "[" + index + "]";
      }
      case ExprKind::kCast: {
        const PrimExpr& from = e.operand(0);
        return dialect_.convert(expr(from), from.dtype(), e.dtype());
      }
      case ExprKind::kNot:
        return "(!" + expr(e.operand(0)) + ")";
      case ExprKind::kSelect:
        return select(e);
      case ExprKind::kCall:
        return call(e);
      default:
        return binary(e);
    }
  }

  // A branch whose expression needs statements of its own (lets, temporaries) must not run unless
  // chosen: then the whole selection becomes an if. Else it is a conditional expression.
  std::string select(const PrimExpr& e) {
    std::string condition = expr(e.operand(0));
    size_t mark = out_.size();
    auto saved_counters = counters_;
    std::string a = expr(e.operand(1)), b = expr(e.operand(2));
    if (out_.size() == mark) return "(" + condition + " ? " + a + " : " + b + ")";
    out_.resize(mark);
    counters_ = std::move(saved_counters);
    std::string result = unique("chosen");
    line(dialect_.type_name(e.dtype()) + " " + result + ";");
    auto assign = [&](const PrimExpr& side) {
      std::string value = expr(side);
      line(result + " = " + value + ";");
    };
    block("if (" + condition + ")", [&] { assign(e.operand(1)); });
    block("else", [&] { assign(e.operand(2)); });
    return result;
  }

  std::string binary(const PrimExpr& e) {
    std::string a = expr(e.operand(0));
    bool logical = e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr;
    size_t mark = out_.size();
    auto saved_counters = counters_;
    std::string b = expr(e.operand(1));
    if (logical && out_.size() != mark) {
      // What the second condition needs must not run where the first decides.
      out_.resize(mark);
      counters_ = std::move(saved_counters);
      std::string result = unique("holds");
      line(dialect_.type_name(DType::kBool) + " " + result + " = " + a + ";");
      block("if (" + std::string(e.kind() == ExprKind::kAnd ? "" : "!") + result + ")",
            [&] { line(result + " = " + expr(e.operand(1)) + ";"); });
      return result;
    }
    DType dtype = e.operand(0).dtype();
    auto infix = [&](const char* op) {
      return rounded("(" + a + " " + op + " " + b + ")", e.dtype());
    };
    switch (e.kind()) {
      case ExprKind::kAdd:
        return infix("+");
      case ExprKind::kSub:
        return infix("-");
      case ExprKind::kMul:
        return infix("*");
      case ExprKind::kDiv:
        return infix("/");
      case ExprKind::kEq:
        return infix("==");
      case ExprKind::kNe:
        return infix("!=");
      case ExprKind::kLt:
        return infix("<");
      case ExprKind::kLe:
        return infix("<=");
      case ExprKind::kAnd:
        return infix("&&");
      case ExprKind::kOr:
        return infix("||");
      case ExprKind::kMin:
      case ExprKind::kMax: {
        // The first side where they are equal or not comparable, on every platform.
        std::string x = temporary(a, dtype), y = temporary(b, dtype);
        return "(" + y + (e.kind() == ExprKind::kMin ? " < " : " > ") + x + " ? " + y + " : " + x +
               ")";
      }
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
        return floor_division(e, a, b);
      default:
        throw_internal("unexpected expression", function_.entry);
    }
  }

  // A plain name or literal stays; anything else is bound to one where that is possible.
  std::string temporary(const std::string& text, DType dtype) {
    bool simple = text.find_first_of(" (?[") == std::string::npos;
    if (simple) return text;
    std::string result = unique("t");
    line("const " + dialect_.type_name(dtype) + " " + result + " = " + text + ";");
    return result;
  }

  std::string floor_division(const PrimExpr& e, const std::string& a, const std::string& b) {
    bool quotient = e.kind() == ExprKind::kFloorDiv;
    DType dtype = e.dtype();
    std::string plain = "(" + a + (quotient ? " / " : " % ") + b + ")";
    if (is_unsigned_integer(dtype)) return plain;
    std::string x = temporary(a, dtype), y = temporary(b, dtype);
    std::string zero = dialect_.int_literal(0, dtype), one = dialect_.int_literal(1, dtype);
    std::string remainder = "(" + x + " % " + y + ")";
    std::string off = "(" + remainder + " != " + zero + " && ((" + remainder + " < " + zero +
                      ") != (" + y + " < " + zero + ")))";
    if (quotient) {
      return "(" + x + " / " + y + " - (" + off + " ? " + one + " : " + zero + "))";
    }
    return "(" + remainder + " + (" + off + " ? " + y + " : " + zero + "))";
  }

  std::string call(const PrimExpr& e) {
    std::vector<std::string> args;
    for (const PrimExpr& operand : e->operands) args.push_back(expr(operand));
    const std::string& name = e->name;
    static const std::map<std::string, const char*> kInfix = {{"shift_left", "<<"},
                                                              {"shift_right", ">>"},
                                                              {"bit_and", "&"},
                                                              {"bit_or", "|"},
                                                              {"bit_xor", "^"}};
    if (auto it = kInfix.find(name); it != kInfix.end()) {
      return "(" + args[0] + " " + it->second + " " + args[1] + ")";
    }
    if (name == "reinterpret") {
      return dialect_.reinterpret(args[0], e.operand(0).dtype(), e.dtype());
    }
    if (name == "isnan") {
      std::string x = temporary(args[0], e.operand(0).dtype());
      return "(" + x + " != " + x + ")";
    }
    return rounded(dialect_.intrinsic(name, args, e.dtype()), e.dtype());
  }

  const DeviceFunc& function_;
  const Dialect& dialect_;
  std::string out_;
  int depth_ = 0;
  std::map<std::string, int> counters_;
  std::map<const ExprNode*, std::string> vars_;
  std::map<const BufferNode*, std::string> names_;
};

}  // namespace

std::string emit_source(const std::vector<DeviceFunc>& functions, const Dialect& dialect) {
  std::string text = dialect.prelude();
  for (const DeviceFunc& function : functions) {
    text += "\n" + FunctionEmitter(function, dialect).run();
  }
  return text;
}

ModuleBlob compile_opencl(const std::vector<DeviceFunc>& functions) {
  std::string source = emit_source(functions, opencl_c_dialect());
  ModuleBlob blob;
  blob.platform = "opencl";
  blob.format = "opencl-c";
  auto bytes = std::as_bytes(std::span(source.data(), source.size()));
  blob.bytes.assign(bytes.begin(), bytes.end());
  for (const DeviceFunc& function : functions) blob.entries.push_back(function.entry);
  return blob;
}

}  // namespace tapml::codegen
