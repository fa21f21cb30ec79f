"""The guides do what they say, every link leads somewhere, and the list of decisions is complete."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import augury
from tests.pages import run_page

DOCS = Path(__file__).parents[2] / "docs"
ON_SPARK = DOCS / "guides" / "spark-in-production.md"  # runs beside the tests of Spark
GUIDES = sorted({*(DOCS / "guides").glob("*.md"), DOCS / "how-it-works.md"} - {ON_SPARK})
PAGES = sorted(DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_guides_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page, tmp_path) >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_relative_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    missing = [t for t in targets if t and "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def test_the_list_of_decisions_is_that_of_the_folder() -> None:
    rows = re.findall(
        r"^\| \[(\d{4})\]\(decisions/([^)]+)\) \| (.+) \|$", (DOCS / "index.md").read_text(), re.MULTILINE
    )
    pages = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    assert [name for _, name, _ in rows] == [page.name for page in pages]
    titles = [page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for page in pages]
    assert [f"{number}. {title}" for number, _, title in rows] == titles


def test_every_page_has_its_place_in_the_navigation() -> None:
    sections = sorted((DOCS / "navigation").glob("*.md"))
    entries = [
        e
        for page in sections
        for e in re.findall(r"^(?:\w[\w ]* <)?/([\w/*-]+)>?$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    reached = {page for entry in entries for page in DOCS.glob(f"{entry}.md")}
    assert {*PAGES} - reached == {DOCS / "site.md", DOCS / "tutorial.md", *sections}


def test_the_front_page_runs(tmp_path: Path) -> None:
    assert run_page(DOCS / "site.md", tmp_path) == 1


def test_the_api_page_documents_every_public_name_once() -> None:
    documented = re.findall(
        r"^\.\. auto(?:function|class|data|exception):: augury\.(\w+)$", (DOCS / "api.md").read_text(), re.M
    )
    assert sorted(documented) == sorted(set(augury.__all__) - {"__version__"})


def test_pictures_are_those_that_the_pages_ask_for() -> None:
    spec = spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = module.pictures()
    assert {path.name for path in (DOCS / "pictures").iterdir()} == set(drawn)
    for name, picture in drawn.items():
        assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == picture, f"{name}: run `make pictures`"
