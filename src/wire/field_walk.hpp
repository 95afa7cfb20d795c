#pragma once
// Where the members of the field lists of src/ledger/*_fields.hpp lie in the schema's structs.
// canonical_write.hpp and canonical_read.hpp walk the lists by it, so that one pair of functions
// encodes and decodes every value of the ledger.
//
// A member `expires_at` of type wall_ms is the schema's `expiresAtMs`: underscores become capitals,
// and the types that have a unit put it at the end. Names are looked up once for each type; what is
// kept is offsets, so that a record costs no reflection.

#include "src/base/check.hpp"
#include "src/ledger/row_fields.hpp"

#include <capnp/schema.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace assay::wire::walk {

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

template <class T>
inline constexpr bool is_id = false;
template <class Tag>
inline constexpr bool is_id<id<Tag>> = true;

template <class T>
concept fixed_bytes = std::same_as<T, digest> || std::same_as<T, uuid>;
template <class T>
concept moment = std::same_as<T, wall_ms> || std::same_as<T, std::chrono::milliseconds> || std::
  same_as<T, std::chrono::seconds>;
using text_map = std::map<std::string, std::string>;

/// What lies among a struct's bits; everything else is behind a pointer.
template <class T>
concept plain = moment<T> || std::is_enum_v<T> || std::is_arithmetic_v<T>;
/// Texts and bytes.
template <class T>
concept blob = is_id<T> || fixed_bytes<T> || std::same_as<T, std::string>;
template <class T>
concept composite = std::is_class_v<T> && !blob<T> && !moment<T>;

// -- layouts ----------------------------------------------------------------------------------

/// One member, or one alternative of a union.
struct place {
  std::uint32_t at = 0;         ///< Among bits in units of its size, else the pointer's number.
  std::uint16_t tag = 0;        ///< Of an alternative.
  std::uint16_t enumerants = 0; ///< Of an enumeration, or of a list of them.
  bool is_pointer = false;
  bool is_data = false; ///< Bytes, not text; of a list: its elements.
  capnp::Type type;     ///< Of a list: its elements'.
};

struct layout {
  std::vector<place> members; ///< In the order of the type's list.
  std::uint32_t tag_at = 0;   ///< Of a union, in units of two bytes.
  bool ascends = true;        ///< Pointers have the order of their members.
};

/// Words of bits that one struct may have.
inline constexpr std::size_t data_words_max = 24;

/// `valid_for` and std::chrono::seconds give `validForS`.
std::string schema_name(std::string_view member, std::string_view unit);

place place_of(const capnp::StructSchema& schema, const std::string& name);
layout layout_of(const capnp::StructSchema& schema, std::vector<place> members);
/// Stops the process unless the schema's field is as wide as the member: the lists are wrong.
void check_width(const place& where, std::size_t bytes, const std::string& name);

template <class T>
constexpr std::string_view unit_of() {
  if constexpr (std::same_as<T, wall_ms> || std::same_as<T, std::chrono::milliseconds>)
    return "_ms";
  else if constexpr (std::same_as<T, std::chrono::seconds>)
    return "_s";
  else
    return "";
}

template <class T>
constexpr std::size_t width_of() {
  if constexpr (moment<T>)
    return 8;
  else if constexpr (std::is_enum_v<T>)
    return 2;
  else
    return std::same_as<T, bool> ? 0 : sizeof(T);
}

template <class T>
std::vector<place> places_of(const capnp::StructSchema& schema) {
  std::vector<place> found;
  if constexpr (is_a<T, std::variant>) {
    for (auto name : ledger::alternatives<T>)
      found.push_back(place_of(schema, schema_name(name, "")));
  } else {
    T value{};
    ledger::fields(
      [&]<class M>(std::string_view member, M&) {
        using type = std::remove_const_t<M>;
        auto name = schema_name(member, unit_of<type>());
        found.push_back(place_of(schema, name));
        if constexpr (plain<type>)
          check_width(found.back(), width_of<type>(), name);
      },
      value
    );
  }
  return found;
}

/// `schema` is asked the first time only: a type has one struct.
template <class T, class Schema>
const layout& layout_for(const Schema& schema) {
  static const layout made = [&] {
    const capnp::StructSchema of = schema();
    return layout_of(of, places_of<T>(of));
  }();
  return made;
}

template <class T>
const layout& layout_at(const place& where) {
  return layout_for<T>([&] { return where.type.asStruct(); });
}

template <class Root, class T>
const layout& layout_of_root() {
  return layout_for<T>([] { return capnp::StructSchema{capnp::Schema::from<Root>()}; });
}

// -- values -----------------------------------------------------------------------------------

inline std::int64_t ticks(wall_ms t) {
  return t.value;
}
inline std::int64_t ticks(std::chrono::milliseconds t) {
  return t.count();
}
inline std::int64_t ticks(std::chrono::seconds t) {
  return t.count();
}
inline void set_ticks(wall_ms& t, std::int64_t v) {
  t.value = v;
}
inline void set_ticks(std::chrono::milliseconds& t, std::int64_t v) {
  t = std::chrono::milliseconds{v};
}
inline void set_ticks(std::chrono::seconds& t, std::int64_t v) {
  t = std::chrono::seconds{v};
}

} // namespace assay::wire::walk
