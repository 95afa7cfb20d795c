#pragma once
// A small state machine for the engine's tests: notes, each with a name, taken once.
//
// A proposal is `NAME=TEXT`. A note that was taken before gets its first receipt again; a second
// text for the same name is refused. Notes whose names begin with `undo` are essential. The
// directory of a test is made and removed by `scratch`.

#include "src/store/ledger_engine.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <stdlib.h>

#include <charconv>
#include <cstring>
#include <future>
#include <map>

namespace assay::store::test {

struct note {
  std::uint64_t seq = 0;
  std::string text;

  friend bool operator==(const note&, const note&) = default;
};

using notes = std::map<std::string, note>;

inline std::string to_row(const note& n) {
  return std::to_string(n.seq) + ":" + n.text;
}

inline note from_row(std::string_view row) {
  note out;
  auto colon = row.find(':');
  std::from_chars(row.data(), row.data() + colon, out.seq);
  out.text = row.substr(colon + 1);
  return out;
}

class note_machine : public state_machine {
public:
  std::string
  seal(const std::vector<std::string>& proposals, wall_ms stamp, std::uint64_t) override {
    auto out = std::to_string(stamp.value) + "\n";
    for (const auto& p : proposals)
      out += p + "\n";
    return out;
  }

  result<void, problem> load(std::string_view key, std::string_view value) override {
    if (key == "stamp") {
      std::from_chars(value.data(), value.data() + value.size(), stands_.stamped_at.value);
      return {};
    }
    auto loaded = from_row(value);
    stands_.seq = std::max(stands_.seq, loaded.seq);
    notes_.emplace(key.substr(2), std::move(loaded));
    return {};
  }

  applied
  apply(std::string_view batch, std::uint64_t, std::uint64_t, const row_lookup& known) override {
    applied out;
    auto stamp = take_line(batch);
    std::from_chars(stamp.data(), stamp.data() + stamp.size(), stands_.stamped_at.value);
    while (!batch.empty())
      out.answers.push_back(apply_one(take_line(batch), known, out.rows));
    out.rows.push_back({"stamp", std::to_string(stands_.stamped_at.value)});
    return out;
  }

  bool is_essential(std::string_view proposal) const override {
    return proposal.starts_with("undo");
  }

  std::vector<row_change> skip(std::uint64_t, std::uint64_t) override { return {}; }
  void clear() override {
    notes_.clear();
    stands_ = {};
  }
  standing stands() const override { return stands_; }
  std::shared_ptr<const void> share() override { return std::make_shared<const notes>(notes_); }

private:
  static std::string take_line(std::string_view& from) {
    auto end = from.find('\n');
    auto line = std::string{from.substr(0, end)};
    from.remove_prefix(end + 1);
    return line;
  }

  answer
  apply_one(const std::string& proposal, const row_lookup& known, std::vector<row_change>& rows) {
    auto name = proposal.substr(0, proposal.find('='));
    auto text = proposal.substr(proposal.find('=') + 1);
    auto first = notes_.find(name);
    if (first == notes_.end()) {
      auto made = note{++stands_.seq, text};
      rows.push_back({"n/" + name, to_row(made)});
      notes_.emplace(name, made);
      return receipt{made.seq, sha256(proposal), {}, stands_.stamped_at, false};
    }
    // What memory says must be what rows say, written or waiting.
    auto row = known.find("n/" + name);
    if (!row || *row != to_row(first->second))
      return unexpected{problem{problem_kind::invalid, "rows and tables differ", "", ""}};
    if (first->second.text != text)
      return unexpected{problem{problem_kind::refused, "another text has this name", "", ""}};
    return receipt{first->second.seq, sha256(proposal), {}, stands_.stamped_at, true};
  }

  notes notes_;
  standing stands_;
};

inline const notes& notes_of(const view_ptr& v) {
  return *static_cast<const notes*>(v->tables.get());
}

/// A directory that goes with its test.
class scratch {
public:
  scratch() {
    std::string form = (std::filesystem::temp_directory_path() / "assay-store-XXXXXX").string();
    REQUIRE(::mkdtemp(form.data()) != nullptr);
    path_ = form;
  }
  explicit scratch(std::filesystem::path borrowed) : path_{std::move(borrowed)}, is_ours_{false} {}
  ~scratch() {
    std::error_code ignored; // A directory left behind is no reason to fail.
    if (is_ours_)
      std::filesystem::remove_all(path_, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
  bool is_ours_ = true;
};

inline data_directory open_directory(const std::filesystem::path& root) {
  auto directory = data_directory::open(root, {.is_network_accepted = true});
  if (!directory)
    FAIL(to_text(directory.error()));
  return *std::move(directory);
}

inline std::unique_ptr<ledger_engine>
open_engine(const data_directory& directory, engine_options options = {}) {
  if (options.map_bytes == 0)
    options.map_bytes = 256 << 20; // Sanitizers dislike large maps.
  if (!ledger_engine::is_bootstrapped(directory)) {
    auto made = ledger_engine::bootstrap(directory, options);
    if (!made)
      FAIL(to_text(made.error()));
  }
  auto engine = ledger_engine::open(directory, std::make_unique<note_machine>(), options);
  if (!engine)
    FAIL(to_text(engine.error()));
  return *std::move(engine);
}

inline std::future<answer>
ask(ledger_engine& engine, std::string bytes, bool is_time_driven = false) {
  auto promise = std::make_shared<std::promise<answer>>();
  engine.propose({std::move(bytes), is_time_driven}, [promise](answer a) {
    promise->set_value(std::move(a));
  });
  return promise->get_future();
}

inline receipt take(ledger_engine& engine, std::string bytes) {
  auto got = ask(engine, std::move(bytes)).get();
  if (!got)
    FAIL(to_text(got.error()));
  return *got;
}

inline result<view_ptr, problem> barrier(ledger_engine& engine) {
  // Shared: set_value may still be running when get returns.
  auto promise = std::make_shared<std::promise<result<view_ptr, problem>>>();
  engine.read_barrier([promise](result<view_ptr, problem> v) { promise->set_value(std::move(v)); });
  return promise->get_future().get();
}

} // namespace assay::store::test
