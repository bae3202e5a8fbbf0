#include "api/enumerators.h"

#include <fmt/format.h>

#include "api/failure.h"

namespace lanefold::api {

template <>
void refuse_enumerator<Type>(std::int64_t number) {
  fail({Code::call_type_mismatch, fmt::format("{} is no element type", number),
        "use one of lanefold::Type, in C one of LANEFOLD_TYPE_..", "type"});
}

template <>
void refuse_enumerator<Order>(std::int64_t number) {
  fail({Code::unknown_order, fmt::format("{} is no fold order", number),
        "use one of lanefold::Order, in C one of LANEFOLD_ORDER_..", "order"});
}

template <>
void refuse_enumerator<Device>(std::int64_t number) {
  fail({Code::unknown_device, fmt::format("{} is no device", number),
        "use one of lanefold::Device, in C one of LANEFOLD_DEVICE_..", "device"});
}

template <>
void refuse_enumerator<Emission>(std::int64_t number) {
  fail({Code::unknown_emission, fmt::format("{} is no emission", number),
        "use one of lanefold::Emission, in C one of LANEFOLD_EMIT_..", "emission"});
}

}  // namespace lanefold::api
