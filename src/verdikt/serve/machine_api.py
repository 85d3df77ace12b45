"""What machines call: enrol, send lines, ask how far their chains are stored, say how they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import zstandard
from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from verdikt.errors import CanonicalError, ServiceError, WireError
from verdikt.model.canonical_json import parse_json
from verdikt.serve.approval_api import answer_requests, receive_outcome, receive_request
from verdikt.serve.devices import CODE_SECONDS
from verdikt.serve.group_ingest import GroupIngest, Overloaded
from verdikt.serve.ingest import Submission
from verdikt.serve.json_response import build_json_response
from verdikt.serve.machine_rates import REQUEST_ENTRIES, MachineRates
from verdikt.serve.machines import (
    MAX_NAME_CHARS,
    EnrolledMachine,
    KeyRevoked,
    Unauthorized,
    parse_signature,
    verify_request,
)
from verdikt.serve.request_body import read_body
from verdikt.team.chain_extension import Continuation
from verdikt.team.machine_status import parse_status
from verdikt.team.wire import MAX_BATCH_BYTES, parse_batch

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from verdikt.model.chain_head import ChainHead
    from verdikt.serve.service import Service

RETRY_SECONDS = 5
MAX_INLINE_BYTES = 64 << 10
"""A batch of up to this many bytes of lines is read on the event loop, which takes a few milliseconds at most."""

MAX_LARGE_BATCHES = 4
"""How many larger batches are read at once: kilobytes of zstd can be megabytes of lines, and each line many objects."""


@dataclass(frozen=True, slots=True)
class MachineRoute:
    """A route that machines call, with their signature."""

    method: str
    path: str
    handler: Callable[[MachineApi, Any, bytes], Awaitable[Response]]
    summary: str
    is_signed: bool = True
    """Whether the machine's signature is needed; a machine that enrols has none yet."""


class MachineApi:
    """The routes of machines, on one event loop."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.groups = GroupIngest(service)
        self.rates = MachineRates()
        self._large_batches = CapacityLimiter(MAX_LARGE_BATCHES)

    def build_endpoint(self, route: MachineRoute) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that checks the machine's signature, and calls the handler."""

        async def answer(request: Request) -> Response:
            body = await read_body(request)
            if body is None:
                return build_json_response({"error": "the request is too large"}, 413)
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            header = request.headers.get("authorization", "")
            try:
                machine = await self._verify(header, route.method, path, body) if route.is_signed else None
                if machine is not None and (seconds := self._count_request(machine)):
                    return _ask_again(429, "this machine sends more than one machine may", seconds)
                return await route.handler(self, machine, body)
            except Unauthorized as error:
                # The time lets a machine whose clock is wrong correct itself.
                return build_json_response({"error": str(error), "time": int(self.service.clock.now())}, 401)
            except KeyRevoked as error:
                return build_json_response({"error": str(error), "revoked": True}, 403)
            except (WireError, CanonicalError) as error:
                return build_json_response({"error": str(error)}, 422)
            except Overloaded as error:
                return _ask_again(429, str(error))
            except ServiceError:
                return _ask_again(503, "the database does not answer")

        return answer

    async def _verify(self, header: str, method: str, path: str, body: bytes) -> EnrolledMachine:
        keys, now = self.service.machines.keys, self.service.clock.now()
        signature = parse_signature(header, now)
        key = keys.find_cached(signature.machine, now) or await run_sync(keys.read, signature.machine, now)
        return verify_request(key, signature, method, path, body)

    def _count_request(self, machine: EnrolledMachine) -> int:
        """Count a request of a machine, and return for how many seconds it has to wait; 0 when it may go on."""
        now = self.service.clock.now()
        seconds = self.rates.find_wait(machine.id, now)
        if not seconds:
            self.rates.take(machine.id, REQUEST_ENTRIES, now)
        return seconds

    async def enrol(self, _: EnrolledMachine | None, body: bytes) -> Response:
        """Let a machine in by a code."""
        code, name, public_key = _parse_newcomer(body, "code")
        machine = await run_sync(self._enrol, code, name, public_key)
        if machine is None:
            return build_json_response({"error": "this code is unknown, used up or too old"}, 403)
        return build_json_response(self._describe_enrolment(machine))

    def _describe_enrolment(self, machine: EnrolledMachine) -> dict[str, Any]:
        """Return what a machine remembers of its service: its number, and the key that signs approvals."""
        return {"machine": machine.id, "service_key": self.service.service_key.public_hex}

    def _enrol(self, code: str, name: str, public_key: bytes) -> EnrolledMachine | None:
        now = self.service.clock.now()
        machine = self.service.machines.enrol(code, name, public_key, now)
        if machine is not None:
            self.service.people.record_event(machine.organisation, f"machine {machine.id}", "enrol", name, now)
        return machine

    async def begin_device(self, _: EnrolledMachine | None, body: bytes) -> Response:
        """Let a machine wait for a person who says that it is theirs."""
        _code, name, public_key = _parse_newcomer(body, "")
        begun = await run_sync(self.service.devices.begin, name, public_key, self.service.clock.now())
        if begun is None:
            return _ask_again(429, "too many machines wait")
        return build_json_response({"code": begun.code, "secret": begun.secret, "seconds": CODE_SECONDS})

    async def read_device(self, _: EnrolledMachine | None, body: bytes) -> Response:
        """Tell a waiting machine whether it was let in."""
        secret = _parse_object(body).get("secret")
        enrolment = (
            await run_sync(self.service.devices.find_machine, secret, self.service.clock.now())
            if isinstance(secret, str)
            else None
        )
        if enrolment is None:
            return build_json_response({"error": "this code is unknown or too old: begin again"}, 403)
        if not isinstance(enrolment, EnrolledMachine):
            return build_json_response({"machine": None})
        return build_json_response(self._describe_enrolment(enrolment))

    async def receive_entries(self, machine: EnrolledMachine, body: bytes) -> Response:
        """Store a batch, and answer with the heads that are stored now."""
        # Handing a small batch to a thread costs more than reading it here.
        is_small = 0 <= _read_content_size(body) <= MAX_INLINE_BYTES
        submissions = (
            _parse_submissions(machine, body)
            if is_small
            else await run_sync(_parse_submissions, machine, body, limiter=self._large_batches)
        )
        count = sum(len(item.stretch.lines) for item in submissions)
        self.rates.take(machine.id, count, self.service.clock.now())
        results = await self.groups.store(submissions)
        heads = {
            item.stretch.session: {
                "seq": result.head.seq,
                "hash": result.head.hash,
                "generation": result.generation,
                "became": result.continuation.value,
            }
            for item, result in zip(submissions, results, strict=True)
        }
        forked = any(result.continuation is Continuation.FORKS for result in results)
        return build_json_response({"heads": heads}, 409 if forked else 200)

    async def read_heads(self, machine: EnrolledMachine, _: bytes) -> Response:
        """Return generation and head of each of the machine's sessions."""
        heads: dict[str, tuple[int, ChainHead]] = await run_sync(self.service.store.read_heads, machine.id)
        return build_json_response(
            {
                "heads": {
                    session: {"seq": head.seq, "hash": head.hash, "generation": generation}
                    for session, (generation, head) in heads.items()
                }
            }
        )

    async def receive_status(self, machine: EnrolledMachine, body: bytes) -> Response:
        """Remember what a machine says of itself."""
        status = parse_status(parse_json(body))
        await run_sync(self.service.machines.record_status, machine, status, self.service.clock.now())
        return build_json_response({})


MACHINE_ROUTES: tuple[MachineRoute, ...] = (
    MachineRoute("POST", "/v1/enrol", MachineApi.enrol, "enrol a machine by a code", is_signed=False),
    MachineRoute("POST", "/v1/enrol/device", MachineApi.begin_device, "a code to confirm", is_signed=False),
    MachineRoute("POST", "/v1/enrol/device/state", MachineApi.read_device, "whether it was confirmed", is_signed=False),
    MachineRoute("POST", "/v1/entries", MachineApi.receive_entries, "lines of a log, compressed with zstd"),
    MachineRoute("GET", "/v1/heads", MachineApi.read_heads, "how far each session is stored"),
    MachineRoute("POST", "/v1/status", MachineApi.receive_status, "how the machine is: version, policy, faults"),
    MachineRoute("POST", "/v1/approvals", receive_request, "an approval that people are asked for"),
    MachineRoute("POST", "/v1/approval-answers", answer_requests, "what people answered; waits for a change"),
    MachineRoute("POST", "/v1/approval-outcomes", receive_outcome, "an approval was used, or is no longer needed"),
)


def _read_content_size(body: bytes) -> int:
    """Return how many bytes a batch says that it has, -1 when it does not say."""
    try:
        return int(zstandard.frame_content_size(body))
    except zstandard.ZstdError as error:
        raise WireError("expected lines compressed with zstd") from error


def _parse_submissions(machine: EnrolledMachine, body: bytes) -> list[Submission]:
    size = _read_content_size(body)
    decompressor = zstandard.ZstdDecompressor()
    try:
        if 0 <= size <= MAX_BATCH_BYTES:
            # It fails when there is more than is said.
            lines = decompressor.decompress(body)
        else:
            # Read no further than the limit: a thousandth of it can hold all of this process's memory.
            with decompressor.stream_reader(body) as reader:
                lines = reader.read(MAX_BATCH_BYTES + 1)
    except zstandard.ZstdError as error:
        raise WireError("expected lines compressed with zstd") from error
    return [Submission(machine.organisation, machine.id, stretch) for stretch in parse_batch(lines, orjson.loads)]


def _parse_object(body: bytes) -> dict[str, Any]:
    fields = parse_json(body)
    if not isinstance(fields, dict):
        raise WireError("expected a JSON object")
    return fields


def _parse_newcomer(body: bytes, code_field: str) -> tuple[str, str, bytes]:
    """Return code, name and public key of a machine that enrols."""
    fields = _parse_object(body)
    code, name, key = fields.get(code_field, ""), fields.get("name"), fields.get("public_key")
    try:
        public_key = bytes.fromhex(key) if isinstance(key, str) else b""
    except ValueError:
        public_key = b""
    is_name = isinstance(name, str) and 0 < len(name) <= MAX_NAME_CHARS and name.isprintable()
    if not is_name or not isinstance(code, str) or (code_field and not code) or len(public_key) != 32:
        raise WireError("expected a short name, a public key of 32 bytes, and the code where there is one")
    return code, str(name), public_key


def _ask_again(status: int, message: str, seconds: int = RETRY_SECONDS) -> Response:
    response = build_json_response({"error": message}, status)
    response.headers["Retry-After"] = str(seconds)
    return response
