#include "lane/roles.h"

#include <array>
#include <utility>

namespace lanefold::lane {
namespace {

constexpr std::array kRoles = {
    std::pair{Role::input, std::string_view("input")},
    std::pair{Role::output, std::string_view("output")},
    std::pair{Role::input_row_stride, std::string_view("input_row_stride")},
    std::pair{Role::input_column_stride, std::string_view("input_column_stride")},
    std::pair{Role::output_row_stride, std::string_view("output_row_stride")},
    std::pair{Role::output_column_stride, std::string_view("output_column_stride")},
    std::pair{Role::rows, std::string_view("rows")},
    std::pair{Role::cols, std::string_view("cols")},
    std::pair{Role::parameter, std::string_view("parameter")},
    std::pair{Role::inout, std::string_view("inout")},
    std::pair{Role::other, std::string_view("other")},
};

}  // namespace

std::string_view role_name(Role role) {
  for (const auto& [known, name] : kRoles) {
    if (known == role) return name;
  }
  internal_error("lane::role_name: no such role");
}

std::optional<Role> role_from_name(std::string_view name) {
  for (const auto& [role, known] : kRoles) {
    if (known == name) return role;
  }
  return std::nullopt;
}

}  // namespace lanefold::lane
