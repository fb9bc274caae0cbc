"""Opens an address for reading, from a given byte on. The one place of the tool that speaks HTTP itself.

Proxies (`HTTPS_PROXY`, `NO_PROXY`) and certificates (`SSL_CERT_FILE`) come from the environment, as the standard
library reads them. A hub sends big files from another host: a token goes to the hub alone, never along a redirect.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from jobs.errors import EnvironmentFault

TIMEOUT_S = 30.0
"""Longest silence of a server, not the length of a download."""
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_SECRETS = ("authorization", "cookie", "proxy-authorization")


class NetworkTrouble(EnvironmentFault):
    """The network or the server failed in a way that may pass: worth another try."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        """How long the server asks to be left alone."""


class Refused(EnvironmentFault):
    """The server said no; asking again will not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Body:
    """An answer, read piece by piece. `start` is the byte it begins with: 0 where a server knows no ranges."""

    def __init__(self, stream: io.BufferedIOBase, start: int, host: str) -> None:
        self._stream = stream
        self.start = start
        self._host = host

    def read(self, limit_bytes: int) -> bytes:
        """What has come by now, up to `limit_bytes`; nothing at the end. Raises NetworkTrouble if it breaks."""
        with _network_errors(self._host):
            return self._stream.read1(limit_bytes)

    def close(self) -> None:
        self._stream.close()


def open_url(url: str, headers: Mapping[str, str], offset: int = 0, timeout_s: float = TIMEOUT_S) -> Body:
    """Ask for `url` from byte `offset` on. Raises NetworkTrouble or Refused, both with the next step."""
    request = urllib.request.Request(url, headers={**headers, "Accept-Encoding": "identity"})
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    host = urllib.parse.urlsplit(url).netloc.rpartition("@")[2]
    with _network_errors(host):
        answer = _opener().open(request, timeout=timeout_s)
    return Body(answer, _start(answer, offset), host)


def read_json(url: str, headers: Mapping[str, str], limit_bytes: int = 20_000_000) -> Any:
    """Read a small JSON answer. Raises NetworkTrouble or Refused."""
    body = open_url(url, headers)
    pieces: list[bytes] = []
    try:
        while piece := body.read(1 << 16):
            pieces.append(piece)
            if sum(map(len, pieces)) > limit_bytes:
                raise Refused(f"{_host(url)} answered with more than {limit_bytes} bytes where a list was asked for", 0)
    finally:
        body.close()
    try:
        return json.loads(b"".join(pieces))
    except ValueError as error:
        raise Refused(
            f"{_host(url)} did not answer as a hub does, but with a page that is no JSON: "
            "a proxy or login page may sit in between",
            0,
        ) from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to other hosts without the secrets meant for the first one, and to nothing but the web."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if new.scheme not in ("http", "https"):
            raise Refused(f"{old.hostname} sends on to an address that is no web address", code)
        onward = super().redirect_request(req, fp, code, msg, headers, newurl)
        if onward is not None and (old.scheme, old.netloc) != (new.scheme, new.netloc):
            for name in [name for name in onward.headers if name.lower() in _SECRETS]:
                onward.remove_header(name)
        return onward


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Redirects)


def _start(answer: Any, offset: int) -> int:
    if answer.status != 206:
        return 0
    given = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range") or "")
    if given is None or int(given[1]) != offset:
        answer.close()
        raise NetworkTrouble(f"the server was asked for byte {offset} on and sent another piece; try again")
    return offset


@contextmanager
def _network_errors(host: str) -> Iterator[None]:
    """What the standard library raises, as one of our two errors, in words for the person at the keyboard."""
    try:
        yield
    except urllib.error.HTTPError as error:
        with error:
            raise _status_error(error, host) from None
    except urllib.error.URLError as error:
        reason = error.reason if isinstance(error.reason, OSError) else OSError(str(error.reason))
        raise _os_error(reason, host) from error
    except http.client.IncompleteRead as error:
        raise NetworkTrouble(f"{host} broke off in the middle of a file") from error
    except http.client.HTTPException as error:
        raise NetworkTrouble(f"{host} sent something that is no HTTP ({type(error).__name__})") from error
    except OSError as error:
        raise _os_error(error, host) from error


def _os_error(error: OSError, host: str) -> EnvironmentFault:
    advice = f"check the network{_proxy_advice()}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return Refused(
            f"the certificate of {host} is not trusted here ({error.verify_message}); behind a company proxy, name its "
            "certificate file in SSL_CERT_FILE",
            0,
        )
    if isinstance(error, socket.gaierror):
        return NetworkTrouble(f"the name {host} cannot be looked up; {advice}")
    if isinstance(error, TimeoutError):
        return NetworkTrouble(f"{host} was silent for too long; {advice}")
    if "Tunnel connection failed" in str(error):
        return Refused(f"the proxy does not let us through to {host} ({error}); check HTTPS_PROXY", 0)
    return NetworkTrouble(f"no connection to {host} ({error.strerror or error}); {advice}")


def _status_error(error: urllib.error.HTTPError, host: str) -> EnvironmentFault:
    said = _message(error)
    told = f"HTTP {error.code}" + (f", {said}" if said else "")
    if error.code in _BUSY:
        after = error.headers.get("Retry-After") or ""
        return NetworkTrouble(f"{host} is not able to answer now ({told}); try again later", _seconds(after))
    if error.code in (401, 403):
        return Refused(f"{host} refuses access ({told}); a token may be needed or may be wrong", error.code)
    if error.code == 407:
        return Refused(f"the proxy asks for a login ({told}); put it into HTTPS_PROXY", error.code)
    return Refused(f"{host} refuses ({told})", error.code)


def _message(error: urllib.error.HTTPError) -> str:
    """The hub's own words, if it has any, short and printable."""
    try:
        content = json.loads(error.read(4096))
    except (ValueError, OSError, http.client.HTTPException):
        return ""
    words = (content.get("Message") or content.get("error")) if isinstance(content, dict) else None
    return "".join(c for c in str(words or "") if c.isprintable())[:200]


def _seconds(text: str) -> float | None:
    return min(float(text), 120.0) if text.isascii() and text.isdigit() else None


def _proxy_advice() -> str:
    proxies = urllib.request.getproxies()
    named = proxies.get("https") or proxies.get("http")
    if not named:
        return " or, behind a proxy, set HTTPS_PROXY"
    return f" and the proxy {urllib.parse.urlsplit(named).netloc.rpartition('@')[2]}"


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]
