"""The public names of `import tmuxreap`, in their one list; any other name may change at any time.

Holds no code, and is imported when one of them is used."""

from tmuxreap.core.answers import Action as Action
from tmuxreap.core.answers import Awaited as Awaited
from tmuxreap.core.answers import Change as Change
from tmuxreap.core.answers import Drift as Drift
from tmuxreap.core.answers import Event as Event
from tmuxreap.core.answers import Forgotten as Forgotten
from tmuxreap.core.answers import Interrupted as Interrupted
from tmuxreap.core.answers import Reconciled as Reconciled
from tmuxreap.core.results import Conversation as Conversation
from tmuxreap.core.results import Draft as Draft
from tmuxreap.core.results import Ending as Ending
from tmuxreap.core.results import Problem as Problem
from tmuxreap.core.results import Process as Process
from tmuxreap.core.results import Rung as Rung
from tmuxreap.interfaces.python.calls import Session as Session
from tmuxreap.interfaces.python.options import EndingError as EndingError
from tmuxreap.interfaces.python.options import Error as Error
from tmuxreap.interfaces.python.options import LockHeld as LockHeld
from tmuxreap.interfaces.python.options import LockTimeout as LockTimeout
from tmuxreap.interfaces.python.options import NotFoundError as NotFoundError
from tmuxreap.interfaces.python.options import PermissionDeniedError as PermissionDeniedError
from tmuxreap.interfaces.python.options import RegistryError as RegistryError
from tmuxreap.interfaces.python.options import TmuxError as TmuxError
from tmuxreap.interfaces.python.options import UsageError as UsageError
from tmuxreap.interfaces.python.registry import Registry as Registry
from tmuxreap.interfaces.python.registry import open_registry as open_registry
from tmuxreap.interfaces.python.watching import Stream as Stream
