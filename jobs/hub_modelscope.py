"""ModelScope through its HTTP interface for files: one address lists a revision, one hands out a file.

Its Python library is not used: for these two addresses it would bring a whole client (with requests, urllib3 and
cryptography), whose interface has changed several times within the year. Token and address come from the variables
that the library reads: MODELSCOPE_API_TOKEN, MODELSCOPE_ENDPOINT.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from jobs.hub import Listed, Listing, check_paths
from jobs.version import tool_version
from jobs.web import Body, NetworkTrouble, Refused, open_url, read_json

ENDPOINT = "https://www.modelscope.cn"


class ModelScope:
    name = "modelscope"

    def __init__(self, repository: str, environ: Mapping[str, str]) -> None:
        self.title = f"{repository} on ModelScope"
        endpoint = environ.get("MODELSCOPE_ENDPOINT") or ENDPOINT
        if "://" not in endpoint:
            endpoint = f"https://{endpoint}"
        self._address = f"{endpoint.rstrip('/')}/api/v1/models/{quote(repository)}/repo"
        self._headers = {"User-Agent": f"cosyvoice-batch/{tool_version()}"}
        if token := environ.get("MODELSCOPE_API_TOKEN"):
            self._headers["Authorization"] = f"Bearer {token}"

    def list_files(self, revision: str) -> Listing:
        address = f"{self._address}/files?{urlencode({'Revision': revision, 'Recursive': 'true'})}"
        try:
            answer = read_json(address, self._headers)
        except NetworkTrouble as error:
            raise NetworkTrouble(
                f"{self.title} cannot be listed: {error}; or use --from huggingface", error.wait_s
            ) from error
        except Refused as error:
            if error.status == 404:
                raise Refused(f"{self.title} has no revision {revision!r} ({error})", 404) from error
            raise
        entries = answer.get("Data", {}).get("Files") if isinstance(answer, dict) and answer.get("Data") else None
        if not isinstance(entries, list):
            said = answer.get("Message") if isinstance(answer, dict) else None
            raise Refused(f"{self.title} does not list its files for {revision!r} ({str(said)[:200]})", 0)
        files = [self._listed(entry) for entry in entries if isinstance(entry, dict) and entry.get("Type") != "tree"]
        return Listing(revision, check_paths(files, self.title))

    def open(self, revision: str, path: str, offset: int) -> Body:
        query = urlencode({"Revision": revision, "FilePath": path})
        return open_url(f"{self._address}?{query}", self._headers, offset)

    def _listed(self, entry: Mapping[str, Any]) -> Listed:
        path, size, sha256 = entry.get("Path"), entry.get("Size"), entry.get("Sha256") or ""
        if not isinstance(path, str) or not isinstance(size, int) or not isinstance(sha256, str):
            raise Refused(f"{self.title} lists a file in a form that is not known here: {str(entry)[:200]}", 0)
        return Listed(path, size, sha256=sha256.lower())
