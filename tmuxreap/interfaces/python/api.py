"""The public names of `import tmuxreap`, in their one list; any other name may change at any time.

Holds no code, and is imported when one of them is used."""

from tmuxreap.core.answers.base import Conversation as Conversation
from tmuxreap.core.answers.base import Draft as Draft
from tmuxreap.core.answers.base import Problem as Problem
from tmuxreap.core.answers.base import Process as Process
from tmuxreap.core.answers.changes import Change as Change
from tmuxreap.core.answers.endings import Awaited as Awaited
from tmuxreap.core.answers.endings import Ending as Ending
from tmuxreap.core.answers.endings import Forgotten as Forgotten
from tmuxreap.core.answers.endings import Interrupted as Interrupted
from tmuxreap.core.answers.endings import Rung as Rung
from tmuxreap.core.answers.news import Action as Action
from tmuxreap.core.answers.news import Drift as Drift
from tmuxreap.core.answers.news import Event as Event
from tmuxreap.core.answers.news import Reconciled as Reconciled
from tmuxreap.interfaces.python.errors import EndingError as EndingError
from tmuxreap.interfaces.python.errors import Error as Error
from tmuxreap.interfaces.python.errors import LockHeld as LockHeld
from tmuxreap.interfaces.python.errors import LockTimeout as LockTimeout
from tmuxreap.interfaces.python.errors import NotFoundError as NotFoundError
from tmuxreap.interfaces.python.errors import PermissionDeniedError as PermissionDeniedError
from tmuxreap.interfaces.python.errors import RegistryError as RegistryError
from tmuxreap.interfaces.python.errors import TmuxError as TmuxError
from tmuxreap.interfaces.python.errors import UsageError as UsageError
from tmuxreap.interfaces.python.registry import Registry as Registry
from tmuxreap.interfaces.python.registry import open_registry as open_registry
from tmuxreap.interfaces.python.streams import Stream as Stream
from tmuxreap.interfaces.python.targets import Session as Session
