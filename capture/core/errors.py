"""What can stop capture, in words a person can act on."""

from __future__ import annotations


class SourceFailed(Exception):
    """A source cannot be read. `cause` says what happened, `action` what a person can do."""

    reason = "source_failed"

    def __init__(self, cause: str, action: str = "") -> None:
        super().__init__(f"{cause}. {action}" if action else cause)
        self.cause = cause
        self.action = action


class NoDisplay(SourceFailed):
    """There is no display to look at."""

    reason = "no_display"


class DisplayLost(SourceFailed):
    """The display went away while it was being looked at."""

    reason = "display_lost"


class PermissionRefused(SourceFailed):
    """The system does not let this program see the screen."""

    reason = "permission_refused"


class BackendRefused(SourceFailed):
    """The only way to look would flash, click or ask every time."""

    reason = "backend_refused"


class ChoicesUnreadable(SourceFailed):
    """What the person chose to record cannot be read."""

    reason = "choices_unreadable"


class SourceEmpty(SourceFailed):
    """The folder or video has no picture to show."""

    reason = "source_empty"
