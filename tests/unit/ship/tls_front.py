"""What ends TLS in front of a service, with a certificate that an authority of the test signed."""

import asyncio
import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def write_certificates(directory: Path) -> tuple[Path, Path]:
    """Return an authority's certificate, and a chain for `localhost` with its key, each in a file."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of a test")])
    authority = _sign(
        authority_name, authority_name, authority_key, authority_key, x509.BasicConstraints(ca=True, path_length=None)
    )
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    leaf = _sign(name, authority_name, key, authority_key, x509.SubjectAlternativeName([x509.DNSName("localhost")]))
    ca_file, chain_file = directory / "ca.pem", directory / "chain.pem"
    ca_file.write_bytes(authority.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain_file.write_bytes(leaf.public_bytes(Encoding.PEM) + private)
    return ca_file, chain_file


def _sign(
    name: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(identifier, critical=False)
    )
    if isinstance(extension, x509.BasicConstraints):
        # Newer versions of Python refuse an authority that does not say that it signs certificates.
        usage = dict.fromkeys(
            (
                "digital_signature",
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "crl_sign",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        builder = builder.add_extension(x509.KeyUsage(key_cert_sign=True, **usage), critical=True)
    return builder.sign(issuer_key, hashes.SHA256())


class TlsFront:
    """Listens on a port of this machine; what comes there goes to `target` once it is known."""

    def __init__(self, listener: socket.socket) -> None:
        self.url = f"https://localhost:{listener.getsockname()[1]}"
        self.target = ""

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection in both directions, until each has ended."""
        host, _, port = self.target.rpartition(":")
        service_reader, service_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_pipe(reader, service_writer), _pipe(service_reader, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # A client that has its answer just goes away.
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextmanager
def run_tls_front(chain_file: Path) -> Iterator[TlsFront]:
    """Yield a front that ends with the block."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain_file)
    listener = socket.create_server(("127.0.0.1", 0))
    front = TlsFront(listener)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(front.forward, sock=listener, ssl=context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield front
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(_cancel_rest())
        loop.close()


async def _cancel_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
