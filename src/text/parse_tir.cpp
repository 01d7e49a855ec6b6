// Tensor programs.
#include <array>
#include <set>

#include "text/parser_impl.h"

namespace tapml::text {

using namespace tir;  // NOLINT: every name below is one of tir's

namespace {

constexpr std::array<ForKind, 6> kForKinds = {ForKind::kSerial,     ForKind::kParallel,
                                              ForKind::kVectorized, ForKind::kUnrolled,
                                              ForKind::kWorkgroup,  ForKind::kThread};
constexpr std::array<Scope, 4> kScopes = {Scope::kGlobal, Scope::kShared, Scope::kLocal,
                                          Scope::kFragment};

}  // namespace

// Buffers' shapes come before the scalars that they use, so find the scalars first.
void Parser::define_scalar_params() {
  int depth = 0;
  for (size_t i = 0; peek(i).kind != TokenKind::kEnd; ++i) {
    if (at("(", i)) ++depth;
    if (at(")", i) && --depth == 0) return;
    if (depth != 1 || !at_name(i) || !at(":", i + 1)) continue;
    if (auto type = peek_dtype(i + 2)) {
      define(peek(i), {.scalar = make_var(name_text(peek(i)), *type)});
    }
  }
}

std::shared_ptr<const PrimFunc> Parser::prim_func() {
  scope_.push();
  auto func = std::make_shared<PrimFunc>();
  if (!at("(")) unexpected("'(' after the function's name");
  define_scalar_params();
  expect("(");
  while (!accept(")")) {
    Param param;
    // A mode is followed by the parameter's name, the name by a colon.
    if (!at(":", 1)) {
      auto mode = peek().kind == TokenKind::kName ? parse_access_mode(peek().text) : std::nullopt;
      if (!mode) unexpected("a parameter: in, out, inout, workspace or prepared, then its name");
      param.mode = *mode;
      advance();
    }
    const Token& name = expect_name("a parameter's name");
    expect(":", "the parameter's name");
    if (peek_dtype()) {
      dtype();
      func->scalars.push_back(lookup(name)->scalar);
    } else {
      param.buffer = buffer_type(name_text(name));
      define(name, {.buffer = param.buffer});
      func->params.push_back(std::move(param));
    }
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  if (at("requires")) func->requirements = requirements();
  if (at_attrs()) func->set_attrs(attrs());
  func->body = braced_stmts();
  scope_.pop();
  return func;
}

// requires {workspace: n*256, in_place: [0, 1], prepared: [2], bytes: 4096, digest: "3f2a"}, each
// part optional. `in_place` has pairs of an input and an output.
Requirements Parser::requirements() {
  Requirements result;
  Requirements::Prepared prepared;
  std::set<std::string> given;
  auto numbers = [&] {
    std::vector<int32_t> list;
    expect("[");
    while (!accept("]")) {
      list.push_back(small_integer("a parameter's number"));
      if (!at("]") && !accept(",")) unexpected("',' or ']'");
    }
    return list;
  };
  expect("requires");
  const Token& begin = peek();
  expect("{");
  while (!accept("}")) {
    const Token& token = peek();
    const std::string part = expect_free_name("workspace, in_place, prepared, bytes or digest");
    if (!given.insert(part).second) {
      fail(token, "the requirement '" + part + "' is given twice", "each requirement once");
    }
    expect(":", "the requirement's name");
    if (part == "workspace") {
      result.workspace = scalar();
    } else if (part == "in_place") {
      const std::vector<int32_t> list = numbers();
      if (list.size() % 2 != 0) {
        fail(token, "an input of in_place has no output", "pairs of an input and an output");
      }
      for (size_t i = 0; i < list.size(); i += 2) result.in_place.push_back({list[i], list[i + 1]});
    } else if (part == "prepared") {
      prepared.sources = numbers();
    } else if (part == "bytes") {
      prepared.bytes = integer();
    } else if (part == "digest") {
      prepared.digest = string("a digest in quotes");
    } else {
      fail(token, "unknown requirement '" + part + "'",
           "workspace, in_place, prepared, bytes or digest");
    }
    if (!at("}") && !accept(",")) unexpected("',' or '}'");
  }
  const auto parts = given.count("prepared") + given.count("bytes") + given.count("digest");
  if (parts != 0 && parts != 3) {
    fail(begin, "the requirements of prepared data are incomplete",
         "prepared, bytes and digest together");
  }
  if (parts == 3) result.prepared = std::move(prepared);
  return result;
}

Buffer Parser::buffer_type(const std::string& name) {
  expect("Buffer");
  expect("(");
  Dims shape = dims();
  expect(",", "the buffer's shape");
  DType type = dtype();
  Scope scope = Scope::kGlobal;
  Dims strides;
  bool more = accept(",");
  for (Scope candidate : kScopes) {
    if (!more || !accept(scope_name(candidate))) continue;
    scope = candidate;
    more = accept(",");
    break;
  }
  if (more) {
    if (!accept("strides")) unexpected("global, shared, local, fragment or strides=");
    expect("=");
    const Token& place = peek();
    strides = dims();
    if (strides.size() != shape.size()) {
      source_.fail(place.offset, "wrong number of strides of buffer '" + name + "'",
                   std::to_string(shape.size()), std::to_string(strides.size()));
    }
  }
  expect(")");
  return make_buffer(name, type, std::move(shape), scope, std::move(strides));
}

const Buffer& Parser::buffer(const Token& name) {
  const Symbol* symbol = lookup(name);
  if (!symbol) fail_undefined(name, "a buffer in scope");
  if (!symbol->buffer) {
    fail(name, "'" + name_text(name) + "' is " + symbol->kind() + " and cannot be indexed",
         "a buffer");
  }
  return symbol->buffer;
}

void Parser::check_rank(const Token& name, const BufferNode& buffer, size_t indices) const {
  if (indices == buffer.shape.size()) return;
  source_.fail(name.offset, "wrong number of indices of buffer '" + name_text(name) + "'",
               std::to_string(buffer.shape.size()), std::to_string(indices));
}

Stmt Parser::braced_stmts() {
  expect("{");
  scope_.push();
  Stmt body = stmts();
  scope_.pop();
  expect("}", "the statements");
  return body;
}

Stmt Parser::stmts() {
  Recursion recursion(*this, stmt_depth_);
  std::vector<Stmt> list;
  while (!at("}") && peek().kind != TokenKind::kEnd) {
    const size_t begin = peek().offset;
    if (!accept("alloc")) {
      list.push_back(stmt());
      if (options_.places) options_.places->statements_.emplace(list.back().get(), begin);
      continue;
    }
    const Token& name = expect_name("the buffer's name");
    expect(":", "the buffer's name");
    Buffer buffer = buffer_type(name_text(name));
    define(name, {.buffer = buffer});
    Stmt body = stmts();
    list.push_back(make_alloc(std::move(buffer), std::move(body)));
    if (options_.places) options_.places->statements_.emplace(list.back().get(), begin);
  }
  return make_seq(std::move(list));
}

Stmt Parser::stmt() {
  if (at("for")) return loop();
  if (at("if")) return branch();
  if (at("block")) return block();
  if (at("{")) return braced_stmts();
  if (accept("barrier")) return make_barrier();
  if (at_name() && at("(", 1)) return call_statement();
  if (at_name() && at("=", 1)) return matrix_operation();
  if (at_name()) return store();
  unexpected(
      "a statement: for, if, block, alloc, barrier, a store, a matrix operation, a copy or '}'");
}

Stmt Parser::loop() {
  expect("for");
  const Token& name = expect_name("the loop variable");
  DType type = DType::kI64;
  if (accept(":")) type = dtype();
  expect("in", "the loop variable");
  const ForKind* kind = nullptr;
  for (const ForKind& candidate : kForKinds) {
    if (at(for_kind_name(candidate))) kind = &candidate;
  }
  if (!kind) unexpected("serial, parallel, vectorized, unrolled, workgroup or thread");
  advance();
  expect("(");
  PrimExpr extent = scalar();
  expect(")");
  scope_.push();
  Var var = make_var(name_text(name), type);
  define(name, {.scalar = var});
  Stmt body = braced_stmts();
  scope_.pop();
  return make_for(std::move(var), std::move(extent), std::move(body), *kind);
}

Stmt Parser::branch() {
  expect("if");
  PrimExpr condition = scalar();
  Stmt then_body = braced_stmts();
  Stmt else_body;
  if (accept("else")) else_body = braced_stmts();
  return make_if(std::move(condition), std::move(then_body), std::move(else_body));
}

Stmt Parser::store() {
  const Token& name = advance();
  const Buffer target = buffer(name);
  expect("[", "the buffer's name");
  std::vector<PrimExpr> indices = scalar_list("]");
  check_rank(name, *target, indices.size());
  expect("=", "the indices");
  if (at(matrix_op_name(MatrixOp::kStore)) && at("(", 1)) {
    return matrix_store(target, std::move(indices));
  }
  PrimExpr value = scalar();
  return make_store(target, std::move(indices), std::move(value));
}

BlockIter Parser::block_iter() {
  BlockIter iter;
  const Token& name = expect_name("a block iterator");
  expect(":", "the iterator's name");
  DType type = peek_dtype() ? dtype() : DType::kI64;
  if (accept("reduce")) {
    iter.type = IterType::kReduce;
  } else if (!accept("spatial")) {
    unexpected("spatial or reduce");
  }
  expect("(");
  iter.extent = scalar();
  expect(")");
  expect("=", "the iterator's extent");
  iter.binding = scalar();
  iter.var = make_var(name_text(name), type);
  define(name, {.scalar = iter.var});
  return iter;
}

Region Parser::region() {
  const Token& name = expect_name("a buffer");
  Region region;
  region.buffer = buffer(name);
  expect("[", "the buffer's name");
  while (!accept("]")) {
    region.begins.push_back(scalar());
    region.extents.push_back(accept("+:") ? scalar() : PrimExpr(1));
    if (!at("]") && !accept(",")) unexpected("'+:', ',' or ']'");
  }
  check_rank(name, *region.buffer, region.begins.size());
  return region;
}

std::vector<Region> Parser::regions() {
  std::vector<Region> list;
  do {
    list.push_back(region());
  } while (accept(","));
  return list;
}

Stmt Parser::block() {
  expect("block");
  auto node = std::make_shared<BlockNode>();
  node->name = string("the block's name as a string");
  scope_.push();
  expect("(", "the block's name");
  while (!accept(")")) {
    node->iters.push_back(block_iter());
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  expect("{");
  if (accept("where")) node->predicate = scalar();
  if (accept("reads")) node->reads = regions();
  if (accept("writes")) node->writes = regions();
  if (accept("init")) node->init = braced_stmts();
  node->body = stmts();
  expect("}", "the block's statements");
  scope_.pop();
  return node;
}

}  // namespace tapml::text
