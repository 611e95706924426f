"""What writing into a source did, in words."""

from dataclasses import dataclass

from backend.counts import count_of

_LISTED = 20


@dataclass(frozen=True)
class LeftAlone:
    """A file that was not touched, or with `captions` that were not written, and why."""

    file: str
    reason: str
    captions: int = 0


@dataclass(frozen=True)
class ApplyReport:
    """`captions` in `files` that were written, or would be (`is_dry_run`); of an undo, the files
    that are as they were. `already_there`: captions that the source has already. `copies`: the
    folder with the files as they were before; "" if there is none. `diff`: unified, of a dry run;
    `diff_is_whole`: whether it has all changes."""

    dataset_id: int
    captions: int = 0
    files: int = 0
    already_there: int = 0
    left_alone: tuple[LeftAlone, ...] = ()
    copies: str = ""
    diff: str = ""
    diff_is_whole: bool = True
    is_dry_run: bool = False
    is_undo: bool = False

    def in_words(self) -> str:
        files = count_of(self.files, "file")
        lines = [self.diff] if self.diff else []
        if self.diff and not self.diff_is_whole:
            lines.append("… and more: the changes are too many to show.")
        if self.is_undo:
            lines.append(f"{files} put back as before." if self.files else "Nothing to put back.")
        elif self.captions:
            done = "was" if self.captions == 1 else "were"
            verb = "would be" if self.is_dry_run else done
            lines.append(f"{count_of(self.captions, 'caption')} {verb} written into {files}.")
        else:
            lines.append("No caption to write.")
        if self.already_there:
            lines.append(f"{count_of(self.already_there, 'caption')} stood there already.")
        if self.copies:
            lines.append(f"The files as they were before: {self.copies}")
        lines += [f"Left alone: {each.file}: {each.reason}" for each in self.left_alone[:_LISTED]]
        if (more := len(self.left_alone) - _LISTED) > 0:
            lines.append(f"… and {count_of(more, 'more file')} left alone.")
        return "\n".join(lines)
