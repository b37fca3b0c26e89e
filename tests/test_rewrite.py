"""Expectations rewritten in place: what changes, and that nothing else does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.exits import ExitReason
from harness.rewrite import Change, accept
from harness.scenario import Expectation
from harness.spans import json_spans
from harness.yamlfile import load_yaml

HEAD = "schema: harness/scenario@1\nid: a/b\ngoal: g\nsteps: [{reply: {text: hi}}]\n"
SPIN_3 = Expectation(exit_reason=ExitReason.SPIN, iteration=3)
CYCLE_12 = Expectation(exit_reason=ExitReason.CYCLE, iteration=12)
SPIN = Expectation(exit_reason=ExitReason.SPIN)
CYCLE = Expectation(exit_reason=ExitReason.CYCLE)


def rewritten(tmp_path, name: str, text: str, *changes: Change) -> tuple[str, list[str]]:
    """The file afterwards, and what could not be written."""
    file = tmp_path / name
    file.write_bytes(text.encode("utf-8"))
    placed = [Change(str(file), *change[1:]) if isinstance(change, tuple) else change
              for change in changes]  # fmt: skip
    _, problems = accept(placed)
    return file.read_bytes().decode("utf-8"), problems


def change(before, after, preset="mine", line=1, scenario="a/b"):
    return ("", line, scenario, preset, before, after)


# text before -> text after, where mine goes from spin in 3 to cycle in 12
CHANGED = {
    "flow, with quotes and comments": (
        HEAD + "expect: # x\n  mine: {exit_reason: 'spin', iteration: 3}   # keep\n  # more\n",
        HEAD + "expect: # x\n  mine: {exit_reason: 'cycle', iteration: 12}   # keep\n  # more\n",
    ),
    "block, in another order": (
        HEAD + "expect:\n    mine:\n      # why\n      iteration: 3\n      exit_reason: spin\n",
        HEAD + "expect:\n    mine:\n      # why\n      iteration: 12\n      exit_reason: cycle\n",
    ),
    "before other keys": (
        "expect: {other: {exit_reason: spin}, mine: {exit_reason: spin, iteration: 3}}\n" + HEAD,
        "expect: {other: {exit_reason: spin}, mine: {exit_reason: cycle, iteration: 12}}\n" + HEAD,
    ),
    "Windows line ends, no last one": (
        (HEAD + "expect:\n  mine: {exit_reason: spin, iteration: 3}").replace("\n", "\r\n"),
        (HEAD + "expect:\n  mine: {exit_reason: cycle, iteration: 12}").replace("\n", "\r\n"),
    ),
    "byte order mark": (
        "\ufeff" + HEAD + "expect: {mine: {exit_reason: spin, iteration: 3}}\n",
        "\ufeff" + HEAD + "expect: {mine: {exit_reason: cycle, iteration: 12}}\n",
    ),
}  # fmt: skip
# text before -> text after, where `new` (max_rounds in 2) is added
ROUNDS_2 = Expectation(exit_reason=ExitReason.MAX_ROUNDS, iteration=2)
ADDED = {
    "no expectations yet": (
        HEAD, HEAD + "expect:\n  new: {exit_reason: max_rounds, iteration: 2}\n"
    ),
    "no last line end": (
        HEAD.rstrip(), HEAD + "expect:\n  new: {exit_reason: max_rounds, iteration: 2}\n"
    ),
    "a document that ends": (
        HEAD + "...\n", HEAD + "expect:\n  new: {exit_reason: max_rounds, iteration: 2}\n...\n"
    ),
    "an empty mapping": (
        HEAD + "expect: {}\n", HEAD + "expect: {new: {exit_reason: max_rounds, iteration: 2}}\n"
    ),
    "below the last one": (
        HEAD + "expect:\n    a: {exit_reason: spin}  # why\n# tail\ntitle: x\n",
        HEAD + "expect:\n    a: {exit_reason: spin}  # why\n"
        "    new: {exit_reason: max_rounds, iteration: 2}\n# tail\ntitle: x\n",
    ),
    "below a block": (
        HEAD + "expect:\n  a:\n    exit_reason: spin\n    iteration: 3 # three\ntitle: x\n",
        HEAD + "expect:\n  a:\n    exit_reason: spin\n    iteration: 3 # three\n"
        "  new: {exit_reason: max_rounds, iteration: 2}\ntitle: x\n",
    ),
    "beside others": (
        HEAD + "expect: {a: {exit_reason: spin}}\n",
        HEAD + "expect: {a: {exit_reason: spin}, new: {exit_reason: max_rounds, iteration: 2}}\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGED)
def test_an_expectation_changes_where_it_stands(tmp_path, case):
    before, after = CHANGED[case]
    assert rewritten(tmp_path, "a.yaml", before, change(SPIN_3, CYCLE_12)) == (after, [])


@pytest.mark.parametrize("case", ADDED)
def test_an_expectation_is_added_in_the_style_of_the_file(tmp_path, case):
    before, after = ADDED[case]
    assert rewritten(tmp_path, "a.yaml", before, change(None, ROUNDS_2, "new")) == (after, [])


@pytest.mark.parametrize(
    ("name", "shown"), [("yes", '"yes"'), ("a b", '"a b"'), ("x-1.y", "x-1.y"), ("1", '"1"')]
)
def test_names_that_yaml_would_read_otherwise_are_quoted(tmp_path, name, shown):
    text, problems = rewritten(tmp_path, "a.yaml", HEAD, change(None, SPIN, name))
    assert (text, problems) == (HEAD + f"expect:\n  {shown}: {{exit_reason: spin}}\n", [])


HEAD_JSON = {"schema": "harness/scenario@1", "id": "a/b", "goal": "g", "steps": [{}]}


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("mine", [None, {"exit_reason": "spin", "iteration": 3}])
def test_json_keeps_its_layout(tmp_path, indent, mine):
    data = HEAD_JSON | ({"expect": {"mine": mine}} if mine else {})
    text = json.dumps(data, indent=indent)
    before = SPIN_3 if mine else None
    made, problems = rewritten(tmp_path, "a.json", text, change(before, CYCLE_12))
    assert problems == []
    accepted = {"exit_reason": "cycle", "iteration": 12}
    assert json.loads(made) == data | {"expect": {"mine": accepted}}
    if mine:
        assert made == text.replace("spin", "cycle").replace("3", "12")
    else:
        assert made.startswith(text[: text.rindex("}")].rstrip())


def test_lines_of_json_are_changed_one_by_one(tmp_path):
    other = '{"id": "1", "goal": "a\u2028b"}'
    text = f'\ufeff{other}\r\n\r\n{{"id":"2","expect":{{"mine":{{"exit_reason":"spin"}}}}}}'
    made, problems = rewritten(
        tmp_path, "a.jsonl", text, change(SPIN, CYCLE, line=3), change(None, SPIN_3, line=1)
    )
    added = other[:-1] + ', "expect": {"mine": {"exit_reason": "spin", "iteration": 3}}}'
    assert (made, problems) == (text.replace(other, added).replace('"spin"}}}', '"cycle"}}}'), [])


def test_what_has_changed_since_is_left_alone(tmp_path):
    text = HEAD + "expect: {mine: {exit_reason: spin, iteration: 4}}\n"
    made, problems = rewritten(tmp_path, "a.yaml", text, change(SPIN_3, CYCLE_12))
    assert made == text
    where = f"{tmp_path / 'a.yaml'}:1: expect.mine"
    assert problems == [f"{where}: changed since it was read, left alone"]


def test_what_would_move_something_else_is_left_to_the_user(tmp_path):
    text = HEAD + "title: |+\n  a\n"
    text = text[:-1]  # a literal text that a further line would change
    made, problems = rewritten(tmp_path, "a.yaml", text, change(None, SPIN))
    assert made == text
    assert "change it by hand" in problems[0]


def test_a_family_shares_one_expectation(tmp_path):
    text = HEAD + "expect: {mine: {exit_reason: spin, iteration: 3}}\n"
    made, problems = rewritten(
        tmp_path, "a.yaml", text,
        change(SPIN_3, CYCLE_12, scenario="a/b-1"), change(SPIN_3, SPIN_3, scenario="a/b-2"),
    )  # fmt: skip
    assert made == text
    where = f"{tmp_path / 'a.yaml'}:1: expect.mine: the members of this family share one"
    words = f"{where} expectation, but end differently: cycle in 12, spin in 3"
    assert problems == [words]


# -- laws --------------------------------------------------------------------------------------

names = st.text(min_size=1, max_size=8)
reasons = st.sampled_from(list(ExitReason))
expectations = st.builds(Expectation, exit_reason=reasons, iteration=st.none() | st.integers(1, 99))


@given(st.dictionaries(names, expectations, max_size=4), names, expectations, st.data())
def test_any_expectation_of_any_file_can_be_accepted(tmp_path_factory, expect, name, after, data):
    """JSON is YAML, so one text serves both readers."""
    plain = {key: value.model_dump(mode="json", exclude_none=True) for key, value in expect.items()}
    layout = data.draw(st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}]))
    text = json.dumps(HEAD_JSON | {"expect": plain}, **layout)
    before = expect.get(name)
    if before is not None:
        # An update keeps what is pinned.
        pinned = before.iteration is not None
        after = Expectation(
            exit_reason=after.exit_reason, iteration=(after.iteration or 7) if pinned else None
        )
    wanted = HEAD_JSON | {
        "expect": plain | {name: after.model_dump(mode="json", exclude_none=True)}
    }
    folder = tmp_path_factory.mktemp("law")
    made, problems = rewritten(folder, "a.json", text, change(before, after, name))
    assert problems == []
    assert json.loads(made) == wanted


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(
    st.text(), inner) | st.lists(inner)))  # fmt: skip
def test_spans_point_at_the_values(value):
    def check(span, wanted):
        assert json.loads(text[span.start : span.end]) == wanted
        for key, (_, inner) in span.members.items():
            check(inner, wanted[key])

    text = json.dumps({"a": value}, indent=1)
    check(json_spans(text), {"a": value})


def test_yaml_is_read_as_it_is_written(tmp_path):
    for before, after in [*CHANGED.values(), *ADDED.values()]:
        assert (
            load_yaml(after.lstrip("\ufeff"), "a")["goal"]
            == load_yaml(before.lstrip("\ufeff"), "a")["goal"]
        )
