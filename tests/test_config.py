"""Settings: what each variable says, and what a wrong one means."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.errors import SettingError

SECRET = "d29vZHBlY2tlcnMgbmV2ZXIgZ2V0IGEgaGVhZGFjaGU="


def test_an_empty_environment_is_off_private_and_silent() -> None:
    """Nothing set: off, redacting, dropping, sending nothing, no warning."""
    settings = Settings.read({})
    assert settings == Settings()
    assert (settings.enabled, settings.content, settings.exceptions, settings.baggage) == (
        False,
        "redact",
        "drop",
        "off",
    )
    assert (settings.key_scope, settings.mode, settings.guard, settings.warnings) == ("environment", None, None, ())


@pytest.mark.parametrize(
    ("value", "enabled", "warned"),
    [
        ("true", True, False),
        ("1", True, False),
        ("TRUE", True, False),
        (" true ", True, False),
        ("false", False, False),
        ("0", False, False),
        ("False", False, False),
        ("", False, False),
        ("  ", False, False),
        ("yes", True, True),
        ("off", True, True),
        ("2", True, True),
    ],
)
def test_enabled_is_on_unless_it_says_no(value: str, enabled: bool, warned: bool) -> None:  # noqa: FBT001
    """`true` and `1` are on, `false`, `0` and empty are off, anything else is on with one warning."""
    settings = Settings.read({"LOOPGUARD_ENABLED": value})
    assert settings.enabled is enabled
    assert len(settings.warnings) == warned


class Words(NamedTuple):
    """A variable with a few allowed words."""

    variable: str
    field: str
    allowed: tuple[str, ...]
    unset: str | None
    unknown: str


WORDS = [
    Words("LOOPGUARD_KEY_SCOPE", "key_scope", ("environment", "service", "run"), "environment", "run"),
    Words("LOOPGUARD_CONTENT", "content", ("redact", "redact_all", "keep"), "redact", "redact_all"),
    Words("LOOPGUARD_EXCEPTIONS", "exceptions", ("drop", "keep"), "drop", "drop"),
    Words("LOOPGUARD_MODE", "mode", ("observe", "nudge", "enforce"), None, "observe"),
    Words("LOOPGUARD_GUARD", "guard", ("observe", "nudge", "enforce"), None, "observe"),
    Words("LOOPGUARD_BAGGAGE", "baggage", ("off", "on"), "off", "off"),
]
each_variable = pytest.mark.parametrize("case", WORDS, ids=[case.field for case in WORDS])


@each_variable
def test_every_allowed_word_is_taken(case: Words) -> None:
    """Each word as written, in any case, with blanks around; no warning; empty is unset."""
    for word in case.allowed:
        for spelt in (word, word.upper(), f" {word}\n"):
            settings = Settings.read({case.variable: spelt})
            assert getattr(settings, case.field) == word
            assert settings.warnings == ()
    assert getattr(Settings.read({case.variable: ""}), case.field) == case.unset


@each_variable
@pytest.mark.parametrize("value", ["kep", "true", "redact,keep", "\udcff", SECRET])
def test_an_unknown_word_means_the_safest_one_and_one_warning(case: Words, value: str) -> None:
    """The warning names the variable and what is allowed, and never repeats the value."""
    settings = Settings.read({case.variable: value})
    assert getattr(settings, case.field) == case.unknown
    listed = ", ".join(f"`{word}`" for word in case.allowed)
    expected = f"`{case.variable}` has an unknown value, expected one of {listed}; using `{case.unknown}`"
    assert settings.warnings == (expected,)


@each_variable
def test_the_registry_of_names_lists_the_same_words(case: Words) -> None:
    """What `names` tells users is what is read."""
    (entry,) = [item for item in names.VARIABLES if item.name == case.variable]
    assert sorted(entry.type.split(" | ")) == sorted(case.allowed)


@each_variable
def test_commands_refuse_an_unknown_word(case: Words) -> None:
    """The strict reading raises, names the variable and what is allowed, and does not say what it would use."""
    with pytest.raises(SettingError) as caught:
        Settings.read_strict({case.variable: "kep"})
    listed = ", ".join(f"`{word}`" for word in case.allowed)
    assert str(caught.value) == f"`{case.variable}` has an unknown value, expected one of {listed}"
    assert caught.value.name == case.variable


def test_commands_take_what_is_right() -> None:
    """Without anything to warn about the strict reading is the other one."""
    environ = {"LOOPGUARD_ENABLED": "1", "LOOPGUARD_CONTENT": "keep", "LOOPGUARD_KEY": SECRET}
    assert Settings.read_strict(environ) == Settings.read(environ)


def test_guard_sets_the_mode_and_mode_wins() -> None:
    """GUARD alone is the mode too; MODE decides where both are set, also where its value is unknown."""
    assert Settings.read({"LOOPGUARD_GUARD": "enforce"}).mode == "enforce"
    both = Settings.read({"LOOPGUARD_GUARD": "enforce", "LOOPGUARD_MODE": "nudge"})
    assert (both.guard, both.mode) == ("enforce", "nudge")
    assert Settings.read({"LOOPGUARD_GUARD": "enforce", "LOOPGUARD_MODE": "full"}).mode == "observe"
    assert Settings.read({"LOOPGUARD_MODE": "enforce"}).guard is None


def test_a_key_file_wins_over_a_key() -> None:
    """Only one of them is left, so nobody can take the wrong one."""
    both = Settings.read({"LOOPGUARD_KEY": SECRET, "LOOPGUARD_KEY_FILE": " /run/secrets/loopguard "})
    assert (both.key, both.key_file) == (None, "/run/secrets/loopguard")
    assert Settings.read({"LOOPGUARD_KEY": SECRET, "LOOPGUARD_KEY_FILE": ""}).key == SECRET


def test_the_key_is_in_no_repr_no_warning_and_no_pickle() -> None:
    """The secret leaves only by asking for it."""
    settings = Settings.read({"LOOPGUARD_KEY": SECRET, "LOOPGUARD_MODE": SECRET, "LOOPGUARD_KEYS": SECRET})
    assert SECRET not in repr(settings)
    assert SECRET not in "".join(settings.warnings)
    with pytest.raises(TypeError, match="may hold a secret"):
        pickle.dumps(settings)
    with pytest.raises(TypeError, match="may hold a secret"):
        copy.deepcopy(settings)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("LOOPGUARD_CONTNET", "LOOPGUARD_CONTENT"),
        ("LOOPGUARD_EXCEPTION", "LOOPGUARD_EXCEPTIONS"),
        ("LOOPGUARD_KEYFILE", "LOOPGUARD_KEY_FILE"),
        ("LOOPGUARD_SHARED", None),
        ("LOOPGUARD_", None),
        ("CONTNET", None),
        ("LOOPGUARD_CONTENT", None),
    ],
)
def test_a_misspelt_variable_is_told(name: str, near: str | None) -> None:
    """A variable that looks like one of ours and is none would silently leave a setting at its default."""
    expected = () if near is None else (f"`{name}` is not a variable of otel-loopguard, did you mean `{near}`?",)
    assert Settings.read({name: "keep"}).warnings == expected


def test_every_variable_of_the_registry_is_read() -> None:
    """A variable that `names` lists and nobody reads would be a setting that does nothing."""
    valid = {
        "LOOPGUARD_ENABLED": "1",
        "LOOPGUARD_KEY": SECRET,
        "LOOPGUARD_KEY_FILE": "keys",
        "LOOPGUARD_KEY_SCOPE": "run",
        "LOOPGUARD_CONTENT": "keep",
        "LOOPGUARD_EXCEPTIONS": "keep",
        "LOOPGUARD_POLICY": "policy.yaml",
        "LOOPGUARD_MODE": "enforce",
        "LOOPGUARD_GUARD": "nudge",
        "LOOPGUARD_BAGGAGE": "on",
    }
    assert {item.name for item in names.VARIABLES} == set(valid)
    for name, value in valid.items():
        settings = Settings.read({name: value})
        assert settings != Settings(), name
        assert settings.warnings == ()


@given(st.dictionaries(st.sampled_from([item.name for item in names.VARIABLES]), st.text(max_size=40)))
def test_reading_never_raises_and_never_keeps_more_than_was_asked_for(environ: dict[str, str]) -> None:
    """Whatever the variables hold: no exception, and content is kept only where the word `keep` stands."""
    settings = Settings.read(environ)
    kept = {
        "content": environ.get("LOOPGUARD_CONTENT", "").strip().lower() == "keep",
        "exceptions": environ.get("LOOPGUARD_EXCEPTIONS", "").strip().lower() == "keep",
    }
    assert {name: getattr(settings, name) == "keep" for name in kept} == kept
