#pragma once
// Writes a value with a field list as canonical Cap'n Proto, straight into its bytes.
//
// Canonical is: one segment; objects in the order in which a walk meets their pointers; no zero
// words at the end of a struct's bits and no null pointers at its end; the structs of a list as
// short as the longest of them allows (https://capnproto.org/encoding.html#canonicalization). So
// the bytes depend on the value alone. tests/unit/wire compares with the library's own.

#include "src/wire/field_walk.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace assay::wire::walk {

static_assert(std::endian::native == std::endian::little, "Cap'n Proto's order is ours");

template <class T>
bool is_null(const T& value) {
  if constexpr (is_id<T>)
    return value.value.empty();
  else if constexpr (std::same_as<T, std::string> || is_a<T, std::vector> || std::same_as<T, text_map>)
    return value.empty();
  else if constexpr (fixed_bytes<T>)
    return value == T{};
  else if constexpr (is_a<T, std::optional>) {
    if constexpr (std::is_arithmetic_v<typename T::value_type>)
      return !value;
    else
      return !value || is_null(*value);
  } else
    return false;
}

/// A struct's bits, and how long both of its sections are.
struct shape {
  std::array<std::uint64_t, data_words_max> bits{};
  std::size_t data_words = 0;
  std::size_t pointers = 0;

  std::size_t words() const { return data_words + pointers; }

  template <class N>
  void set(std::uint32_t at, N number) {
    if (number == N{})
      return;
    auto byte = at * sizeof number;
    std::memcpy(reinterpret_cast<char*>(bits.data()) + byte, &number, sizeof number);
    data_words = std::max(data_words, byte / 8 + 1);
  }
  void set_bit(std::uint32_t at, bool on) {
    if (!on)
      return;
    bits[at / 64] |= std::uint64_t{1} << (at % 64);
    data_words = std::max<std::size_t>(data_words, at / 64 + 1);
  }
  void point(std::uint32_t at) { pointers = std::max<std::size_t>(pointers, at + 1); }
};

template <class T>
auto number_of(const T& value) {
  if constexpr (moment<T>)
    return ticks(value);
  else if constexpr (std::is_enum_v<T>)
    return static_cast<std::uint16_t>(value);
  else
    return value;
}

template <class T>
shape shape_of(const T& value, const layout& by) {
  shape out;
  if constexpr (is_a<T, std::variant>) {
    const auto& chosen = by.members[value.index()];
    out.set(by.tag_at, chosen.tag);
    out.point(chosen.at);
  } else {
    auto where = by.members.begin();
    ledger::fields(
      [&]<class M>(std::string_view, const M& member) {
        const auto& p = *where++;
        if constexpr (std::same_as<M, bool>)
          out.set_bit(p.at, member);
        else if constexpr (plain<M>)
          out.set(p.at, number_of(member));
        else if (!is_null(member))
          out.point(p.at);
      },
      value
    );
  }
  return out;
}

class canonical_writer {
public:
  template <class T>
  std::string write(const T& value, const layout& by) {
    out_.reserve(512);
    auto root = claim(1);
    put_struct(root, value, by);
    return std::move(out_);
  }

private:
  enum class elements : std::uint64_t { byte = 2, two, four, eight, pointer, composite };

  /// Zero words at the end; where they begin.
  std::size_t claim(std::size_t words) {
    auto at = out_.size();
    out_.resize(at + 8 * words);
    return at;
  }
  void put_word(std::size_t at, std::uint64_t word) { std::memcpy(out_.data() + at, &word, 8); }

  static std::uint64_t distance(std::size_t from, std::size_t to) {
    return (to - from) / 8 - 1; // Counted from behind the pointer.
  }
  static std::uint64_t sizes(std::size_t data_words, std::size_t pointers) {
    return std::uint64_t{data_words} << 32 | std::uint64_t{pointers} << 48;
  }
  void point_to_list(std::size_t pointer, std::size_t to, elements kind, std::size_t count) {
    auto high = std::uint64_t{count} << 3 | static_cast<std::uint64_t>(kind);
    put_word(pointer, distance(pointer, to) << 2 | 1 | high << 32);
  }

  template <class T>
  void put_struct(std::size_t pointer, const T& value, const layout& by) {
    auto is = shape_of(value, by);
    if (is.words() == 0)
      return put_word(pointer, 0xfffffffc); // Nothing to point to: to itself.
    auto at = claim(is.words());
    put_word(pointer, distance(pointer, at) << 2 | sizes(is.data_words, is.pointers));
    put_body(at, at + 8 * is.data_words, is, value, by);
  }

  template <class T>
  void put_body(
    std::size_t at, std::size_t pointers, const shape& is, const T& value, const layout& by
  ) {
    std::memcpy(out_.data() + at, is.bits.data(), 8 * is.data_words);
    if constexpr (is_a<T, std::variant>) {
      const auto& chosen = by.members[value.index()];
      std::visit(
        [&]<class M>(const M& alternative) {
          put_struct(pointers + 8 * chosen.at, alternative, layout_at<M>(chosen));
        },
        value
      );
    } else if (by.ascends) {
      put_members(pointers, value, by, [](std::uint32_t) { return true; });
    } else {
      for (std::uint32_t next = 0; next < is.pointers; ++next)
        put_members(pointers, value, by, [next](std::uint32_t at) { return at == next; });
    }
  }

  template <class T, class Wanted>
  void put_members(std::size_t pointers, const T& value, const layout& by, Wanted is_wanted) {
    auto where = by.members.begin();
    ledger::fields(
      [&]<class M>(std::string_view, const M& member) {
        const auto& p = *where++;
        if constexpr (!plain<M>)
          if (is_wanted(p.at) && !is_null(member))
            put(pointers + 8 * p.at, member, p);
      },
      value
    );
  }

  /// Of what is not null.
  template <class M>
  void put(std::size_t pointer, const M& member, const place& p) {
    if constexpr (is_a<M, std::optional>) {
      if constexpr (std::is_arithmetic_v<typename M::value_type>)
        put_number(pointer, *member, p);
      else
        put(pointer, *member, p);
    } else if constexpr (is_id<M>)
      put(pointer, member.value, p);
    else if constexpr (std::same_as<M, std::string>)
      put_bytes(pointer, member, p.is_data ? 0 : 1);
    else if constexpr (fixed_bytes<M>)
      put_bytes(
        pointer, {reinterpret_cast<const char*>(member.bytes.data()), member.bytes.size()}, 0
      );
    else if constexpr (std::same_as<M, text_map>)
      put_map(pointer, member);
    else if constexpr (is_a<M, std::vector>)
      put_list(pointer, member, p);
    else
      put_struct(pointer, member, layout_at<M>(p));
  }

  /// A number that may be missing is a struct with the one member `value`.
  template <class N>
  void put_number(std::size_t pointer, N number, const place& p) {
    static const auto at = place_of(p.type.asStruct(), "value").at;
    shape is;
    is.set(at, number);
    if (is.words() == 0)
      return put_word(pointer, 0xfffffffc);
    auto to = claim(is.data_words);
    put_word(pointer, distance(pointer, to) << 2 | sizes(is.data_words, 0));
    std::memcpy(out_.data() + to, is.bits.data(), 8 * is.data_words);
  }

  /// `ends` zero bytes follow, and are counted.
  void put_bytes(std::size_t pointer, std::string_view bytes, std::size_t ends) {
    auto at = claim((bytes.size() + ends + 7) / 8);
    point_to_list(pointer, at, elements::byte, bytes.size() + ends);
    bytes.copy(out_.data() + at, bytes.size());
  }

  template <class T>
  void put_list(std::size_t pointer, const std::vector<T>& values, const place& p) {
    if constexpr (plain<T>) {
      using number = decltype(number_of(values[0]));
      constexpr auto kind = static_cast<elements>(2 + std::countr_zero(sizeof(number)));
      auto at = claim((values.size() * sizeof(number) + 7) / 8);
      point_to_list(pointer, at, kind, values.size());
      for (const auto& value : values) {
        auto n = number_of(value);
        std::memcpy(out_.data() + at, &n, sizeof n);
        at += sizeof n;
      }
    } else if constexpr (blob<T>) {
      auto at = claim(values.size());
      point_to_list(pointer, at, elements::pointer, values.size());
      for (const auto& value : values) {
        if (!is_null(value))
          put(at, value, p);
        at += 8;
      }
    } else {
      const auto& by = layout_at<T>(p);
      auto each = [&](std::size_t i) { return shape_of(values[i], by); };
      auto fill = [&](std::size_t i, std::size_t at, std::size_t pointers, const shape& is) {
        put_body(at, pointers, is, values[i], by);
      };
      put_structs(pointer, values.size(), each, fill);
    }
  }

  void put_map(std::size_t pointer, const text_map& values) {
    auto at = values.begin();
    auto each = [&](std::size_t i) {
      at = i == 0 ? values.begin() : std::next(at);
      shape out;
      if (!at->first.empty())
        out.point(0);
      if (!at->second.empty())
        out.point(1);
      return out;
    };
    auto fill = [&](std::size_t, std::size_t, std::size_t pointers, const shape&) {
      if (!at->first.empty())
        put_bytes(pointers, at->first, 1);
      if (!at->second.empty())
        put_bytes(pointers + 8, at->second, 1);
    };
    put_structs(pointer, values.size(), each, fill);
  }

  /// One size for all: `each` gives their shapes in order, `fill` writes the one asked for last.
  template <class Each, class Fill>
  void put_structs(std::size_t pointer, std::size_t count, Each each, Fill fill) {
    std::size_t data_words = 0, pointers = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto is = each(i);
      data_words = std::max(data_words, is.data_words);
      pointers = std::max(pointers, is.pointers);
    }
    const auto words = data_words + pointers;
    auto tag = claim(1 + count * words);
    point_to_list(pointer, tag, elements::composite, count * words);
    put_word(tag, std::uint64_t{count} << 2 | sizes(data_words, pointers));
    for (std::size_t i = 0; i < count; ++i) {
      auto at = tag + 8 + 8 * i * words;
      fill(i, at, at + 8 * data_words, each(i));
    }
  }

  std::string out_;
};

} // namespace assay::wire::walk
