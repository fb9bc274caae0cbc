"""Hugging Face through its own library `huggingface_hub`: addresses, listing, token, mirror and offline switch.

The bytes are read by us, as from the other hub, so that both resume, verify and report in one way. The library finds
the token (HF_TOKEN or a stored login); HF_ENDPOINT names a mirror.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from jobs.errors import EnvironmentFault
from jobs.hub import Listed, Listing, check_paths
from jobs.version import tool_version
from jobs.web import Body, NetworkTrouble, Refused, open_url

ENDPOINT = "https://huggingface.co"
# What the library speaks HTTP with, by version: requests up to 0.x, httpx in 1.x, httpx2 since 2.0.
_TRANSPORTS = ("requests", "urllib3", "httpx", "httpx2", "httpcore", "httpcore2")


class HuggingFace:
    name = "huggingface"

    def __init__(self, repository: str, environ: Mapping[str, str]) -> None:
        try:
            from huggingface_hub import HfApi, get_token
        except ImportError as error:
            raise EnvironmentFault(
                "Hugging Face needs the extra `hub`: pip install 'cosyvoice-batch[hub]'; "
                "or take the same files with `--from modelscope`, which needs nothing more"
            ) from error
        self.title = f"{repository} on Hugging Face"
        self._repository = repository
        self._endpoint = (environ.get("HF_ENDPOINT") or ENDPOINT).rstrip("/")
        self._api = HfApi(endpoint=self._endpoint, library_name="cosyvoice-batch", library_version=tool_version())
        self._headers = {"User-Agent": f"cosyvoice-batch/{tool_version()}"}
        if (token := get_token()) and not environ.get("HF_HUB_DISABLE_IMPLICIT_TOKEN"):
            self._headers["Authorization"] = f"Bearer {token}"

    def list_files(self, revision: str) -> Listing:
        with self._errors(revision):
            info = self._api.model_info(self._repository, revision=revision, files_metadata=True, timeout=30)
        files = []
        for file in info.siblings or ():
            if file.size is None:
                raise Refused(f"{self.title} does not say how large {file.rfilename!r} is", 0)
            sha256 = file.lfs.sha256 if file.lfs else ""
            files.append(Listed(file.rfilename, file.size, sha256, "" if sha256 else file.blob_id or ""))
        return Listing(info.sha or revision, check_paths(files, self.title))

    def open(self, revision: str, path: str, offset: int) -> Body:
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(self._repository, path, revision=revision, endpoint=self._endpoint)
        return open_url(url, self._headers, offset)

    @contextmanager
    def _errors(self, revision: str) -> Iterator[None]:
        from huggingface_hub import errors

        try:
            yield
        except errors.OfflineModeIsEnabled as error:
            raise Refused("HF_HUB_OFFLINE is set: unset it, or pull with --offline", 0) from error
        except errors.RevisionNotFoundError as error:
            raise Refused(f"{self.title} has no revision {revision!r}", 404) from error
        except errors.GatedRepoError as error:
            raise Refused(f"{self.title} asks to accept its terms there first, then set HF_TOKEN", 403) from error
        except errors.RepositoryNotFoundError as error:
            raise Refused(f"{self.title} is not there, or hidden: check HF_ENDPOINT and HF_TOKEN", 404) from error
        except errors.HfHubHTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            told = f"{self.title} cannot be listed (HTTP {status})"
            raise (NetworkTrouble(told) if status >= 500 or status == 429 else Refused(told, status)) from error
        except Exception as error:
            transport = type(error).__module__.partition(".")[0] in _TRANSPORTS
            if not transport and not isinstance(error, OSError):
                raise
            raise NetworkTrouble(
                f"{self.title} cannot be reached at {self._endpoint} ({type(error).__name__}); check the network, "
                "HTTPS_PROXY and HF_ENDPOINT, or use --from modelscope"
            ) from error
