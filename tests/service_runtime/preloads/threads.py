"""Starts a thread when imported, as no module that is preloaded may."""

import threading

threading.Thread(target=threading.Event().wait, daemon=True).start()
