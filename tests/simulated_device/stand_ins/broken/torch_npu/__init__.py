"""A torch_npu on a machine without its vendor's libraries, as BROKEN_PLUGIN says: `import`, `segfault` or `hang`."""

import os
import signal
import time

match os.environ.get("BROKEN_PLUGIN", "import"):
    case "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    case "hang":
        time.sleep(3600)
    case _:
        raise ImportError("libhccl.so: cannot open shared object file: No such file or directory")
