"""Takes as long to import as somebody takes to open the other end of the named pipe."""

import os
from pathlib import Path

Path(os.environ["GATE"]).read_bytes()
