#include "cli/bound_inputs.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor/tensor_file.h"

namespace lanefold::cli {
namespace {

using Shape = std::vector<std::int64_t>;

/// A tensor and where it came from.
struct Source {
  std::string file;
  tensor::Tensor tensor;
};
using Sources = std::map<std::string, Source>;

std::string place_of(const std::string& name, const std::string& file) { return fmt::format("--in {}={}", name, file); }

const ir::Input* find_input(const ir::Program& program, const std::string& name) {
  const auto found =
      std::find_if(program.inputs.begin(), program.inputs.end(), [&](const ir::Input& i) { return i.name == name; });
  return found == program.inputs.end() ? nullptr : &*found;
}

Status check_names(const ir::Program& program, const Assignments& files) {
  std::vector<std::string> names;
  for (const ir::Input& input : program.inputs) names.push_back(input.name);
  for (const auto& [name, file] : files)
    if (!find_input(program, name))
      return Diagnostic{Code::unknown_input, fmt::format("{} has no input \"{}\"", program.name, name),
                        fmt::format("its inputs are: {}", fmt::join(names, ", ")), place_of(name, file)};
  return success();
}

/// The names of inputs that are left out; an input that cannot be is a diagnostic.
Result<std::vector<std::string>> absent_inputs(const ir::Program& program, const Assignments& files) {
  std::vector<std::string> absent;
  for (const ir::Input& input : program.inputs) {
    if (std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.first == input.name; })) continue;
    if (!input.absent)
      return Diagnostic{Code::input_missing, fmt::format("{} needs the input {}", program.name, input.name),
                        fmt::format("give it: --in {}=FILE.npy", input.name), "--in"};
    absent.push_back(input.name);
  }
  return absent;
}

/// The one storage type of the inputs that follow it; f32 where no such input is given.
Result<ElementType> common_storage(const std::vector<std::string>& followers, const Sources& sources) {
  const std::string* first = nullptr;
  for (const std::string& name : followers) {
    if (!sources.contains(name)) continue;
    if (!first) {
      first = &name;
      continue;
    }
    const Source &a = sources.at(*first), &b = sources.at(name);
    if (a.tensor.type != b.tensor.type)
      return Diagnostic{Code::storage_disagreement,
                        fmt::format("{} holds {} and {} holds {}; both must hold the same", *first,
                                    element_name(a.tensor.type), name, element_name(b.tensor.type)),
                        fmt::format("convert {} or {}", a.file, b.file), place_of(name, b.file)};
  }
  return first ? sources.at(*first).tensor.type : ElementType::f32;
}

/// Fits tensors to the kinds of inputs once rows and columns are known.
class Fitter {
 public:
  Fitter(BoundInputs& bound, const Sources& sources) : bound_(bound), sources_(sources) {}

  Status run() {
    LANEFOLD_CHECK(find_sizes());
    for (const ir::Input& input : bound_.resolved.program.inputs) {
      const Source& source = sources_.at(input.name);
      LANEFOLD_TRY(const View view, fit(input, source));
      bound_.tensors.push_back(source.tensor);
      bound_.views.push_back(view);
    }
    return success();
  }

 private:
  static Result<View> placed_view(const ir::Input& input, const Source& source, const tensor::Tensor& tensor) {
    Result<View> view = tensor::matrix_view(tensor);
    if (view) return view;
    Diagnostic fault = view.error();
    fault.place = place_of(input.name, source.file);
    return fault;
  }

  /// Rows and columns: from the first matrix, else from vectors along them.
  Status find_sizes() {
    using Tag = ir::Kind::Tag;
    for (const Tag tag : {Tag::element, Tag::block})
      for (const ir::Input& input : bound_.resolved.program.inputs) {
        if (input.kind.tag != tag) continue;
        const Source& source = sources_.at(input.name);
        LANEFOLD_TRY(const View view, placed_view(input, source, source.tensor));
        set_leading(source.tensor.shape, source.tensor.shape.empty() ? 0 : source.tensor.shape.size() - 1);
        bound_.rows = view.rows;
        bound_.cols = view.cols * (tag == Tag::block ? input.kind.block : 1);
        from_ = &input;
        return success();
      }
    bool rows = false, cols = false;
    for (const ir::Input& input : bound_.resolved.program.inputs) {
      const tensor::Tensor& tensor = sources_.at(input.name).tensor;
      if (input.kind.tag == Tag::row && !rows) {
        rows = true;
        set_leading(tensor.shape, tensor.shape.size());
        bound_.rows = tensor.element_count();
        from_ = &input;
      }
      if (input.kind.tag == Tag::column && !cols) {
        cols = true;
        bound_.cols = tensor.element_count();
      }
    }
    if (rows && cols) return success();
    return Diagnostic{
        Code::shape_unknown,
        fmt::format("no input of {} tells the number of {}", bound_.resolved.program.name, rows ? "columns" : "rows"),
        "give the program an input of shape [rows, cols]", bound_.resolved.program.name};
  }

  void set_leading(const Shape& shape, std::size_t count) {
    bound_.leading.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count));
  }

  Shape with_columns(std::int64_t cols) const {
    Shape shape = bound_.leading;
    shape.push_back(cols);
    return shape;
  }

  Diagnostic misfit(const ir::Input& input, const Source& source, const Shape& wanted) const {
    return {Code::input_shape_mismatch,
            fmt::format("{} has shape {}; with {} of shape {}, it must be {}", input.name,
                        tensor::shape_text(source.tensor.shape), from_->name,
                        tensor::shape_text(sources_.at(from_->name).tensor.shape), tensor::shape_text(wanted)),
            fmt::format("give a file with that shape for {}", input.name), place_of(input.name, source.file)};
  }

  Result<View> fit(const ir::Input& input, const Source& source) const {
    switch (input.kind.tag) {
      case ir::Kind::Tag::element: return matrix(input, source, bound_.cols);
      case ir::Kind::Tag::block: return matrix(input, source, bound_.cols / input.kind.block);
      case ir::Kind::Tag::column: return column_vector(input, source);
      case ir::Kind::Tag::row: return row_vector(input, source);
      case ir::Kind::Tag::uniform: break;
    }
    internal_error("an input of kind uniform");
  }

  Result<View> matrix(const ir::Input& input, const Source& source, std::int64_t cols) const {
    LANEFOLD_TRY(View view, placed_view(input, source, source.tensor));
    if (view.rows != bound_.rows || view.cols != cols) return misfit(input, source, with_columns(cols));
    return view;
  }

  /// [cols], with any number of dimensions of size 1 before it.
  Result<View> column_vector(const ir::Input& input, const Source& source) const {
    const Shape& shape = source.tensor.shape;
    if (shape.empty() || shape.back() != bound_.cols || source.tensor.element_count() != bound_.cols)
      return misfit(input, source, {bound_.cols});
    LANEFOLD_TRY(View view, placed_view(input, source, source.tensor));
    view.rows = 1;
    view.row_stride = 0;
    return view;
  }

  /// One value per row: the leading dimensions of the matrix or their product, with a last dimension of size 1 or without.
  Result<View> row_vector(const ir::Input& input, const Source& source) const {
    tensor::Tensor tensor = source.tensor;
    const Shape joined = {bound_.rows};
    if (tensor.shape == bound_.leading || tensor.shape == joined) {
      tensor.shape.push_back(1);
      tensor.strides.push_back(1);
    } else if (tensor.shape != with_columns(1) && tensor.shape != Shape{bound_.rows, 1}) {
      return misfit(input, source, bound_.leading);
    }
    LANEFOLD_TRY(View view, placed_view(input, source, tensor));
    view.column_stride = 0;
    return view;
  }

  BoundInputs& bound_;
  const Sources& sources_;
  const ir::Input* from_ = nullptr;  ///< the input that told the rows
};

}  // namespace

Result<BoundInputs> bind_inputs(const driver::KernelName& kernel, const Assignments& files,
                                std::optional<ElementType> dtype, kernels::Build request) {
  LANEFOLD_TRY(const driver::ResolvedProgram whole, driver::resolve_program(kernel, request));
  if (dtype && whole.storage_inputs.empty())
    return Diagnostic{Code::option_not_for_kernel,
                      fmt::format("--dtype is for operators; the types of {} stand in its text", whole.program.name),
                      "leave --dtype out, or change the text", "--dtype"};
  LANEFOLD_CHECK(check_names(whole.program, files));
  LANEFOLD_TRY(request.known.absent, absent_inputs(whole.program, files));
  Sources sources;
  for (const auto& [name, file] : files) {
    const bool follows = std::count(whole.storage_inputs.begin(), whole.storage_inputs.end(), name) != 0;
    const auto wanted = follows ? dtype : std::optional(find_input(whole.program, name)->storage);
    Result<tensor::Tensor> tensor = tensor::read_tensor(file, wanted);
    if (!tensor && tensor.error().code == Code::dtype_mismatch && !follows) {
      Diagnostic fault = tensor.error();
      fault.hint = fmt::format("convert the file to {}, as which {} declares {}", element_name(*wanted),
                               whole.program.name, name);
      return fault;
    }
    if (!tensor) return tensor.error();
    sources[name] = {file, std::move(tensor).value()};
  }
  BoundInputs bound;
  LANEFOLD_TRY(bound.storage, common_storage(whole.storage_inputs, sources));
  request.storage = bound.storage;
  LANEFOLD_TRY(bound.resolved, driver::resolve_program(kernel, request));
  LANEFOLD_CHECK(Fitter(bound, sources).run());
  return bound;
}

}  // namespace lanefold::cli
