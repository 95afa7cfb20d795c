// What is wrong in a document: each with its place, what was seen, what is allowed.

#include "src/base/limits.hpp"
#include "tests/unit/catalog/builders.hpp"

namespace assay::catalog {

using namespace testing;

namespace {

/// `problem_of` shortened to one line.
std::string line_of(const std::string& text) {
  return to_text(problem_of(text));
}

} // namespace

TEST_CASE("an unknown key names its place, the key that was meant, and all that are allowed") {
  const auto p = problem_of("pool: p\nfamily: cpu\ncompatability: true\n");
  CHECK(p.kind == problem_kind::invalid);
  CHECK(p.where == "f.yaml:3:1: compatability");
  CHECK(p.what == "the key `compatability` is not known here; did you mean `compatibility`?");
  CHECK(p.next == "allowed here: pool, family, compatibility, plaintext, data-classes, labels");
}

TEST_CASE("a key with no neighbour gets no suggestion") {
  CHECK_FALSE(contains(line_of("project: p\nzzzzzzzz: 1\n"), "did you mean"));
}

TEST_CASE("a nested problem names the whole path of its key") {
  const auto p = problem_of("model: m\nimplementations:\n  - {pool: p, artifact: a}\n"
                            "  - pool: q\n    artifact: a\n    replicas:\n      max: none\n");
  CHECK(p.where == "f.yaml:7:12: implementations[1].replicas.max");
  CHECK(p.what == "`none` is no whole number");
}

TEST_CASE("all problems of all documents come out at once, in the order of their lines") {
  const auto all = problems_of(
    "pool: p\nfamily: gpu\nlabels: 3\n---\nkey: k\nclass: shadow\n---\nmodel: m!\nversion: 0\n"
  );
  const std::vector<std::string> lines{
    "f.yaml:2:9: family: `gpu`",
    "f.yaml:3:9: labels: text stands where a mapping belongs",
    "f.yaml:5:1: project: the key is missing",
    "f.yaml:6:8: class: `shadow` is not one of the allowed words",
    "f.yaml:8:8: model: `m!` is no name",
    "f.yaml:9:10: version: `0` is out of range"};
  std::size_t from = 0;
  for (const auto& line : lines) {
    const auto at = all.find(line, from);
    INFO(line << "\n in\n" << all);
    REQUIRE(at != all.npos);
    from = at;
  }
}

TEST_CASE("problems come in the order of the files") {
  const std::vector<source_file> files{{"b.yaml", "pool: !"}, {"a.yaml", "pool: p\n"}};
  const auto parsed = parse(files);
  REQUIRE_FALSE(parsed);
  REQUIRE(parsed.error().size() >= 2);
  CHECK(parsed.error()[0].where.starts_with("b.yaml:1"));
  CHECK(parsed.error().back().where.starts_with("a.yaml:1"));
}

TEST_CASE("a name that is used twice names both places, across files too") {
  const std::vector<source_file> files{
    {"one.yaml", "project: x\n---\nproject: p\n"}, {"two.yaml", "\nproject: p\n"}};
  const auto parsed = parse(files);
  REQUIRE_FALSE(parsed);
  REQUIRE(parsed.error().size() == 1);
  CHECK(parsed.error()[0].where == "two.yaml:2:10: project");
  CHECK(parsed.error()[0].what == "the project `p` is declared twice, first at one.yaml:3:10");
}

TEST_CASE("the same name of two kinds is no duplicate") {
  CHECK(parse_text("project: p\n---\npool: p\nfamily: cpu\n"));
  CHECK(parse_text("model: p\n---\nmodel: p\nversion: 2\n"));
}

TEST_CASE("a key that is written twice is refused, in another spelling too") {
  const auto p = problem_of("pool: p\nfamily: cpu\ndata-classes: [a]\ndata_classes: [b]\n");
  CHECK(p.where == "f.yaml:4:1: data-classes");
  CHECK(p.what == "the key is given twice, first on line 3");
  CHECK(contains(
    problems_of("model: m\nimplementations: [{pool: p, artifact: a}]\n"
                "qualified implementations: [{pool: q, artifact: a}]\n"),
    "given twice, first on line 2"
  ));
}

TEST_CASE("the first key must name a kind") {
  CHECK(contains(line_of("pol: p\n"), "did you mean `pool`?"));
  CHECK(contains(line_of("family: cpu\npool: p\n"), "put `pool` first"));
  CHECK(contains(line_of("x: y\n"), "pool, model, artifact, implementation"));
}

TEST_CASE("a document that is no mapping is refused with what it is") {
  CHECK(contains(line_of("- a\n- b\n"), "the document is a list"));
  CHECK(contains(line_of("hello\n"), "the document is text"));
  CHECK(contains(line_of("{}\n"), "empty mapping"));
}

TEST_CASE("a file without a document is refused") {
  for (const auto* empty :
       {"",
        "\n\n",
        "# only a comment\n",
        "---\n---\n",
        "%YAML 1.2\n---\n",
        "--- # nothing\n",
        "...\n",
        "\xef\xbb\xbf"}) {
    INFO(empty);
    CHECK(contains(line_of(empty), "the file holds no document"));
  }
}

TEST_CASE("a blank document between others is passed over") {
  CHECK(values_of("---\n---\nproject: a\n---\n# nothing\n---\nproject: b\n...\n").size() == 2);
  CHECK(values_of("\xef\xbb\xbfproject: a\n").size() == 1);
  CHECK(values_of("%YAML 1.2\n---\nproject: a\n").size() == 1);
  CHECK(values_of("project: a\r\n---\r\nproject: b\r\n").size() == 2);
  CHECK(values_of("{\"project\": \"a\", \"data-classes\": [\"x\"]}").size() == 1);
}

TEST_CASE("a wrong unit is refused with the right ones") {
  const auto limits = [](const std::string& body) {
    return line_of("model: m\ncontract: {limits: {body: " + body + "}}\n");
  };
  CHECK(contains(limits("64 seconds"), "f.yaml:2:27: contract.limits.body: `64 seconds` is no size")
  );
  CHECK(contains(limits("64"), "the unit is missing"));
  CHECK(contains(limits("64"), "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"));
  CHECK(contains(
    line_of("policy: p\nsuite: s\nscore-at-least: 40 %\nvalid-for: 90 days\n"),
    "write a number and one of ms, s, min, h, d"
  ));
  CHECK(contains(line_of("policy: p\nsuite: s\nscore-at-least: 0.4\n"), "like `95 %`"));
  CHECK(contains(
    line_of("policy: p\nsuite: s\nscore-at-least: 4 %\ncost-ceiling: 3\n"), "currency is missing"
  ));
  CHECK(contains(
    line_of("model: m\ncontract: {limits: {context-tokens: 4096 tokens}}\n"), "digits only"
  ));
}

TEST_CASE("what nothing here could keep is refused, and not taken and forgotten") {
  CHECK(contains(
    line_of("policy: p\nsuite: s\nscore-at-least: 4 %\ncost-ceiling: 0.002 EUR\n"),
    "a ceiling would refuse every request"
  ));
  CHECK(contains(
    line_of("model: m\ncontract: {safety: {policy: house, requires: [filter]}}\n"),
    "put the filter before the ingress"
  ));
}

TEST_CASE("the last allowed number passes and the first refused does not") {
  const auto slots = [](int n) {
    return problems_of("implementation: m/p/a\nslots: " + std::to_string(n) + "\n");
  };
  CHECK(slots(1).empty());
  CHECK(slots(65'536).empty());
  CHECK(contains(slots(0), "allowed: 1 to 65536"));
  CHECK(contains(slots(65'537), "allowed: 1 to 65536"));
  const auto body = [](const std::string& size) {
    return problems_of("model: m\ncontract: {limits: {body: " + size + "}}\n");
  };
  CHECK(body("64 MiB").empty());
  CHECK(contains(body("67108865 B"), "at most 64 MiB"));
}

TEST_CASE("a floor over its ceiling is refused") {
  const auto p = problem_of("implementation: m/p/a\nreplicas: {min: 3, max: 2}\n");
  CHECK(p.where == "f.yaml:2:17: replicas.min");
  CHECK(p.what == "the floor 3 is over the ceiling 2");
  CHECK(parse_text("implementation: m/p/a\nreplicas: {min: 2, max: 2}\n"));
}

TEST_CASE("parts that cannot hold together are refused") {
  CHECK(contains(
    line_of("model: m\ncontract: {limits: {context-tokens: 10, output-tokens: 11}}\n"),
    "11 tokens are more than the context of 10"
  ));
  CHECK(contains(
    line_of("policy: p\nsuite: s\nscore-at-least: 4 %\nitems-at-least: 3\n"
            "distinct-answers-at-least: 4\n"),
    "3 items"
  ));
  CHECK(
    contains(line_of("implementation: m/p/a#one\nprofile: two\n"), "the id names the profile `one`")
  );
  CHECK(contains(
    line_of("model: m\ncontract: {objectives: [{metric: availability, limit: 1 s, share: 99 %, "
            "window: 1 d}]}\n"),
    "availability has no limit"
  ));
}

TEST_CASE("a value of the wrong shape is refused with the shape that is wanted") {
  CHECK(contains(line_of("project: [p]\n"), "a list stands where one value belongs"));
  CHECK(contains(line_of("project: {a: b}\n"), "a mapping stands where one value belongs"));
  CHECK(contains(line_of("project:\n"), "the value is missing"));
  CHECK(contains(line_of("project: p\ndata-classes: a\n"), "like `[first, second]`"));
  CHECK(contains(line_of("model: m\ncontract: [task]\n"), "allowed: task, streaming"));
  CHECK(contains(line_of("model: m\nimplementations: {pool: p}\n"), "begin each entry with `- `"));
  CHECK(contains(line_of("model: m\nimplementations: [p]\n"), "implementations[0]"));
  CHECK(contains(line_of("implementation: m/p/a\nreplicas: [1]\n"), "a list stands"));
}

TEST_CASE("a list that names no implementation says what to do") {
  const auto p = problem_of("model: m\nimplementations: []\n");
  CHECK(p.what == "the list names no implementation");
  CHECK(contains(p.next, "leave the key out"));
}

TEST_CASE("a digest that is none is refused") {
  const auto with = [](const std::string& digest) {
    return problems_of(
      "artifact: a\nmodel: m\nkind: gguf\nlocation: /m\nfiles: [{path: f, sha256: \"" + digest
      + "\"}]\n"
    );
  };
  const std::string hex(64, 'a');
  CHECK(with("sha256:" + hex).empty());
  CHECK(with(hex).empty());
  for (const auto& bad : {hex.substr(1), hex + "a", "sha1:" + hex, "sha256:" + hex.substr(1) + "g"})
    CHECK(contains(with(bad), "is no SHA-256 digest"));
}

TEST_CASE("a file of an artifact stays under its location") {
  const auto with = [](const std::string& path) {
    return problems_of(
      "artifact: a\nmodel: m\nkind: gguf\nlocation: /m\nfiles: [{path: \"" + path
      + "\", sha256: " + std::string(64, 'a') + "}]\n"
    );
  };
  CHECK(with("a/b..c/d").empty());
  for (const auto* bad : {"/etc/passwd", "../x", "a/../x", "a//b", "./a", "a/", "", "a/.."})
    CHECK(contains(with(bad), "no path under the location"));
}

TEST_CASE("an artifact that is started needs a location and files, an adopted one does not") {
  const auto all = problems_of("artifact: a\nmodel: m\nkind: gguf\n");
  CHECK(contains(all, "location: the key is missing"));
  CHECK(contains(all, "no file is listed"));
  CHECK(parse_text("artifact: a\nmodel: m\nkind: adopted\n"));
  CHECK(contains(
    problems_of("artifact: a\nmodel: m\nkind: adopted\nlocation: models\n"), "no absolute path"
  ));
}

TEST_CASE("names of every kind follow the one rule") {
  for (const auto* bad :
       {"project: a/b\n",
        "project: a b\n",
        "pool: \"\"\nfamily: cpu\n",
        "suite: a@b\n",
        "key: \xc3\xa9\nproject: p\n",
        "runtime-profile: a b\nphases: {ready: {get: /}, deep: "
        "{get: /}}\n"})
    CHECK(contains(line_of(bad), "1 to 64"));
  CHECK(contains(line_of("model: m@2\n"), "is no name"));
  CHECK(contains(line_of("implementation: m/p\n"), "MODEL[@VERSION]/POOL/ARTIFACT[#PROFILE]"));
  CHECK(contains(line_of("artifact: a\nmodel: m@1\nkind: adopted\n"), "NAME@VERSION"));
}

TEST_CASE("an arg is a slot or a flag, once") {
  CHECK(
    contains(line_of("implementation: m/p/a\nargs: {\"a=b\": 1}\n"), "neither a slot nor a flag")
  );
  CHECK(contains(line_of("implementation: m/p/a\nargs: {a-b: 1, a_b: 2}\n"), "given twice"));
  CHECK(contains(line_of("implementation: m/p/a\nargs: {a: [1]}\n"), "args.a"));
}

// -- YAML itself ------------------------------------------------------------------------------

TEST_CASE("a syntax error names its line and does not hide the other documents") {
  const auto all = problems_of("project: [a\n---\npool: p\nfamily: gpu\n");
  CHECK(contains(all, "this is not YAML"));
  CHECK(contains(all, "f.yaml:4:9: family"));
}

TEST_CASE("a tab in the indentation is named, and one behind a value is not") {
  const auto p = problem_of("pool: p\nfamily: cpu\nlabels:\n\ta: b\n");
  CHECK(p.where == "f.yaml:4:1");
  CHECK(p.next == "indent with spaces only");
  CHECK(parse_text("project: a\t# comment\n\t\n\t# comment\n"));
}

TEST_CASE("bytes that are not UTF-8 are refused with their place") {
  for (const auto* bad :
       {"\xff",
        "\xc3",
        "\xc0\xaf",
        "\xed\xa0\x80",
        "\xe0\x80\xaf",
        "\xf0\x80\x80\xaf",
        "\xf4\x90\x80\x80",
        "\x80"}) {
    const auto p = problem_of(std::string{"project: a\n# "} + bad + "\n");
    CHECK(p.where == "f.yaml:2:3");
    CHECK(p.what == "this byte is not UTF-8");
  }
  CHECK(parse_text("project: a # \xc3\xa9 \xf0\x9f\x8d\x89\n"));
}

TEST_CASE("control characters are refused, raw or escaped") {
  CHECK(contains(line_of(std::string{"project: a\0b\n", 13}), "control character"));
  CHECK(contains(line_of("model: m\nowner: \"a\\0b\"\n"), "control character"));
  CHECK(contains(line_of("model: m\nowner: |\n  a\n  b\n"), "line break"));
}

TEST_CASE("anchors, aliases and tags are refused, so nothing expands") {
  std::string bomb = "suite: s\na0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const auto before = std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + before + ", *a" + before
            + "]\n";
  }
  CHECK(contains(line_of(bomb), "an anchor (`&name`) stands here"));
  CHECK(contains(line_of("project: *p\n"), "f.yaml:1"));
  CHECK(contains(line_of("project: !!str p\n"), "tags are not used"));
  CHECK(contains(line_of("pool: p\nfamily: cpu\nlabels: {<<: {a: b}}\n"), "labels"));
}

TEST_CASE("the deepest allowed nesting passes and the next does not") {
  const auto nested = [](std::size_t levels) {
    return "suite: s\nx: " + std::string(levels, '[') + std::string(levels, ']') + "\n";
  };
  CHECK(parse_text(nested(limits::yaml_depth - 1)));
  CHECK(contains(line_of(nested(limits::yaml_depth)), "nested deeper than 32 levels"));
  CHECK(contains(line_of(nested(20'000)), "nested deeper"));
}

TEST_CASE("the largest file passes and one byte more does not") {
  const std::string head = "project: p\n#";
  const auto file = [&](std::size_t bytes) { return head + std::string(bytes - head.size(), '.'); };
  CHECK(parse_text(file(limits::document_bytes)));
  CHECK(contains(line_of(file(limits::document_bytes + 1)), "a file holds at most"));
}

TEST_CASE("more values than a file may have are refused") {
  std::string text = "suite: s\nx: [";
  for (std::size_t i = 0; i < limits::yaml_nodes; ++i)
    text += "1,";
  CHECK(contains(line_of(text + "]\n"), "more than 500000 values"));
}

TEST_CASE("more declarations than one apply may have are refused") {
  const auto projects = [](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += "---\nproject: p" + std::to_string(i) + "\n";
    return text;
  };
  CHECK(parse_text(projects(limits::documents)));
  CHECK(contains(line_of(projects(limits::documents + 1)), "too many for one apply"));
}

TEST_CASE("thousands of problems are told up to a limit, and the rest counted") {
  std::string text;
  for (std::size_t i = 0; i < limits::problems + 5; ++i)
    text += "---\nx: y\n";
  const auto parsed = parse_text(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().size() == limits::problems + 1);
  CHECK(parsed.error().back().what == "5 more problems are not shown");
}

TEST_CASE("what is seen is shown shortened, without control characters, and as good UTF-8") {
  std::string name;
  for (int i = 0; i < 100; ++i)
    name += "\xc3\xa9";
  const auto p = problem_of("project: x" + name + "\n");
  CHECK(p.what.size() < 100);
  CHECK(contains(p.what, "\xc3\xa9...`"));
}

TEST_CASE("odd documents end in problems, never in a crash") {
  const std::string odd[] = {
    "? [a]\n: b\n",
    ": b\n",
    "? \n",
    "[[[\n",
    "{{{\n",
    "'",
    "\"",
    "\"\\x",
    "\"\\ud800\"\n",
    "|\n",
    "- - - -\n",
    "a: b: c\n",
    "&a\n",
    "*\n",
    "!<\n",
    "%TAG ! x\n",
    "@\n",
    "`\n",
    "pool: |9\n  x\n",
    "pool: >-\n",
    "pool: {a, b}\n",
    "{a: b}}\n",
    "[a]]\n",
    "a:\n- b\n c\n",
    "pool: p\n family: cpu\n",
    "---\n...\n---\n- ",
    "null\n",
    "~\n",
    "--- |\n",
    "? ? ? a\n"};
  for (const auto& text : odd) {
    INFO(text);
    CHECK_FALSE(parse_text(text).has_value());
  }
}

} // namespace assay::catalog
