#include "ir/order.h"

#include "base/diagnostic.h"

namespace lanefold::ir {

std::string_view order_name(Order order) {
  switch (order) {
    case Order::serial: return "serial";
    case Order::canonical: return "canonical";
    case Order::free: return "free";
  }
  internal_error("an order outside its enumeration");
}

std::optional<Order> order_from_name(std::string_view name) {
  for (Order order : {Order::serial, Order::canonical, Order::free}) {
    if (name == order_name(order)) return order;
  }
  return std::nullopt;
}

}  // namespace lanefold::ir
