"""Conditions in policies: CEL over action, effects, posture, session and risk, checked when the policy is loaded."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from verdikt.errors import PolicyError
from verdikt.graph.context import GovernanceContext
from verdikt.graph.re2_pattern import replace_surrogates
from verdikt.model.action import Action
from verdikt.model.distribution import DISTRIBUTION_NAME
from verdikt.model.effect import Effect, EffectClass, Target

# Limits for a project's own policy file: they are checked before the compiler sees the text.
MAX_CONDITION_LENGTH = 4_000
_MAX_DEPTH = 32

ReadVariable = Callable[[Action, GovernanceContext], Any]

VARIABLES: dict[str, tuple[str, ReadVariable, str]] = {
    "action.kind": ("string", lambda action, ctx: replace_surrogates(str(action.kind)), "read, write, bash, …"),
    "action.tool": ("string", lambda action, ctx: replace_surrogates(action.tool), "the tool's name"),
    "action.command": ("string", lambda action, ctx: replace_surrogates(action.command), "the command text, or empty"),
    "action.path": (
        "string",
        lambda action, ctx: replace_surrogates(action.path),
        "the file that the action names, or empty",
    ),
    "action.payload": ("map(string, dyn)", lambda action, ctx: _payload_to_cel(action), "the tool's input as it came"),
    "action.session_id": ("string", lambda action, ctx: replace_surrogates(action.session_id), "the session"),
    "action.task_type": (
        "string",
        lambda action, ctx: replace_surrogates(action.task_type),
        "the type of a submitted task",
    ),
    "action.cwd": ("string", lambda action, ctx: replace_surrogates(action.cwd), "where the action would happen"),
    "action.host": ("string", lambda action, ctx: replace_surrogates(action.host), "claude, codex, …"),
    "action.agent": ("string", lambda action, ctx: replace_surrogates(action.agent), "the agent's name, or empty"),
    "effects": (
        "list(map(string, dyn))",
        lambda action, ctx: [_effect_to_cel(effect) for effect in ctx.effects],
        "each with class, what, certain, recoverable, by, note and targets (text, kind, path, zone, state)",
    ),
    "posture": ("string", lambda action, ctx: str(ctx.posture), "interactive, autonomous, dry_run or locked"),
    "session.action_count": ("int", lambda action, ctx: ctx.session.action_count, "actions so far, this one included"),
    "session.block_count": ("int", lambda action, ctx: ctx.session.block_count, "blocks so far"),
    "session.consecutive_blocks": ("int", lambda action, ctx: ctx.session.consecutive_blocks, "blocks in a row"),
    "session.risk": ("double", lambda action, ctx: float(ctx.session.risk), "what earlier actions left behind"),
    "session.history": (
        "list(dyn)",
        lambda action, ctx: _to_cel(ctx.session.history),
        "the newest actions, oldest first",
    ),
    "risk": ("double", lambda action, ctx: float(ctx.risk_score), "the risk of this evaluation, 0 to 1"),
}
"""Variable → its CEL type, the function that reads it, its description."""


class CelCondition:
    """A compiled condition. Calling it returns true or false, and raises when it cannot be evaluated."""

    __slots__ = ("_program", "_variables", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._program = _compile_cel(text)
        _reject_misspelt_fields(text, self._program)
        # A name that occurs only within a string literal is read needlessly, which costs little.
        self._variables = [
            (name, read) for name, (_, read, _) in VARIABLES.items() if name in re.sub(r"\s*\.\s*", ".", text)
        ]

    def __call__(self, action: Action, ctx: GovernanceContext) -> bool:
        """Evaluate the condition; raise ValueError when the result is not a boolean."""
        result = self._program.eval(data={name: read(action, ctx) for name, read in self._variables}).value()
        # An evaluation error is returned as a value of another type and not raised.
        if result is True or result is False:
            return bool(result)
        raise ValueError(f"the condition `{self.text}` could not be evaluated: {result}")

    def __repr__(self) -> str:
        return f"CelCondition({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelCondition) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _compile_cel(text: str) -> Any:
    if len(text) > MAX_CONDITION_LENGTH:
        raise PolicyError(f"expected a condition of at most {MAX_CONDITION_LENGTH} characters, found {len(text)}")
    try:
        program = _make_environment().compile(text)
    except (RuntimeError, TypeError) as error:
        raise PolicyError(f"expected a CEL condition, found `{text}`: {_explain_error(str(error))}") from error
    if (kind := program.return_type().name()) != "BOOL":
        raise PolicyError(f"expected a condition that is true or false, found `{text}`, which is {kind.lower()}")
    return program


def _suggest_name(name: str, names: Iterable[str]) -> str:
    from verdikt.model.yaml_node import suggest_name  # with the reader of YAML; only an error message needs it

    return suggest_name(name, names)


def _reject_misspelt_fields(text: str, program: Any) -> None:
    """Raise for a misspelt field by trying the condition on an effect that has every field."""
    # CEL looks up the fields of a map only at run time. A payload or a history has fields that are not known here.
    if "effects" not in text or "payload" in text or "history" in text:
        return
    blank = {"string": "", "int": 0, "double": 0.0}
    data = {name: blank[kind] for name, (kind, _, _) in VARIABLES.items() if kind in blank}
    result = program.eval(data={**data, "effects": [_effect_to_cel(_SAMPLE_EFFECT)]}).value()
    missing = re.search(r'Key not found in map : "([^"]*)"', str(result))
    if missing:
        known = [*_effect_to_cel(_SAMPLE_EFFECT), *_effect_to_cel(_SAMPLE_EFFECT)["targets"][0]]
        hint = _suggest_name(missing[1], known)
        raise PolicyError(f"expected a known field of an effect or target in `{text}`, found `{missing[1]}`{hint}")


_SAMPLE_EFFECT = Effect(cls=EffectClass.WRITE, what="fs.write", targets=(Target("x"),))


# Building an environment costs more than compiling a condition, and all conditions share it.
@lru_cache(maxsize=1)
def _make_environment() -> Any:
    # Loaded only when a policy has a condition, and installed only by those who write conditions.
    try:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_strings
    except ImportError as error:
        raise PolicyError(
            f"`if` needs the CEL library: install it with `pip install '{DISTRIBUTION_NAME}[cel]'`"
        ) from error

    kinds = {
        "string": cel.Type.STRING,
        "int": cel.Type.INT,
        "double": cel.Type.DOUBLE,
        "map(string, dyn)": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
        "list(dyn)": cel.Type.List(cel.Type.DYN),
        "list(map(string, dyn))": cel.Type.List(cel.Type.Map(cel.Type.STRING, cel.Type.DYN)),
    }
    # Dotted names rather than maps, so that a misspelt field is found when the policy is loaded.
    variables = {name: kinds[kind] for name, (kind, _, _) in VARIABLES.items()}
    return cel.NewEnv(variables=variables, extensions=[ext_strings.ExtStrings()])


def _explain_error(error: str) -> str:
    """Return the compiler's message on one line, with the nearest variable when a name is unknown."""
    match = re.search(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)", error)
    message = f"{match[3]} (column {match[2]})" if match else " ".join(error.split())
    unknown = re.search(r"undeclared reference to '([^']*)'", message)
    if unknown is None:
        # CEL does not convert integers: `risk > 1` has no overload, and its message does not say what to do.
        if "no matching overload" in message and "(double, int)" in message:
            return f"{message}; write the number with a point, as in `1.0`"
        return message

    return f"expected a known name, found `{unknown[1]}`{_suggest_name(unknown[1], VARIABLES)}"


def _payload_to_cel(action: Action) -> Any:
    return _to_cel(action.payload) if isinstance(action.payload, Mapping) else {}


def _to_cel(value: Any, depth: int = 0) -> Any:
    """Return JSON values as CEL accepts them; raise for anything else and for values that are nested too deeply."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"expected at most {_MAX_DEPTH} levels in the payload, found more")
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        # CEL integers have 64 bits.
        return value if -(2**63) <= value < 2**63 else float(value)
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {replace_surrogates(str(key)): _to_cel(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_cel(inner, depth + 1) for inner in value]
    raise ValueError(f"expected plain data in the payload, found `{type(value).__name__}`")


def _effect_to_cel(effect: Effect) -> dict[str, Any]:
    return {
        "class": effect.cls.value,
        "what": replace_surrogates(effect.what),
        "certain": effect.certain,
        "recoverable": effect.recoverable,
        "by": replace_surrogates(effect.by),
        "note": replace_surrogates(effect.note),
        "targets": [
            {
                "text": replace_surrogates(target.text),
                "kind": target.kind,
                "path": replace_surrogates(target.path),
                "zone": target.zone.value,
                "state": target.state,
            }
            for target in effect.targets
        ],
    }
