"""Numbering by first appearance."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.runtime.dictionary import Numbering, StringDictionary, distinct, encode_strings, ranks, spread

words = st.lists(st.text(alphabet="abé\U0001f600", max_size=3), max_size=6)


@given(st.lists(words, max_size=6))
def test_numbers_follow_first_appearance(batches: list[list[str]]) -> None:
    numbering: Numbering[str] = Numbering.of(())
    known: dict[str, int] = {}
    for batch in batches:
        numbers, numbering = numbering.number(batch)
        assert numbers == [known.setdefault(w, len(known)) for w in batch]
        assert numbering.keys == list(known)
        assert len(numbering) == len(known)


@given(words, words, words)
def test_versions_do_not_see_each_other(common: list[str], left: list[str], right: list[str]) -> None:
    start = Numbering.of(dict.fromkeys(common))
    before = start.keys
    grown = [start.number(keys)[1] for keys in (left, right, left)]
    assert start.keys == before
    assert [n.keys for n in grown] == [list(dict.fromkeys([*common, *keys])) for keys in (left, right, left)]
    for keys, numbering in zip((left, right), grown, strict=False):
        assert numbering.find(keys) == [numbering.keys.index(k) for k in keys]
    new = [k for k in left if k not in common]
    assert start.find(new) == (None if new else [])


def test_a_numbering_that_knows_everything_stays_itself() -> None:
    start = Numbering.of("ab")
    assert start.number(["b", "a"])[1] is start


def test_a_key_has_one_number() -> None:
    with pytest.raises(AssertionError, match="numbered twice"):
        Numbering.of(["a", "a"])


def test_a_numbering_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Numbering.of("ab"))).keys == ["a", "b"]


def test_threads_may_continue_one_numbering() -> None:
    start = Numbering.of(range(100))

    def grow(seed: int) -> bool:
        numbering: Numbering[int] = start
        for i in range(50):
            keys = [seed * 1000 + i * 10 + k for k in range(10)]
            numbers, numbering = numbering.number(keys)
            if numbers != list(range(100 + i * 10, 110 + i * 10)):
                return False
        return numbering.keys[100:] == [seed * 1000 + k for k in range(500)]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(grow, range(1, 41)))
    assert start.keys == list(range(100))


@given(st.lists(words, min_size=1, max_size=6))
def test_ranks_of_a_growing_dictionary(batches: list[list[str]]) -> None:
    dictionary = StringDictionary.of()
    for batch in batches:
        dictionary = dictionary.code(batch)[1]
        order = sorted(dictionary.strings)
        assert ranks(dictionary).tolist() == [order.index(s) for s in dictionary.strings]
        assert ranks(dictionary) is ranks(dictionary)


def test_ranks_of_an_earlier_dictionary_stay() -> None:
    start = StringDictionary.of(["b"])
    grown = start.code(["a"])[1]
    assert ranks(grown).tolist() == [1, 0]
    assert ranks(start).tolist() == [0]


def test_ranks_are_kept_while_nothing_is_new() -> None:
    dictionary = StringDictionary.of(["b", "a"])
    first = ranks(dictionary)
    assert ranks(dictionary.code(["a"])[1]) is first


@given(words)
def test_a_dictionary_survives_its_table(strings: list[str]) -> None:
    dictionary = StringDictionary.of(dict.fromkeys([*strings, "\ud800"]))
    assert StringDictionary.from_table(dictionary.to_table()).strings == dictionary.strings


@given(st.lists(st.lists(st.none() | st.sampled_from("abcd"), min_size=4, max_size=4), min_size=1, max_size=3))
def test_columns_share_one_dictionary(columns: list[list[str | None]]) -> None:
    encoded, dictionary = encode_strings(
        [distinct(pa.array(c, pa.string())) for c in columns], StringDictionary.of("c")
    )
    strings = [*dictionary.strings, None]
    assert [[strings[code] for code in spread(c).tolist()] for c in encoded] == columns
    by_event = [s for event in zip(*columns, strict=True) for s in event if s is not None]
    assert dictionary.strings == list(dict.fromkeys(["c", *by_event]))
