"""The errors of the process plumbing, and the base of every service's own tree.

ServiceError            one sentence, safe to show to a person or a tool caller
└── SetupError          the process cannot start or be configured: one line on stderr, exit status 2
"""


class ServiceError(Exception):
    """One sentence for the person or caller: what happened, to what, and what to do instead.

    The text may reach a tool caller as it is, so it never carries a traceback, SQL, a path of the store or a secret.
    """


class SetupError(ServiceError):
    """The process cannot start: a bad option, an unwritable home, a broken `.env`, a port in use.

    Shown only to the person who starts the process, so it may name files and folders, but never their content.
    """
