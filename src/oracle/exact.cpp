// The exact FP32 meaning under serial and canonical order: the bytes that every device must give.
#include "base/float_environment.h"
#include "base/load_store.h"
#include "oracle/evaluator.h"
#include "oracle/fp32_domain.h"
#include "oracle/oracle.h"

namespace lanefold::oracle {

namespace {

void store_value(std::byte* at, ElementType storage, std::uint32_t value, ElementType type, const std::string& name) {
  if (is_float(storage) != (type == ElementType::f32))
    internal_error("oracle: store " + name + " mixes integers and floats");
  if (is_float(storage)) {
    store_element(at, storage, Fp32Codec::real(value));
  } else {
    store_integer(at, storage, Fp32Codec::integer(value));
  }
}

}  // namespace

std::vector<std::vector<std::byte>> evaluate_exact(const ir::Program& program, const Bindings& bindings,
                                                   ir::Order order) {
  if (order == ir::Order::free) internal_error("oracle: order free has no exact meaning");
  const FloatEnvironment environment;
  Fp32Domain domain;
  Evaluator<Fp32Domain> evaluator(program, bindings, order, domain);
  std::vector<std::vector<std::byte>> stores(program.stores.size());
  for (std::size_t s = 0; s < stores.size(); ++s) {
    const ir::Store& store = program.stores[s];
    stores[s].resize(
        static_cast<std::size_t>(store_rows(store.kind, bindings.rows) * store_cols(store.kind, bindings.cols)) *
        element_bytes(store.storage));
  }
  for (std::int64_t row = 0; row < bindings.rows; ++row) {
    evaluator.evaluate_row(row);
    for (std::size_t s = 0; s < stores.size(); ++s) {
      const ir::Store& store = program.stores[s];
      if (row >= store_rows(store.kind, bindings.rows)) continue;
      const Lanes<std::uint32_t> values = evaluator.stored(s);
      const std::int64_t cols = store_cols(store.kind, bindings.cols);
      std::byte* at = stores[s].data() + static_cast<std::size_t>(row * cols) * element_bytes(store.storage);
      for (std::int64_t c = 0; c < cols; ++c, at += element_bytes(store.storage))
        store_value(at, store.storage, values[c], program.values[store.value].type, store.name);
    }
  }
  return stores;
}

}  // namespace lanefold::oracle
