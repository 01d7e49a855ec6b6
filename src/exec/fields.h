// The fields of an executable file's structures, in storage order. Private to the component, except
// for the compile cache.
#pragma once

#include "exec/archive.h"
#include "exec/executable_file.h"

namespace tapml {

template <class A>
void fields(A& a, ScalarInst& x) {
  a.choice(x.op, ScalarOp::kSelect);
  a(x.operand);
}

template <class A>
void fields(A& a, ScalarProgram& x) {
  a(x.code);
}

template <class A>
void fields(A& a, ParamInfo& x) {
  a(x.name);
  a.choice(x.dtype, DType::kF64);
  a.choice(x.mode, AccessMode::kPrepared);
  a(x.dims);
}

// Without the spec, which has its own section.
template <class A>
void fields(A& a, KernelInfo& x) {
  a(x.name);
  a(x.params);
  a(x.scalars);
}

template <class A>
void fields(A& a, LaunchLimit& x) {
  a(x.value);
  a(x.most);
  a(x.what);
}

template <class A>
void fields(A& a, SharedBufferInfo& x) {
  a(x.elements);
  a(x.element_bytes);
}

template <class A>
void fields(A& a, LaunchInfo& x) {
  a(x.entry);
  a(x.extent);
  a(x.workgroup_threads);
  a(x.buffers);
  a(x.scalars);
  a(x.limits);
  a(x.when);
  a(x.prepares);
  a(x.grid);
  a(x.shared);
}

template <class A>
void fields(A& a, Segment& x) {
  a(x.param);
  a(x.offset);
  a(x.bytes);
}

template <class A>
void fields(A& a, Implementation& x) {
  a(x.kernel);
  a(x.module);
  a(x.workspaces);
  a(x.segments);
  a(x.launches);
  a(x.provider);
  a(x.preparation);
}

template <class A>
void fields(A& a, Instruction& x) {
  a.choice(x.op, Opcode::kReturn);
  a(x.a);
  a(x.b);
  a(x.c);
  a(x.list);
  a(x.list2);
}

template <class A>
void fields(A& a, DimCheck& x) {
  a(x.define_slot);
  a(x.most);
  a(x.equals);
  a(x.expression);
}

template <class A>
void fields(A& a, ValueCheck& x) {
  a.choice(x.kind, ValueCheck::Kind::kCallable);
  a(x.has_dtype);
  a.choice(x.dtype, DType::kF64);
  a(x.ndim);
  a(x.has_dims);
  a(x.dims);
  a(x.fields);
  a(x.where);
}

template <class A>
void fields(A& a, TensorLayout& x) {
  a.choice(x.dtype, DType::kF64);
  a(x.dims);
  a(x.offset);
}

template <class A>
void fields(A& a, Origin& x) {
  a(x.layers);
  a(x.lines);
}

template <class A>
void fields(A& a, CallSiteInfo& x) {
  a(x.kernel);
  a(x.function);
  a(x.origin);
}

template <class A>
void fields(A& a, BindingNote& x) {
  a(x.instruction);
  a(x.binding);
  a(x.origin);
  a(x.function);
}

template <class A>
void fields(A& a, SymbolSource& x) {
  a(x.name);
  a(x.expression);
  a(x.place);
}

template <class A>
void fields(A& a, VmFunction& x) {
  a(x.name);
  a(x.params);
  a(x.registers);
  a(x.slots);
  a(x.code);
  a(x.checks);
  a(x.programs);
  a(x.layouts);
  a(x.notes);
  a(x.sources);
}

template <class A>
void fields(A& a, Role& x) {
  a.choice(x, static_cast<Role>(kRoles - 1));
}

template <class A>
void fields(A& a, StateKind& x) {
  a.choice(x, StateKind::kFixed);
}

template <class A>
void fields(A& a, StateTensor& x) {
  a(x.name);
  a(x.kind);
  a.choice(x.dtype, DType::kF64);
  a(x.shape);
  a(x.window);
}

template <class A>
void fields(A& a, ModelFunction& x) {
  a(x.name);
  a(x.inputs);
  a(x.outputs);
  a(x.state);
  a(x.weights);
}

template <class A>
void fields(A& a, ImageInput& x) {
  a(x.token);
  a(x.rows);
  a(x.placeholder);
  a(x.before);
  a(x.after);
  a(x.tile);
  a(x.after_row);
  a(x.after_tiles);
}

template <class A>
void fields(A& a, ModelInterface& x) {
  a(x.architecture);
  a(x.vocabulary);
  a(x.context);
  a(x.page_size);
  a(x.short_text);
  a(x.state);
  a(x.functions);
  a(x.weights);
  a(x.image);
}

template <class A>
void fields(A& a, std::pair<std::string, std::string>& x) {
  a(x.first);
  a(x.second);
}

template <class A>
void fields(A& a, WeightRecord& x) {
  a(x.name);
  a.choice(x.dtype, DType::kF64);
  a(x.shape);
  a(x.hash);
  a(x.parts);
  a(x.quantization);
}

template <class A>
void fields(A& a, WeightFile& x) {
  a(x.name);
  a(x.size);
  a(x.modified);
}

template <class A>
void fields(A& a, ModelSource& x) {
  a(x.folder);
  a(x.files);
  a(x.weights);
}

}  // namespace tapml
