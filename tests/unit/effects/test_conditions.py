"""Conditions of rows: what the words of a command, and what is around it, must be for a row to apply."""

import pytest

from tests.unit.effects.test_program_evaluator import make_call
from verdikt.effects.arguments import Arguments
from verdikt.effects.conditions import holds


@pytest.mark.parametrize(
    ("text", "conditions", "expected"),
    [
        ("x instance delete a", "verb:delete", True),
        ("x instance delete a", "verb:write|read", False),
        ("x instance list", "!verb:delete", True),
        ("x label delete", "noun:recreatable", True),
        ("x database delete", "noun:recreatable", False),
        ("x /tmp/a", "zone:0=temp|project", True),
        ("x /etc/passwd", "zone:0=temp|project", False),
        ("MIX_ENV=test x", "env:*_ENV=test*", True),
        ("MIX_ENV=prod x", "env:*_ENV=test*", False),
        ("x a", "name:x|y", True),
        ("x a", "name:z", False),
        ("x <", "input:", True),
        ("x a", "input:", False),
        ("x -f /tmp/a", "zone:0=temp+-f", True),
        ("x /tmp/a", "zone:0=temp+-f", False),
        ("x db:drop", "db:drop", True),
        ("x stop auditd.service", "is:1:=protection", True),
        ("x stop nginx", "is:1:=protection", False),
        ("x http://localhost:80/a", "is:0=local_host", True),
        ("x API_TOKEN", "is:0=secret_name", True),
        ("x init", "is:0=vital_process", True),
        ("x verdikt-hook", "is:0=own_process", True),
        ("x .*", "is:0=own_process", False),
        ("x set a state off", "line:*stateoff", True),
        ("x a=b", "line:*a=b", True),
        ("x share/verdikt/run/daemon.lock", "own:", True),
        ("x a", "own:", False),
        ("x a", "output:shown", True),
        ("x a", "input:pipe|file", False),
        ("x kms keys delete", "token:keys", True),
        ("x delete keys", "token:keys", False),
        ("x user-keys:create a", "token:user+token:keys", True),
        ("x pod/a,svc.v1/b", "kind:pod", True),
        ("x pod a secret/b", "kind:secret|secrets", True),
        ("x pod secret", "kind:secret", False),
        ("x pvc,pod.apps a", "kind:pvc+kind:pod", True),
        ("x s3://bucket/a", "shape:0=remote", True),
        ("x host:/a ./b", "shape:-1=local", True),
        ("x http://localhost:4566", "shape:0=here", True),
        ("x http://localhost.example.com", "shape:0=here", False),
        ("AT=http://127.0.0.1:1 x", "shape:$AT=here", True),
        ('x {"hostPID": true}', 'line:*"hostpid":true*', True),
        ("x a help", "0|1=help", True),
        ("x a b help", "0|1=help", False),
        ("x --env=production", "stage:live", True),
        ("RAILS_ENV=production x", "stage:live", True),
        ("x RACK_ENV=staging", "stage:live", True),
        ("x --env=development", "stage:live|test", False),
        ("MIX_ENV=test x", "stage:test", True),
        ("x --settings=app.settings.test", "stage:test", True),
        ("MIX_ENV=test x --env=production", "stage:test", False),
        ("x contest", "stage:test", False),
        ("DATABASE_URL=postgres://localhost/a x", "stage:local", True),
        ("DATABASE_URL=postgres://db.example.com/a x", "stage:local", False),
        ("x app_test", "database:0=throwaway", True),
        ("x app", "database:0=throwaway", False),
        ("x -Ga,sudo", "item:-G=sudo", False),
        ("x --groups=a,sudo", "item:--groups=sudo|wheel", True),
        ("x --groups=a,pseudo", "item:--groups=sudo|wheel", False),
        ("x /tmp/id_rsa", "zone:0=secret.temp", True),
        ("x /home/dev/.ssh/id_rsa", "zone:0=secret.*", False),
    ],
)
def test_condition_on_circumstances_holds(text: str, conditions: str, expected: bool) -> None:
    """Conditions ask for verbs, operands, variables, text, input, output and stage, besides flags."""
    call = make_call(text)
    call.args = Arguments(call.command.argv[1:])

    assert holds(conditions, call) is expected
