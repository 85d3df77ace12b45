"""Classifiers of programs, SQL, PowerShell and verbs answer any input with effects, never with an exception."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from verdikt.effects.code.sql import classify_statements
from verdikt.effects.code.windows_shell import classify_windows_shell
from verdikt.effects.command_verbs import classify_word, find_verb, has_destroy_verb
from verdikt.effects.effect_catalog import EFFECT_CATALOG, find_entry
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_program
from verdikt.effects.target import TargetResolver
from verdikt.knowledge import list_programs
from verdikt.model.facts import Facts
from verdikt.shell.command import UNKNOWN, Command, Redirect, Word

PROGRAMS = sorted(filter(find_program, list_programs()))
VERBS = (
    "delete rm remove destroy purge list get describe create update apply run exec install uninstall publish config "
    "set auth api db kv state system volume compose prune down up drop reset flush stop start secret show view login "
    "push pull s3 storage help -- - "
).split()
FLAGS = (
    "-f --force -y --yes -r -R --recursive --all -a -n --dry-run --dry-run=client -X DELETE -v /:/host --mount "
    "type=bind,source=/,target=/x --privileged -c 'DROP -e --eval --context=kind-x -s stop -o yaml -u root -G sudo "
    "--endpoint-url=http://localhost:1 --remote -k 1 -1 -9 0 1 + =x key=value a:b s3://b/k https://example.com/x.git "
    "git+https://e.com/x owner/repo @scope/pkg pkg@1 ~/.ssh/id_rsa /dev/sda /etc/passwd . .. * /s /q HKLM\\Software"
).split()
words = st.one_of(st.sampled_from(VERBS), st.sampled_from(FLAGS), st.just(UNKNOWN), st.just(""), st.text(max_size=8))


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(PROGRAMS), st.lists(words, max_size=7), st.one_of(st.none(), st.text(max_size=30)))
def test_program_table_with_any_arguments_names_effects_of_the_catalog(
    name: str, arguments: list[str], stdin: str | None
) -> None:
    """Every effect of every program is in the catalog, or has a parent there."""
    program = find_program(name)
    assert program is not None
    command = Command(
        argv=(Word(name), *(Word(text, text) for text in arguments)),
        stdin=stdin,
        redirects=(Redirect("<", 0, Word("in.sql")),) if len(arguments) % 2 else (),
    )
    call = Invocation(command, TargetResolver(Facts(FakeWorld())), (command,))

    for effect in evaluate_program(program, call):
        assert find_entry(effect.what) is not EFFECT_CATALOG["unknown"] or effect.what.startswith("unknown"), (
            effect.what
        )


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="DROPdeltabs ;'\"`$-/*()=1,.\n\ufffcWHERE", max_size=80),
    st.sampled_from(["", "postgres", "mysql", "sqlite", "tsql"]),
)
def test_sql_classifier_with_any_text_returns_database_effects(text: str, dialect: str) -> None:
    """Unbalanced quotes, unclosed comments and meaningless words give `db.*` effects."""
    for statement in classify_statements("drop " + text, dialect):
        assert statement.what.startswith("db.")


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="Remov-Itm ;|&(){}'\"$:/\\.iexwr\n\ufffc*", max_size=80), st.sampled_from(["powershell", "cmd"])
)
def test_windows_shell_classifier_with_any_text_names_effects_of_the_catalog(text: str, language: str) -> None:
    """Unbalanced brackets and quotes give effects of the catalog."""
    call = Invocation(Command(argv=(Word("pwsh"),)), TargetResolver(Facts(FakeWorld())))

    for effect in classify_windows_shell("Remove-Item " + text, call, language):
        assert find_entry(effect.what) is not EFFECT_CATALOG["unknown"] or effect.what.startswith("unknown")


@given(st.lists(st.text(max_size=12), max_size=6))
def test_verb_of_any_words_has_an_index_and_a_kind_or_neither(texts: list[str]) -> None:
    """`find_verb` returns an index exactly if it returns a kind, and every kind is a known one."""
    index, kind = find_verb(texts)

    assert (index >= 0) == bool(kind)
    assert isinstance(has_destroy_verb(texts), bool)
    assert all(classify_word(text) in ("", "read", "write", "delete") for text in texts)
