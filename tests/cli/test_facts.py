"""`hmem facts`: what goes in comes out, what goes is remembered, and mistakes change nothing."""

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hmem.errors import ConfigError
from hmem.knowledge.store.store import Store
from tests.cli.conftest import Command, tabbed
from tests.conftest import TOY_TRAIN, Snapshot

FACTS = sorted((head, relation, tail) for head, relation, tail in map(str.split, TOY_TRAIN.strip().splitlines()))
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


@pytest.fixture
def kb(command: Command) -> str:
    """The toy graph's facts without a model, which these commands have no use for."""
    with Store.create("zoo.kb") as store:
        store.add(FACTS, source="toy")
    return "zoo.kb"


def stored() -> set[tuple[str, ...]]:
    with Store.open("zoo.kb") as store:
        return {fact.names for fact in store.listing()}


def rows(out: str) -> list[list[str]]:
    """The cells of a printed table, its heading first; cells are two or more blanks apart."""
    return [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line.strip() and "─" not in line]


SAID = [  # one command after the other, all that is printed is compared
    ("add", "zoo.kb", "dire_wolf.n.01", "hypernym", "canine.n.02"),
    ("add", "zoo.kb", "dire_wolf.n.01", "hypernym", "canine.n.02"),
    ("add", "zoo.kb", "Timber Wolf N.01", "Hypernym", "wolf.n.01"),
    ("add", "zoo.kb", "-"),
    ("list", "zoo.kb", "--head", "dog.n.01"),
    ("list", "zoo.kb", "--limit", "3"),
    ("list", "zoo.kb", "--head", "dog.n.01", "--tail", "lion.n.01"),
    ("list", "zoo.kb", "--head", "timberwolf"),
    ("list", "zoo.kb", "--relation", "hypernim"),
    ("list", "zoo.kb", "--tail", "Zürich"),
    ("list", "zoo.kb", "--as-of", "last week"),
    ("remove", "zoo.kb", "timberwolf", "hypernym", "wolf.n.01"),
    ("remove", "zoo.kb", "yak", "eats", "grass"),
    ("remove", "zoo.kb", "yak", "eats", "grass"),
    ("history", "zoo.kb", "yak"),
    ("import", "zoo.kb", "more.csv", "-"),
    ("export", "zoo.kb", "all.tsv"),
    ("export", "zoo.kb", "all.tsv"),
    ("export", "zoo.kb", "all.xlsx"),
]


def test_what_the_commands_say(command: Command, kb: str, snapshot: Snapshot) -> None:
    Path("more.csv").write_text("from,type,to\nyak,eats,grass\nyak,eats,hay\nyak,eats,hay\n")
    said = []
    for words in SAID:
        code, out, err = command("facts", *words, given="yak\teats\tgrass\ndog.n.01\thypernym\tcanine.n.02\n")
        said.append(f"$ hmem facts {shlex.join(words)}\n{out}{err}{f'exit code {code}' if code else ''}".rstrip())
    snapshot("facts", re.sub(TIME, "2026-01-01 00:00:00", "\n".join(said)) + "\n")


# add


def test_add_stores_a_fact_with_its_source_and_confidence(command: Command, kb: str) -> None:
    fact = ("dire_wolf.n.01", "hypernym", "canine.n.02")
    assert command("facts", "add", kb, *fact, "--source", "me", "--confidence", 0.75).code == 0
    with Store.open(kb) as store:
        (found,) = store.listing(head="dire_wolf.n.01")
        assert (found.names, found.source, found.confidence) == (fact, "me", 0.75)


def test_add_reads_standard_input(command: Command, kb: str) -> None:
    given = "yak.n.01\thypernym\tmammal.n.01\nyak.n.01\teats\tgräs\ndog.n.01\thypernym\tcanine.n.02\n"
    assert command("facts", "add", kb, "-", given=given).code == 0
    assert {("yak.n.01", "eats", "gräs"), ("yak.n.01", "hypernym", "mammal.n.01")} <= stored()


def test_a_bad_line_on_standard_input_stores_nothing(command: Command, kb: str) -> None:
    before = stored()
    code, out, err = command("facts", "add", kb, "-", given="yak\tis_a\tmammal\nyak\tis_a\n")
    assert (code, out, err) == (1, "", "hmem: standard input:2: expected 3 tab-separated fields, found 2\n")
    assert stored() == before
    code, out, err = command("facts", "add", kb, "-", given="")
    assert (code, out) == (1, "")
    assert err.startswith("hmem: standard input")


def test_standard_input_has_no_heading(command: Command, kb: str) -> None:
    assert command("facts", "add", kb, "-", given="head\trelation\ttail\n").out.startswith("added: head relation tail")


def test_names_that_look_like_options_or_hold_anything(command: Command, kb: str) -> None:
    fact = ("--head", "[b]is a[/b]", 'say "ä\n😀"')
    assert command("facts", "add", kb, "--", *fact).out == 'added: --head [b]is a[/b] say "ä\\n😀"\n'
    assert fact in stored()
    listed = command("facts", "list", kb, "--head=--head").out
    assert 'say "ä\\n😀"' in listed
    assert json.loads(command("facts", "list", kb, "--head=--head", "--json", "-").out)[0]["tail"] == fact[2]
    assert command("facts", "remove", kb, "--", *fact).code == 0
    assert fact not in stored()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a", "b"], 2, "expected HEAD RELATION TAIL, or - for standard input; received 2: a b"),
        (["a", "b", "c", "d"], 2, "expected HEAD RELATION TAIL, or - for standard input; received 4: a b c d"),
        (["", "b", "c"], 1, "expected a head, received empty text"),
    ],
)
def test_what_is_no_fact_is_refused(command: Command, kb: str, arguments: list[str], code: int, message: str) -> None:
    assert command("facts", "add", kb, *arguments) == (code, "", f"hmem: {message}\n")


def test_a_knowledge_base_that_is_not_there(command: Command) -> None:
    for verb in (["add", "zoo.kb", "a", "b", "c"], ["list", "zoo.kb"], ["export", "zoo.kb", "-"]):
        code, out, err = command("facts", *verb)
        assert (code, out) == (1, "")
        assert err == "hmem: there is no knowledge base zoo.kb; make one with: hmem kb create zoo.kb\n"


def test_json_of_what_was_written(command: Command, kb: str) -> None:
    added = json.loads(command("facts", "add", kb, "yak", "eats", "grass", "--json", "-").out)
    assert added == {
        "added": 1,
        "stored_before": 0,
        "kept": 0,
        "new_entities": ["yak", "grass"],
        "new_relations": ["eats"],
    }
    code, out, _ = command("facts", "remove", kb, "yak", "eats", "grass", "--json", "done.json")
    assert (code, out) == (0, "removed: yak eats grass\n")
    assert json.loads(Path("done.json").read_text()) == {"removed": 1, "not_stored": 0}


# remove


def test_remove_forgets_a_fact_but_not_its_history(command: Command, kb: str) -> None:
    fact = ("dog.n.01", "hypernym", "canine.n.02")
    assert command("facts", "remove", kb, *fact, "--source", "me") == (0, f"removed: {' '.join(fact)}\n", "")
    assert fact not in stored()
    code, out, err = command("facts", "remove", kb, *fact)
    assert (code, out) == (1, "")
    assert err == f"hmem: zoo.kb does not hold {' '.join(fact)}; see: hmem facts list zoo.kb --head dog.n.01\n"
    first, second = rows(command("facts", "history", kb, *fact).out)[1:]
    assert first[1:] == ["removed", *fact, "me"]
    assert second[1:] == ["added", *fact, "toy"]


def test_remove_reads_standard_input(command: Command, kb: str) -> None:
    given = "dog.n.01\thypernym\tcanine.n.02\ndog.n.01\thypernym\twolf.n.01\n"
    assert command("facts", "remove", kb, "-", given=given) == (0, "1 fact removed, 1 not stored\n", "")
    assert len(stored()) == len(FACTS) - 1


# Names as people type them


def test_case_and_punctuation_are_forgiven_aloud(command: Command, kb: str) -> None:
    code, out, err = command("facts", "list", kb, "--head", "Timber-Wolf N01")
    assert (code, err) == (0, 'entity "Timber-Wolf N01": taken for timber_wolf.n.01\n')
    assert rows(out)[1][:3] == ["timber_wolf.n.01", "hypernym", "wolf.n.01"]
    command("facts", "add", kb, "TIMBER_WOLF.n.01", "hypernym", "wolf.n.01")
    assert command("facts", "list", kb, "--head", "Timber-Wolf N01").err == (
        'hmem: no entity "Timber-Wolf N01"; did you mean TIMBER_WOLF.n.01 or timber_wolf.n.01?\n'
    )
    assert command("facts", "list", kb, "--head", "timber_wolf.n.01").err == ""


# list and history


def test_list_shows_facts_oldest_first_and_says_when_there_are_more(command: Command, kb: str) -> None:
    code, out, err = command("facts", "list", kb, "--limit", 3)
    heading, *lines = rows(out)
    assert code == 0
    assert heading == ["head", "relation", "tail", "added", "source"]
    assert [tuple(line[:3]) for line in lines] == FACTS[:3]
    assert all(re.fullmatch(TIME, line[3]) and line[4] == "toy" for line in lines)
    code, out, err = command("facts", "list", kb, "--limit", 0)
    assert (len(rows(out)) - 1, err) == (len(FACTS), "")
    code, out, err = command("facts", "list", kb, "--limit", len(FACTS))
    assert (len(rows(out)) - 1, err) == (len(FACTS), "")


def test_list_by_head_relation_and_tail(command: Command, kb: str) -> None:
    for option, place, name in (("--head", 0, "dog.n.01"), ("--relation", 1, "part_of"), ("--tail", 2, "wolf.n.01")):
        found = json.loads(command("facts", "list", kb, option, name, "--limit", 0, "--json", "-").out)
        assert [(each["head"], each["relation"], each["tail"]) for each in found] == [
            fact for fact in FACTS if fact[place] == name
        ]


def test_confidence_is_a_column_only_where_one_was_given(command: Command, kb: str) -> None:
    command("facts", "add", kb, "yak", "eats", "grass", "--confidence", 0.5)
    heading, line = rows(command("facts", "list", kb, "--head", "yak").out)
    assert (heading[-1], line[-2:]) == ("confidence", ["–", "0.50"])


def test_the_past_can_be_listed_and_exported(command: Command, kb: str) -> None:
    with Store.open(kb) as store:
        then = store.history(limit=1)[0].added_at
    command("facts", "remove", kb, "dog.n.01", "hypernym", "canine.n.02")
    command("facts", "add", kb, "yak", "eats", "grass")
    now = [("list", kb, "--limit", 0, "--json", "-"), ("export", kb, "-")]
    assert len(json.loads(command("facts", *now[0]).out)) == len(FACTS)
    assert command("facts", *now[1]).out.splitlines()[-1] == "yak\teats\tgrass"
    past = then.isoformat()
    found = json.loads(command("facts", *now[0], "--as-of", past).out)
    assert [(each["head"], each["relation"], each["tail"]) for each in found] == FACTS
    assert command("facts", *now[1], "--as-of", past).out == "".join("\t".join(fact) + "\n" for fact in FACTS)
    assert command("facts", "export", kb, "-", "--as-of", "1999-12-31").out == ""


def test_a_time_without_zone_is_local(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from hmem.cli.options import parse_time

    moment = datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert parse_time("2026-05-01T12:00+02:00") == moment
    assert parse_time("2026-05-01T10:00Z") == moment
    assert parse_time(moment.astimezone().replace(tzinfo=None).isoformat()) == moment
    with pytest.raises(ConfigError, match="is no date or time"):
        parse_time("0001-01-01T00:00+14:00")  # elsewhere that is in the year before


def test_history_of_everything_is_newest_first(command: Command, kb: str) -> None:
    command("facts", "remove", kb, "dog.n.01", "hypernym", "canine.n.02", "--source", "me")
    command("facts", "add", kb, "dog.n.01", "hypernym", "canine.n.02", "--source", "sorry")
    code, out, err = command("facts", "history", kb, "--limit", 2)
    heading, first, second = rows(out)
    assert heading == ["when", "what", "head", "relation", "tail", "source"]
    assert (first[1], first[-1], second[1], second[-1]) == ("added", "sorry", "removed", "me")
    assert (code, err) == (0, "The newest 2; --limit 0 shows all.\n")
    events = json.loads(command("facts", "history", kb, "dog.n.01", "hypernym", "--json", "-").out)
    assert [event["what"] for event in events] == ["added", "removed", "added"]
    assert events == sorted(events, key=lambda event: event["at"], reverse=True)
    assert len(json.loads(command("facts", "history", kb, "--limit", 0, "--json", "-").out)) == len(FACTS) + 2


def test_an_empty_knowledge_base_says_so(command: Command) -> None:
    Store.create("new.kb").close()
    assert command("facts", "list", "new.kb") == (0, "", "new.kb holds no facts yet\n")
    assert command("facts", "history", "new.kb") == (0, "", "nothing has happened yet in new.kb\n")
    assert command("facts", "export", "new.kb", "all.tsv") == (0, "all.tsv: 0 facts\n", "")


# import and export


def test_import_reads_any_format_and_says_what_was_new(command: Command, kb: str) -> None:
    Path("more.csv").write_text("from,type,to\nyak,eats,grass\nyak,eats,hay\nyak,eats,hay\n")
    Path("again.tsv").write_text(tabbed(TOY_TRAIN))
    assert command("facts", "import", kb, "more.csv", "again.tsv").code == 0
    with Store.open(kb) as store:
        assert {fact.source for fact in store.listing(head="yak")} == {"more.csv"}
    found = json.loads(command("facts", "import", kb, "more.csv", "--source", "me", "--json", "-").out)
    assert found["files"] == [{"file": "more.csv", "read": 3, "added": 0, "stored_before": 3, "values": 0}]


def test_import_in_parts_says_the_same(command: Command, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmem.knowledge.store.store.PART", 2)
    Path("more.csv").write_text("from,type,to\nyak,eats,grass\nyak,eats,hay\nyak,eats,hay\nhay,is,grass\nox,eats,hay\n")
    answer = command("facts", "import", kb, "more.csv", "--in-parts", "--json", "-")
    found = json.loads(answer.out)
    assert found["files"] == [{"file": "more.csv", "read": 5, "added": 4, "stored_before": 1, "values": 0}]
    assert set(found["new_entities"]) == {"yak", "grass", "hay", "ox"}
    with Store.open(kb) as store:
        assert store.moment == 4  # one before, and three of two rows at most


def test_import_in_parts_that_is_interrupted_keeps_them(
    command: Command, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hmem.knowledge.store.store.PART", 2)
    monkeypatch.setattr("time.sleep", interrupt)
    Path("more.csv").write_text("from,type,to\nyak,eats,grass\nyak,eats,hay\nox,eats,hay\n")
    answer = command("facts", "import", kb, "more.csv", "--in-parts")
    said = "hmem: interrupted; only a part of the next file (2 facts) was stored\n"
    assert (answer.code, answer.err) == (130, said)


def test_import_takes_another_knowledge_base_as_it_is_or_was(command: Command, kb: str) -> None:
    command("facts", "add", kb, "yak", "eats", "grass")
    for number, (source, expected) in enumerate((("zoo.kb", len(FACTS) + 1), ("zoo.kb@1", len(FACTS)))):
        Store.create(f"copy{number}.kb").close()
        out = command("facts", "import", f"copy{number}.kb", source).out
        assert out.startswith(f"{source}: {expected} facts added, 0 stored already\n")
    Store.create("empty.kb").close()
    assert command("facts", "import", kb, "empty.kb").out == "empty.kb: 0 facts added, 0 stored already\n"


def test_import_takes_standard_input_and_columns(command: Command, kb: str) -> None:
    assert command("facts", "import", kb, "-", given="yak\teats\tgrass\n").code == 0
    Path("wide.csv").write_text("id;a;b;c\n1;grass;eaten_by;yak\n")
    command("facts", "import", kb, "wide.csv", "--columns", "1,2,3", "--delimiter", ";", "--header")
    assert {("yak", "eats", "grass"), ("grass", "eaten_by", "yak")} <= stored()


def test_a_file_that_cannot_be_read_keeps_all_others_out(command: Command, kb: str) -> None:
    Path("good.tsv").write_text("yak\teats\tgrass\n")
    Path("bad.tsv").write_text("yak\teats\n")
    before = stored()
    code, out, err = command("facts", "import", kb, "good.tsv", "bad.tsv")
    assert (code, out) == (1, "")
    assert err.startswith("hmem: bad.tsv:1: expected 3 tab-separated fields")
    assert stored() == before


@pytest.mark.parametrize("name", ["all.tsv", "all.tsv.gz", "all.csv", "all.csv.zst", "all.parquet"])
def test_what_is_exported_can_be_imported(command: Command, kb: str, name: str) -> None:
    odd = ('"quoted"@en', "says, maybe", "ünïcode \u2028 [x]")
    command("facts", "add", kb, *odd)
    assert command("facts", "export", kb, name) == (0, f"{name}: {len(FACTS) + 1} facts\n", "")
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []
    Store.create("copy.kb").close()
    assert command("facts", "import", "copy.kb", name).code == 0
    with Store.open("copy.kb") as store:
        assert [fact.names for fact in store.listing()] == [*FACTS, odd]


def test_the_formats_are_what_others_expect(command: Command, kb: str) -> None:
    for name in ("all.tsv.gz", "all.csv", "all.parquet"):
        command("facts", "export", kb, name)
    assert gzip.decompress(Path("all.tsv.gz").read_bytes()).decode() == "".join(
        "\t".join(fact) + "\n" for fact in FACTS
    )
    assert Path("all.csv").read_text().splitlines()[0] == '"head","relation","tail"'
    assert pq.read_table("all.parquet").to_pylist()[0] == dict(zip(("head", "relation", "tail"), FACTS[0], strict=True))
    assert command("facts", "export", kb, "-", "--format", "csv").out == Path("all.csv").read_text()


def test_what_tsv_cannot_hold_is_said_and_nothing_is_written(command: Command, kb: str) -> None:
    Path("all.tsv").write_text("precious")
    command("facts", "add", kb, "two\nlines", "is_a", "name")
    code, out, err = command("facts", "export", kb, "all.tsv")
    assert (code, out) == (1, "")
    assert err == (
        "hmem: the name 'two\\nlines' has a tab or a line end in it, and cannot be written as TSV; "
        "CSV and Parquet can hold it\n"
    )
    assert Path("all.tsv").read_text() == "precious"
    command("facts", "export", kb, "all.csv")
    Store.create("copy.kb").close()
    command("facts", "import", "copy.kb", "all.csv")
    with Store.open("copy.kb") as store:
        assert "two\nlines" in store.entity_names()


def test_a_file_is_replaced_only_when_told(command: Command, kb: str) -> None:
    Path("all.tsv").write_text("precious")
    assert command("facts", "export", kb, "all.tsv").code == 1
    assert Path("all.tsv").read_text() == "precious"
    assert command("facts", "export", kb, "all.tsv", "--overwrite").code == 0
    assert len(Path("all.tsv").read_text().splitlines()) == len(FACTS)


def test_an_unknown_format(command: Command, kb: str) -> None:
    assert command("facts", "export", kb, "all.xlsx").code == 2
    assert command("facts", "export", kb, "all.tsv", "--format", "xml").code == 2
    assert command("facts", "export", kb, "no/such/folder.tsv").err.startswith("hmem: ")


def test_a_pipe_in_a_process_of_its_own(command: Command, kb: str) -> None:
    """Exported and added through real pipes; these commands never import torch."""
    code = "import sys; sys.argv[0] = 'hmem'\nfrom hmem.cli.main import main\ntry:\n    main()\nfinally:\n"
    code += "    assert 'torch' not in sys.modules"
    hmem = [sys.executable, "-c", code, "facts"]
    exported = subprocess.run([*hmem, "export", kb, "-"], capture_output=True, env=os.environ, check=True)
    Store.create("copy.kb").close()
    added = subprocess.run([*hmem, "add", "copy.kb", "-"], input=exported.stdout, capture_output=True)
    assert (added.returncode, added.stderr) == (0, b"")
    assert added.stdout.decode().startswith(f"{len(FACTS)} facts added, 0 stored already\n")


# when facts held


TIMED = (
    "from,rel,to,start_date,end date,confidence\nada,works_at,Acme,2015,2019-03,0.5\nbob,works_at,Acme,2016-02-29,,\n"
)


def test_times_are_kept_and_shown_where_there_are_any(command: Command, kb: str) -> None:
    assert "until" not in command("facts", "list", kb, "--limit", 0).out
    fact = ("dire_wolf.n.01", "part_of", "ice_age")
    assert command("facts", "add", kb, *fact, "--until", "1500").code == 0
    out = command("facts", "list", kb, "--head", fact[0]).out
    assert rows(out)[0] == ["head", "relation", "tail", "until", "added", "source"]
    assert rows(out)[1][:4] == [*fact, "1500-12-31"]
    (found,) = json.loads(command("facts", "list", kb, "--head", fact[0], "--json", "-").out)
    assert (found["valid_from"], found["valid_until"], found["inferred_by"]) == (None, "1500-12-31", None)
    code, out, err = command("facts", "add", kb, "a", "b", "c", "--from", "2019", "--until", "2018")
    assert (code, out) == (1, "")
    assert err == "hmem: it ends on 2018-12-31, before it begins on 2019-01-01\n"
    assert command("facts", "add", kb, "a", "b", "c", "--from", "May").err.startswith("hmem: expected a day such as")


def test_columns_of_a_file_say_when_its_facts_held(command: Command, kb: str) -> None:
    Path("staff.csv").write_text(TIMED)
    command("facts", "import", kb, "staff.csv")
    with Store.open(kb) as store:
        ada, bob = store.listing(tail="Acme")
        assert (ada.valid_from, ada.valid_until, ada.confidence) == (date(2015, 1, 1), date(2019, 3, 31), 0.5)
        assert (bob.valid_from, bob.valid_until, bob.confidence) == (date(2016, 2, 29), None, None)
    Store.create("copy.kb").close()
    command("facts", "import", "copy.kb", kb)  # a knowledge base tells all it knows
    Store.create("other.kb").close()
    command("facts", "import", "other.kb", "staff.csv", "--from", "2020", "--until", "2021")
    Store.create("plain.kb").close()
    command("facts", "import", "plain.kb", "staff.csv", "--columns", "from,rel,to")
    found = {}
    for name in ("copy.kb", "other.kb", "plain.kb"):
        with Store.open(name) as store:
            (each,) = store.listing(head="ada", relation="works_at")
            found[name] = str(each.valid_from), str(each.valid_until), each.confidence
    assert found == {
        "copy.kb": ("2015-01-01", "2019-03-31", 0.5),
        "other.kb": ("2020-01-01", "2021-12-31", 0.5),
        "plain.kb": ("None", "None", None),
    }


def test_a_day_that_is_none_is_told_with_its_file(command: Command, kb: str) -> None:
    Path("staff.csv").write_text(TIMED.replace("2016-02-29", "2015-02-29"))
    code, _, err = command("facts", "import", kb, "staff.csv")
    assert code == 1
    assert err.startswith("hmem: staff.csv: row 1 (counted from 0): expected a day such as 2019-05-01")
    assert err.endswith("name the columns to be read: --columns head,relation,tail\n")


# revised, inferred


def test_days_and_confidence_are_revised(command: Command, kb: str) -> None:
    fact = ("dog.n.01", "hypernym", "canine.n.02")
    code, out, err = command("facts", "add", kb, *fact, "--until", 2020)
    assert (code, out) == (0, "stored already: dog.n.01 hypernym canine.n.02\n")
    assert err == "it keeps its own days and confidence; hmem facts revise zoo.kb ... says others\n"
    assert command("facts", "add", kb, *fact).err == ""
    assert command("facts", "revise", kb, *fact, "--until", 2020).out == "revised: dog.n.01 hypernym canine.n.02\n"
    assert (
        command("facts", "revise", kb, *fact, "--until", 2020).out == "is so already: dog.n.01 hypernym canine.n.02\n"
    )
    with Store.open(kb) as store:
        assert str(next(store.listing(head=fact[0], relation=fact[1])).valid_until) == "2020-12-31"
    command("facts", "revise", kb, *fact, "--until", "")
    with Store.open(kb) as store:
        assert next(store.listing(head=fact[0], relation=fact[1])).valid_until is None
        assert len(store.history(head=fact[0], relation=fact[1])) == 3
    assert command("facts", "revise", kb, *fact).code == 2
    assert command("facts", "revise", kb, *fact[:2], "dog.n.01", "--from", 2019).err.startswith(
        "hmem: zoo.kb does not hold"
    )
    both = "dog.n.01\thypernym\tcanine.n.02\nwolf.n.01\thypernym\tcanine.n.02\n"
    found = command("facts", "revise", kb, "-", "--confidence", 0.5, "--json", "-", given=both).out
    assert json.loads(found) == {"revised": 2, "unchanged": 0}
    said = command("facts", "add", kb, "-", "--from", 2001, given=both).err
    assert said == "2 of these keep their own days and confidence; hmem facts revise zoo.kb ... says others\n"


def test_inferred_facts_are_listed_and_withdrawn_apart(command: Command, kb: str) -> None:
    with Store.open(kb) as store:
        store.add([("yak", "eats", "grass"), ("yak", "eats", "hay")], inferred_by="m@12345678", probability=[0.7, 0.5])
    listed = rows(command("facts", "list", kb, "--inferred").out)
    assert listed[0] == ["head", "relation", "tail", "inferred by", "added", "source", "probability"]
    assert [line[:4] for line in listed[1:]] == [["yak", "eats", tail, "m@12345678"] for tail in ("grass", "hay")]
    assert "yak" not in command("facts", "list", kb, "--asserted", "--limit", 0).out
    assert "inferred facts  2 by m@12345678" in command("kb", "info", kb).out
    assert command("facts", "withdraw", kb, "--model", "n").code == 1
    assert command("facts", "withdraw", kb, "--model", "m", "--below", 0.6).out == "1 inferred fact withdrawn\n"
    assert command("facts", "withdraw", kb, "--json", "-").out == '{\n  "withdrawn": 1\n}\n'
    assert command("facts", "list", kb, "--inferred").err == "zoo.kb holds no such fact\n"
    assert "inferred" not in command("kb", "info", kb).out


def test_several_facts_are_revised_at_once(command: Command, zoo: str) -> None:
    lines = "wolf.n.01\thypernym\tcanine.n.02\ndog.n.01\thypernym\tcanine.n.02\n"
    assert command("facts", "revise", zoo, "-", "--confidence", 0.5, given=lines).out == (
        "2 facts revised, 0 were so already\n"
    )
    none = command("facts", "withdraw", zoo, "--json", "-")
    assert (none.code, json.loads(none.out)) == (0, {"withdrawn": 0})
